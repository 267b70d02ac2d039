/* test_shares.c - what part of the looks functions and lines have, in the window and since the start. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "shares.h"

#define SECOND 1000000000ull

struct fixture {
	struct profile *p;
	struct shares s;
	frame_id main1, main2, work, native, thread;
};

static frame_id frame(struct profile *p, const char *name, uint32_t first, uint32_t line, enum frame_kind kind)
{
	str_id text = strings_add(frames_strings(p->frames), name, strlen(name));
	str_id file = strings_add(frames_strings(p->frames), "x.py", 4);
	struct frame_info info = {
		.function = text, .name = text, .file = file, .line = line, .first_line = first, .kind = (uint8_t)kind
	};

	return frames_add(p->frames, info);
}

static int setup(void **state)
{
	static struct fixture f;

	f.p = profile_new(frames_new(strings_new()));
	f.main1 = frame(f.p, "main", 1, 2, FRAME_PYTHON);
	f.main2 = frame(f.p, "main", 1, 3, FRAME_PYTHON);
	f.work = frame(f.p, "work", 10, 11, FRAME_PYTHON);
	f.native = frame(f.p, "memcpy", 0, 0, FRAME_NATIVE);
	f.thread = frame(f.p, "thread a (1)", 0, 0, FRAME_THREAD);
	shares_init(&f.s, f.p, 10 * SECOND);
	*state = &f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;
	struct frames *frames = f->p->frames;
	struct strings *strings = frames_strings(frames);

	shares_free(&f->s);
	profile_free(f->p);
	frames_free(frames);
	strings_free(strings);
	return 0;
}

/* So many looks that saw this stack, root first. */
static void see(struct profile *p, uint64_t looks, const frame_id *stack, size_t n)
{
	node_id node = 0;

	for (size_t i = 0; i < n; i++)
		node = profile_child(p, node, stack[i]);
	profile_add(p, node, looks % 2, looks);
	p->stats.ticks += looks;
}
#define SEE(p, looks, ...)                                                                                             \
	do {                                                                                                           \
		const frame_id stack_[] = { __VA_ARGS__ };                                                             \
		see(p, looks, stack_, countof(stack_));                                                                \
	} while (0)

static const struct share *row(const struct fixture *f, enum shares_by by, frame_id id)
{
	uint32_t i = shares_row(&f->s, by, id);

	assert_int_not_equal(i, SHARES_NONE);
	return &f->s.rows[by][i];
}

static void assert_row(const struct share *r, uint64_t own, uint64_t total)
{
	assert_int_equal(r->own_now, own);
	assert_int_equal(r->total_now, total);
}

static void a_function_is_its_lines_together(void **state)
{
	struct fixture *f = *state;

	SEE(f->p, 3, f->thread, f->main1, f->work);
	SEE(f->p, 2, f->thread, f->main2);
	shares_update(&f->s, SECOND);
	assert_row(row(f, SHARES_FUNCTIONS, f->main1), 2, 5);
	assert_ptr_equal(row(f, SHARES_FUNCTIONS, f->main1), row(f, SHARES_FUNCTIONS, f->main2));
	assert_row(row(f, SHARES_LINES, f->main1), 0, 3);
	assert_row(row(f, SHARES_LINES, f->main2), 2, 2);
	assert_row(row(f, SHARES_FUNCTIONS, f->work), 3, 3);
	assert_int_equal(f->s.looks_now, 5);
	assert_int_equal(shares_row(&f->s, SHARES_LINES, f->thread), SHARES_NONE);
}

static void recursion_counts_once(void **state)
{
	struct fixture *f = *state;

	SEE(f->p, 4, f->main1, f->work, f->work, f->work);
	shares_update(&f->s, SECOND);
	assert_row(row(f, SHARES_FUNCTIONS, f->work), 4, 4);
	assert_row(row(f, SHARES_LINES, f->work), 4, 4);
}

static void what_is_older_than_the_window_is_let_go(void **state)
{
	struct fixture *f = *state;

	SEE(f->p, 7, f->main1, f->work);
	shares_update(&f->s, 1 * SECOND);
	SEE(f->p, 5, f->main1);
	shares_update(&f->s, 5 * SECOND);
	assert_row(row(f, SHARES_FUNCTIONS, f->main1), 5, 12);
	shares_update(&f->s, 12 * SECOND);
	assert_row(row(f, SHARES_FUNCTIONS, f->main1), 5, 5);
	assert_row(row(f, SHARES_FUNCTIONS, f->work), 0, 0);
	assert_int_equal(row(f, SHARES_FUNCTIONS, f->work)->own, 7);
	assert_int_equal(f->s.looks_now, 5);
	assert_int_equal(f->s.looks, 12);
	shares_update(&f->s, 30 * SECOND);
	assert_row(row(f, SHARES_FUNCTIONS, f->main1), 0, 0);
	assert_int_equal(f->s.looks_now, 0);
}

static void many_updates_in_a_window_shorten_it_and_lose_nothing(void **state)
{
	struct fixture *f = *state;

	for (uint64_t i = 0; i < 1000; i++) {
		SEE(f->p, 1, f->main1);
		shares_update(&f->s, SECOND + i);
	}
	assert_int_equal(row(f, SHARES_FUNCTIONS, f->main1)->own, 1000);
	assert_row(row(f, SHARES_FUNCTIONS, f->main1), SHARES_SLOTS, SHARES_SLOTS);
	assert_int_equal(f->s.looks_now, SHARES_SLOTS);
}

static void a_reset_begins_anew(void **state)
{
	struct fixture *f = *state;

	SEE(f->p, 3, f->main1);
	shares_update(&f->s, SECOND);
	SEE(f->p, 2, f->main1); /* not taken in yet: it was before the reset all the same */
	shares_reset(&f->s);
	shares_update(&f->s, 2 * SECOND);
	assert_row(row(f, SHARES_FUNCTIONS, f->main1), 0, 0);
	assert_int_equal(row(f, SHARES_FUNCTIONS, f->main1)->own, 0);
	SEE(f->p, 1, f->main1);
	shares_update(&f->s, 3 * SECOND);
	assert_row(row(f, SHARES_FUNCTIONS, f->main1), 1, 1);
	assert_int_equal(f->s.looks, 1);
}

static void hidden_native_frames_give_their_time_to_the_caller(void **state)
{
	struct fixture *f = *state;

	SEE(f->p, 6, f->main1, f->work, f->native);
	shares_update(&f->s, SECOND);
	assert_row(row(f, SHARES_FUNCTIONS, f->native), 6, 6);
	assert_row(row(f, SHARES_FUNCTIONS, f->work), 0, 6);
	f->s.hide_native = true;
	shares_rebuild(&f->s);
	assert_row(row(f, SHARES_FUNCTIONS, f->work), 6, 6);
	assert_false(shares_shown(&f->s, row(f, SHARES_FUNCTIONS, f->native)));
	f->s.hide_native = false;
	shares_rebuild(&f->s);
	assert_row(row(f, SHARES_FUNCTIONS, f->work), 0, 6);
	assert_int_equal(row(f, SHARES_FUNCTIONS, f->native)->own, 6);
}

static node_id node_of(struct fixture *f, frame_id frame)
{
	return profile_child(f->p, 0, frame);
}

static void what_reading_without_pauses_missed_is_weighed_in_each_span(void **state)
{
	struct fixture *f = *state;

	profile_add(f->p, node_of(f, f->main1), true, 100);
	profile_add(f->p, node_of(f, f->work), true, 300);
	shares_update(&f->s, SECOND);
	assert_row(row(f, SHARES_FUNCTIONS, f->work), 300, 300);
	profile_add(f->p, node_of(f, f->main1), true, 100);
	profile_add(f->p, node_of(f, f->work), true, 100);
	profile_add(f->p, node_of(f, f->main1), false, 600);
	profile_add(f->p, node_of(f, f->work), false, 200);
	shares_update(&f->s, 11 * SECOND);
	/* In the window: half of each; since the start 200 to 400. */
	assert_row(row(f, SHARES_FUNCTIONS, f->main1), 500, 500);
	assert_row(row(f, SHARES_FUNCTIONS, f->work), 500, 500);
	assert_int_equal(row(f, SHARES_FUNCTIONS, f->main1)->own, 466 + 1); /* 1400 / 3, rounded */
	assert_int_equal(row(f, SHARES_FUNCTIONS, f->work)->own, 933);
	shares_update(&f->s, 30 * SECOND);
	assert_row(row(f, SHARES_FUNCTIONS, f->work), 0, 0);
}

static void what_moved_is_let_go_with_the_window(void **state)
{
	struct fixture *f = *state;
	node_id main1 = node_of(f, f->main1), work = node_of(f, f->work);
	str_id name = frames_get(f->p->frames, f->work).function;

	profile_add(f->p, main1, false, 60);
	profile_add(f->p, work, false, 40);
	for (int i = 0; i < 20; i++)
		profile_moved(f->p, name, main1, 1);
	shares_update(&f->s, SECOND);
	assert_row(row(f, SHARES_FUNCTIONS, f->main1), 40, 40);
	assert_row(row(f, SHARES_FUNCTIONS, f->work), 60, 60);
	profile_add(f->p, main1, false, 60);
	profile_add(f->p, work, false, 40);
	shares_update(&f->s, 11 * SECOND);
	assert_row(row(f, SHARES_FUNCTIONS, f->main1), 60, 60);
	assert_row(row(f, SHARES_FUNCTIONS, f->work), 40, 40);
	assert_int_equal(row(f, SHARES_FUNCTIONS, f->work)->own, 100);
	profile_add(f->p, main1, false, 60);
	for (int i = 0; i < 20; i++)
		profile_moved(f->p, name, main1, 1);
	shares_reset(&f->s);
	profile_add(f->p, main1, false, 6);
	profile_add(f->p, work, false, 4);
	shares_update(&f->s, 12 * SECOND);
	assert_row(row(f, SHARES_FUNCTIONS, f->work), 4, 4);
	assert_int_equal(row(f, SHARES_FUNCTIONS, f->main1)->own, 6);
}

static void rows_since_the_start_are_never_far_behind(void **state)
{
	struct fixture *f = *state;
	node_id root = node_of(f, f->main1);

	for (int i = 0; i < 5000; i++) {
		char name[16];

		snprintf(name, sizeof(name), "f%d", i);
		profile_add(f->p, profile_child(f->p, root, frame(f->p, name, 1, 1, FRAME_PYTHON)), true, 1);
	}
	shares_update(&f->s, SECOND);
	assert_int_equal(row(f, SHARES_FUNCTIONS, f->main1)->total, 5000);
	for (int i = 0; i < 60; i++) {
		profile_add(f->p, root, true, 1);
		shares_update(&f->s, 2 * SECOND);
		assert_int_equal(row(f, SHARES_FUNCTIONS, f->main1)->total_now, 5001 + i);
	}
	assert_true(row(f, SHARES_FUNCTIONS, f->main1)->total > 5000);
	shares_rebuild(&f->s);
	assert_int_equal(row(f, SHARES_FUNCTIONS, f->main1)->total, 5060);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(a_function_is_its_lines_together),
		TEST(recursion_counts_once),
		TEST(what_is_older_than_the_window_is_let_go),
		TEST(many_updates_in_a_window_shorten_it_and_lose_nothing),
		TEST(a_reset_begins_anew),
		TEST(what_reading_without_pauses_missed_is_weighed_in_each_span),
		TEST(what_moved_is_let_go_with_the_window),
		TEST(rows_since_the_start_are_never_far_behind),
		TEST(hidden_native_frames_give_their_time_to_the_caller),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
