/* cmd_completions.c - cspy completions: what shells and man(1) want to know. */
#include <string.h>

#include "advice.h"
#include "completions.h"

static const struct option_row rows[] = {
	OPTION_ROW_HELP,
	OPTION_ROW_VERSION,
	{ 0 },
};

static const struct {
	const char *name;
	void (*write)(FILE *out);
} kinds[] = {
	{ "bash", completions_bash },
	{ "zsh", completions_zsh },
	{ "fish", completions_fish },
	{ "man", man_page },
};

static int completions_run(const struct command *self, int argc, char **argv)
{
	struct options_rest rest;
	int code;
	char none[1]; /* of values */

	if (!command_parse(self, argc, argv, none, &rest, &code))
		return code;
	for (size_t i = 0; rest.operand && i < countof(kinds); i++) {
		if (strcmp(rest.operand, kinds[i].name) != 0)
			continue;
		kinds[i].write(stdout);
		return EXIT_OK;
	}
	return advice_say(EXIT_USAGE, "completions are for bash, zsh or fish; man is the manual page",
			  "as in: cspy completions bash > /usr/share/bash-completion/completions/cspy");
}

const struct command command_completions = {
	.name = "completions",
	.usage = "bash|zsh|fish|man",
	.summary = "print the completions of a shell, or the manual page",
	.options = rows,
	.run = completions_run,
};
