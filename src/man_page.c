/* man_page.c - cspy(1), made from the tables of commands, options and formats. */
#include <string.h>

#include "completions.h"
#include "cspy/sink.h"

/* A dash is a hyphen unless it is escaped, a dot or quote at the start of a line is a request, a backslash begins one.
 */
static void put(FILE *out, const char *text)
{
	for (; *text; text++) {
		if (*text == '-' || *text == '\\')
			fprintf(out, *text == '-' ? "\\-" : "\\e");
		else if (*text == '.' || *text == '\'')
			fprintf(out, "\\&%c", *text);
		else
			fputc(*text, out);
	}
}

static void put_usage(FILE *out, const struct command *c)
{
	for (const char *way = c->usage; *way;) {
		size_t len = strcspn(way, "\n");
		char one[200];

		snprintf(one, sizeof(one), "%.*s", (int)len, way);
		fprintf(out, ".B cspy %s\n", c->name);
		put(out, one);
		fputs("\n.br\n", out);
		way += len + (way[len] == '\n');
	}
}

static void put_option(FILE *out, const struct option_row *row)
{
	fputs(".TP\n\\fB", out);
	if (row->letter)
		fprintf(out, "\\-%c\\fR, \\fB", row->letter);
	fputs("\\-\\-", out);
	put(out, row->name);
	fputs("\\fR", out);
	if (row->arg)
		fprintf(out, " \\fI%s\\fR", row->arg);
	fputc('\n', out);
	put(out, row->help);
	fputc('\n', out);
}

static void put_command(FILE *out, const struct command *c)
{
	fprintf(out, ".SS cspy %s\n", c->name);
	put(out, c->summary);
	fputc('\n', out);
	for (const struct option_row *row = c->options; row->help; row++) {
		if (row->name)
			put_option(out, row);
		else
			fprintf(out, ".PP\n.I %s:\n", row->help);
	}
}

static const char ending[] =
	".SH SIGNALS\n"
	"SIGINT, SIGTERM and SIGHUP end a recording and write it; a second one ends cspy at once. SIGUSR1 writes what\n"
	"there is and goes on.\n"
	".SH EXIT STATUS\n"
	"0 done, 1 failed, 2 wrong usage, 3 no permission, 4 no interpreter that cspy knows, 5 the process had ended;\n"
	"a started program\\(aqs own status when it ends by itself, 127 when it could not be started.\n"
	".SH PERMISSION\n"
	"Reading another process takes what a debugger needs: root, CAP_SYS_PTRACE, or the same user where\n"
	"kernel.yama.ptrace_scope is 0.\n"
	".B cspy doctor\n"
	"says which of these is missing.\n"
	".SH SEE ALSO\n"
	".BR gdb (1),\n"
	".BR perf (1),\n"
	".BR ptrace (2)\n";

void man_page(FILE *out)
{
	fprintf(out,
		".TH CSPY 1 \"\" \"cspy %s\" \"User Commands\"\n"
		".SH NAME\ncspy \\- show what a running program is doing, from outside\n.SH SYNOPSIS\n",
		CSPY_VERSION);
	for (const struct command *const *c = command_table; *c; c++)
		put_usage(out, *c);
	fputs(".SH DESCRIPTION\n"
	      "cspy reads the memory of a running process, finds its interpreter\\(aqs frames and counts the stacks "
	      "that\n"
	      "it saw. Nothing is loaded into the program, nothing is written into it, and it need not be restarted.\n"
	      ".SH COMMANDS\n",
	      out);
	for (const struct command *const *c = command_table; *c; c++)
		put_command(out, *c);
	fputs(".SH FORMATS\n", out);
	for (const struct sink_ops *const *s = sink_table; *s; s++) {
		fprintf(out, ".TP\n.B %s\n", (*s)->name);
		put(out, (*s)->help);
		fputc('\n', out);
	}
	fputs(ending, out);
}
