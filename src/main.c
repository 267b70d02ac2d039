/* main.c - choose the command. */
#include <stdio.h>
#include <string.h>

#include "advice.h"
#include "command.h"

static const struct command *command_named(const char *name)
{
	for (const struct command *const *c = command_table; *c; c++)
		if (!strcmp((*c)->name, name))
			return *c;
	return NULL;
}

static void print_usage(FILE *out)
{
	fputs("cspy shows what a running program is doing, from outside.\n\n", out);
	for (const struct command *const *c = command_table; *c; c++)
		fprintf(out, "  cspy %-12s %s\n", (*c)->name, (*c)->summary);
	fputs("\ncspy COMMAND --help tells a command's options. cspy -p PID records.\n", out);
}

/* `cspy -p PID`, `cspy PID` and `cspy -- COMMAND` record, as people who come from other profilers type it. */
static bool means_record(const char *arg)
{
	pid_t pid;

	return arg[0] == '-' || options_pid(arg, &pid);
}

static int run(const struct command *c, int argc, char **argv)
{
	int code = c->run(c, argc, argv);

	/* What could not be printed was not done. */
	if ((fflush(stdout) || ferror(stdout)) && code == EXIT_OK) {
		fputs("cspy: standard output: it could not be written\n", stderr);
		code = EXIT_FAILED;
	}
	return code;
}

static int help(const char *name)
{
	const struct command *c = name ? command_named(name) : NULL;

	if (c)
		command_help(stdout, c);
	else
		print_usage(stdout);
	return EXIT_OK;
}

static int no_command(const char *name)
{
	struct advice a = { .exit_code = EXIT_USAGE };

	snprintf(a.text, sizeof(a.text), "no command '%.60s'", name);
	snprintf(a.hint, sizeof(a.hint), "cspy --help lists the commands; to start a program: cspy record -- %.60s",
		 name);
	advice_print(stderr, &a);
	return a.exit_code;
}

int main(int argc, char **argv)
{
	const struct command *c;

	if (argc < 2) {
		print_usage(stderr);
		return EXIT_USAGE;
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") || !strcmp(argv[1], "help"))
		return help(argc > 2 ? argv[2] : NULL);
	c = command_named(argv[1]);
	if (c)
		return run(c, argc - 1, argv + 1);
	c = means_record(argv[1]) ? command_named("record") : NULL;
	return c ? run(c, argc, argv) : no_command(argv[1]);
}
