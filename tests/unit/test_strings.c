/* test_strings.c - interned strings. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cspy/frame.h"
#include "utf8.h"

static str_id add(struct strings *s, const char *text)
{
	return strings_add(s, text, strlen(text));
}

static void id_zero_is_the_empty_string(void **state)
{
	struct strings *s = strings_new();

	(void)state;
	assert_int_equal(strings_add(s, "", 0), 0);
	assert_int_equal(strings_add(s, "abc", 0), 0);
	assert_int_equal(strings_add(s, NULL, 0), 0);
	assert_string_equal(strings_get(s, 0), "");
	strings_free(s);
}

static void equal_texts_share_one_id_and_others_do_not(void **state)
{
	struct strings *s = strings_new();
	char other[] = "hello";

	(void)state;
	assert_int_equal(add(s, "hello"), add(s, other));
	assert_int_equal(strings_add(s, "hello world", 5), add(s, "hello"));
	assert_int_not_equal(add(s, "hell"), add(s, "hello"));
	assert_int_not_equal(add(s, "Hello"), add(s, "hello"));
	strings_free(s);
}

static void a_string_never_moves(void **state)
{
	struct strings *s = strings_new();
	const char *first = strings_get(s, add(s, "first"));
	char text[32];

	(void)state;
	for (int i = 0; i < 100000; i++) {
		snprintf(text, sizeof(text), "name %d", i);
		assert_int_equal(add(s, text), i + 2);
	}
	assert_ptr_equal(strings_get(s, add(s, "first")), first);
	assert_string_equal(first, "first");
	for (int i = 0; i < 100000; i++) {
		snprintf(text, sizeof(text), "name %d", i);
		assert_string_equal(strings_get(s, i + 2), text);
	}
	strings_free(s);
}

static void a_known_string_allocates_nothing(void **state)
{
	struct strings *s = strings_new();
	uint64_t before;

	(void)state;
	add(s, "known");
	before = xalloc_count();
	for (int i = 0; i < 1000; i++)
		add(s, "known");
	assert_int_equal(xalloc_count(), before);
	add(s, "unknown");
	strings_free(s);
}

static void a_string_ends_at_its_first_nul(void **state)
{
	struct strings *s = strings_new();

	(void)state;
	assert_int_equal(strings_add(s, "ab\0cd", 5), add(s, "ab"));
	assert_int_equal(strings_add(s, "\0cd", 3), 0);
	strings_free(s);
}

static void long_strings_are_whole_up_to_the_cap(void **state)
{
	struct strings *s = strings_new();
	size_t len = 3 << 20;
	char *text = malloc(len);
	str_id big, huge;

	(void)state;
	memset(text, 'x', len);
	big = strings_add(s, text, 100000);
	huge = strings_add(s, text, len);
	assert_int_equal(strlen(strings_get(s, big)), 100000);
	assert_int_equal(strlen(strings_get(s, huge)), 1 << 20);
	assert_string_equal(strings_get(s, add(s, "small")), "small");
	free(text);
	strings_free(s);
}

static void an_unknown_id_is_the_empty_string(void **state)
{
	struct strings *s = strings_new();

	(void)state;
	assert_string_equal(strings_get(s, 1), "");
	assert_string_equal(strings_get(s, UINT32_MAX), "");
	strings_free(s);
	strings_free(NULL);
}

static void bytes_that_are_not_utf8_are_one_replacement_each(void **state)
{
	static const char *const bad[] = {
		"\x80",
		"\xBF",
		"\xC0\xAF",
		"\xC1\xBF",
		"\xC3",
		"\xE2\x82",
		"\xE0\x80\x80",
		"\xED\xA0\x80",
		"\xF0\x80\x80\x80",
		"\xF4\x90\x80\x80",
		"\xF5\x80\x80\x80",
		"\xFF",
		"\xF0\x9F\x98",
	};

	(void)state;
	for (size_t i = 0; i < countof(bad); i++) {
		const char *s = bad[i];
		size_t len, steps = 0;
		uint32_t c;

		for (; (len = utf8_next(s, &c)); s += len, steps++)
			assert_int_equal(c, 0xFFFD);
		assert_int_equal(steps, strlen(bad[i]));
	}
}

static void utf8_is_read_as_characters(void **state)
{
	static const struct {
		const char *s;
		uint32_t c;
	} good[] = {
		{ "a", 'a' },
		{ "\x7F", 0x7F },
		{ "\xC2\x80", 0x80 },
		{ "\xC3\xA9", 0xE9 },
		{ "\xE0\xA0\x80", 0x800 },
		{ "\xE2\x82\xAC", 0x20AC },
		{ "\xED\x9F\xBF", 0xD7FF },
		{ "\xEE\x80\x80", 0xE000 },
		{ "\xF0\x9F\x98\x80", 0x1F600 },
		{ "\xEF\xBF\xBD", 0xFFFD },
		{ "\xF4\x8F\xBF\xBF", 0x10FFFF },
	};
	uint32_t c;

	(void)state;
	for (size_t i = 0; i < countof(good); i++) {
		assert_int_equal(utf8_next(good[i].s, &c), strlen(good[i].s));
		assert_int_equal(c, good[i].c);
	}
	assert_int_equal(utf8_next("", &c), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(id_zero_is_the_empty_string),
		cmocka_unit_test(equal_texts_share_one_id_and_others_do_not),
		cmocka_unit_test(a_string_never_moves),
		cmocka_unit_test(a_known_string_allocates_nothing),
		cmocka_unit_test(a_string_ends_at_its_first_nul),
		cmocka_unit_test(long_strings_are_whole_up_to_the_cap),
		cmocka_unit_test(an_unknown_id_is_the_empty_string),
		cmocka_unit_test(bytes_that_are_not_utf8_are_one_replacement_each),
		cmocka_unit_test(utf8_is_read_as_characters),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
