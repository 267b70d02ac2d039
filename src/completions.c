/* completions.c - completions for bash, zsh and fish, made from the tables of commands and options. */
#include <string.h>

#include "completions.h"
#include "cspy/sink.h"

enum value_kind completions_value(const struct option_row *row)
{
	if (!row->arg)
		return VALUE_NONE;
	if (row->kind == OPTION_PID)
		return VALUE_PID;
	if (!strcmp(row->arg, "FILE") || !strcmp(row->arg, "CORE"))
		return VALUE_FILE;
	return !strcmp(row->arg, "FORMAT") ? VALUE_FORMAT : VALUE_OTHER;
}

/* The text between single quotes, with what each shell wants before the characters of `special`. */
static void put_quoted(FILE *out, const char *text, const char *quote, const char *special)
{
	for (; *text; text++) {
		if (*text == '\'')
			fputs(quote, out);
		else if (strchr(special, *text))
			fprintf(out, "\\%c", *text);
		else
			fputc(*text, out);
	}
}

static void put_formats(FILE *out)
{
	for (const struct sink_ops *const *s = sink_table; *s; s++)
		fprintf(out, "%s%s", s == sink_table ? "" : " ", (*s)->name);
}

static void put_commands(FILE *out)
{
	for (const struct command *const *c = command_table; *c; c++)
		fprintf(out, "%s%s", c == command_table ? "" : " ", (*c)->name);
}

/* ---- bash ---- */

/* "dump,-p|dump,--pid": the command and the option before the cursor, for all options with such a value. */
static void put_patterns(FILE *out, const struct command *c, enum value_kind kind)
{
	const char *bar = "";

	for (const struct option_row *row = c->options; row->help; row++) {
		if (!row->name || completions_value(row) != kind)
			continue;
		if (row->letter)
			fprintf(out, "%s%s,-%c|", bar, c->name, row->letter);
		fprintf(out, "%s%s,--%s", row->letter ? "" : bar, c->name, row->name);
		bar = "|";
	}
}

static bool has_value(const struct command *c, enum value_kind kind)
{
	for (const struct option_row *row = c->options; row->help; row++)
		if (row->name && completions_value(row) == kind)
			return true;
	return false;
}

static void bash_values(FILE *out, const struct command *c, enum value_kind kind, const char *words)
{
	if (!has_value(c, kind))
		return;
	fputc('\t', out);
	put_patterns(out, c, kind);
	fprintf(out, ") %s; return ;;\n", words);
}

void completions_bash(FILE *out)
{
	fputs("# bash completion for cspy, made by `cspy completions bash`\n"
	      "_cspy() {\n"
	      "\tlocal cur=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} i\n"
	      "\tlocal command=${COMP_WORDS[1]} words=\n"
	      "\tCOMPREPLY=()\n"
	      "\tif [ \"$COMP_CWORD\" = 1 ]; then\n\t\tmapfile -t COMPREPLY < <(compgen -W '",
	      out);
	put_commands(out);
	fputs(" --help' -- \"$cur\")\n\t\treturn\n\tfi\n"
	      "\tfor ((i = 1; i < COMP_CWORD; i++)); do\n"
	      "\t\t[ \"${COMP_WORDS[i]}\" = -- ] || continue\n"
	      "\t\tif [ $((i + 1)) = \"$COMP_CWORD\" ]; then\n"
	      "\t\t\tmapfile -t COMPREPLY < <(compgen -c -- \"$cur\")\n"
	      "\t\telse\n\t\t\tmapfile -t COMPREPLY < <(compgen -f -- \"$cur\")\n\t\tfi\n"
	      "\t\treturn\n\tdone\n"
	      "\tcase $command,$before in\n",
	      out);
	for (const struct command *const *c = command_table; *c; c++) {
		bash_values(out, *c, VALUE_PID,
			    "mapfile -t COMPREPLY < <(compgen -W \"$(_cspy_processes)\" -- \"$cur\")");
		bash_values(out, *c, VALUE_FILE,
			    "compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- \"$cur\")");
		bash_values(out, *c, VALUE_FORMAT,
			    "mapfile -t COMPREPLY < <(compgen -W \"$(_cspy_formats)\" -- \"$cur\")");
		bash_values(out, *c, VALUE_OTHER, ":");
	}
	fputs("\tesac\n\tcase $command in\n", out);
	for (const struct command *const *c = command_table; *c; c++) {
		fprintf(out, "\t%s) words='", (*c)->name);
		for (const struct option_row *row = (*c)->options; row->help; row++)
			if (row->name)
				fprintf(out, "--%s ", row->name);
		fputs("' ;;\n", out);
	}
	fputs("\tesac\n"
	      "\tcase $cur in\n"
	      "\t-*) mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$cur\") ;;\n"
	      "\t*) mapfile -t COMPREPLY < <(compgen -W \"$(_cspy_processes)\" -- \"$cur\") ;;\n"
	      "\tesac\n}\n"
	      "_cspy_processes() { cspy ps 2>/dev/null | awk 'NR > 1 { print $1 }'; }\n"
	      "_cspy_formats() { echo '",
	      out);
	put_formats(out);
	fputs("'; }\ncomplete -F _cspy cspy\n", out);
}

/* ---- zsh ---- */

static void zsh_option(FILE *out, const struct option_row *row)
{
	static const char *const actions[] = {
		[VALUE_OTHER] = "",
		[VALUE_PID] = "_cspy_processes",
		[VALUE_FILE] = "_files",
		[VALUE_FORMAT] = "_cspy_formats",
	};
	enum value_kind kind = completions_value(row);

	fputs("\t\t\t", out);
	if (row->letter)
		fprintf(out, "'(-%c --%s)'{-%c,--%s}'[", row->letter, row->name, row->letter, row->name);
	else
		fprintf(out, "'--%s[", row->name);
	put_quoted(out, row->help, "'\\''", "[]:\\");
	fputc(']', out);
	if (kind != VALUE_NONE)
		fprintf(out, ":%s:%s", row->arg, actions[kind]);
	fputs("' \\\n", out);
}

void completions_zsh(FILE *out)
{
	fputs("#compdef cspy\n# made by `cspy completions zsh`\n"
	      "_cspy_processes() {\n"
	      "\tlocal -a found\n"
	      "\tfound=(${(f)\"$(cspy ps 2>/dev/null | awk 'NR > 1 { p = $1; $1 = \"\"; print p \":\" $0 }')\"})\n"
	      "\t_describe process found\n}\n"
	      "_cspy_formats() { _values format ",
	      out);
	put_formats(out);
	fputs("; }\n"
	      "_cspy() {\n\tlocal -a commands\n\tcommands=(\n",
	      out);
	for (const struct command *const *c = command_table; *c; c++) {
		fprintf(out, "\t\t'%s:", (*c)->name);
		put_quoted(out, (*c)->summary, "'\\''", ":\\");
		fputs("'\n", out);
	}
	fputs("\t)\n\tif ((CURRENT == 2)); then\n\t\t_describe command commands\n\t\treturn\n\tfi\n"
	      "\tlocal command=$words[2]\n\tshift words\n\t((CURRENT--))\n\tcase $command in\n",
	      out);
	for (const struct command *const *c = command_table; *c; c++) {
		fprintf(out, "\t%s)\n\t\t_arguments -s \\\n", (*c)->name);
		for (const struct option_row *row = (*c)->options; row->help; row++)
			if (row->name)
				zsh_option(out, row);
		fputs("\t\t\t'*:process:_cspy_processes'\n\t\t;;\n", out);
	}
	fputs("\tesac\n}\n_cspy \"$@\"\n", out);
}

/* ---- fish ---- */

static void fish_option(FILE *out, const struct command *c, const struct option_row *row)
{
	static const char *const values[] = {
		[VALUE_NONE] = "",
		[VALUE_OTHER] = " -x",
		[VALUE_PID] = " -x -a '(__cspy_processes)'",
		[VALUE_FILE] = " -r -F",
	};
	enum value_kind kind = completions_value(row);

	fprintf(out, "complete -c cspy -n '__fish_seen_subcommand_from %s' -l %s", c->name, row->name);
	if (row->letter)
		fprintf(out, " -s %c", row->letter);
	if (kind == VALUE_FORMAT) {
		fputs(" -x -a '", out);
		put_formats(out);
		fputc('\'', out);
	} else {
		fputs(values[kind], out);
	}
	fputs(" -d '", out);
	put_quoted(out, row->help, "\\'", "\\");
	fputs("'\n", out);
}

void completions_fish(FILE *out)
{
	fputs("# fish completion for cspy, made by `cspy completions fish`\n"
	      "function __cspy_processes\n"
	      "    cspy ps 2>/dev/null | awk 'NR > 1 { p = $1; $1 = \"\"; print p \"\\t\" $0 }'\nend\n"
	      "complete -c cspy -f\n",
	      out);
	for (const struct command *const *c = command_table; *c; c++) {
		fprintf(out, "complete -c cspy -n __fish_use_subcommand -a %s -d '", (*c)->name);
		put_quoted(out, (*c)->summary, "\\'", "\\");
		fputs("'\n", out);
		for (const struct option_row *row = (*c)->options; row->help; row++)
			if (row->name)
				fish_option(out, *c, row);
	}
}
