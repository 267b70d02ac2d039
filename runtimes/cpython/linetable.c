/* linetable.c - from an offset in the bytecode to a line and a column, for the four kinds of line table. */
#include "linetable.h"

#include "code.h"

/*
 * The formats are described upstream in Objects/lnotab_notes.txt (to 3.10) and Objects/locations.md (3.11+,
 * InternalDocs/code_objects.md from 3.14 on). A position belongs to the first entry whose END is greater than
 * it.
 */

enum {
	UNIT = 2, /* bytes of a code unit: what 3.11+ entries count */
	NO_LINE_310 = -128,
	VARINT_BITS = 6,       /* a byte of a varint carries six, bit 6 says that another follows */
	VARINT_MAX_SHIFT = 30, /* the sixth byte: a longer one does not fit 32 bits and was not written by CPython */
	LINE_MAX_VALUE = INT32_MAX,
};

/* The code in bits 3-6 of an entry's first byte. Below PLACE_ONE_LINE: short forms, same line. */
enum place_code {
	PLACE_ONE_LINE = 10, /* 10, 11, 12: line delta 0, 1, 2 */
	PLACE_NO_COLUMN = 13,
	PLACE_LONG = 14,
	PLACE_NONE = 15,
};

static uint32_t line_of(int64_t line)
{
	return line > 0 && line <= LINE_MAX_VALUE ? (uint32_t)line : 0;
}

/* PyCode_Addr2Line: the line after all pairs whose address is not beyond the offset. */
static struct cpy_place lnotab_place(bool is_signed, const uint8_t *table, size_t len, uint32_t first_line,
				     uint64_t offset)
{
	int64_t line = first_line;
	uint64_t at = 0;

	for (size_t i = 0; i + 1 < len; i += 2) {
		at += table[i];
		if (at > offset)
			break;
		line += is_signed ? (int8_t)table[i + 1] : table[i + 1];
	}
	return (struct cpy_place){ .line = line_of(line) };
}

static bool pep626_place(const uint8_t *table, size_t len, uint32_t first_line, uint64_t offset, struct cpy_place *ret)
{
	int64_t line = first_line;
	uint64_t end = 0;

	for (size_t i = 0; i + 1 < len; i += 2) {
		int8_t delta = (int8_t)table[i + 1];

		end += table[i];
		if (delta != NO_LINE_310)
			line += delta;
		if (end > offset) {
			*ret = (struct cpy_place){ .line = delta == NO_LINE_310 ? 0 : line_of(line) };
			return true;
		}
	}
	return false;
}

/* What is left of a location table. */
struct cursor {
	const uint8_t *p, *end;
};

static bool take(struct cursor *c, uint8_t *ret)
{
	/* Only the first byte of an entry has bit 7: one inside an entry means that the table is damaged. */
	if (c->p == c->end || *c->p & 0x80)
		return false;
	*ret = *c->p++;
	return true;
}

static bool take_varint(struct cursor *c, uint32_t *ret)
{
	uint64_t value = 0;
	uint8_t byte;

	for (unsigned int shift = 0; shift <= VARINT_MAX_SHIFT; shift += VARINT_BITS) {
		if (!take(c, &byte))
			return false;
		value |= (uint64_t)(byte & 0x3F) << shift;
		if (!(byte & 0x40)) {
			*ret = (uint32_t)value;
			return value <= UINT32_MAX;
		}
	}
	return false;
}

static bool take_svarint(struct cursor *c, int64_t *ret)
{
	uint32_t value;

	if (!take_varint(c, &value))
		return false;
	*ret = value & 1 ? -(int64_t)(value >> 1) : (int64_t)(value >> 1);
	return true;
}

/* Only for the entry that is wanted. `column` becomes 1-based; 0 stays "none". */
static bool take_column(struct cursor *c, uint8_t code, uint32_t *column)
{
	uint32_t skipped;
	uint8_t byte;

	if (code == PLACE_NO_COLUMN)
		return true;
	if (code == PLACE_LONG) /* the end line comes first; the column is stored plus one, zero being none */
		return take_varint(c, &skipped) && take_varint(c, column);
	if (!take(c, &byte))
		return false;
	*column = 1u + (code < PLACE_ONE_LINE ? (uint32_t)code << 3 | byte >> 4 : byte);
	return true;
}

static bool locations_place(const uint8_t *table, size_t len, uint32_t first_line, uint64_t offset,
			    struct cpy_place *ret)
{
	struct cursor c = { table, table + len };
	int64_t line = first_line;
	uint64_t end = 0;

	while (c.p < c.end) {
		uint8_t first = *c.p++, code = first >> 3 & 15;
		int64_t delta = 0;

		if (!(first & 0x80))
			return false;
		end += ((first & 7) + 1u) * UNIT;
		if (code == PLACE_NO_COLUMN || code == PLACE_LONG) {
			if (!take_svarint(&c, &delta))
				return false;
		} else if (code >= PLACE_ONE_LINE && code < PLACE_NO_COLUMN) {
			delta = code - PLACE_ONE_LINE;
		}
		line += delta;
		if (end > offset) {
			*ret = (struct cpy_place){ 0 };
			if (code == PLACE_NONE)
				return true;
			ret->line = line_of(line);
			return take_column(&c, code, &ret->column);
		}
		while (c.p < c.end && !(*c.p & 0x80))
			c.p++;
	}
	return false;
}

bool cpy_line_table(enum cpy_line_table kind, const uint8_t *table, size_t len, uint32_t first_line, uint64_t offset,
		    struct cpy_place *ret)
{
	switch (kind) {
	case LINES_LNOTAB_UNSIGNED:
	case LINES_LNOTAB:
		*ret = lnotab_place(kind == LINES_LNOTAB, table, len, first_line, offset);
		return true;
	case LINES_310:
		return pep626_place(table, len, first_line, offset, ret);
	case LINES_LOCATIONS:
		return locations_place(table, len, first_line, offset, ret);
	}
	return false;
}

bool cpy_line_at(const struct cpy_layout *l, const struct cpy_code *c, uint64_t offset, uint32_t *line,
		 uint32_t *column)
{
	struct cpy_place place;

	if (c->code_len && offset >= c->code_len)
		return false;
	if (!cpy_line_table(l->lines, c->lines, c->lines_len, c->first_line, offset, &place))
		return false;
	*line = place.line;
	*column = place.column;
	return true;
}
