/* test_profile.c - the trie of stacks, the threads, and their runs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cspy/profile.h"

enum { MS = 1000000 };

static int setup(void **state)
{
	struct profile *p = profile_new(frames_new(strings_new()));

	p->keep_runs = true;
	p->interval_ns = 10 * MS;
	*state = p;
	return 0;
}

static int teardown(void **state)
{
	struct profile *p = *state;
	struct frames *f = p->frames;
	struct strings *s = frames_strings(f);

	profile_free(p);
	frames_free(f);
	strings_free(s);
	return 0;
}

static void the_same_stack_is_the_same_node(void **state)
{
	struct profile *p = *state;
	node_id a = profile_child(p, 0, 1), b = profile_child(p, a, 2);

	assert_int_equal(profile_child(p, 0, 1), a);
	assert_int_equal(profile_child(p, a, 2), b);
	assert_int_not_equal(profile_child(p, 0, 2), b);
	assert_int_not_equal(profile_child(p, b, 1), a);
	assert_int_equal(p->node_count, 5);
	assert_int_equal(p->nodes[b].parent, a);
	assert_int_equal(p->nodes[b].frame, 2);
}

static void a_parent_has_a_smaller_id_than_its_children(void **state)
{
	struct profile *p = *state;

	for (frame_id chain = 1; chain < 50; chain++) {
		node_id n = 0;

		for (frame_id f = 0; f < 100; f++)
			n = profile_child(p, n, f * chain % 13);
	}
	for (size_t i = 1; i < p->node_count; i++)
		assert_true(p->nodes[i].parent < i);
}

static void a_known_stack_allocates_nothing(void **state)
{
	struct profile *p = *state;
	uint32_t t = profile_thread(p, 1, 1, 0);
	uint64_t before = 0;

	for (uint64_t round = 0; round < 2; round++) {
		for (frame_id f = 1; f < 5000; f++)
			profile_add(p, profile_child(p, profile_child(p, 0, f % 9), f), true, 1);
		assert_int_equal(profile_thread(p, 1, 1, 0), t);
		profile_run(p, t, 1, round * 10 * MS);
		if (round == 0)
			before = xalloc_count();
	}
	assert_int_equal(xalloc_count(), before);
}

static void fair_and_free_samples_are_counted_apart(void **state)
{
	struct profile *p = *state;
	node_id n = profile_child(p, 0, 1);

	profile_add(p, n, true, 2);
	profile_add(p, n, false, 3);
	profile_add(p, 0, true, 5);
	assert_int_equal(p->nodes[n].fair, 2);
	assert_int_equal(p->nodes[n].free, 3);
	assert_int_equal(p->nodes[n].self, 5);
	assert_int_equal(profile_total(p), 10);
}

static void a_thread_keeps_its_index_and_takes_its_name_when_known(void **state)
{
	struct profile *p = *state;
	uint32_t a = profile_thread(p, 10, 11, 0), b = profile_thread(p, 10, 12, 5);

	assert_int_not_equal(a, b);
	assert_int_not_equal(profile_thread(p, 11, 12, 0), b);
	assert_int_equal(profile_thread(p, 10, 11, 3), a);
	assert_int_equal(p->threads[a].name, 3);
	profile_thread(p, 10, 11, 0);
	assert_int_equal(p->threads[a].name, 3);
	assert_int_equal(p->threads[a].tid, 11);
}

static void looks_that_see_the_same_stack_are_one_run(void **state)
{
	struct profile *p = *state;
	uint32_t t = profile_thread(p, 1, 1, 0);

	for (uint64_t i = 0; i < 5; i++)
		profile_run(p, t, 7, i * 11 * MS);
	assert_int_equal(p->run_count, 1);
	assert_int_equal(p->runs[0].samples, 5);
	assert_int_equal(p->runs[0].start_ns, 0);
	assert_int_equal(p->runs[0].end_ns, 54 * MS);
	assert_int_equal(p->runs[0].stack, 7);
}

static void another_stack_ends_the_run_without_hole_or_overlap(void **state)
{
	struct profile *p = *state;
	uint32_t t = profile_thread(p, 1, 1, 0);

	profile_run(p, t, 7, 0);
	profile_run(p, t, 8, 9 * MS);  /* early */
	profile_run(p, t, 7, 21 * MS); /* late */
	assert_int_equal(p->run_count, 3);
	assert_int_equal(p->runs[0].end_ns, 9 * MS);
	assert_int_equal(p->runs[1].start_ns, 9 * MS);
	assert_int_equal(p->runs[1].end_ns, 21 * MS);
	assert_int_equal(p->runs[2].start_ns, 21 * MS);
}

static void a_gap_of_more_than_one_and_a_half_intervals_stays_visible(void **state)
{
	struct profile *p = *state;
	uint32_t t = profile_thread(p, 1, 1, 0);

	profile_run(p, t, 7, 0);
	profile_run(p, t, 7, 15 * MS); /* just in time */
	profile_run(p, t, 7, 31 * MS); /* 16 ms later */
	assert_int_equal(p->run_count, 2);
	assert_int_equal(p->runs[0].end_ns, 25 * MS);
	assert_int_equal(p->runs[0].samples, 2);
	assert_int_equal(p->runs[1].start_ns, 31 * MS);
	assert_int_equal(p->runs[1].end_ns, 41 * MS);
}

static void threads_do_not_end_each_others_runs(void **state)
{
	struct profile *p = *state;
	uint32_t a = profile_thread(p, 1, 1, 0), b = profile_thread(p, 1, 2, 0);

	for (uint64_t i = 0; i < 10; i++) {
		profile_run(p, a, 1, i * 10 * MS);
		profile_run(p, b, 2, i * 10 * MS);
	}
	assert_int_equal(p->run_count, 2);
	assert_int_equal(p->runs[0].samples, 10);
	assert_int_equal(p->runs[1].samples, 10);
}

static void a_clock_that_goes_back_makes_no_run_of_negative_length(void **state)
{
	struct profile *p = *state;
	uint32_t t = profile_thread(p, 1, 1, 0);

	profile_run(p, t, 1, 50 * MS);
	profile_run(p, t, 2, 20 * MS);
	profile_run(p, t, 2, 10 * MS);
	profile_run(p, t, 3, 0);
	for (size_t i = 0; i < p->run_count; i++) {
		assert_true(p->runs[i].start_ns <= p->runs[i].end_ns);
		if (i)
			assert_true(p->runs[i].start_ns >= p->runs[i - 1].end_ns);
	}
}

static void runs_count_from_the_start_of_the_profile(void **state)
{
	struct profile *p = *state;
	uint32_t t = profile_thread(p, 1, 1, 0);

	p->start_ns = 1000 * MS;
	profile_run(p, t, 1, 999 * MS); /* the clock was read before the start was noted */
	profile_run(p, t, 2, 1500 * MS);
	assert_int_equal(p->runs[0].start_ns, 0);
	assert_int_equal(p->runs[1].start_ns, 500 * MS);
}

static void runs_are_not_kept_unless_wanted(void **state)
{
	struct profile *p = *state;

	p->keep_runs = false;
	profile_run(p, profile_thread(p, 1, 1, 0), 1, 0);
	p->keep_runs = true;
	profile_run(p, 99, 1, 0); /* no such thread */
	assert_int_equal(p->run_count, 0);
}

static void a_full_trie_answers_with_the_parent(void **state)
{
	struct profile *p = *state;
	node_id first = profile_child(p, 0, 1), n = first;

	for (frame_id f = 2; p->stats.trie_full == 0; f++) {
		assert_true(f < 5 << 20);
		n = profile_child(p, first, f);
	}
	assert_int_equal(n, first);
	assert_int_equal(p->node_count, 4 << 20);
	assert_int_equal(profile_child(p, n, 77777777), n);
	assert_int_equal(p->stats.trie_full, 2);
	assert_int_not_equal(profile_child(p, first, 3), first); /* known ones are found as before */
}

static void a_new_profile_has_empty_titles(void **state)
{
	struct profile *p = *state;

	assert_string_equal(p->command, "");
	assert_string_equal(p->runtime, "");
	assert_string_equal(p->mode, "");
	assert_int_equal(profile_total(p), 0);
	profile_free(NULL);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(the_same_stack_is_the_same_node),
		TEST(a_parent_has_a_smaller_id_than_its_children),
		TEST(a_known_stack_allocates_nothing),
		TEST(fair_and_free_samples_are_counted_apart),
		TEST(a_thread_keeps_its_index_and_takes_its_name_when_known),
		TEST(looks_that_see_the_same_stack_are_one_run),
		TEST(another_stack_ends_the_run_without_hole_or_overlap),
		TEST(a_gap_of_more_than_one_and_a_half_intervals_stays_visible),
		TEST(threads_do_not_end_each_others_runs),
		TEST(a_clock_that_goes_back_makes_no_run_of_negative_length),
		TEST(runs_count_from_the_start_of_the_profile),
		TEST(runs_are_not_kept_unless_wanted),
		TEST(a_full_trie_answers_with_the_parent),
		TEST(a_new_profile_has_empty_titles),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
