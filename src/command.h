/* command.h - a row of the table of commands; one const row per src/cmd_NAME.c. */
#ifndef CSPY_COMMAND_H
#define CSPY_COMMAND_H

#include "options.h"

struct command {
	const char *name;
	const char *usage; /* what follows the name, one line for each way, separated by newlines */
	const char *summary;
	const struct option_row *options;
	/* argv[0] is the command's name. Returns the exit code (enum exit_code, or a launched child's). */
	int (*run)(const struct command *self, int argc, char **argv);
};

/* command.c */
/* Fill `values` from the command line. False: that was all, help was wanted or it is wrong; *code is the exit code. */
bool command_parse(const struct command *self, int argc, char **argv, void *values, struct options_rest *rest,
		   int *code);
void command_help(FILE *out, const struct command *c);
void command_version(FILE *out);

/* Generated from src/cmd_*.c; NULL-terminated. */
extern const struct command *const command_table[];

#endif
