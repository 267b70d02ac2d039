/* test_stacks.c - the arena of one tick's raw stacks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cspy/runtime.h"

static void fill(struct raw_stacks *s, size_t stacks, size_t frames)
{
	for (size_t i = 0; i < stacks; i++) {
		raw_stacks_push(s)->state_at = 0x1000 + i;
		for (size_t j = 0; j < frames; j++) {
			struct raw_frame f = { .code = 0x7f0000000000 + (i * frames + j) * 16, .pos = j };

			assert_true(raw_stacks_frame(s, &f));
		}
	}
}

static void frames_of_a_stack_lie_together_leaf_first(void **state)
{
	struct raw_stacks s;

	(void)state;
	raw_stacks_init(&s, 100);
	fill(&s, 3, 40);
	assert_int_equal(s.count, 3);
	assert_int_equal(s.used, 120);
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(s.list[i].first, i * 40);
		assert_int_equal(s.list[i].count, 40);
		assert_int_equal(s.frames[s.list[i].first + 39].pos, 39);
		assert_false(s.list[i].deep);
	}
	raw_stacks_free(&s);
}

static void a_stack_at_the_depth_cap_is_marked_deep(void **state)
{
	struct raw_frame f = { .code = 1 };
	struct raw_stacks s;

	(void)state;
	raw_stacks_init(&s, 2);
	raw_stacks_push(&s);
	assert_true(raw_stacks_frame(&s, &f));
	assert_true(raw_stacks_frame(&s, &f));
	assert_false(s.list[0].deep);
	assert_false(raw_stacks_frame(&s, &f));
	assert_true(s.list[0].deep);
	assert_int_equal(s.list[0].count, 2);
	raw_stacks_push(&s);
	assert_true(raw_stacks_frame(&s, &f));
	assert_false(s.list[1].deep);
	raw_stacks_free(&s);
}

static void a_warm_arena_allocates_nothing(void **state)
{
	struct raw_stacks s;
	uint64_t before;

	(void)state;
	raw_stacks_init(&s, 1000);
	fill(&s, 50, 300);
	before = xalloc_count();
	for (int i = 0; i < 100; i++) {
		raw_stacks_reset(&s);
		fill(&s, 50, 300);
	}
	assert_int_equal(xalloc_count(), before);
	raw_stacks_free(&s);
}

static void a_reset_arena_shows_nothing_of_the_tick_before(void **state)
{
	struct raw_stack *stack;
	struct raw_stacks s;

	(void)state;
	raw_stacks_init(&s, 10);
	stack = raw_stacks_push(&s);
	stack->gc = stack->deep = stack->sure = true;
	stack->ns_tid = 7;
	stack->err = err_at(ERR_FAULT, 1, "x");
	raw_stacks_frame(&s, &(struct raw_frame){ .code = 99 });
	raw_stacks_reset(&s);
	assert_int_equal(s.count, 0);
	stack = raw_stacks_push(&s);
	assert_false(stack->gc || stack->deep || stack->sure || failed(stack->err));
	assert_int_equal(stack->ns_tid, 0);
	assert_int_equal(stack->codes, 0);
	assert_int_equal(stack->count, 0);
	assert_int_equal(stack->first, 0);
	raw_stacks_free(&s);
}

static void each_code_object_of_a_stack_has_its_bit(void **state)
{
	struct raw_stacks s;

	(void)state;
	raw_stacks_init(&s, 64);
	fill(&s, 1, 20);
	for (size_t i = 0; i < 20; i++)
		assert_true(s.list[0].codes & raw_code_bit(s.frames[i].code));
	assert_int_not_equal(s.list[0].codes, UINT64_MAX);
	raw_stacks_free(&s);
}

static void a_frame_without_a_stack_is_refused(void **state)
{
	struct raw_stacks s;

	(void)state;
	raw_stacks_init(&s, 4);
	assert_false(raw_stacks_frame(&s, &(struct raw_frame){ .code = 1 }));
	assert_int_equal(s.used, 0);
	raw_stacks_free(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(frames_of_a_stack_lie_together_leaf_first),
		cmocka_unit_test(a_stack_at_the_depth_cap_is_marked_deep),
		cmocka_unit_test(a_warm_arena_allocates_nothing),
		cmocka_unit_test(a_reset_arena_shows_nothing_of_the_tick_before),
		cmocka_unit_test(each_code_object_of_a_stack_has_its_bit),
		cmocka_unit_test(a_frame_without_a_stack_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
