/* test_ruby_walk.c - the walks of every Ruby at hand over recorded memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <glob.h>

#include "ruby/layout.h"
#include "walks.h"

enum { VERSIONS_MIN = 4 }; /* of Ruby, that have snapshots */

static void there_is_a_snapshot_of_every_version_that_was_tried(void **state)
{
	unsigned tried = 0;

	(void)state;
	for (size_t i = 0; rby_layout_at(i); i++) {
		const struct rby_layout *l = rby_layout_at(i);
		CLEANUP(cleanup_free)
		char *pattern = xasprintf("fixtures/snapshots/ruby/%u.%u.*/*.snap", l->major, l->minor);
		glob_t found = { 0 };

		if (!l->tried)
			continue;
		if (glob(pattern, 0, NULL, &found) != 0)
			fail_msg("none of %u.%u", l->major, l->minor);
		globfree(&found);
		tried++;
	}
	assert_true(tried >= VERSIONS_MIN);
}

static void every_snapshot_says_what_was_written_down_beside_it(void **state)
{
	(void)state;
	assert_int_equal(walks_say_what_is_expected(&replay_ruby), 0);
}

static void a_read_that_fails_costs_one_stack_and_never_makes_a_wrong_one(void **state)
{
	(void)state;
	assert_int_equal(walks_survive_each_failure(&replay_ruby), 0);
}

static void one_look_at_threads_that_stand_still_is_one_read(void **state)
{
	(void)state;
	assert_int_equal(walks_take_one_read(&replay_ruby), 0);
}

static void a_stack_deeper_than_wanted_keeps_its_leaf_and_is_marked(void **state)
{
	(void)state;
	assert_int_equal(walks_keep_the_leaf_of_a_deep_stack(&replay_ruby), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(there_is_a_snapshot_of_every_version_that_was_tried),
		cmocka_unit_test(every_snapshot_says_what_was_written_down_beside_it),
		cmocka_unit_test(one_look_at_threads_that_stand_still_is_one_read),
		cmocka_unit_test(a_stack_deeper_than_wanted_keeps_its_leaf_and_is_marked),
		cmocka_unit_test(a_read_that_fails_costs_one_stack_and_never_makes_a_wrong_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
