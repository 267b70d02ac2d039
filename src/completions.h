/* completions.h - what shells and man(1) want to know, made from the tables of commands and options. */
#ifndef CSPY_COMPLETIONS_H
#define CSPY_COMPLETIONS_H

#include "command.h"

/* What a value is, as far as a shell can help. */
enum value_kind {
	VALUE_NONE, /* a flag */
	VALUE_OTHER,
	VALUE_PID,
	VALUE_FILE,
	VALUE_FORMAT,
};
enum value_kind completions_value(const struct option_row *row);

void completions_bash(FILE *out);
void completions_zsh(FILE *out);
void completions_fish(FILE *out);
/* man_page.c: cspy(1), in the macros of man(7) */
void man_page(FILE *out);

#endif
