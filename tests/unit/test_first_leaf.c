/* test_first_leaf.c - the leaf of a look is told whatever became of the stack. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "first_leaf.h"

static const struct raw_frame A = { .at = 0x100, .code = 0xa0, .stamp = 1 };
static const struct raw_frame B = { .at = 0x100, .code = 0xb0, .stamp = 2 };

static int setup(void **state)
{
	struct first_leaf *f = xcalloc(1, sizeof(*f));

	first_leaf_init(f);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	first_leaf_free(*state);
	cleanup_free(state);
	return 0;
}

static void without_better_knowledge_it_is_the_stacks_own(void **state)
{
	struct raw_stack stack = { .count = 2 };
	struct raw_frame frames[] = { A, B };

	assert_int_equal(first_leaf_of(*state, &stack, frames).code, A.code);
	stack.count = 0;
	assert_int_equal(first_leaf_of(*state, &stack, frames).stamp, 0);
	stack.count = 2;
	stack.err = err_at(ERR_CORRUPT, 0, "a test");
	assert_int_equal(first_leaf_of(*state, &stack, frames).stamp, 0);
}

static void what_was_on_top_wins_over_the_stack_that_was_kept(void **state)
{
	struct raw_stack stack = { .count = 1, .top = B };
	struct raw_frame frames[] = { A };

	assert_int_equal(first_leaf_of(*state, &stack, frames).code, B.code);
	stack.err = err_at(ERR_CORRUPT, 0, "a test");
	assert_int_equal(first_leaf_of(*state, &stack, frames).code, B.code);
}

static void an_unknown_top_is_nobodys(void **state)
{
	struct raw_stack stack = { .count = 1, .top = { .at = 0x100 } };
	struct raw_frame frames[] = { A };

	assert_int_equal(first_leaf_of(*state, &stack, frames).stamp, 0);
	stack.top.code = 0xc0; /* of no stamp: it was never met in a stack */
	assert_int_equal(first_leaf_of(*state, &stack, frames).stamp, 0);
}

static unsigned times(struct first_leaf *f, struct raw_frame top, struct raw_frame before, unsigned n, raddr_t code)
{
	struct raw_stack stack = { .top = top, .top_before = before };
	unsigned found = 0;

	while (n--)
		found += first_leaf_of(f, &stack, NULL).code == code;
	return found;
}

static void of_two_the_one_that_is_met_more_often_is_taken_more_often(void **state)
{
	assert_int_equal(times(*state, A, A, 900, A.code), 900);
	assert_int_equal(times(*state, B, B, 100, B.code), 100);
	assert_in_range(times(*state, A, B, 1000, A.code), 850, 950);
	assert_in_range(times(*state, B, A, 1000, A.code), 850, 950);
}

static void of_two_that_were_never_met_alone_each_has_its_half(void **state)
{
	assert_in_range(times(*state, A, B, 1000, A.code), 400, 600);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(without_better_knowledge_it_is_the_stacks_own),
		TEST(what_was_on_top_wins_over_the_stack_that_was_kept),
		TEST(an_unknown_top_is_nobodys),
		TEST(of_two_the_one_that_is_met_more_often_is_taken_more_often),
		TEST(of_two_that_were_never_met_alone_each_has_its_half),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
