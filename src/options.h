/* options.h - a command's options as one table: parsing, help, man page and completions come from it. */
#ifndef CSPY_OPTIONS_H
#define CSPY_OPTIONS_H

#include <stdio.h>

#include "cspy/base.h"

enum option_kind {
	OPTION_GROUP,	 /* no option: a heading, in .help */
	OPTION_FLAG,	 /* bool */
	OPTION_STRING,	 /* const char *, borrowed from argv */
	OPTION_PID,	 /* pid_t; given twice it is an error */
	OPTION_RATE,	 /* double, a second: 100, 2.5k, 10khz */
	OPTION_DURATION, /* uint64_t, ns: 30, 30s, 500ms, 2m, 1h; "unlimited" is 0 */
	OPTION_SHARE,	 /* double, 0..1: 1 and 1% are both 0.01 */
	OPTION_COUNT,	 /* size_t, 1 to OPTION_COUNT_MAX */
	OPTION_HELP,
	OPTION_VERSION,
};

enum {
	OPTION_RATE_MAX = 1000000,
	OPTION_COUNT_MAX = 65535,
	OPTIONS_MAX = 64, /* rows of one table */
};

/* A table ends with a row of zeros. */
struct option_row {
	const char *name; /* --NAME */
	char letter;	  /* 0: none */
	uint8_t kind;	  /* enum option_kind */
	uint16_t at;	  /* offset of the value in the command's struct */
	const char *arg;  /* how the help calls the value */
	const char *help;
};

#define OPTION_ROW_HELP                                                                                                \
	{                                                                                                              \
		"help", 'h', OPTION_HELP, 0, NULL, "print this help"                                                   \
	}
#define OPTION_ROW_VERSION                                                                                             \
	{                                                                                                              \
		"version", 'V', OPTION_VERSION, 0, NULL, "print the version"                                           \
	}

enum options_outcome {
	OPTIONS_RUN,
	OPTIONS_HELP_WANTED,
	OPTIONS_VERSION_WANTED,
	OPTIONS_WRONG, /* .why and .hint are for the user */
};

struct options_rest {
	enum options_outcome outcome;
	const char *operand; /* the one argument that is no option, or NULL */
	char **command;	     /* what follows "--", NULL-terminated; NULL without "--" */
	char why[200];
	char hint[200]; /* "" when there is nothing to advise */
};

/*
 * Fill the struct at `values` (defaults set by the caller) from argv. Options may follow operands; "--" ends
 * them. argv is not reordered and must outlive the values.
 */
void options_parse(const struct option_row *rows, int argc, char **argv, void *values, struct options_rest *ret);
void options_print(FILE *out, const struct option_row *rows);
/* A process id as users write it; false when it is none. */
bool options_pid(const char *text, pid_t *ret);

#endif
