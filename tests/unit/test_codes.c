/* test_codes.c - code objects that take the address of another one, over memory made for it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "cpython/codes.h"

enum { SIZE = 1 << 16, REUSED = 1024 };
static const raddr_t BASE = 0x10000;
static const uint64_t SECOND = 1000000000;

/* 64 KiB at BASE, of which one range may be missing. */
struct ram {
	struct memory base;
	uint8_t bytes[SIZE];
	raddr_t hole, hole_end;
};

static struct err ram_read(struct memory *m, const struct memory_range *ranges, size_t n, size_t *done)
{
	struct ram *r = (struct ram *)m;

	for (*done = 0; *done < n; ++*done) {
		const struct memory_range *x = &ranges[*done];

		if (!x->len)
			continue;
		if (x->at < BASE || x->len > SIZE || x->at - BASE > SIZE - x->len ||
		    (x->at < r->hole_end && x->at + x->len > r->hole))
			return err_at(ERR_FAULT, x->at, "made");
		memcpy(x->buf, r->bytes + (x->at - BASE), x->len);
	}
	return OK;
}

struct made {
	struct ram ram;
	struct cpy_layout layout;
	struct codes codes;
	struct raw_stacks stacks;
	uint32_t tick;
};

static void setup_version(void **state, unsigned minor)
{
	static const struct memory_ops ops = { "ram", ram_read, NULL };
	struct made *m = xcalloc(1, sizeof(*m));

	m->ram.base.ops = &ops;
	m->layout = *cpy_layout_find(3, minor, false);
	codes_init(&m->codes, &m->layout);
	raw_stacks_init(&m->stacks, 100);
	*state = m;
}

static int setup_numbered(void **state)
{
	setup_version(state, 12);
	return 0;
}

static int setup_by_name(void **state)
{
	setup_version(state, 8);
	return 0;
}

static int teardown(void **state)
{
	struct made *m = *state;

	codes_free(&m->codes);
	raw_stacks_free(&m->stacks);
	free(m);
	return 0;
}

static void put(struct made *m, raddr_t at, const void *bytes, size_t len)
{
	memcpy(m->ram.bytes + (at - BASE), bytes, len);
}

static void put_word(struct made *m, raddr_t at, uint64_t word)
{
	put(m, at, &word, sizeof(word));
}

/* A code object whose name object lies at `name` and says `text`. */
static void put_code(struct made *m, raddr_t code, uint32_t line, uint32_t version, raddr_t name, const char *text)
{
	const struct cpy_layout *l = &m->layout;

	put(m, code + (raddr_t)l->code_first_line, &line, 4);
	if (cpy_has(l->code_version))
		put(m, code + (raddr_t)l->code_version, &version, 4);
	put_word(m, code + (raddr_t)l->code_name, name);
	put_word(m, code + (raddr_t)l->code_filename, BASE + 0x8000);
	put_word(m, name + (raddr_t)l->unicode_length, strlen(text));
	put(m, name + (raddr_t)l->unicode_ascii, text, strlen(text) + 1);
}

static void take(void *arg, raddr_t at, void *buf, size_t len)
{
	struct made *m = arg;
	struct err e = memory_read(&m->ram.base, at, buf, len);

	assert_false(failed(e));
}

/* One tick: the young are read with it, and a stack of one frame is stamped. */
static const struct raw_frame *look(struct made *m, raddr_t code, uint64_t now_ns)
{
	struct raw_frame f = { .code = code };

	raw_stacks_reset(&m->stacks);
	raw_stacks_push(&m->stacks);
	assert_true(raw_stacks_frame(&m->stacks, &f));
	codes_plan(&m->codes, take, m);
	codes_stamp(&m->codes, &m->ram.base, &m->stacks, ++m->tick, now_ns, true);
	return &m->stacks.frames[0];
}

static size_t verify(struct made *m, uint64_t now_ns, raddr_t *ret)
{
	struct raw_reuse reused[REUSED];
	size_t n;

	assert_false(failed(codes_verify(&m->codes, &m->ram.base, now_ns, reused, REUSED, &n)));
	if (n)
		*ret = reused[0].code;
	return n;
}

static const raddr_t CODE = 0x11000, NAME = 0x12000;

static void the_same_code_keeps_its_stamp(void **state)
{
	struct made *m = *state;
	uint32_t stamp;

	put_code(m, CODE, 10, 1, NAME, "f");
	stamp = look(m, CODE, SECOND)->stamp;
	assert_int_not_equal(stamp, 0);
	for (unsigned i = 1; i < 1000; i++)
		assert_int_equal(look(m, CODE, SECOND + i * SECOND / 100)->stamp, stamp);
	assert_true(codes_is(&m->codes, &m->ram.base, CODE, stamp));
}

static void another_function_at_the_address_has_another_stamp_at_once_while_it_is_young(void **state)
{
	struct made *m = *state;
	uint32_t before;

	put_code(m, CODE, 10, 1, NAME, "f");
	before = look(m, CODE, SECOND)->stamp;
	put_code(m, CODE, 20, 2, NAME, "g");
	assert_int_not_equal(look(m, CODE, SECOND + SECOND / 1000)->stamp, before);
	assert_false(codes_is(&m->codes, &m->ram.base, CODE, before));
}

static void reuse_of_a_trusted_address_is_found_by_verify(void **state)
{
	struct made *m = *state;
	uint32_t before, after;
	raddr_t which = 0;

	put_code(m, CODE, 10, 1, NAME, "f");
	look(m, CODE, SECOND);
	before = look(m, CODE, 2 * SECOND)->stamp; /* old enough: trusted */
	assert_int_equal(verify(m, 2 * SECOND, &which), 0);
	assert_int_equal(look(m, CODE, 3 * SECOND)->stamp, before);
	put_code(m, CODE, 20, 2, NAME, "g");
	assert_int_equal(verify(m, 3 * SECOND + 1, &which), 1);
	assert_int_equal(which, CODE);
	after = look(m, CODE, 3 * SECOND + 2)->stamp;
	assert_int_not_equal(after, before);
	assert_int_not_equal(after, 0);
	assert_int_equal(verify(m, 3 * SECOND + 3, &which), 0);
}

static void what_was_not_used_since_is_not_read_again(void **state)
{
	struct made *m = *state;
	uint64_t calls;
	raddr_t which;

	put_code(m, CODE, 10, 1, NAME, "f");
	look(m, CODE, SECOND);
	look(m, CODE, 2 * SECOND);
	look(m, CODE, 2 * SECOND);
	calls = m->ram.base.calls;
	assert_int_equal(verify(m, 2 * SECOND, &which), 0);
	assert_int_equal(m->ram.base.calls, calls + 1);
	calls = m->ram.base.calls;
	assert_int_equal(verify(m, 2 * SECOND + 1, &which), 0);
	assert_int_equal(m->ram.base.calls, calls);
}

static void a_trusted_code_object_costs_no_read(void **state)
{
	struct made *m = *state;
	uint64_t calls;

	put_code(m, CODE, 10, 1, NAME, "f");
	look(m, CODE, SECOND);
	look(m, CODE, 2 * SECOND);
	calls = m->ram.base.calls;
	for (unsigned i = 0; i < 100; i++)
		look(m, CODE, 2 * SECOND + i);
	assert_int_equal(m->ram.base.calls, calls);
}

static void code_that_cannot_be_read_takes_its_stack_with_it(void **state)
{
	struct made *m = *state;

	put_code(m, CODE, 10, 1, NAME, "f");
	m->ram.hole = CODE;
	m->ram.hole_end = CODE + 8192;
	assert_int_equal(look(m, CODE, SECOND)->stamp, 0);
	assert_int_equal(m->stacks.list[0].err.code, ERR_CORRUPT);
	m->ram.hole = m->ram.hole_end = 0;
	assert_int_not_equal(look(m, CODE, SECOND + 1)->stamp, 0);
	assert_false(failed(m->stacks.list[0].err));
}

static void trusted_code_whose_memory_went_away_is_found_by_verify(void **state)
{
	struct made *m = *state;
	raddr_t which = 0;

	put_code(m, CODE, 10, 1, NAME, "f");
	look(m, CODE, SECOND);
	look(m, CODE, 2 * SECOND); /* read with the tick a last time */
	look(m, CODE, 2 * SECOND + 1);
	m->ram.hole = CODE;
	m->ram.hole_end = CODE + 8192;
	assert_int_equal(verify(m, 2 * SECOND + 1, &which), 1);
	assert_int_equal(which, CODE);
	assert_int_equal(look(m, CODE, 2 * SECOND + 2)->stamp, 0);
}

static void where_versions_have_no_numbers_the_name_itself_is_compared(void **state)
{
	struct made *m = *state;
	uint32_t before;

	/* The new function got the addresses of the old one and of its name. */
	put_code(m, CODE, 10, 0, NAME, "f");
	before = look(m, CODE, SECOND)->stamp;
	put_code(m, CODE, 10, 0, NAME, "g");
	assert_int_not_equal(look(m, CODE, SECOND + 1000000)->stamp, before);
}

static void a_count_of_references_is_no_part_of_a_name(void **state)
{
	struct made *m = *state;
	uint32_t before;

	put_code(m, CODE, 10, 0, NAME, "f");
	put_word(m, NAME, 5);
	before = look(m, CODE, SECOND)->stamp;
	put_word(m, NAME, 6);
	assert_int_equal(look(m, CODE, SECOND + 1000000)->stamp, before);
}

static void a_number_alone_tells_two_versions_of_one_function_apart(void **state)
{
	struct made *m = *state;
	uint32_t before;

	put_code(m, CODE, 10, 1, NAME, "f");
	before = look(m, CODE, SECOND)->stamp;
	put_code(m, CODE, 10, 2, NAME, "f");
	assert_int_not_equal(look(m, CODE, SECOND + 1000000)->stamp, before);
}

static void more_code_objects_than_one_batch_are_all_stamped(void **state)
{
	enum { MANY = 600 };
	struct made *m = *state;
	uint32_t stamps[MANY];

	for (unsigned round = 0; round < 2; round++) {
		raw_stacks_reset(&m->stacks);
		for (unsigned i = 0; i < MANY; i++) {
			struct raw_frame f = { .code = BASE + i * 32 };

			if (i % 100 == 0)
				raw_stacks_push(&m->stacks);
			put_word(m, BASE + i * 32, i);
			assert_true(raw_stacks_frame(&m->stacks, &f));
		}
		codes_plan(&m->codes, take, m);
		codes_stamp(&m->codes, &m->ram.base, &m->stacks, ++m->tick, SECOND + round, true);
		for (unsigned i = 0; i < MANY; i++) {
			assert_int_not_equal(m->stacks.frames[i].stamp, 0);
			if (round)
				assert_int_equal(m->stacks.frames[i].stamp, stamps[i]);
			stamps[i] = m->stacks.frames[i].stamp;
		}
		assert_int_not_equal(stamps[3], stamps[300]);
	}
}

int main(void)
{
#define NUMBERED(name) cmocka_unit_test_setup_teardown(name, setup_numbered, teardown)
#define BY_NAME(name)  cmocka_unit_test_setup_teardown(name, setup_by_name, teardown)
	const struct CMUnitTest tests[] = {
		NUMBERED(the_same_code_keeps_its_stamp),
		BY_NAME(the_same_code_keeps_its_stamp),
		NUMBERED(another_function_at_the_address_has_another_stamp_at_once_while_it_is_young),
		BY_NAME(another_function_at_the_address_has_another_stamp_at_once_while_it_is_young),
		NUMBERED(reuse_of_a_trusted_address_is_found_by_verify),
		BY_NAME(reuse_of_a_trusted_address_is_found_by_verify),
		NUMBERED(what_was_not_used_since_is_not_read_again),
		NUMBERED(a_trusted_code_object_costs_no_read),
		NUMBERED(code_that_cannot_be_read_takes_its_stack_with_it),
		BY_NAME(code_that_cannot_be_read_takes_its_stack_with_it),
		NUMBERED(trusted_code_whose_memory_went_away_is_found_by_verify),
		BY_NAME(trusted_code_whose_memory_went_away_is_found_by_verify),
		BY_NAME(where_versions_have_no_numbers_the_name_itself_is_compared),
		BY_NAME(a_count_of_references_is_no_part_of_a_name),
		NUMBERED(a_number_alone_tells_two_versions_of_one_function_apart),
		NUMBERED(more_code_objects_than_one_batch_are_all_stamped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
