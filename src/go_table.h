/* go_table.h - functions, files and lines of a Go program, out of the table that its runtime keeps (pclntab). */
#ifndef CSPY_GO_TABLE_H
#define CSPY_GO_TABLE_H

#include "cspy/base.h"

struct go_table;

/* Strings lie in the table. */
struct go_place {
	const char *function, *file; /* file NULL: not known */
	uint32_t line;		     /* 0: not known, as where the code of another function was inlined */
	uint32_t first_line;	     /* 0: not known */
};

enum { GO_MAGIC_BYTES = 8 };
/* May a table begin with these GO_MAGIC_BYTES? */
bool go_table_begins(const uint8_t *bytes);
/*
 * A table that was found in a file; `bytes` is borrowed and may go on behind it. Go 1.2 to 1.26, of machines as this
 * one. NULL: it is none.
 */
struct go_table *go_table_new(const uint8_t *bytes, size_t len);
void go_table_free(struct go_table *t); /* accepts NULL */
/*
 * Addresses of Go 1.18 and later count from the start of the program's own text, which the table says in most versions,
 * before it was relocated. 0: it does not.
 */
bool go_table_needs_text(const struct go_table *t);
uint64_t go_table_text(const struct go_table *t);
void go_table_set_text(struct go_table *t, uint64_t text);
/* Where a program begins counts from its text; false: it begins elsewhere, as with C in it. */
bool go_table_entry(const struct go_table *t, uint64_t *ret_off);
bool go_table_at(const struct go_table *t, uint64_t svma, struct go_place *ret);

#endif
