/* cmd_dump.c - cspy dump: print what every thread of a process is doing now. */
#include <string.h>
#include <time.h>

#include "advice.h"
#include "command.h"
#include "debug_server.h"
#include "dump_tree.h"
#include "progress.h"
#include "starting.h"
#include "target_core.h"

enum { TRIES_FIRST = 10 }; /* for an interpreter, before a young process is taken for one that has none */

struct options {
	pid_t pid;
	bool json, subprocesses, debuginfod;
	const char *core, *exe; /* a core file, and the program's own file where it is not at its path */
	struct dump_options dump;
};

#define AT(field) offsetof(struct options, field)
static const struct option_row rows[] = {
	{ "pid", 'p', OPTION_PID, AT(pid), "PID", "the process; PID alone does, too" },
	{ "subprocesses", 's', OPTION_FLAG, AT(subprocesses), NULL,
	  "its children, too, and theirs; equal stacks once" },
	{ "locals", 'l', OPTION_FLAG, AT(dump.locals), NULL, "arguments and local variables of every frame" },
	{ "native", 'n', OPTION_FLAG, AT(dump.native), NULL, "native frames, too (C, C++, Rust, Go); of any process" },
	{ "debuginfod", 0, OPTION_FLAG, AT(debuginfod), NULL, "ask the servers in DEBUGINFOD_URLS for debug files" },
	{ "core", 'c', OPTION_STRING, AT(core), "CORE", "a core file, of a process that is no more" },
	{ "json", 'j', OPTION_FLAG, AT(json), NULL, "for programs to read" },
	{ "full-filenames", 0, OPTION_FLAG, AT(dump.full_filenames), NULL,
	  "whole paths, not only what tells files apart" },
	{ "nonblocking", 0, OPTION_FLAG, AT(dump.nonblocking), NULL, "do not pause the process; stacks may be torn" },
	OPTION_ROW_HELP,
	OPTION_ROW_VERSION,
	{ 0 },
};

static int explain(const struct advice_facts *f, struct err e, const char *why)
{
	struct advice a = { 0 };

	advice_attach(f, e, why, &a);
	advice_print(stderr, &a);
	return a.exit_code;
}

/* A process that was started a moment ago gets time to load its interpreter. */
static struct err take(const struct options *o, char *why, size_t cap, bool *readable, struct dump **ret)
{
	static const struct timespec nap = { 0, 10000000 };

	for (int tries = 0;; tries++) {
		struct dump_options wanted = o->dump;
		struct target *target = NULL;
		struct err e = target_open(o->pid, &target);

		wanted.any = wanted.native && (tries >= TRIES_FIRST || !starting_left(o->pid));

		why[0] = 0;
		*readable = !failed(e);
		if (!failed(e))
			e = dump_take(target, wanted, why, cap, ret);
		target_close(target);
		if (!failed(e) || !starting_may_pass(e) || !starting_left(o->pid))
			return e;
		nanosleep(&nap, NULL);
	}
}

static void print(const struct options *o, const struct dump *d)
{
	if (o->json)
		dump_json(stdout, d);
	else
		dump_text(stdout, d);
}

static int dump(const struct options *o)
{
	struct advice_facts facts;
	struct dump *d = NULL;
	char why[256] = "";
	bool readable;
	struct err e;
	int code = EXIT_OK;

	e = take(o, why, sizeof(why), &readable, &d);
	if (failed(e)) {
		advice_find_facts(o->pid, &facts); /* it may have ended since */
		facts.readable = readable;
		code = explain(&facts, e, why);
	} else {
		print(o, d);
	}
	dump_free(d);
	return code;
}

static int dump_core(struct options *o)
{
	struct advice a = { .exit_code = EXIT_UNSUPPORTED };
	struct target *t = NULL;
	struct dump *d = NULL;
	char why[256] = "";
	struct err e = target_open_core(o->core, o->exe, &t);

	o->dump.nonblocking = true; /* there is nothing that could run */
	if (!failed(e))
		e = dump_take(t, o->dump, why, sizeof(why), &d);
	if (failed(e)) {
		snprintf(a.text, sizeof(a.text), "%.200s: %s", o->core, *why ? why : e.os ? strerror(e.os) : e.what);
		if (e.os)
			a.exit_code = EXIT_FAILED;
		else if (t && !o->exe)
			snprintf(a.hint, sizeof(a.hint),
				 "the files that it had mapped are needed, unchanged; for the program's own: "
				 "cspy dump --core CORE EXE");
		advice_print(stderr, &a);
	} else {
		print(o, d);
	}
	dump_free(d);
	target_close(t);
	return failed(e) ? a.exit_code : EXIT_OK;
}

static int dump_tree(const struct options *o)
{
	struct dump_options wanted = o->dump;
	struct tree *t = NULL;
	struct err e;
	int code = EXIT_OK;

	wanted.any = wanted.native;
	e = tree_take(o->pid, wanted, &t);
	if (!failed(e) && !t->process_count)
		e = err_at(ERR_GONE, 0, "looking at the process");
	/* Nothing can be told of its children without a word about itself. */
	if (!failed(e) && t->process_count == 1 && t->processes[0].err.code == ERR_DENIED)
		e = t->processes[0].err;
	if (failed(e)) {
		struct advice_facts facts;

		advice_find_facts(o->pid, &facts);
		code = explain(&facts, e, "");
	} else if (o->json) {
		tree_json(stdout, t);
	} else {
		tree_text(stdout, t);
	}
	tree_free(t);
	return code;
}

/* With debug files from a server. */
static int dump_served(struct options *o)
{
	struct progress line;
	const char *why;
	int code;

	progress_init(&line, false, false);
	o->dump.debug_server = debug_server_open(progress_fetch, &line, &why);
	if (!o->dump.debug_server)
		fprintf(stderr, "cspy: --debuginfod: no debug files are asked for: %s\n", why);
	code = o->subprocesses ? dump_tree(o) : dump(o);
	progress_clear(&line);
	debug_server_close(o->dump.debug_server);
	return code;
}

static int dump_run(const struct command *self, int argc, char **argv)
{
	struct options o = { 0 };
	struct options_rest rest;
	int code;
	struct advice_facts facts;
	struct advice a = { 0 };

	if (!command_parse(self, argc, argv, &o, &rest, &code))
		return code;
	if (rest.command)
		return advice_say(EXIT_USAGE, "dump takes a running process, no command",
				  "to start a program: cspy record -- COMMAND");
	if (o.dump.native && (o.dump.nonblocking || o.core))
		return advice_say(EXIT_USAGE,
				  o.core ? "--native and --core: native frames are those of a live process"
					 : "--native and --nonblocking: a thread's registers can be read only while it "
					   "is stopped",
				  "");
	if (o.core) {
		o.exe = rest.operand;
		if (o.pid || o.subprocesses)
			return advice_say(EXIT_USAGE, "a core file and a process: one of them", "");
		return dump_core(&o);
	}
	if (rest.operand && (o.pid || !options_pid(rest.operand, &o.pid)))
		return advice_say(EXIT_USAGE, "dump takes one process id", "as in: cspy dump 4711");
	if (!o.pid)
		return advice_say(EXIT_USAGE, "nothing to dump", "name a process: -p PID");
	if (o.subprocesses && o.dump.locals && !o.json)
		return advice_say(EXIT_USAGE, "--locals with -s is for --json",
				  "stacks that are shown once have different variables");
	advice_find_facts(o.pid, &facts);
	if (advice_hopeless(&facts, &a)) {
		advice_print(stderr, &a);
		return a.exit_code;
	}
	if (o.debuginfod)
		return dump_served(&o);
	return o.subprocesses ? dump_tree(&o) : dump(&o);
}

const struct command command_dump = {
	.name = "dump",
	.usage = "[OPTIONS] -p PID\n[OPTIONS] --core CORE [EXECUTABLE]",
	.summary = "print what every thread of a process is doing now",
	.options = rows,
	.run = dump_run,
};
