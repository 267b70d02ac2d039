/* test_screen.c - whatever a text holds, the grid stays a grid of printable characters. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <locale.h>
#include <stdlib.h>

#include "screen.h"

static struct screen s;

static int setup(void **state)
{
	(void)state;
	setlocale(LC_CTYPE, "C.UTF-8");
	screen_init(&s, 3, 10, false);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	screen_free(&s);
	return 0;
}

static void assert_shown(int row, const char *wanted)
{
	char *text = screen_row(&s, row);

	assert_string_equal(text, wanted);
	free(text);
}

static void text_ends_where_its_width_or_the_grid_ends(void **state)
{
	(void)state;
	assert_int_equal(screen_put(&s, 0, 2, 3, STYLE_PLAIN, "abcdef"), 5);
	assert_int_equal(screen_put(&s, 1, 8, 100, STYLE_PLAIN, "abcdef"), 10);
	assert_shown(0, "  abc");
	assert_shown(1, "        ab");
	assert_shown(2, "");
}

static void nothing_outside_of_the_grid_is_touched(void **state)
{
	(void)state;
	screen_put(&s, -1, 0, 10, STYLE_PLAIN, "x");
	screen_put(&s, 3, 0, 10, STYLE_PLAIN, "x");
	screen_put(&s, 0, -1, 10, STYLE_PLAIN, "x");
	screen_put(&s, 0, 10, 10, STYLE_PLAIN, "x");
	screen_put(&s, 0, 5, -3, STYLE_PLAIN, "x");
	screen_fill(&s, 7, 0, STYLE_HEAD);
	screen_style_row(&s, -2, STYLE_HEAD);
	for (int y = 0; y < 3; y++)
		assert_shown(y, "");
}

static void controls_and_broken_bytes_become_question_marks(void **state)
{
	(void)state;
	screen_put(&s, 0, 0, 10, STYLE_PLAIN, "a\033[2Jb\nc\xff");
	assert_shown(0, "a?[2Jb?c?");
}

static void a_wide_character_is_whole_or_not_there(void **state)
{
	(void)state;
	assert_int_equal(screen_put(&s, 0, 0, 3, STYLE_PLAIN, "漢字"), 2);
	assert_shown(0, "漢");
	screen_put(&s, 1, 0, 10, STYLE_PLAIN, "漢字");
	screen_put(&s, 1, 1, 2, STYLE_PLAIN, "xy");
	assert_shown(1, " xy");
	assert_int_equal(screen_cell(&s, 1, 0)->c, ' ');
}

static void combining_characters_take_no_cell(void **state)
{
	(void)state;
	assert_int_equal(screen_put(&s, 0, 0, 10, STYLE_PLAIN, "e\xCC\x81x"), 2);
	assert_shown(0, "ex");
}

static void an_ascii_screen_holds_ascii_only(void **state)
{
	(void)state;
	s.ascii = true;
	screen_put(&s, 0, 0, 10, STYLE_PLAIN, "größe 漢");
	assert_shown(0, "gr??e ?");
}

static void sizes_are_brought_into_their_caps(void **state)
{
	(void)state;
	screen_resize(&s, 0, -5);
	assert_int_equal(s.rows * s.columns, 1);
	screen_resize(&s, 1 << 30, 1 << 30);
	assert_int_equal(s.rows, SCREEN_ROWS_MAX);
	assert_int_equal(s.columns, SCREEN_COLUMNS_MAX);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(text_ends_where_its_width_or_the_grid_ends),
		TEST(nothing_outside_of_the_grid_is_touched),
		TEST(controls_and_broken_bytes_become_question_marks),
		TEST(a_wide_character_is_whole_or_not_there),
		TEST(combining_characters_take_no_cell),
		TEST(an_ascii_screen_holds_ascii_only),
		TEST(sizes_are_brought_into_their_caps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
