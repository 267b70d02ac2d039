/* screen.h - a grid of character cells: views draw into it, the terminal shows it, tests and batch mode read it as
 * text. */
#ifndef CSPY_SCREEN_H
#define CSPY_SCREEN_H

#include "cspy/base.h"

enum { SCREEN_ROWS_MAX = 1000, SCREEN_COLUMNS_MAX = 1000 };

enum style {
	STYLE_PLAIN,
	STYLE_BOLD,
	STYLE_DIM,
	STYLE_HEAD,	/* of a table */
	STYLE_SELECTED, /* the row that keys act on */
	STYLE_BAR,
	STYLE_GOOD, /* runs */
	STYLE_WAIT, /* wants to run, and has to wait */
	STYLE_WARN,
	STYLES,
};

struct cell {
	uint32_t c; /* 0: the right half of the wide character before it */
	uint8_t style;
};

struct screen {
	int rows, columns;
	struct cell *cells; /* row by row */
	bool ascii;	    /* the reader knows nothing else */
};

void screen_init(struct screen *s, int rows, int columns, bool ascii);
void screen_free(struct screen *s);
/* Empties it, too. Sizes are brought into 1 to the caps. */
void screen_resize(struct screen *s, int rows, int columns);
void screen_clear(struct screen *s);
/*
 * UTF-8 from a column on, at most `width` columns; returns the column after it. Whatever the text holds, each cell gets
 * one printable character: controls and broken bytes become '?'. Nothing outside of the grid is touched.
 */
int screen_put(struct screen *s, int row, int column, int width, enum style style, const char *text);
int screen_printf(struct screen *s, int row, int column, enum style style, const char *fmt, ...)
	__attribute__((format(printf, 5, 6)));
/* Blanks from a column on to the end of the row, in a style. */
void screen_fill(struct screen *s, int row, int column, enum style style);
void screen_style_row(struct screen *s, int row, enum style style);
const struct cell *screen_cell(const struct screen *s, int row, int column);
/* A row as UTF-8 without blanks at its end; malloc'ed. */
char *screen_row(const struct screen *s, int row);

#endif
