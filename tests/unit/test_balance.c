/* test_balance.c - samples read while the target ran are weighed by those that were taken paused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "cspy/profile.h"

struct made {
	struct strings *strings;
	struct frames *frames;
	struct profile *profile;
};

static int setup(void **state)
{
	struct made *m = xcalloc(1, sizeof(*m));

	m->strings = strings_new();
	m->frames = frames_new(m->strings);
	m->profile = profile_new(m->frames);
	*state = m;
	return 0;
}

static int teardown(void **state)
{
	struct made *m = *state;

	profile_free(m->profile);
	frames_free(m->frames);
	strings_free(m->strings);
	cleanup_free(&m);
	return 0;
}

static node_id node(struct made *m, node_id parent, const char *function, uint32_t line)
{
	str_id name = strings_add(m->strings, function, strlen(function));
	struct frame_info info = { .function = name, .name = name, .line = line };

	return profile_child(m->profile, parent, frames_add(m->frames, info));
}

static node_id add(struct made *m, const char *function, uint64_t fair, uint64_t unpaused)
{
	node_id n = node(m, 0, function, 1);

	profile_add(m->profile, n, true, fair);
	profile_add(m->profile, n, false, unpaused);
	return n;
}

static void move(struct made *m, const char *leaf, node_id kept, unsigned times)
{
	while (times--)
		profile_moved(m->profile, strings_add(m->strings, leaf, strlen(leaf)), kept, 1);
}

static uint64_t self(const struct made *m, node_id n)
{
	return m->profile->nodes[n].self;
}

static void assert_near(uint64_t got, uint64_t want, uint64_t off)
{
	assert_in_range(got, want - off, want + off);
}

static void a_known_lean_is_corrected_and_the_total_kept(void **state)
{
	struct made *m = *state;
	/* The program: 50, 30, 20. Unpaused, the one that calls much is seen too rarely. */
	node_id a = add(m, "calls much", 500, 3000), b = add(m, "calls some", 300, 4200), c = add(m, "rest", 200, 2800);

	profile_balance(m->profile);
	assert_int_equal(profile_total(m->profile), 11000);
	assert_near(self(m, a), 5500, 2);
	assert_near(self(m, b), 3300, 2);
	assert_near(self(m, c), 2200, 2);
	assert_true(m->profile->stats.lean > 0.19 && m->profile->stats.lean < 0.21);
	assert_string_equal(strings_get(m->strings, m->profile->stats.lean_function), "calls much");
}

static void what_differs_by_chance_only_is_left_alone(void **state)
{
	struct made *m = *state;
	node_id a = add(m, "one", 510, 5000), b = add(m, "two", 490, 5000);

	profile_balance(m->profile);
	assert_int_equal(self(m, a), 5510);
	assert_int_equal(self(m, b), 5490);
	assert_true(m->profile->stats.lean == 0);
	assert_int_equal(m->profile->stats.lean_function, 0);
}

static void too_few_paused_samples_prove_nothing(void **state)
{
	struct made *m = *state;
	node_id a = add(m, "one", 90, 100), b = add(m, "two", 9, 9900);

	profile_balance(m->profile);
	assert_int_equal(self(m, a), 190);
	assert_int_equal(self(m, b), 9909);
}

static void without_unpaused_samples_nothing_changes(void **state)
{
	struct made *m = *state;
	node_id a = add(m, "one", 900, 0), b = add(m, "two", 100, 0);

	profile_balance(m->profile);
	assert_int_equal(self(m, a), 900);
	assert_int_equal(self(m, b), 100);
}

static void a_function_that_is_seen_only_unpaused_loses_what_it_did_not_earn(void **state)
{
	struct made *m = *state;
	node_id a = add(m, "real", 1000, 5000), b = add(m, "phantom", 0, 5000);

	profile_balance(m->profile);
	assert_int_equal(self(m, b), 0);
	assert_int_equal(self(m, a), 11000);
}

static void a_function_that_is_seen_only_paused_gets_its_share(void **state)
{
	struct made *m = *state;
	node_id a = add(m, "too short", 300, 0), b = add(m, "rest", 700, 9000);

	profile_balance(m->profile);
	assert_near(self(m, a), 3000, 2);
	assert_near(self(m, b), 7000, 2);
	assert_int_equal(profile_total(m->profile), 10000);
}

static void leaves_first_read_say_what_too_few_paused_samples_do_not(void **state)
{
	struct made *m = *state;
	/* The program: 50, 50. 10 % of the unpaused samples began as quick and were kept as slow: too little to see. */
	node_id quick = add(m, "quick", 55, 400), slow = add(m, "slow", 60, 600);

	move(m, "quick", slow, 100);
	profile_balance(m->profile);
	assert_near(self(m, quick), 555, 1);
	assert_near(self(m, slow), 560, 1);
}

static void lines_of_one_function_share_its_weight_and_keep_their_proportions(void **state)
{
	struct made *m = *state;
	node_id one = node(m, 0, "leans", 1), two = node(m, 0, "leans", 2), rest = add(m, "rest", 500, 8000);

	profile_add(m->profile, one, true, 400);
	profile_add(m->profile, one, false, 1500);
	profile_add(m->profile, two, true, 100);
	profile_add(m->profile, two, false, 500);
	profile_balance(m->profile);
	/* half of all belongs to `leans`: what there is of it, times 2.2 */
	assert_near(self(m, one), 4180, 2);
	assert_near(self(m, two), 1320, 2);
	assert_near(self(m, rest), 500 + 5000, 2);
	assert_int_equal(profile_total(m->profile), 11000);
}

static void many_small_nodes_lose_nothing_by_rounding(void **state)
{
	struct made *m = *state;
	node_id last = 0;

	for (uint32_t i = 0; i < 1000; i++) {
		last = node(m, last, i % 2 ? "odd" : "even", i);
		profile_add(m->profile, last, false, i % 2 ? 1 : 3);
		profile_add(m->profile, last, true, 1);
	}
	profile_balance(m->profile);
	assert_near(profile_total(m->profile), 3000, 1);
	assert_true(m->profile->stats.lean > 0.2);
}

static void balancing_twice_is_balancing_once(void **state)
{
	struct made *m = *state;
	node_id a = add(m, "calls much", 500, 3000), b = add(m, "rest", 500, 7000);
	uint64_t first;

	profile_balance(m->profile);
	first = self(m, a);
	profile_balance(m->profile);
	assert_int_equal(self(m, a), first);
	assert_int_equal(self(m, a) + self(m, b), 11000);
}

static node_id add_cut(struct made *m, uint64_t n)
{
	str_id name = strings_add(m->strings, "[cut]", 5);
	struct frame_info info = { .function = name, .name = name, .kind = FRAME_MARK };
	node_id cut = profile_child(m->profile, 0, frames_add(m->frames, info));

	profile_add(m->profile, cut, false, n);
	return cut;
}

static void without_pauses_the_leaves_first_read_give_the_shares(void **state)
{
	struct made *m = *state;
	node_id quick = add(m, "quick", 0, 20), slow = add(m, "slow", 0, 70), cut = add_cut(m, 10);

	move(m, "quick", cut, 8); /* of what was cut, so much began as quick */
	move(m, "slow", cut, 2);
	move(m, "quick", slow, 12); /* and so much was slow when it was read again */
	profile_balance(m->profile);
	assert_int_equal(self(m, quick), 40);
	assert_int_equal(self(m, slow), 60);
	assert_int_equal(self(m, cut), 0);
	assert_true(m->profile->stats.lean > 0.19 && m->profile->stats.lean < 0.21);
}

static void a_leaf_that_left_no_whole_stack_stays_cut(void **state)
{
	struct made *m = *state;
	node_id slow = add(m, "slow", 0, 60), cut = add_cut(m, 40);

	move(m, "never whole", cut, 30);
	move(m, "slow", cut, 10);
	profile_balance(m->profile);
	assert_int_equal(self(m, slow), 70);
	assert_int_equal(self(m, cut), 30);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(a_known_lean_is_corrected_and_the_total_kept),
		TEST(what_differs_by_chance_only_is_left_alone),
		TEST(too_few_paused_samples_prove_nothing),
		TEST(without_unpaused_samples_nothing_changes),
		TEST(a_function_that_is_seen_only_unpaused_loses_what_it_did_not_earn),
		TEST(a_function_that_is_seen_only_paused_gets_its_share),
		TEST(leaves_first_read_say_what_too_few_paused_samples_do_not),
		TEST(lines_of_one_function_share_its_weight_and_keep_their_proportions),
		TEST(many_small_nodes_lose_nothing_by_rounding),
		TEST(balancing_twice_is_balancing_once),
		TEST(without_pauses_the_leaves_first_read_give_the_shares),
		TEST(a_leaf_that_left_no_whole_stack_stays_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
