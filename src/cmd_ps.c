/* cmd_ps.c - cspy ps: which processes can be profiled. */
#include <string.h>

#include "advice.h"
#include "command.h"
#include "json.h"
#include "processes.h"
#include "utf8.h"

struct options {
	bool json;
};

static const struct option_row rows[] = {
	{ "json", 'j', OPTION_FLAG, offsetof(struct options, json), NULL, "for programs to read" },
	OPTION_ROW_HELP,
	OPTION_ROW_VERSION,
	{ 0 },
};

static void print_text(const struct processes *all)
{
	printf("%7s  %-18s %-12s %-20s %s\n", "PID", "RUNTIME", "USER", "CONTAINER", "COMMAND");
	for (size_t i = 0; i < all->count; i++) {
		const struct process *p = &all->list[i];
		char runtime[80];

		snprintf(runtime, sizeof(runtime), "%s %s", *p->about.name ? p->about.name : "?", p->about.version);
		printf("%7d  %-18s %-12s %-20s ", (int)p->pid, runtime, p->user, *p->container ? p->container : "-");
		utf8_put_plain(stdout, p->command);
		if (!*p->about.name) {
			fputs(" [", stdout);
			utf8_put_plain(stdout, p->why);
			putchar(']');
		}
		putchar('\n');
	}
}

static void put(const char *key, const char *v)
{
	putchar(',');
	json_key(stdout, key);
	json_text(stdout, v);
}

static void print_json(const struct processes *all)
{
	putchar('[');
	for (size_t i = 0; i < all->count; i++) {
		const struct process *p = &all->list[i];

		printf("%s{\"pid\":%d,\"ns_pid\":%d", i ? ",\n" : "", (int)p->pid, (int)p->ns_pid);
		put("runtime", p->about.name);
		put("version", p->about.version);
		put("flavour", p->about.flavour);
		put("user", p->user);
		put("container", p->container);
		put("command", p->command);
		put("error", *p->about.name ? "" : p->why);
		putchar('}');
	}
	puts("]");
}

static int ps(const struct options *o)
{
	struct processes all;
	struct advice a = { 0 };
	struct err e = processes_find(&all);

	if (failed(e)) {
		snprintf(a.text, sizeof(a.text), "%s: %s", e.what, strerror(e.os));
		advice_print(stderr, &a);
		return EXIT_FAILED;
	}
	(o->json ? print_json : print_text)(&all);
	if (all.denied) {
		snprintf(a.text, sizeof(a.text), "%zu process%s may not be read, and %s left out", all.denied,
			 all.denied == 1 ? "" : "es", all.denied == 1 ? "was" : "were");
		snprintf(a.hint, sizeof(a.hint), "cspy doctor -p PID says why");
		advice_print(stderr, &a);
	}
	processes_free(&all);
	return EXIT_OK;
}

static int ps_run(const struct command *self, int argc, char **argv)
{
	struct options o = { 0 };
	struct options_rest rest;
	int code;

	if (!command_parse(self, argc, argv, &o, &rest, &code))
		return code;
	if (rest.operand || rest.command)
		return advice_say(EXIT_USAGE, "ps takes no process: it lists all that can be profiled",
				  "for one process: cspy doctor PID");
	return ps(&o);
}

const struct command command_ps = {
	.name = "ps",
	.usage = "[OPTIONS]",
	.summary = "list the processes that can be profiled",
	.options = rows,
	.run = ps_run,
};
