/* cmd_record.c - cspy record: sample a process for a while and write what was seen. */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "command.h"
#include "debug_server.h"
#include "family.h"
#include "launch.h"
#include "output.h"
#include "progress.h"
#include "record_options.h"
#include "roles.h"
#include "sampling.h"
#include "stats.h"

/* Everything that one recording needs; nothing outlives it. */
struct record {
	struct record_options o;
	pid_t child;
	char *path, *stats_path;
	struct profile *profile;
	struct session session;
	struct recorder recorder;
	struct progress progress;
	struct debug_server *debug_server;
};

static void note(struct record *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* What is good to know; nothing of it is a failure. */
static void note(struct record *r, const char *fmt, ...)
{
	struct advice a = { 0 };
	va_list args;

	if (r->o.quiet)
		return;
	va_start(args, fmt);
	vsnprintf(a.text, sizeof(a.text), fmt, args);
	va_end(args);
	progress_clear(&r->progress);
	advice_print(stderr, &a);
}

static int fail(struct record *r, int code, const char *hint, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

static int fail(struct record *r, int code, const char *hint, const char *fmt, ...)
{
	struct advice a = { 0 };
	va_list args;

	va_start(args, fmt);
	vsnprintf(a.text, sizeof(a.text), fmt, args);
	va_end(args);
	snprintf(a.hint, sizeof(a.hint), "%s", hint);
	progress_clear(&r->progress);
	advice_print(stderr, &a);
	return code;
}

/* ---- Files ---- */

static char *path_for(struct record *r, const char *pattern)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	/* The child has no id yet when its output is checked; its own does as well. */
	return output_name(pattern, r->o.pid ? r->o.pid : getpid(),
			   (uint64_t)now.tv_sec * 1000000000ull + (uint64_t)now.tv_nsec);
}

static void choose_paths(struct record *r)
{
	CLEANUP(cleanup_free) char *pattern = NULL;

	free(r->path);
	free(r->stats_path);
	if (!r->o.output)
		pattern = xasprintf("cspy-%%p-%%t%s", r->o.sink->extension ? r->o.sink->extension : "");
	r->path = path_for(r, r->o.output ? r->o.output : pattern);
	r->stats_path = r->o.stats ? path_for(r, r->o.stats) : NULL;
}

static int file_failed(struct record *r, const char *path, struct err e)
{
	const char *hint = "";

	if (e.os == ENOENT)
		hint = "make the folder first";
	else if (e.os == ENOSPC)
		hint = "nothing was left behind; choose another place with -o";
	else if (e.os == EACCES || e.os == EROFS || e.os == EPERM)
		hint = "choose another place with -o";
	return fail(r, EXIT_FAILED, hint, "%.300s: %s: %s", strcmp(path, "-") ? path : "standard output", e.what,
		    strerror(e.os));
}

/* Before any work is done for nothing. */
static int check_files(struct record *r)
{
	struct err e;

	choose_paths(r);
	e = output_check(r->path);
	if (failed(e))
		return file_failed(r, r->path, e);
	e = r->stats_path ? output_check(r->stats_path) : OK;
	return failed(e) ? file_failed(r, r->stats_path, e) : EXIT_OK;
}

static int write_profile(struct record *r)
{
	struct sink_options o = { r->o.function, r->o.no_lines, r->o.full_filenames, r->o.title };
	struct output out;
	struct err e = output_open(r->path, &out);

	if (!failed(e)) {
		profile_write(r->profile, r->o.sink, &o, out.stream);
		e = output_commit(&out);
	}
	return failed(e) ? file_failed(r, r->path, e) : EXIT_OK;
}

static int write_stats(struct record *r)
{
	struct output out;
	struct err e;

	if (!r->stats_path)
		return EXIT_OK;
	e = output_open(r->stats_path, &out);
	if (!failed(e)) {
		stats_json(out.stream, r->profile);
		e = output_commit(&out);
	}
	return failed(e) ? file_failed(r, r->stats_path, e) : EXIT_OK;
}

/* ---- While it runs ---- */

static void draw_progress(struct record *r)
{
	const struct profile_stats *s = &r->profile->stats;
	const struct recorder *rec = &r->recorder;
	const struct watch *w = recorder_watched(rec);
	double seconds = (double)recorder_elapsed(rec) * 1e-9;
	char text[256], more[64] = "", held[64] = "";

	if (r->o.subprocesses)
		snprintf(more, sizeof(more), " and %zu children", rec->children.count);
	if (rec->held_back >= 1)
		snprintf(held, sizeof(held), ", the rate kept at %.3g a second", (double)s->ticks / seconds);
	if (!w)
		snprintf(text, sizeof(text), "cspy: waiting for the interpreter of process %d%s", (int)rec->root.pid,
			 more);
	else
		snprintf(text, sizeof(text),
			 "cspy: process %d%s, %s %s: %.0f s, %llu samples, %llu failed%s; Ctrl-C writes %s",
			 (int)rec->root.pid, more, w->about.name, w->about.version, seconds,
			 (unsigned long long)s->samples, (unsigned long long)stats_failed(s), held, r->path);
	progress_draw(&r->progress, text);
}

static void snapshot(struct record *r)
{
	if (!output_is_file(r->path))
		note(r, "no snapshot: %s is no file, and gets the whole at the end", r->path);
	else if (write_profile(r) == EXIT_OK)
		note(r, "wrote a snapshot to %s; recording goes on", r->path);
}

static void sample(struct record *r)
{
	enum recorder_event event = RECORDER_PROGRESS;

	sampling_describe(r->profile, &r->recorder);
	while (event != RECORDER_ENDED) {
		event = recorder_next(&r->recorder);
		if (event == RECORDER_SNAPSHOT)
			snapshot(r);
		sampling_describe(r->profile, &r->recorder);
		if (event != RECORDER_ENDED)
			draw_progress(r);
	}
	progress_clear(&r->progress);
}

/* ---- The end ---- */

/* Nominal, unless looks were so far apart that a sample stands for more. */
static void set_interval(struct record *r)
{
	struct profile_stats *s = &r->profile->stats;
	double nominal = 1e9 / r->o.rate;
	double real = s->ticks ? (double)s->wall_ns / (double)s->ticks : nominal;

	r->profile->interval_ns = (uint64_t)(real > nominal * 1.05 ? real : nominal);
}

static void note_end(struct record *r)
{
	const struct recorder *rec = &r->recorder;

	if (rec->root.execs)
		note(r, "process %d began to run another program (exec) after %.1f s%s", (int)rec->root.pid,
		     (double)(rec->root.exec_ns - rec->started_ns) * 1e-9,
		     rec->end == RECORDER_END_LOST ? "" : "; both are in the profile");
	if (rec->end == RECORDER_END_EXITED && rec->started_ns)
		note(r, "process %d has ended", (int)rec->root.pid);
	if (rec->end == RECORDER_END_LOST && rec->started_ns)
		note(r, "process %d can't be read any more: %s", (int)rec->root.pid,
		     *rec->root.why ? rec->root.why : rec->root.error.what);
	if (r->child && rec->end != RECORDER_END_EXITED)
		note(r, "process %d is still running", (int)rec->root.pid);
}

static void note_children(struct record *r)
{
	const struct children *c = &r->recorder.children;

	if (!r->o.subprocesses)
		return;
	note(r, "%llu children were seen, %llu of them with an interpreter", (unsigned long long)c->seen,
	     (unsigned long long)c->attached);
	if (c->denied)
		note(r, "%llu children could not be read: no permission", (unsigned long long)c->denied);
	if (c->left_out)
		note(r, "%llu children were left out: too many at once", (unsigned long long)c->left_out);
}

static const char *why_empty(const struct record *r)
{
	const struct profile_stats *s = &r->profile->stats;

	if (r->o.subprocesses && !s->processes)
		return "neither the process nor a child of it ran an interpreter that cspy knows";
	if (!s->ticks)
		return "the process ended before the first look";
	if (stats_failed(s))
		return "no stack could be read";
	if (s->idle)
		return r->o.gil ? "no thread held the lock (-i counts those that wait)"
				: "all threads were idle all the time (-i counts them)";
	if (r->o.native)
		return "no thread ran (a sleeping one is not stopped, and has no native stack)";
	return r->o.gil ? "no thread held the lock" : "no thread ran code of the interpreter";
}

/* A debugger keeps others from stopping its target, but not from reading it. */
static void note_tracer(struct record *r)
{
	const struct profile_stats *s = &r->profile->stats;
	struct advice_facts facts;

	if (!s->pause_failed || s->paused)
		return;
	advice_find_facts(r->recorder.root.pid, &facts);
	if (facts.tracer)
		note(r, "process %d could not be paused: process %d (%s) traces it; it was read while it ran",
		     (int)r->recorder.root.pid, (int)facts.tracer, facts.tracer_name);
}

/* A server's first process often only waits for its workers. */
static void note_workers(struct record *r)
{
	struct family f;

	if (r->o.subprocesses || failed(family_open(&f, r->recorder.root.pid)))
		return;
	if (!failed(family_update(&f, clock_now())) && f.joined_count)
		note(r, "process %d has %zu child process%s: -s records them, too", (int)r->recorder.root.pid,
		     f.joined_count, f.joined_count == 1 ? "" : "es");
	family_close(&f);
}

static void summarise(struct record *r)
{
	uint64_t samples = r->profile->stats.samples;

	note_end(r);
	note_children(r);
	note_tracer(r);
	if (!samples)
		note(r, "no samples: %s", why_empty(r));
	if (!samples)
		note_workers(r);
	if (r->o.quiet)
		return;
	note(r, "wrote %s (%s, %llu samples)", strcmp(r->path, "-") ? r->path : "standard output", r->o.sink->name,
	     (unsigned long long)samples);
	stats_print(stderr, r->profile);
}

/* Nothing was ever read: there is nothing to write, only to explain. */
static int explain(struct record *r, struct err e)
{
	struct advice a;

	sampling_explain(&r->recorder, e, r->child, r->child ? r->o.argv[0] : "", &a);
	progress_clear(&r->progress);
	advice_print(stderr, &a);
	return a.exit_code;
}

static int finish(struct record *r)
{
	const struct recorder *rec = &r->recorder;
	int code, child = -1;

	if (r->child && rec->end == RECORDER_END_EXITED)
		child = launch_status(r->child, true);
	set_interval(r);
	/* From here on a signal ends cspy, and no half-written file stays. */
	session_close(&r->session);
	code = write_profile(r);
	if (code == EXIT_OK)
		code = write_stats(r);
	if (code != EXIT_OK)
		return code;
	summarise(r);
	if (child >= 0)
		return child;
	if (r->o.subprocesses && !r->profile->stats.processes)
		return EXIT_UNSUPPORTED;
	return rec->end == RECORDER_END_EXITED && !r->profile->stats.ticks ? EXIT_GONE : EXIT_OK;
}

/* ---- The whole ---- */

static int start_child(struct record *r)
{
	struct launch_options o = { .argv = r->o.argv, .signals = &r->session.saved, .as_root = r->o.as_root };
	struct err e = launch_start(&o, &r->child);

	if (failed(e)) {
		r->child = 0;
		return fail(r, EXIT_NO_COMMAND, e.os == ENOENT ? "name a program on the PATH, or a path to it" : "",
			    "%.200s: %s: %s", r->o.argv[0], e.what, strerror(e.os));
	}
	r->o.pid = r->child;
	choose_paths(r);
	return EXIT_OK;
}

static int check_process(struct record *r)
{
	struct advice a;

	if (!sampling_hopeless(r->o.pid, &a))
		return EXIT_OK;
	advice_print(stderr, &a);
	return a.exit_code;
}

static struct recorder_options recorder_options(const struct record *r)
{
	const struct record_options *o = &r->o;

	return (struct recorder_options){
		.sampler = { .pause = o->blocking      ? PAUSE_ALWAYS
				      : o->nonblocking ? PAUSE_NEVER
				      : o->native      ? PAUSE_EACH
						       : PAUSE_BUDGET,
			     .max_pause = o->max_pause,
			     .native = o->native,
			     .idle = o->idle,
			     .lock_only = o->gil,
			     .threads = o->threads,
			     .function_only = o->function,
			     .depth = o->depth,
			     .debug_server = r->debug_server },
		.rate = o->rate,
		.max_overhead = o->max_overhead,
		.duration_ns = o->duration_ns,
		.launched = r->child != 0,
		.subprocesses = o->subprocesses,
	};
}

static void tell_debug_files(struct record *r)
{
	unsigned asked, came;

	if (!r->debug_server)
		return;
	debug_server_count(r->debug_server, &asked, &came);
	if (asked)
		note(r, "debug files by debuginfod: %u asked for, %u came", asked, came);
}

static void open_debug_server(struct record *r)
{
	const char *why;

	if (!r->o.debuginfod)
		return;
	r->debug_server = debug_server_open(progress_fetch, &r->progress, &why);
	if (!r->debug_server)
		note(r, "--debuginfod: no debug files are asked for: %s", why);
}

static int record(struct record *r)
{
	struct recorder_options o;
	struct err e;
	int code = check_files(r);

	if (code == EXIT_OK && !r->o.argv)
		code = check_process(r);
	if (code != EXIT_OK)
		return code;
	e = session_open(&r->session);
	if (failed(e))
		return fail(r, EXIT_FAILED, "", "%s: %s", e.what, strerror(e.os));
	if (r->o.argv)
		code = start_child(r);
	if (code != EXIT_OK)
		return code;
	r->profile = sampling_profile_new(r->o.pid, r->o.rate, r->o.gil ? "gil" : r->o.idle ? "wall" : "cpu");
	r->profile->keep_runs = r->o.sink->needs_runs;
	progress_init(&r->progress, r->o.quiet, r->child != 0);
	open_debug_server(r);
	o = recorder_options(r);
	e = recorder_open(&r->recorder, &o, &r->session, r->profile, r->o.pid);
	if (failed(e))
		return explain(r, e);
	sample(r);
	tell_debug_files(r);
	if (r->recorder.end == RECORDER_END_LOST && !r->recorder.started_ns)
		return explain(r, r->recorder.root.error);
	return finish(r);
}

static void print_help(const struct command *self)
{
	command_help(stdout, self);
	fputs("\nFormats:\n", stdout);
	for (const struct sink_ops *const *s = sink_table; *s; s++)
		fprintf(stdout, "  %-12s %s\n", (*s)->name, (*s)->help);
}

static int record_run(const struct command *self, int argc, char **argv)
{
	struct record r = { .session = { .signals = -1, .pidfd = -1, .keys = -1 } };
	struct advice a;
	int code;

	switch (record_options_parse(&r.o, argc, argv, &a)) {
	case OPTIONS_HELP_WANTED:
		print_help(self);
		return EXIT_OK;
	case OPTIONS_VERSION_WANTED:
		command_version(stdout);
		return EXIT_OK;
	case OPTIONS_WRONG:
		advice_print(stderr, &a);
		return a.exit_code;
	case OPTIONS_RUN:
		break;
	}
	code = record(&r);
	recorder_close(&r.recorder);
	debug_server_close(r.debug_server);
	if (r.session.signals >= 0)
		session_close(&r.session);
	sampling_profile_free(r.profile);
	free(r.path);
	free(r.stats_path);
	return code;
}

const struct command command_record = {
	.name = "record",
	.usage = "[OPTIONS] -p PID\n[OPTIONS] -- COMMAND [ARGUMENTS]",
	.summary = "sample a process and write a flame graph or another profile",
	.options = record_rows,
	.run = record_run,
};
