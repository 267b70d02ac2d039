/* test_tally.c - a thread's state by what it did for most of the time, and its shares of the window. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "tally.h"

#define SECOND 1000000000ull

static const char *const names[] = { "wait", "run", "futex", "read", NULL };
enum { UNKNOWN, RUNS, FUTEX, READ };

static struct profile *p;
static struct tallies t;
static uint64_t now;

static int setup(void **state)
{
	(void)state;
	now = 0;
	p = profile_new(frames_new(strings_new()));
	profile_thread(p, 1, 1, 0);
	profile_thread(p, 1, 2, 0);
	tallies_init(&t, p, names, 10 * SECOND);
	tallies_lock(&t, "GIL");
	tallies_grow(&t);
	for (int i = 0; i < 2; i++)
		tallies_begin(&t.threads[i].tally, 0, 0);
	tallies_begin(&t.process, 0, 0);
	return 0;
}

static int teardown(void **state)
{
	struct frames *frames = p->frames;
	struct strings *strings = frames_strings(frames);

	(void)state;
	tallies_free(&t);
	profile_free(p);
	frames_free(frames);
	strings_free(strings);
	return 0;
}

static void look(size_t thread, uint64_t seen, uint64_t held, uint64_t wanted, uint64_t gc)
{
	struct profile_looks *l = &p->threads[thread].looks;

	l->seen += seen;
	l->held += held;
	l->wanted += wanted;
	l->gc += gc;
}

static void update(void)
{
	now += SECOND;
	p->looks.seen += 100;
	tallies_update(&t, now);
}

static void assert_state(size_t thread, const char *state)
{
	assert_string_equal(t.threads[thread].state, state);
}

static void the_lock_s_holder_runs_or_collects(void **state)
{
	(void)state;
	look(0, 100, 90, 0, 10);
	look(1, 100, 80, 0, 70);
	update();
	assert_state(0, "run");
	assert_state(1, "gc");
	assert_int_equal(t.class[TALLY_RUNS], 2);
	assert_int_equal(t.holder, 0);
	assert_true(t.threads[1].tally.shares.gc > 0.69 && t.threads[1].tally.shares.gc < 0.71);
}

static void what_the_kernel_says_most_is_the_state_of_who_waits(void **state)
{
	(void)state;
	look(0, 100, 0, 0, 0);
	look(1, 100, 10, 0, 0);
	tallies_answer(&t, 0, now, READ, false);
	tallies_answer(&t, 0, now, FUTEX, false);
	tallies_answer(&t, 0, now, READ, false);
	tallies_answer(&t, 1, now, RUNS, false);
	update();
	assert_state(0, "read");
	assert_state(1, "run");
	assert_string_equal(t.off, "read");
	assert_true(t.off_share > 0.99);
}

static void waiting_for_the_lock_is_told_by_the_runtime_or_by_where_it_waits(void **state)
{
	(void)state;
	look(0, 100, 10, 80, 0);
	look(1, 100, 10, 0, 0);
	tallies_answer(&t, 1, now, FUTEX, true);
	tallies_answer(&t, 1, now, FUTEX, true);
	tallies_answer(&t, 1, now, RUNS, false);
	update();
	assert_state(0, "gil-wait");
	assert_state(1, "gil-wait");
	assert_int_equal(t.class[TALLY_WANTS_LOCK], 2);
	assert_true(t.threads[0].tally.shares.wanted > 0.79);
	assert_true(t.threads[1].tally.shares.wanted > 0.66);
}

static void without_a_lock_nobody_waits_for_it(void **state)
{
	(void)state;
	tallies_lock(&t, "");
	look(0, 100, 0, 0, 0);
	tallies_answer(&t, 0, now, FUTEX, false);
	update();
	assert_state(0, "futex");
}

static void a_thread_that_no_look_sees_is_gone(void **state)
{
	(void)state;
	look(0, 100, 100, 0, 0);
	look(1, 100, 0, 0, 0);
	update();
	assert_int_equal(t.alive, 2);
	look(0, 100, 100, 0, 0);
	update();
	assert_int_equal(t.alive, 1);
	assert_false(t.threads[1].alive);
	assert_state(0, "run");
}

static void shares_are_those_of_the_window(void **state)
{
	(void)state;
	for (int i = 0; i < 30; i++) {
		look(0, 100, i < 15 ? 100 : 20, 0, 0);
		tallies_cpu(&t.threads[0].tally, (uint64_t)(i + 1) * SECOND / 4);
		update();
	}
	assert_true(t.threads[0].tally.shares.held > 0.19 && t.threads[0].tally.shares.held < 0.21);
	assert_true(t.threads[0].tally.shares.cpu > 0.24 && t.threads[0].tally.shares.cpu < 0.26);
	tallies_reset(&t);
	look(0, 100, 100, 0, 0);
	update();
	look(0, 100, 100, 0, 0);
	update();
	assert_true(t.threads[0].tally.shares.held > 0.99);
}

static void the_kernel_is_asked_again_when_something_changed_or_a_second_passed(void **state)
{
	(void)state;
	assert_true(tallies_curious(&t, 0, now));
	tallies_answer(&t, 0, SECOND, READ, false);
	assert_false(tallies_curious(&t, 0, SECOND + 1));
	assert_true(tallies_curious(&t, 0, 2 * SECOND));
	look(0, 1, 1, 0, 0);
	assert_true(tallies_curious(&t, 0, SECOND + 1));
	tallies_answer(&t, 0, SECOND, READ, false);
	p->threads[0].last = 7;
	assert_true(tallies_curious(&t, 0, SECOND + 1));
	tallies_answer(&t, 0, SECOND, RUNS, false);
	assert_true(tallies_curious(&t, 0, SECOND + 1));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(the_lock_s_holder_runs_or_collects),
		TEST(what_the_kernel_says_most_is_the_state_of_who_waits),
		TEST(waiting_for_the_lock_is_told_by_the_runtime_or_by_where_it_waits),
		TEST(without_a_lock_nobody_waits_for_it),
		TEST(a_thread_that_no_look_sees_is_gone),
		TEST(shares_are_those_of_the_window),
		TEST(the_kernel_is_asked_again_when_something_changed_or_a_second_passed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
