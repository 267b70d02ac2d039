/* screen.c - a grid of character cells. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "screen.h"
#include "utf8.h"

enum { LINE_BYTES = 1024, CELL_BYTES = 4 };

static int clamp(int v, int most)
{
	return v < 1 ? 1 : v > most ? most : v;
}

void screen_init(struct screen *s, int rows, int columns, bool ascii)
{
	*s = (struct screen){ .ascii = ascii };
	screen_resize(s, rows, columns);
}

void screen_free(struct screen *s)
{
	free(s->cells);
	*s = (struct screen){ 0 };
}

void screen_resize(struct screen *s, int rows, int columns)
{
	s->rows = clamp(rows, SCREEN_ROWS_MAX);
	s->columns = clamp(columns, SCREEN_COLUMNS_MAX);
	s->cells = xrealloc(s->cells, (size_t)s->rows * (size_t)s->columns, sizeof(*s->cells));
	screen_clear(s);
}

void screen_clear(struct screen *s)
{
	for (int i = 0; i < s->rows * s->columns; i++)
		s->cells[i] = (struct cell){ ' ', STYLE_PLAIN };
}

const struct cell *screen_cell(const struct screen *s, int row, int column)
{
	return &s->cells[row * s->columns + column];
}

static void set(struct screen *s, int row, int column, uint32_t c, enum style style)
{
	struct cell *at = &s->cells[row * s->columns + column];

	/* Half of a wide character can't stay. */
	if (!at->c && column > 0)
		at[-1].c = ' ';
	if (column + 1 < s->columns && !at[1].c)
		at[1].c = ' ';
	*at = (struct cell){ c, (uint8_t)style };
}

/* How many columns; 0 for what is not to be shown at all. */
static int width_of(const struct screen *s, uint32_t *c)
{
	int width;

	if (utf8_is_control(*c) || *c == 0xFFFD || (s->ascii && *c > 126))
		*c = '?';
	if (*c < 127)
		return 1;
	width = wcwidth((wchar_t)*c);
	if (width < 0) { /* this C library does not know it; so the terminal may not, either */
		*c = '?';
		return 1;
	}
	return width;
}

int screen_put(struct screen *s, int row, int column, int width, enum style style, const char *text)
{
	int end = column + width;

	if (row < 0 || row >= s->rows || column < 0)
		return column;
	if (end > s->columns)
		end = s->columns;
	while (*text && column < end) {
		uint32_t c;
		int w;

		text += utf8_next(text, &c);
		w = width_of(s, &c);
		if (!w)
			continue;
		if (column + w > end)
			break;
		set(s, row, column, c, style);
		if (w == 2) {
			set(s, row, column + 1, ' ', style);
			s->cells[row * s->columns + column + 1].c = 0;
		}
		column += w;
	}
	return column;
}

int screen_printf(struct screen *s, int row, int column, enum style style, const char *fmt, ...)
{
	char text[LINE_BYTES];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	return screen_put(s, row, column, s->columns, style, text);
}

void screen_fill(struct screen *s, int row, int column, enum style style)
{
	if (row < 0 || row >= s->rows)
		return;
	for (column = column < 0 ? 0 : column; column < s->columns; column++)
		set(s, row, column, ' ', style);
}

void screen_style_row(struct screen *s, int row, enum style style)
{
	for (int i = 0; row >= 0 && row < s->rows && i < s->columns; i++)
		s->cells[row * s->columns + i].style = (uint8_t)style;
}

static size_t encode(uint32_t c, char *at)
{
	if (c < 0x80) {
		at[0] = (char)c;
		return 1;
	}
	if (c < 0x800) {
		at[0] = (char)(0xC0 | c >> 6);
		at[1] = (char)(0x80 | (c & 63));
		return 2;
	}
	if (c < 0x10000) {
		at[0] = (char)(0xE0 | c >> 12);
		at[1] = (char)(0x80 | (c >> 6 & 63));
		at[2] = (char)(0x80 | (c & 63));
		return 3;
	}
	at[0] = (char)(0xF0 | c >> 18);
	at[1] = (char)(0x80 | (c >> 12 & 63));
	at[2] = (char)(0x80 | (c >> 6 & 63));
	at[3] = (char)(0x80 | (c & 63));
	return 4;
}

char *screen_row(const struct screen *s, int row)
{
	char *text = xcalloc((size_t)s->columns * CELL_BYTES + 1, 1);
	size_t len = 0;

	for (int i = 0; i < s->columns; i++) {
		uint32_t c = screen_cell(s, row, i)->c;

		if (c)
			len += encode(c, text + len);
	}
	while (len && text[len - 1] == ' ')
		len--;
	text[len] = 0;
	return text;
}
