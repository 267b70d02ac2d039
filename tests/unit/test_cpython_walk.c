/* test_cpython_walk.c - the walks of every CPython version over recorded memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <glob.h>

#include "cpython_replay.h"
#include "walks.h"

enum { VERSIONS_MIN = 10 }; /* of CPython, that have snapshots */

static void there_is_a_snapshot_of_every_version_that_has_a_row(void **state)
{
	unsigned rows = 0;

	(void)state;
	for (const struct cpy_layout *l; (l = cpy_layout_at(rows)) != NULL; rows++) {
		CLEANUP(cleanup_free)
		char *pattern = xasprintf("fixtures/snapshots/cpython/%u.%u.*/*.snap", l->major, l->minor);
		glob_t found = { 0 };

		if (glob(pattern, 0, NULL, &found) != 0)
			fail_msg("none of %u.%u", l->major, l->minor);
		globfree(&found);
	}
	assert_true(rows >= VERSIONS_MIN);
}

static void every_snapshot_says_what_was_written_down_beside_it(void **state)
{
	(void)state;
	assert_int_equal(walks_say_what_is_expected(&replay_cpython), 0);
}

static void a_read_that_fails_costs_one_stack_and_never_makes_a_wrong_one(void **state)
{
	(void)state;
	assert_int_equal(walks_survive_each_failure(&replay_cpython), 0);
}

static void one_look_at_threads_that_stand_still_is_one_read(void **state)
{
	(void)state;
	assert_int_equal(walks_take_one_read(&replay_cpython), 0);
}

static void a_stack_deeper_than_wanted_keeps_its_leaf_and_is_marked(void **state)
{
	(void)state;
	assert_int_equal(walks_keep_the_leaf_of_a_deep_stack(&replay_cpython), 0);
}

/* Roots in the wrong place of one snapshot. */
static void move_roots(const char *path)
{
	struct memory *snapshot;
	struct cpy_roots roots;
	struct target t;
	struct cpy *c;

	assert_false(failed(memory_snapshot_open(path, &snapshot)));
	replay_target(snapshot, replay_lend(snapshot), &t);
	assert_false(failed(replay_roots(snapshot, t.memory, &roots)));
	assert_false(failed(cpy_attach_roots(&roots, &t, &c)));
	/* A word that holds something, but no interpreter: a thread state. */
	roots.interp_head = c->threads[0].at + (raddr_t)roots.layout.thread_interp - 8;
	runtime_cpython.detach(c);
	for (int i = 0; i < 32; i++, roots.interp_head += 8) {
		struct said said;

		/* The second of them is the interpreter. */
		if (i == 1 || failed(cpy_attach_roots(&roots, &t, &c)))
			continue;
		said_take(&said, &runtime_cpython, c, &t, NULL, 0);
		said_free(&said);
		runtime_cpython.detach(c);
	}
	replay_target_free(&t);
	memory_close(snapshot);
}

static void roots_in_the_wrong_place_do_no_harm(void **state)
{
	glob_t found = { 0 };

	(void)state;
	assert_int_equal(glob(replay_cpython.snapshots, 0, NULL, &found), 0);
	for (size_t i = 0; i < found.gl_pathc; i++)
		move_roots(found.gl_pathv[i]);
	globfree(&found);
}

/* What is asked of a thread to see whether it is still where it was in its data stack. */
struct depth {
	const struct cpy *c;
	bool changes;
};

static bool is_depth(void *arg, const struct memory_range *range)
{
	const struct depth *d = arg;

	for (size_t i = 0; d->changes && i < d->c->thread_count && range->len == 8; i++)
		if (range->at == d->c->threads[i].at + (raddr_t)d->c->l->thread_chunk ||
		    range->at == d->c->threads[i].at + (raddr_t)d->c->l->thread_stack_top)
			return true;
	return false;
}

/* How many stacks there are, and how many of them are not believed. */
static void look(struct cpy *c, struct target *t, uint64_t now_ns, unsigned *count, unsigned *refused)
{
	struct rt_look look = { .now_ns = now_ns };
	struct raw_stacks stacks;

	raw_stacks_init(&stacks, 1000);
	assert_false(failed(runtime_cpython.sample(c, t, &look, &stacks)));
	*count = *refused = 0;
	for (size_t i = 0; i < stacks.count; i++) {
		const struct copies *k = &c->threads[i].copies;

		*count += k->late || k->chunk_count > 1;
		*refused += stacks.list[i].err.code == ERR_CORRUPT;
	}
	raw_stacks_free(&stacks);
}

/* The first look reads everything late. In the next ones all is foreseen, and asked of stacks in several chunks. */
static unsigned shrink(const char *path)
{
	struct depth depth = { .changes = false };
	struct memory *snapshot;
	struct cpy_roots roots;
	struct target t;
	struct cpy *c;
	unsigned first, later, refused;

	assert_false(failed(memory_snapshot_open(path, &snapshot)));
	replay_target(snapshot, replay_change(replay_lend(snapshot), is_depth, &depth), &t);
	assert_false(failed(replay_roots(snapshot, t.memory, &roots)));
	assert_false(failed(cpy_attach_roots(&roots, &t, &c)));
	depth = (struct depth){ c, true };
	look(c, &t, 5000000000, &first, &refused);
	assert_int_equal(refused, c->l->frames == FRAMES_HEAP ? 0 : first);
	look(c, &t, 5000100000, &later, &refused);
	assert_int_equal(refused, later);
	depth.changes = false;
	look(c, &t, 5000200000, &later, &refused);
	assert_int_equal(refused, 0);
	runtime_cpython.detach(c);
	replay_target_free(&t);
	memory_close(snapshot);
	return later;
}

static void a_stack_that_shrinks_while_it_is_read_is_not_believed(void **state)
{
	glob_t found = { 0 };
	unsigned in_chunks = 0;

	(void)state;
	assert_int_equal(glob(replay_cpython.snapshots, 0, NULL, &found), 0);
	for (size_t i = 0; i < found.gl_pathc; i++)
		in_chunks += shrink(found.gl_pathv[i]);
	globfree(&found);
	assert_true(in_chunks > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(there_is_a_snapshot_of_every_version_that_has_a_row),
		cmocka_unit_test(every_snapshot_says_what_was_written_down_beside_it),
		cmocka_unit_test(one_look_at_threads_that_stand_still_is_one_read),
		cmocka_unit_test(a_stack_deeper_than_wanted_keeps_its_leaf_and_is_marked),
		cmocka_unit_test(roots_in_the_wrong_place_do_no_harm),
		cmocka_unit_test(a_stack_that_shrinks_while_it_is_read_is_not_believed),
		cmocka_unit_test(a_read_that_fails_costs_one_stack_and_never_makes_a_wrong_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
