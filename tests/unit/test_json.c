/* test_json.c - JSON that any reader takes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <float.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"

static char *written_string(const char *s)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	json_text(out, s);
	fclose(out);
	return text;
}

static char *written_number(double v)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	json_number(out, v);
	fclose(out);
	return text;
}

static void assert_written(const char *s, const char *expected)
{
	char *text = written_string(s);

	assert_string_equal(text, expected);
	free(text);
}

/* What a reader gets. */
static void assert_read(const char *s, const char *expected)
{
	char *text = written_string(s);
	json_t *value = json_loads(text, JSON_DECODE_ANY, NULL);

	assert_non_null(value);
	assert_string_equal(json_string_value(value), expected);
	json_decref(value);
	free(text);
}

static void plain_text_is_only_quoted(void **state)
{
	(void)state;
	assert_written("", "\"\"");
	assert_written("<module> a/b'c", "\"<module> a/b'c\"");
	assert_written("h\xC3\xA9llo \xF0\x9F\x98\x80", "\"h\xC3\xA9llo \xF0\x9F\x98\x80\"");
}

static void quotes_backslashes_and_controls_are_escaped(void **state)
{
	(void)state;
	assert_written("\"\\\b\f\n\r\t", "\"\\\"\\\\\\b\\f\\n\\r\\t\"");
	assert_written("\x01\x1F\x7F\x1B[31m", "\"\\u0001\\u001f\\u007f\\u001b[31m\"");
	assert_written("\xE2\x80\xA8", "\"\\u2028\"");
}

static void every_byte_is_read_back_by_a_strict_reader(void **state)
{
	(void)state;
	for (int c = 1; c < 256; c++) {
		char s[4] = { 'a', (char)c, 'b', 0 };

		assert_read(s, c < 0x80 ? s
					: "a\xEF\xBF\xBD"
					  "b");
	}
	assert_read("cut \xE2\x82", "cut \xEF\xBF\xBD\xEF\xBF\xBD");
	assert_read("surrogate \xED\xA0\x80", "surrogate \xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD");
	assert_read("max \xF4\x8F\xBF\xBF", "max \xF4\x8F\xBF\xBF");
}

static void numbers_are_short_and_finite(void **state)
{
	static const struct {
		double v;
		const char *expected;
	} cases[] = {
		{ 0, "0" },	      { 1, "1" },	 { -2.5, "-2.5" },   { 0.1, "0.1" }, { 1.0 / 3, "0.333333" },
		{ 123456, "123456" }, { INFINITY, "0" }, { -INFINITY, "0" }, { NAN, "0" },
	};

	(void)state;
	for (size_t i = 0; i < countof(cases); i++) {
		char *text = written_number(cases[i].v);

		assert_string_equal(text, cases[i].expected);
		free(text);
	}
}

static void extreme_numbers_are_json(void **state)
{
	static const double cases[] = { DBL_MAX, -DBL_MAX, DBL_MIN, 5e-324, 1e21, 1e-7 };

	(void)state;
	for (size_t i = 0; i < countof(cases); i++) {
		char *text = written_number(cases[i]);
		json_t *value = json_loads(text, JSON_DECODE_ANY | JSON_DECODE_INT_AS_REAL, NULL);

		assert_non_null(value);
		json_decref(value);
		free(text);
	}
}

static void a_key_ends_in_a_colon(void **state)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	(void)state;
	json_key(out, "a\"b");
	fclose(out);
	assert_string_equal(text, "\"a\\\"b\":");
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(plain_text_is_only_quoted),
		cmocka_unit_test(quotes_backslashes_and_controls_are_escaped),
		cmocka_unit_test(every_byte_is_read_back_by_a_strict_reader),
		cmocka_unit_test(numbers_are_short_and_finite),
		cmocka_unit_test(extreme_numbers_are_json),
		cmocka_unit_test(a_key_ends_in_a_colon),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
