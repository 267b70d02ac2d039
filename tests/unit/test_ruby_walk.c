/* test_ruby_walk.c - the walks of every Ruby at hand over recorded memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <glob.h>

#include "ruby/ruby.h"
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

static void a_second_read_of_what_stands_still_shows_the_same_stack_and_leaf(void **state)
{
	(void)state;
	assert_int_equal(walks_agree_when_read_twice(&replay_ruby), 0);
}

static void a_stack_deeper_than_wanted_keeps_its_leaf_and_is_marked(void **state)
{
	(void)state;
	assert_int_equal(walks_keep_the_leaf_of_a_deep_stack(&replay_ruby), 0);
}

/* What is asked to see whether a thread is still in its newest frame; once the Ruby is known. */
static bool is_top(void *arg, const struct memory_range *range)
{
	const struct rby *r = *(const struct rby **)arg;

	for (size_t i = 0; r && i < r->thread_count && range->len == 8; i++)
		if (range->at == r->threads[i].stack.context + EC_FRAME)
			return true;
	return false;
}

static void look(struct rby *r, struct target *t, uint64_t now_ns, unsigned *count, unsigned *refused)
{
	struct rt_look look = { .now_ns = now_ns };
	struct raw_stacks stacks;

	raw_stacks_init(&stacks, 1000);
	assert_false(failed(replay_ruby.ops->sample(r, t, &look, &stacks)));
	*count = *refused = 0;
	for (size_t i = 0; i < stacks.count; i++) {
		*count += stacks.list[i].count > 0 || failed(stacks.list[i].err);
		*refused += stacks.list[i].err.code == ERR_CORRUPT;
	}
	raw_stacks_free(&stacks);
}

/* The first look reads everything after all else, the next one nothing. */
static void shrink(const char *path)
{
	const struct rby *changing = NULL;
	struct memory *snapshot;
	struct target t;
	void *r;
	unsigned count, refused;

	assert_false(failed(memory_snapshot_open(path, &snapshot)));
	replay_target(snapshot, replay_change(replay_lend(snapshot), is_top, (void *)&changing), &t);
	assert_false(failed(replay_ruby.attach(snapshot, &t, &r)));
	changing = r;
	look(r, &t, 5000000000, &count, &refused);
	assert_true(count > 0);
	assert_int_equal(refused, count);
	look(r, &t, 5000100000, &count, &refused);
	assert_int_equal(refused, 0);
	replay_ruby.ops->detach(r);
	replay_target_free(&t);
	memory_close(snapshot);
}

static void a_stack_that_shrinks_while_it_is_read_is_not_believed(void **state)
{
	glob_t found = { 0 };

	(void)state;
	assert_int_equal(glob(replay_ruby.snapshots, 0, NULL, &found), 0);
	for (size_t i = 0; i < found.gl_pathc; i++)
		shrink(found.gl_pathv[i]);
	globfree(&found);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(there_is_a_snapshot_of_every_version_that_was_tried),
		cmocka_unit_test(every_snapshot_says_what_was_written_down_beside_it),
		cmocka_unit_test(one_look_at_threads_that_stand_still_is_one_read),
		cmocka_unit_test(a_second_read_of_what_stands_still_shows_the_same_stack_and_leaf),
		cmocka_unit_test(a_stack_deeper_than_wanted_keeps_its_leaf_and_is_marked),
		cmocka_unit_test(a_stack_that_shrinks_while_it_is_read_is_not_believed),
		cmocka_unit_test(a_read_that_fails_costs_one_stack_and_never_makes_a_wrong_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
