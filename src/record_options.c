/* record_options.c - what the user of cspy record asked for: the options, the format, the target. */
#include <stdarg.h>
#include <string.h>

#include "record_options.h"

#define AT(field) offsetof(struct record_options, field)
const struct option_row record_rows[] = {
	{ NULL, 0, OPTION_GROUP, 0, NULL, "What to record" },
	{ "pid", 'p', OPTION_PID, AT(pid), "PID", "a running process; PID alone does, too" },
	{ "as-root", 0, OPTION_FLAG, AT(as_root), NULL, "under sudo: start the COMMAND as root, not as the user" },
	{ "subprocesses", 's', OPTION_FLAG, AT(subprocesses), NULL,
	  "its children, too, and theirs, as they come and go" },
	{ "duration", 'd', OPTION_DURATION, AT(duration_ns), "TIME",
	  "30, 30s, 2m, 1h; default: until Ctrl-C or its end" },
	{ "rate", 'r', OPTION_RATE, AT(rate), "RATE", "samples a second, as 100 or 10k; default: 100" },
	{ "native", 'n', OPTION_FLAG, AT(native), NULL,
	  "native frames, too; any process, with an interpreter or without" },
	{ "debuginfod", 0, OPTION_FLAG, AT(debuginfod), NULL, "ask the servers in DEBUGINFOD_URLS for debug files" },
	{ "idle", 'i', OPTION_FLAG, AT(idle), NULL, "count threads that wait or sleep, too" },
	{ "gil", 'g', OPTION_FLAG, AT(gil), NULL, "count only the thread that holds the interpreter's lock" },
	{ NULL, 0, OPTION_GROUP, 0, NULL, "What to write" },
	{ "output", 'o', OPTION_STRING, AT(output), "FILE", "%p is the pid, %t the time; - is standard output" },
	{ "format", 'f', OPTION_STRING, AT(format), "FORMAT", "default: by the ending of FILE, else flamegraph" },
	{ "threads", 't', OPTION_FLAG, AT(threads), NULL, "each thread has a frame of its own at the root" },
	{ "function", 'F', OPTION_FLAG, AT(function), NULL, "one frame for a function, not one for each line" },
	{ "nolineno", 0, OPTION_FLAG, AT(no_lines), NULL, "leave line numbers out" },
	{ "full-filenames", 0, OPTION_FLAG, AT(full_filenames), NULL, "whole paths, not only what tells files apart" },
	{ "title", 0, OPTION_STRING, AT(title), "TEXT", "of the flame graph" },
	{ "depth", 0, OPTION_COUNT, AT(depth), "N", "frames kept of a stack, from the leaf; default: 4096" },
	{ "stats", 0, OPTION_STRING, AT(stats), "FILE", "how the recording went, as JSON" },
	{ NULL, 0, OPTION_GROUP, 0, NULL, "How to read" },
	{ "max-pause", 0, OPTION_SHARE, AT(max_pause), "SHARE", "of the target's time, for pauses; default: 1%" },
	{ "max-overhead", 0, OPTION_SHARE, AT(max_overhead), "SHARE",
	  "of a core, for cspy itself; may lower the rate" },
	{ "blocking", 0, OPTION_FLAG, AT(blocking), NULL, "pause the target for every sample" },
	{ "nonblocking", 0, OPTION_FLAG, AT(nonblocking), NULL, "never pause the target" },
	{ NULL, 0, OPTION_GROUP, 0, NULL, "Else" },
	{ "quiet", 'q', OPTION_FLAG, AT(quiet), NULL, "no progress, no summary" },
	OPTION_ROW_HELP,
	OPTION_ROW_VERSION,
	{ 0 },
};

static bool refuse(struct advice *a, const char *hint, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* Always false, for `return refuse(...)`. */
static bool refuse(struct advice *a, const char *hint, const char *fmt, ...)
{
	va_list args;

	a->exit_code = EXIT_USAGE;
	va_start(args, fmt);
	vsnprintf(a->text, sizeof(a->text), fmt, args);
	va_end(args);
	snprintf(a->hint, sizeof(a->hint), "%s", hint);
	return false;
}

static const struct sink_ops *sink_named(const char *name)
{
	for (const struct sink_ops *const *s = sink_table; *s; s++)
		if (!strcmp((*s)->name, name) || ((*s)->synonym && !strcmp((*s)->synonym, name)))
			return *s;
	return NULL;
}

/* Does the path end with one of ".a.b.c"? */
static bool ends_with_one(const char *path, const char *endings)
{
	const char *dot = strrchr(path, '.');

	for (const char *at = endings; dot && dot != path && at && *at;) {
		size_t len = 1 + strcspn(at + 1, ".");

		if (strlen(dot) == len && !strncmp(dot, at, len))
			return true;
		at += len;
	}
	return false;
}

static const struct sink_ops *sink_for_path(const char *path)
{
	for (const struct sink_ops *const *s = sink_table; *s; s++)
		if (ends_with_one(path, (*s)->extension) || ends_with_one(path, (*s)->also))
			return *s;
	return NULL;
}

static bool unknown_format(const struct record_options *o, struct advice *a)
{
	char known[300] = "";
	char hint[300];

	for (const struct sink_ops *const *s = sink_table; *s; s++) {
		size_t used = strlen(known);

		snprintf(known + used, sizeof(known) - used, "%s%s", used ? ", " : "", (*s)->name);
	}
	if (strpbrk(o->format, "./"))
		snprintf(hint, sizeof(hint), "to choose the file, use -o %.200s", o->format);
	else
		snprintf(hint, sizeof(hint), "formats: %.280s", known);
	return refuse(a, hint, "no format '%.60s'", o->format);
}

static bool choose_format(struct record_options *o, struct advice *a)
{
	if (o->format) {
		o->sink = sink_named(o->format);
		return o->sink || unknown_format(o, a);
	}
	if (o->output && sink_named(o->output)) {
		char hint[200];

		snprintf(hint, sizeof(hint), "for the format use -f %.60s; for a file of that name, -o ./%.60s",
			 o->output, o->output);
		return refuse(a, hint, "-o %.60s: that is the name of a format", o->output);
	}
	o->sink = o->output ? sink_for_path(o->output) : NULL;
	if (!o->sink)
		o->sink = sink_named("flamegraph");
	if (!o->sink)
		o->sink = sink_table[0];
	return true;
}

static bool choose_target(struct record_options *o, const struct options_rest *rest, struct advice *a)
{
	if (rest->operand && o->pid)
		return refuse(a, "to start a program, put -- before it", "'%.60s': a process was named before",
			      rest->operand);
	if (rest->operand && !options_pid(rest->operand, &o->pid))
		return refuse(a, "to start a program, put -- before it: cspy record -- COMMAND",
			      "'%.60s': not a process id", rest->operand);
	if (o->pid && rest->command)
		return refuse(a, "", "a process and a command: only one of them can be recorded");
	if (!o->pid && !rest->command)
		return refuse(a, "name a process (-p PID) or a program (-- COMMAND)", "nothing to record");
	o->argv = rest->command;
	if (o->blocking && o->nonblocking)
		return refuse(a, "", "--blocking and --nonblocking exclude each other");
	if (o->native && o->nonblocking)
		return refuse(a, "leave one of them out",
			      "--native and --nonblocking: a thread's registers can be read only while it is stopped");
	return true;
}

enum options_outcome record_options_parse(struct record_options *o, int argc, char **argv, struct advice *ret_advice)
{
	struct options_rest rest;

	*o = (struct record_options){ .rate = 100, .max_pause = 0.01, .depth = 4096 };
	*ret_advice = (struct advice){ 0 };
	options_parse(record_rows, argc, argv, o, &rest);
	if (rest.outcome == OPTIONS_WRONG)
		refuse(ret_advice, rest.hint, "%s", rest.why);
	if (rest.outcome != OPTIONS_RUN)
		return rest.outcome;
	if (!choose_target(o, &rest, ret_advice) || !choose_format(o, ret_advice))
		return OPTIONS_WRONG;
	return OPTIONS_RUN;
}
