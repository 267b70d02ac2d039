/* test_go_table.c - names and lines out of a Go program's table, and of tables that lie. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "go_table.h"
#include "go_tables.h"

enum { WITH_OFFSETS = 2, WITH_LINES = 3 }; /* formats that have them, and later ones */

static void check(const struct go_table *t, uint64_t off, const char *function, const char *file, uint32_t line,
		  uint32_t first_line)
{
	struct go_place p;

	assert_true(go_table_at(t, GO_TABLE_TEXT + off, &p));
	assert_string_equal(p.function, function);
	assert_string_equal(p.file, file);
	assert_int_equal(p.line, line);
	assert_int_equal(p.first_line, first_line);
}

static void each_format_names_functions_files_and_lines(void **state)
{
	(void)state;
	for (unsigned format = 0; format < GO_TABLE_FORMATS; format++) {
		uint8_t bytes[GO_TABLE_BYTES];
		size_t len = go_table_build(format, bytes);
		struct go_table *t = go_table_new(bytes, len);
		uint32_t outer = format == WITH_LINES ? 9 : 0, leaf = format == WITH_LINES ? 2 : 0;
		struct go_place p;

		assert_non_null(t);
		assert_int_equal(go_table_needs_text(t), format >= WITH_OFFSETS);
		check(t, 0, "main.outer", "/src/a.go", 10, outer);
		check(t, 0xf, "main.outer", "/src/a.go", 10, outer);
		check(t, 0x10, "main.outer", "/src/a.go", 12, outer);
		check(t, 0x20, "main.outer", "/src/a.go", 0, outer); /* another's, inlined */
		check(t, 0x3f, "main.outer", "/src/a.go", 13, outer);
		check(t, 0x40, "main.leaf", "/src/b.go", 3, leaf);
		assert_false(go_table_at(t, GO_TABLE_TEXT + 0x60, &p));
		assert_false(go_table_at(t, GO_TABLE_TEXT - 1, &p));
		assert_false(go_table_at(t, 0, &p));
		assert_false(go_table_at(t, UINT64_MAX, &p));
		go_table_free(t);
	}
}

static void the_text_may_lie_elsewhere(void **state)
{
	uint8_t bytes[GO_TABLE_BYTES];
	size_t len = go_table_build(WITH_LINES, bytes);
	struct go_table *t = go_table_new(bytes, len);
	struct go_place p;
	uint64_t off;

	(void)state;
	assert_int_equal(go_table_text(t), GO_TABLE_TEXT);
	go_table_set_text(t, 0x1000);
	assert_true(go_table_at(t, 0x1045, &p));
	assert_string_equal(p.function, "main.leaf");
	assert_false(go_table_at(t, GO_TABLE_TEXT, &p));
	assert_false(go_table_entry(t, &off));
	go_table_free(t);
}

static void ask(const uint8_t *bytes, size_t len)
{
	/* A copy of its own, so that a read beyond the end is noticed. */
	uint8_t *copy = malloc(len + !len);
	struct go_table *t;
	struct go_place p;
	uint64_t off;

	memcpy(copy, bytes, len);
	t = go_table_new(copy, len);
	for (uint64_t at = 0; t && at < 0x70; at += 8)
		if (go_table_at(t, GO_TABLE_TEXT + at, &p))
			assert_true(strlen(p.function) < len && (!p.file || strlen(p.file) < len));
	if (t)
		go_table_entry(t, &off);
	go_table_free(t);
	free(copy);
}

static void tables_that_end_anywhere_are_read_within_their_ends(void **state)
{
	uint8_t bytes[GO_TABLE_BYTES];

	(void)state;
	for (unsigned format = 0; format < GO_TABLE_FORMATS; format++) {
		size_t len = go_table_build(format, bytes);

		for (size_t n = 0; n <= len; n++)
			ask(bytes, n);
	}
}

static void tables_with_any_byte_or_number_changed_are_read_within_their_ends(void **state)
{
	static const uint8_t values[] = { 0x00, 0x7f, 0x80, 0xff };
	uint8_t bytes[GO_TABLE_BYTES];

	(void)state;
	for (unsigned format = 0; format < GO_TABLE_FORMATS; format++) {
		size_t len = go_table_build(format, bytes);

		for (size_t i = 0; i < len; i++) {
			for (size_t k = 0; k < countof(values); k++) {
				go_table_build(format, bytes);
				bytes[i] = values[k];
				ask(bytes, len);
				memset(bytes + i, values[k], len - i < 8 ? len - i : 8);
				ask(bytes, len);
			}
		}
	}
}

static void what_is_no_table_is_refused(void **state)
{
	uint8_t bytes[GO_TABLE_BYTES];
	size_t len = go_table_build(WITH_LINES, bytes);

	(void)state;
	bytes[7] = 4; /* bytes of an address: of another machine */
	assert_null(go_table_new(bytes, len));
	go_table_build(WITH_LINES, bytes);
	memset(bytes + 8, 0xff, 8); /* functions without end */
	assert_null(go_table_new(bytes, len));
	memset(bytes + 8, 0, 8);
	assert_null(go_table_new(bytes, len));
	memset(bytes, 'x', sizeof(bytes));
	assert_null(go_table_new(bytes, len));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_format_names_functions_files_and_lines),
		cmocka_unit_test(the_text_may_lie_elsewhere),
		cmocka_unit_test(tables_that_end_anywhere_are_read_within_their_ends),
		cmocka_unit_test(tables_with_any_byte_or_number_changed_are_read_within_their_ends),
		cmocka_unit_test(what_is_no_table_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
