/* command.c - what every command can say about itself. */
#include <string.h>

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
