/* go_tables.c - small tables of functions as Go programs have them, in each format. */
#include <string.h>

#include "go_tables.h"

enum { OLDEST, WITH_UNITS, WITH_OFFSETS, WITH_LINES }; /* formats */

/* Where the parts lie: apart from each other, at places that are all the same in each format. */
enum { LIST = 0x50, OUTER = 0x100, LEAF = 0x160, NAMES = 0x200, FILES = 0x240, UNITS = 0x280, VALUES = 0x300 };
/* Of the tables of values: their numbers, from VALUES on. */
enum { V_FILE_OUTER = 0x10, V_LINE_OUTER = 0x20, V_INLINED = 0x30, V_FILE_LEAF = 0x40, V_LINE_LEAF = 0x50 };
enum { N_OUTER = 1, N_LEAF = 16, F_A = 0, F_B = 10 };

static const uint32_t magics[GO_TABLE_FORMATS] = { 0xfffffffb, 0xfffffffa, 0xfffffff0, 0xfffffff1 };

static void put32(uint8_t *at, uint32_t v)
{
	memcpy(at, &v, sizeof(v));
}

static void put64(uint8_t *at, uint64_t v)
{
	memcpy(at, &v, sizeof(v));
}

/* Pairs (change of the value, bytes of code), after the value -1; no change ends them. */
static void put_values(uint8_t *at, const int8_t *pairs, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		int v = pairs[2 * i];

		*at++ = (uint8_t)(v < 0 ? ((-v - 1) << 1) | 1 : v << 1);
		*at++ = (uint8_t)pairs[2 * i + 1];
	}
	*at = 0;
}

static void put_function(unsigned format, uint8_t *t, size_t base, size_t at, uint32_t off, const uint32_t v[5])
{
	uint8_t *f = t + at;

	if (format >= WITH_OFFSETS) {
		put32(f, off);
		f += 4;
	} else {
		put64(f, GO_TABLE_TEXT + off);
		f += 8;
	}
	put32(f, v[0] + (format == OLDEST ? NAMES : 0));
	put32(f + 16, v[1] + (uint32_t)base);
	put32(f + 20, v[2] + (uint32_t)base);
	if (format == OLDEST)
		return;
	put32(f + 24, 3); /* tables */
	put32(f + 28, 0); /* unit */
	if (format == WITH_LINES)
		put32(f + 32, v[4]);
	put32(f + (format == WITH_LINES ? 40 : 36) + 2 * 4, v[3]);
}

static void put_list(unsigned format, uint8_t *t, size_t base)
{
	static const uint32_t starts[3] = { 0, 0x40, 0x60 };
	const uint32_t records[2] = { (uint32_t)(OUTER - base), (uint32_t)(LEAF - base) };

	for (unsigned i = 0; i < 5; i++) {
		uint32_t v = i % 2 ? records[i / 2] : starts[i / 2];

		if (format >= WITH_OFFSETS)
			put32(t + i * 4, v);
		else
			put64(t + i * 8ul, i % 2 ? v : GO_TABLE_TEXT + v);
	}
	if (format == OLDEST)
		put32(t + 5 * 8, UNITS);
}

static void put_texts(unsigned format, uint8_t *t)
{
	memcpy(t + NAMES + N_OUTER, "main.outer", 11);
	memcpy(t + NAMES + N_LEAF, "main.leaf", 10);
	memcpy(t + FILES + F_A, "/src/a.go", 10);
	memcpy(t + FILES + F_B, "/src/b.go", 10);
	/* In the oldest, number 0 is the count. */
	put32(t + UNITS, format == OLDEST ? 3 : F_A);
	put32(t + UNITS + 4, format == OLDEST ? FILES + F_A : F_A);
	put32(t + UNITS + 8, format == OLDEST ? FILES + F_B : F_B);
}

size_t go_table_build(unsigned format, uint8_t t[GO_TABLE_BYTES])
{
	static const int8_t files_outer[] = { 2, 0x20, 1, 0x10, -1, 0x10 },
			    lines_outer[] = { 11, 0x10, 2, 0x10, -9, 0x10, 10, 0x10 },
			    inlined[] = { 0, 0x20, 1, 0x10, -1, 0x10 }, files_leaf[] = { 3, 0x20 },
			    lines_leaf[] = { 4, 0x20 };
	/* Names, tables of files and lines, of what is inlined, first lines. */
	const uint32_t outer[] = { N_OUTER, V_FILE_OUTER, V_LINE_OUTER, V_INLINED, 9 },
		       leaf[] = { N_LEAF, V_FILE_LEAF, V_LINE_LEAF, 0, 2 };
	size_t list = format == OLDEST ? 16 : LIST;
	uint64_t head[] = { 2, 2, GO_TABLE_TEXT, NAMES, UNITS, FILES, VALUES, LIST };

	memset(t, 0, GO_TABLE_BYTES);
	put32(t, magics[format]);
	t[6] = 1;
	t[7] = 8;
	if (format == WITH_UNITS)
		memmove(&head[2], &head[3], 5 * sizeof(head[0]));
	for (size_t i = 0; i < (format == OLDEST ? 1 : format == WITH_UNITS ? 7 : 8); i++)
		put64(t + 8 + i * 8, head[i]);
	put_list(format, t + list, format == OLDEST ? 0 : LIST);
	put_texts(format, t);
	put_function(format, t, format == OLDEST ? VALUES : 0, OUTER, 0, outer);
	put_function(format, t, format == OLDEST ? VALUES : 0, LEAF, 0x40, leaf);
	put_values(t + VALUES + V_FILE_OUTER, files_outer, 3);
	put_values(t + VALUES + V_LINE_OUTER, lines_outer, 4);
	put_values(t + VALUES + V_INLINED, inlined, 3);
	put_values(t + VALUES + V_FILE_LEAF, files_leaf, 1);
	put_values(t + VALUES + V_LINE_LEAF, lines_leaf, 1);
	return VALUES + V_LINE_LEAF + 3;
}
