/* test_ruby_lines.c - Ruby's line tables: the succinct index against a plain list, in full and cut short. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "ruby/lines.h"

enum { POSITIONS = 3000, BYTES = 48 + 80 * 6 };

static void put_word(uint8_t *at, uint64_t v)
{
	memcpy(at, &v, sizeof(v));
}

/* As Ruby makes it: of positions 0 to POSITIONS - 1, those that begin an entry. */
static void build(const bool *begins, uint8_t *index)
{
	uint64_t small[6] = { 0 };
	uint32_t rank = 0, pos = 0;

	memset(index, 0, BYTES);
	for (; pos < 54; pos++) {
		rank += begins[pos];
		small[pos / 9] |= (uint64_t)rank << 7 * (pos % 9);
	}
	for (int i = 0; i < 6; i++)
		put_word(index + i * 8, small[i]);
	for (uint8_t *block = index + 48; pos < POSITIONS; block += 80) {
		uint32_t first = rank;
		uint64_t ranks = 0;

		memcpy(block, &rank, sizeof(rank));
		for (int w = 0; w < 8; w++) {
			uint64_t bits = 0;

			if (w)
				ranks |= (uint64_t)(rank - first) << 9 * (w - 1);
			for (int b = 0; b < 64 && pos < POSITIONS; b++, pos++) {
				rank += begins[pos];
				bits |= (uint64_t)begins[pos] << b;
			}
			put_word(block + 16 + w * 8, bits);
		}
		put_word(block + 8, ranks);
	}
}

static void the_index_counts_the_entries_up_to_each_position(void **state)
{
	bool begins[POSITIONS];
	uint8_t index[BYTES];

	(void)state;
	srand(1);
	for (int density = 1; density < 40; density++) {
		uint32_t count = 0;

		for (int i = 0; i < POSITIONS; i++)
			begins[i] = i == 0 || rand() % density == 0;
		/* A number of seven bits can't tell more. */
		build(begins, index);
		for (uint32_t i = 0; i < POSITIONS; i++) {
			count += begins[i];
			assert_int_equal(rby_succinct_at(index, sizeof(index), i), count);
		}
	}
}

static void an_index_that_is_cut_short_is_not_read_past_its_end(void **state)
{
	(void)state;
	for (size_t len = 0; len < BYTES; len += 7) {
		uint8_t *index = calloc(1, len + 1);

		for (uint32_t pos = 0; pos < POSITIONS; pos++)
			if (rby_succinct_at(index, len, pos))
				fail();
		free(index);
	}
}

static void the_line_is_that_of_the_instruction_before_the_pc(void **state)
{
	struct rby_line list[] = { { 0, 10 }, { 4, 12 }, { 9, 11 }, { 20, 0 }, { 30, -3 }, { 40, 99 } };
	const struct rby_lines t = { list, countof(list), countof(list) };

	(void)state;
	assert_int_equal(rby_line_at(&t, 0), 10); /* nothing ran yet */
	assert_int_equal(rby_line_at(&t, 1), 10);
	assert_int_equal(rby_line_at(&t, 4), 10);
	assert_int_equal(rby_line_at(&t, 5), 12);
	assert_int_equal(rby_line_at(&t, 10), 11);
	assert_int_equal(rby_line_at(&t, 21), 0);
	assert_int_equal(rby_line_at(&t, 35), 0);
	assert_int_equal(rby_line_at(&t, 1000), 99);
	assert_int_equal(rby_line_at(&(struct rby_lines){ 0 }, 5), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_index_counts_the_entries_up_to_each_position),
		cmocka_unit_test(an_index_that_is_cut_short_is_not_read_past_its_end),
		cmocka_unit_test(the_line_is_that_of_the_instruction_before_the_pc),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
