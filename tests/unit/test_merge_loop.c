/* test_merge_loop.c - the loop of an interpreter that was stripped of its name. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "merge_loop.h"

enum { MAIN = 1, RUN, LOOP, CALL, SORT, YIELD, LEAF, OTHER };

static str_id see(struct merge_loop *l, size_t entries, size_t n, const str_id *functions)
{
	return merge_loop_see(l, functions, n, entries);
}

#define SEE(l, entries, ...)                                                                                           \
	see(l, entries, sizeof((str_id[]){ __VA_ARGS__ }) / sizeof(str_id), (str_id[]){ __VA_ARGS__ })

static void one_entry_leaves_all_above_it_at_the_leaf(void **state)
{
	struct merge_loop l = { .count = 0 };

	(void)state;
	assert_int_equal(SEE(&l, 1, LEAF, CALL, LOOP, RUN, MAIN), MAIN);
}

static void two_stacks_tell_the_loop(void **state)
{
	struct merge_loop l = { .count = 0 };

	(void)state;
	SEE(&l, 1, LEAF, CALL, LOOP, RUN, MAIN);
	assert_int_equal(SEE(&l, 3, LEAF, LOOP, YIELD, SORT, CALL, LOOP, CALL, LOOP, RUN, MAIN), LOOP);
	assert_int_equal(SEE(&l, 1, LOOP, RUN, MAIN), LOOP);
}

static void call_of_the_loop_without_a_frame_yet_fits(void **state)
{
	struct merge_loop l = { .count = 0 };

	(void)state;
	SEE(&l, 3, LOOP, CALL, LOOP, YIELD, SORT, LOOP, RUN, MAIN);
	assert_int_equal(SEE(&l, 3, LOOP, CALL, LOOP, CALL, LOOP, CALL, LOOP, RUN, MAIN), LOOP);
}

static void stack_that_nothing_fits_begins_anew(void **state)
{
	struct merge_loop l = { .count = 0 };

	(void)state;
	SEE(&l, 2, LOOP, CALL, LOOP, RUN, MAIN);
	assert_int_equal(SEE(&l, 4, OTHER, OTHER, OTHER, OTHER, RUN), OTHER);
	assert_int_equal(SEE(&l, 2, LOOP, CALL, LOOP, RUN, MAIN), LOOP);
}

static void stack_without_entries_teaches_nothing(void **state)
{
	struct merge_loop l = { .count = 0 };

	(void)state;
	assert_int_equal(SEE(&l, 0, LEAF, RUN, MAIN), 0);
	assert_int_equal(l.count, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_entry_leaves_all_above_it_at_the_leaf),
		cmocka_unit_test(two_stacks_tell_the_loop),
		cmocka_unit_test(call_of_the_loop_without_a_frame_yet_fits),
		cmocka_unit_test(stack_that_nothing_fits_begins_anew),
		cmocka_unit_test(stack_without_entries_teaches_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
