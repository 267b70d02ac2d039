/* command.c - what every command can say about itself. */
#include <string.h>

#include "advice.h"
#include "command.h"

void command_help(FILE *out, const struct command *c)
{
	const char *way = c->usage, *lead = "usage:";

	while (*way) {
		size_t len = strcspn(way, "\n");

		fprintf(out, "%-6s cspy %s %.*s\n", lead, c->name, (int)len, way);
		way += len + (way[len] == '\n');
		lead = "";
	}
	fprintf(out, "\n%s\n", c->summary);
	options_print(out, c->options);
}

void command_version(FILE *out)
{
	fprintf(out, "cspy %s\n", CSPY_VERSION);
}

bool command_parse(const struct command *self, int argc, char **argv, void *values, struct options_rest *rest,
		   int *code)
{
	*code = EXIT_OK;
	options_parse(self->options, argc, argv, values, rest);
	switch (rest->outcome) {
	case OPTIONS_HELP_WANTED:
		command_help(stdout, self);
		break;
	case OPTIONS_VERSION_WANTED:
		command_version(stdout);
		break;
	case OPTIONS_WRONG:
		*code = advice_say(EXIT_USAGE, rest->why, rest->hint);
		break;
	case OPTIONS_RUN:
		return true;
	}
	return false;
}
