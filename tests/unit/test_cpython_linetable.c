/* test_cpython_linetable.c - the four kinds of line table, by hand; test_lines.py has every table of the
 * stdlib. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cpython/code.h"
#include "cpython/linetable.h"

enum { FIRST = 10 };

#define TABLE(...) (const uint8_t[]){ __VA_ARGS__ }, sizeof((const uint8_t[]){ __VA_ARGS__ })

/* "line:column", or "outside". */
static const char *place(enum cpy_line_table kind, const uint8_t *table, size_t len, uint64_t offset)
{
	static char text[32];
	struct cpy_place p = { 99, 99 };

	/* On the heap and no longer than it is, so that a sanitizer sees a read beyond. */
	uint8_t *copy = malloc(len + !len);
	if (len)
		memcpy(copy, table, len);
	bool found = cpy_line_table(kind, copy, len, FIRST, offset, &p);
	free(copy);
	if (found)
		snprintf(text, sizeof(text), "%u:%u", p.line, p.column);
	else
		strcpy(text, "outside");
	return text;
}

static void an_lnotab_line_begins_at_its_address(void **state)
{
	(void)state;
	assert_string_equal(place(LINES_LNOTAB, TABLE(6, 1, 8, 2), 0), "10:0");
	assert_string_equal(place(LINES_LNOTAB, TABLE(6, 1, 8, 2), 5), "10:0");
	assert_string_equal(place(LINES_LNOTAB, TABLE(6, 1, 8, 2), 6), "11:0");
	assert_string_equal(place(LINES_LNOTAB, TABLE(6, 1, 8, 2), 14), "13:0");
	assert_string_equal(place(LINES_LNOTAB, TABLE(6, 1, 8, 2), 4000), "13:0");
	assert_string_equal(place(LINES_LNOTAB, NULL, 0, 4000), "10:0");
}

static void an_lnotab_line_is_signed_from_3_6_on(void **state)
{
	(void)state;
	assert_string_equal(place(LINES_LNOTAB, TABLE(0, 5, 2, 0xFE), 2), "13:0");
	assert_string_equal(place(LINES_LNOTAB_UNSIGNED, TABLE(0, 5, 2, 0xFE), 2), "269:0");
	/* 255 bytes and 127 lines at a time, then the rest. */
	assert_string_equal(place(LINES_LNOTAB, TABLE(255, 0, 45, 127, 0, 73), 299), "10:0");
	assert_string_equal(place(LINES_LNOTAB, TABLE(255, 0, 45, 127, 0, 73), 300), "210:0");
}

static void an_entry_of_3_10_covers_what_is_before_its_end(void **state)
{
	(void)state;
	assert_string_equal(place(LINES_310, TABLE(4, 1, 6, 2), 3), "11:0");
	assert_string_equal(place(LINES_310, TABLE(4, 1, 6, 2), 4), "13:0");
	assert_string_equal(place(LINES_310, TABLE(4, 1, 6, 2), 9), "13:0");
	assert_string_equal(place(LINES_310, TABLE(4, 1, 6, 2), 10), "outside");
	assert_string_equal(place(LINES_310, TABLE(0, 100, 4, 0x9C), 0), "10:0");
}

static void no_line_in_3_10_takes_its_room_and_keeps_the_line(void **state)
{
	(void)state;
	assert_string_equal(place(LINES_310, TABLE(4, 1, 6, 0x80, 2, 1), 4), "0:0");
	assert_string_equal(place(LINES_310, TABLE(4, 1, 6, 0x80, 2, 1), 9), "0:0");
	assert_string_equal(place(LINES_310, TABLE(4, 1, 6, 0x80, 2, 1), 10), "12:0");
}

static void each_form_of_location_has_line_and_column(void **state)
{
	(void)state;
	/* short: code 2, columns from 2 * 8 + 5; two units */
	assert_string_equal(place(LINES_LOCATIONS, TABLE(0x80 | 2 << 3 | 1, 0x53), 3), "10:22");
	assert_string_equal(place(LINES_LOCATIONS, TABLE(0x80 | 2 << 3 | 1, 0x53), 4), "outside");
	/* one line: delta 2 */
	assert_string_equal(place(LINES_LOCATIONS, TABLE(0x80 | 12 << 3, 100, 110), 0), "12:101");
	/* no column: delta -3 */
	assert_string_equal(place(LINES_LOCATIONS, TABLE(0x80 | 13 << 3, 7), 1), "7:0");
	/* long: delta 100 = 200 in two bytes, one line more at its end, column 70 = 71 in two bytes, end
	 * column 3 */
	assert_string_equal(place(LINES_LOCATIONS, TABLE(0x80 | 14 << 3, 0x40 | 8, 3, 1, 0x40 | 7, 1, 3), 0), "110:71");
	/* none, and the line goes on from before it */
	assert_string_equal(
		place(LINES_LOCATIONS, TABLE(0x80 | 11 << 3, 0, 0, 0x80 | 15 << 3 | 7, 0x80 | 11 << 3, 4, 5), 2),
		"0:0");
	assert_string_equal(
		place(LINES_LOCATIONS, TABLE(0x80 | 11 << 3, 0, 0, 0x80 | 15 << 3 | 7, 0x80 | 11 << 3, 4, 5), 17),
		"0:0");
	assert_string_equal(
		place(LINES_LOCATIONS, TABLE(0x80 | 11 << 3, 0, 0, 0x80 | 15 << 3 | 7, 0x80 | 11 << 3, 4, 5), 18),
		"12:5");
}

static void a_position_at_an_entrys_end_belongs_to_the_next(void **state)
{
	(void)state;
	assert_string_equal(place(LINES_LOCATIONS, TABLE(0x80 | 11 << 3 | 2, 0, 0, 0x80 | 11 << 3, 8, 9), 5), "11:1");
	assert_string_equal(place(LINES_LOCATIONS, TABLE(0x80 | 11 << 3 | 2, 0, 0, 0x80 | 11 << 3, 8, 9), 6), "12:9");
}

static void damaged_locations_are_outside(void **state)
{
	(void)state;
	assert_string_equal(place(LINES_LOCATIONS, NULL, 0, 0), "outside");
	assert_string_equal(place(LINES_LOCATIONS, TABLE(0x12), 0), "outside");
	assert_string_equal(place(LINES_LOCATIONS, TABLE(0x80 | 12 << 3), 0), "outside");
	assert_string_equal(place(LINES_LOCATIONS, TABLE(0x80 | 14 << 3, 0x40, 0x40), 0), "outside");
	/* A number that never ends, and one that needs more than 32 bits. */
	assert_string_equal(
		place(LINES_LOCATIONS, TABLE(0x80 | 13 << 3, 0x7F, 0x7F, 0x7F, 0x7F, 0x7F, 0x7F, 0x7F, 1), 0),
		"outside");
	assert_string_equal(place(LINES_LOCATIONS, TABLE(0x80 | 13 << 3, 0x7F, 0x7F, 0x7F, 0x7F, 0x7F, 0x3F), 0),
			    "outside");
	/* The next entry begins within this one. */
	assert_string_equal(place(LINES_LOCATIONS, TABLE(0x80 | 14 << 3, 2, 0x80 | 12 << 3, 1, 1), 0), "outside");
}

static void a_line_below_one_is_no_line(void **state)
{
	(void)state;
	assert_string_equal(place(LINES_LOCATIONS, TABLE(0x80 | 13 << 3, 21), 0), "0:0");
	assert_string_equal(place(LINES_310, TABLE(2, 0xF0), 0), "0:0");
	assert_string_equal(place(LINES_LNOTAB, TABLE(0, 0x81), 0), "0:0");
}

static void an_offset_beyond_the_bytecode_is_outside(void **state)
{
	uint8_t table[] = { 2, 1 };
	struct cpy_layout layout = { .lines = LINES_LNOTAB };
	struct cpy_code code = { .lines = table, .lines_len = sizeof(table), .first_line = 1, .code_len = 8 };
	uint32_t line, column;

	(void)state;
	assert_true(cpy_line_at(&layout, &code, 7, &line, &column));
	assert_int_equal(line, 2);
	assert_false(cpy_line_at(&layout, &code, 8, &line, &column));
	assert_false(cpy_line_at(&layout, &code, UINT64_MAX, &line, &column));
}

static void a_table_of_megabytes_is_read_to_its_end(void **state)
{
	enum { ENTRIES = 1 << 20 };
	uint8_t *table = malloc(ENTRIES * 2);
	struct cpy_place p;

	(void)state;
	for (size_t i = 0; i < ENTRIES; i++) {
		table[i * 2] = 0x80 | 13 << 3;
		table[i * 2 + 1] = 2;
	}
	assert_true(cpy_line_table(LINES_LOCATIONS, table, ENTRIES * 2, 0, ENTRIES * 2 - 1, &p));
	assert_int_equal(p.line, ENTRIES);
	assert_false(cpy_line_table(LINES_LOCATIONS, table, ENTRIES * 2, 0, ENTRIES * 2, &p));
	free(table);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_lnotab_line_begins_at_its_address),
		cmocka_unit_test(an_lnotab_line_is_signed_from_3_6_on),
		cmocka_unit_test(an_entry_of_3_10_covers_what_is_before_its_end),
		cmocka_unit_test(no_line_in_3_10_takes_its_room_and_keeps_the_line),
		cmocka_unit_test(each_form_of_location_has_line_and_column),
		cmocka_unit_test(a_position_at_an_entrys_end_belongs_to_the_next),
		cmocka_unit_test(damaged_locations_are_outside),
		cmocka_unit_test(a_line_below_one_is_no_line),
		cmocka_unit_test(an_offset_beyond_the_bytecode_is_outside),
		cmocka_unit_test(a_table_of_megabytes_is_read_to_its_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
