/* cmd_top.c - cspy top: what a process is doing, right now and on. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "launch.h"
#include "sampling.h"
#include "terminal.h"
#include "top.h"

enum {
	BATCH_COLUMNS = 120, /* where COLUMNS does not say */
	BATCH_PROCESSES = 20,
	BATCH_THREADS = 20,
	BATCH_FUNCTIONS = 40,
	BATCH_REST = 14, /* rows that are neither */
	DELAY_LEAST_NS = 10000000,
};

#define AT(field) offsetof(struct top_options, field)
static const struct option_row rows[] = {
	{ NULL, 0, OPTION_GROUP, 0, NULL, "What to watch" },
	{ "pid", 'p', OPTION_PID, AT(pid), "PID", "a running process; PID alone does, too" },
	{ "as-root", 0, OPTION_FLAG, AT(as_root), NULL, "under sudo: start the COMMAND as root, not as the user" },
	{ "subprocesses", 's', OPTION_FLAG, AT(subprocesses), NULL,
	  "its children, too, and theirs, as they come and go" },
	{ "duration", 'd', OPTION_DURATION, AT(duration_ns), "TIME", "30, 30s, 2m, 1h; default: until q or Ctrl-C" },
	{ "rate", 'r', OPTION_RATE, AT(rate), "RATE", "samples a second, as 100 or 1k; default: 100" },
	{ "idle", 'i', OPTION_FLAG, AT(idle), NULL, "count threads that wait or sleep, too" },
	{ "gil", 'g', OPTION_FLAG, AT(gil), NULL, "count only the thread that holds the interpreter's lock" },
	{ "native", 0, OPTION_FLAG, AT(native), NULL,
	  "native frames, too; any process, with an interpreter or without" },
	{ NULL, 0, OPTION_GROUP, 0, NULL, "What to show" },
	{ "lines", 'l', OPTION_FLAG, AT(lines), NULL, "lines instead of functions" },
	{ "filter", 0, OPTION_STRING, AT(filter), "REGEX", "only functions (and their files) that match" },
	{ "delay", 0, OPTION_DURATION, AT(delay_ns), "TIME", "between two updates; default: 1s" },
	{ "batch", 'b', OPTION_FLAG, AT(batch), NULL, "plain tables, one a delay; so it is without a terminal" },
	{ "count", 'n', OPTION_COUNT, AT(count), "N", "end after N tables (implies --batch)" },
	{ "once", 0, OPTION_FLAG, AT(once), NULL, "one table, after one delay" },
	{ "json", 'j', OPTION_FLAG, AT(json), NULL, "for programs to read: one object on a line for each table" },
	{ NULL, 0, OPTION_GROUP, 0, NULL, "How to read" },
	{ "max-pause", 0, OPTION_SHARE, AT(max_pause), "SHARE", "of the target's time, for pauses; default: 1%" },
	{ "max-overhead", 0, OPTION_SHARE, AT(max_overhead), "SHARE",
	  "of a core, for cspy itself; may lower the rate" },
	{ "blocking", 0, OPTION_FLAG, AT(blocking), NULL, "pause the target for every sample" },
	{ "nonblocking", 0, OPTION_FLAG, AT(nonblocking), NULL, "never pause the target" },
	{ "depth", 0, OPTION_COUNT, AT(depth), "N", "frames kept of a stack, from the leaf; default: 4096" },
	OPTION_ROW_HELP,
	OPTION_ROW_VERSION,
	{ 0 },
};

static int start_child(struct top *t)
{
	struct launch_options o = {
		.argv = t->o.argv,
		.signals = &t->session.saved,
		.as_root = t->o.as_root,
		.quiet = !t->o.batch,
	};
	struct err e = launch_start(&o, &t->child);
	char text[300];

	t->o.pid = t->child;
	if (!failed(e))
		return EXIT_OK;
	t->child = 0;
	snprintf(text, sizeof(text), "%.200s: %s: %s", t->o.argv[0], e.what, strerror(e.os));
	return advice_say(EXIT_NO_COMMAND, text, e.os == ENOENT ? "name a program on the PATH, or a path to it" : "");
}

/* ---- Tables without a terminal ---- */

static int batch_columns(void)
{
	const char *text = getenv("COLUMNS");
	long n = text ? strtol(text, NULL, 10) : 0;

	return n > 0 && n <= SCREEN_COLUMNS_MAX ? (int)n : BATCH_COLUMNS;
}

/* The screen that the terminal would show, as long as its tables are. */
static void print_table(struct top *t)
{
	struct page *p = &t->page;
	size_t threads = p->tallies.alive < BATCH_THREADS ? p->tallies.alive : BATCH_THREADS;
	size_t processes = p->roster.count < BATCH_PROCESSES ? p->roster.count : BATCH_PROCESSES;
	struct screen s;

	p->plain = true;
	p->processes_most = BATCH_PROCESSES;
	p->threads_most = BATCH_THREADS;
	screen_init(&s, BATCH_REST + (int)(processes + threads) + BATCH_FUNCTIONS, batch_columns(),
		    terminal_is_ascii());
	page_draw(p, &s);
	for (int y = 0, blank = 0; y < s.rows; y++) {
		CLEANUP(cleanup_free) char *text = screen_row(&s, y);

		for (blank += !*text; *text && blank; blank--)
			putchar('\n');
		if (*text)
			puts(text);
	}
	putchar('\n');
	screen_free(&s);
}

static void print(struct top *t)
{
	if (t->o.json)
		top_json(stdout, t);
	else
		print_table(t);
	fflush(stdout);
}

static void batch(struct top *t)
{
	size_t printed = 0;

	while (!t->ended && !ferror(stdout)) {
		enum recorder_event event = top_next(t);

		if (!t->begun_ns)
			t->update_ns = clock_now() + t->delay_ns;
		if (event != RECORDER_ENDED && !top_is_due(t))
			continue;
		if (event != RECORDER_ENDED)
			top_update(t);
		if (t->begun_ns && t->recorder.end != RECORDER_END_STOPPED)
			print(t);
		if (t->o.count && ++printed >= t->o.count)
			return;
	}
}

/* ---- The whole ---- */

static int explain(struct top *t, struct err e)
{
	struct advice a;

	sampling_explain(&t->recorder, e, t->child, t->child ? t->o.argv[0] : "", &a);
	advice_print(stderr, &a);
	return a.exit_code;
}

static int finish(struct top *t)
{
	bool exited = t->recorder.end == RECORDER_END_EXITED;
	int code = t->child && exited ? launch_status(t->child, true) : -1;

	if (t->child && !exited)
		fprintf(stderr, "cspy: process %d is still running\n", (int)t->child);
	if (code >= 0)
		return code;
	if (t->o.subprocesses && !t->profile->stats.processes)
		return EXIT_UNSUPPORTED;
	return exited && !t->profile->stats.ticks ? EXIT_GONE : EXIT_OK;
}

static int watch(struct top *t)
{
	struct err e = session_open(&t->session);
	int code = EXIT_OK;

	if (failed(e))
		return advice_say(EXIT_FAILED, e.what, "");
	if (t->o.argv)
		code = start_child(t);
	if (code != EXIT_OK)
		return code;
	e = top_begin(t);
	if (failed(e))
		return explain(t, e);
	if (t->o.filter)
		page_filter_set(&t->page, t->o.filter);
	if (*t->page.message)
		return advice_say(EXIT_USAGE, t->page.message, "");
	if (t->o.batch)
		batch(t);
	else
		e = top_live(t);
	if (failed(e))
		return advice_say(EXIT_FAILED, e.what, "-b prints plain tables");
	if (t->recorder.end == RECORDER_END_LOST && !t->recorder.started_ns)
		return explain(t, t->recorder.root.error);
	return finish(t);
}

static int choose(struct top_options *o, const struct options_rest *rest)
{
	if (rest->operand && (o->pid || !options_pid(rest->operand, &o->pid)))
		return advice_say(EXIT_USAGE, "top takes one process id",
				  "as in: cspy top 4711; to start a program: cspy top -- COMMAND");
	if (o->pid && rest->command)
		return advice_say(EXIT_USAGE, "a process and a command: only one of them can be watched", "");
	if (!o->pid && !rest->command)
		return advice_say(EXIT_USAGE, "nothing to watch", "name a process (-p PID) or a program (-- COMMAND)");
	if (o->blocking && o->nonblocking)
		return advice_say(EXIT_USAGE, "--blocking and --nonblocking exclude each other", "");
	if (o->native && o->nonblocking)
		return advice_say(
			EXIT_USAGE,
			"--native and --nonblocking: a thread's registers can be read only while it is stopped",
			"leave one of them out");
	if (o->delay_ns < DELAY_LEAST_NS)
		return advice_say(EXIT_USAGE, "--delay: from 10ms on", "");
	o->argv = rest->command;
	if (o->once)
		o->count = 1;
	o->batch |= o->count || o->json;
	return EXIT_OK;
}

static int top_main(struct top *t)
{
	const char *why = terminal_why_not();
	struct advice a;
	int code;

	/* A screen that can't be drawn is a table that can be printed; only where that may surprise it is told. */
	if (*why && !t->o.batch && isatty(STDOUT_FILENO))
		fprintf(stderr, "cspy: plain tables: %s\n", why);
	t->o.batch |= *why != 0;
	if (t->o.pid && sampling_hopeless(t->o.pid, &a)) {
		advice_print(stderr, &a);
		return a.exit_code;
	}
	code = watch(t);
	recorder_close(&t->recorder);
	if (t->session.signals >= 0)
		session_close(&t->session);
	if (t->profile)
		page_free(&t->page);
	sampling_profile_free(t->profile);
	return code;
}

static int top_run(const struct command *self, int argc, char **argv)
{
	struct top t = {
		.session = { .signals = -1, .pidfd = -1, .keys = -1 },
		.o = { .rate = 100, .max_pause = 0.01, .depth = 4096, .delay_ns = 1000000000 },
	};
	struct options_rest rest;
	int code;

	if (!command_parse(self, argc, argv, &t.o, &rest, &code))
		return code;
	code = choose(&t.o, &rest);
	return code == EXIT_OK ? top_main(&t) : code;
}

const struct command command_top = {
	.name = "top",
	.usage = "[OPTIONS] -p PID\n[OPTIONS] -- COMMAND [ARGUMENTS]",
	.summary = "show live what a process is doing, function by function and thread by thread",
	.options = rows,
	.run = top_run,
};
