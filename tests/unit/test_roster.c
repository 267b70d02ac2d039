/* test_roster.c - processes in the order of their tree, whatever their parents say. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>

#include "roster.h"

#define SECOND 1000000000ull

static const char *const names[] = { "wait", "run", NULL };

static struct profile *p;
static struct tallies t;
static struct roster r;

static int setup(void **state)
{
	(void)state;
	p = profile_new(frames_new(strings_new()));
	tallies_init(&t, p, names, 10 * SECOND);
	roster_init(&r, 10);
	return 0;
}

static int teardown(void **state)
{
	struct frames *frames = p->frames;
	struct strings *strings = frames_strings(frames);

	(void)state;
	roster_free(&r);
	tallies_free(&t);
	profile_free(p);
	frames_free(frames);
	strings_free(strings);
	return 0;
}

static void meet(pid_t pid, pid_t parent)
{
	bool fresh;

	roster_meet(&r, pid, &fresh)->parent = parent;
}

/* "pid depth " of each. */
static void assert_order(const char *expected)
{
	char text[256] = "";
	size_t n = 0;

	roster_end(&r, &t, SECOND);
	for (size_t i = 0; i < r.count; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%d:%d ", (int)r.list[i]->pid, r.list[i]->depth);
	assert_string_equal(text, expected);
}

static void each_stands_below_its_parent(void **state)
{
	(void)state;
	meet(40, 20);
	meet(30, 10);
	meet(20, 10);
	meet(10, 1);
	meet(5, 20);
	assert_order("10:0 20:1 5:2 40:2 30:1 ");
}

static void who_was_not_met_again_is_gone_and_its_children_stay(void **state)
{
	(void)state;
	meet(10, 1);
	meet(20, 10);
	meet(30, 20);
	assert_order("10:0 20:1 30:2 ");
	roster_begin(&r);
	meet(10, 1);
	meet(30, 1);
	meet(11, 30);
	assert_order("10:0 30:1 11:2 ");
}

static void parents_in_a_circle_lose_nobody(void **state)
{
	(void)state;
	meet(10, 1);
	meet(20, 30);
	meet(30, 20);
	meet(40, 40);
	assert_order("10:0 40:1 20:1 30:1 ");
}

static void a_process_did_what_its_threads_did(void **state)
{
	(void)state;
	profile_thread(p, 10, 10, 0);
	profile_thread(p, 20, 20, 0);
	profile_thread(p, 20, 21, 0);
	tallies_grow(&t);
	for (int i = 0; i < 3; i++) {
		tallies_begin(&t.threads[i].tally, 0, 0);
		p->threads[i].looks =
			(struct profile_looks){ .seen = 100, .held = i ? 40 : 10, .wanted = 10u * (unsigned)i };
	}
	tallies_update(&t, SECOND);
	meet(10, 1);
	meet(20, 10);
	assert_order("10:0 20:1 ");
	assert_int_equal(r.list[0]->threads, 1);
	assert_int_equal(r.list[1]->threads, 2);
	assert_in_range((uint64_t)(r.list[1]->tally.shares.held * 1000), 799, 801);
	assert_in_range((uint64_t)(r.list[1]->tally.shares.wanted * 1000), 199, 201);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(each_stands_below_its_parent),
		TEST(who_was_not_met_again_is_gone_and_its_children_stay),
		TEST(parents_in_a_circle_lose_nobody),
		TEST(a_process_did_what_its_threads_did),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
