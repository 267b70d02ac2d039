/* test_intervals.c - ranges that take each other's place, against a plain list. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "intervals.h"

enum { SPACE = 20000, ROUNDS = 20000 };

static uint64_t at(const struct intervals *s, uint64_t address)
{
	struct interval found;

	return intervals_find(s, address, &found) ? found.value : 0;
}

static void put(struct intervals *s, uint64_t start, uint64_t end, uint64_t value)
{
	intervals_put(s, (struct interval){ start, end, value });
}

static void a_range_holds_its_addresses_and_no_others(void **state)
{
	struct intervals s = { 0 };

	(void)state;
	assert_int_equal(at(&s, 100), 0);
	put(&s, 100, 200, 1);
	assert_int_equal(at(&s, 99), 0);
	assert_int_equal(at(&s, 100), 1);
	assert_int_equal(at(&s, 199), 1);
	assert_int_equal(at(&s, 200), 0);
	put(&s, 300, 300, 2);
	put(&s, 400, 300, 3);
	assert_int_equal(s.total, 1);
	intervals_free(&s);
}

static void memory_used_again_holds_nothing_of_what_was_there(void **state)
{
	struct intervals s = { 0 };

	(void)state;
	put(&s, 1000, 2000, 1);
	put(&s, 1400, 1500, 2);
	assert_int_equal(at(&s, 1100), 0);
	assert_int_equal(at(&s, 1450), 2);
	assert_int_equal(at(&s, 1700), 0);
	put(&s, 0, 5000, 3);
	assert_int_equal(at(&s, 1450), 3);
	assert_int_equal(s.total, 1);
	intervals_free(&s);
}

static void a_size_that_was_rounded_up_costs_no_name(void **state)
{
	struct intervals s = { 0 };

	(void)state;
	put(&s, 1000, 2000, 1);
	put(&s, 2000 - INTERVAL_SLACK, 3000, 2);
	assert_int_equal(at(&s, 1000), 1);
	assert_int_equal(at(&s, 2000 - INTERVAL_SLACK - 1), 1);
	assert_int_equal(at(&s, 2000 - INTERVAL_SLACK), 2);
	intervals_free(&s);
}

static void addresses_at_the_end_of_all_addresses_are_found(void **state)
{
	struct intervals s = { 0 };

	(void)state;
	put(&s, UINT64_MAX - 10, UINT64_MAX, 1);
	assert_int_equal(at(&s, UINT64_MAX - 1), 1);
	assert_int_equal(at(&s, UINT64_MAX), 0);
	intervals_free(&s);
}

/* The same rules, byte by byte. */
static void put_plain(uint64_t *plain, uint64_t start, uint64_t end, uint64_t value)
{
	for (uint64_t i = start; i < end; i++) {
		uint64_t old = plain[i], first = i, last = i;

		if (!old || old == value)
			continue;
		while (first > 0 && plain[first - 1] == old)
			first--;
		while (last < SPACE && plain[last] == old)
			last++;
		for (uint64_t k = first; k < last; k++)
			if (k >= start || first >= start || last - start > INTERVAL_SLACK)
				plain[k] = 0;
	}
	for (uint64_t i = start; i < end; i++)
		plain[i] = value;
}

static void many_ranges_are_as_in_a_plain_list(void **state)
{
	static uint64_t plain[SPACE + 1];
	struct intervals s = { 0 };

	(void)state;
	srandom(1);
	for (uint64_t value = 1; value <= ROUNDS; value++) {
		uint64_t start = (uint64_t)random() % (SPACE - 300);
		uint64_t end = start + 1 + (uint64_t)random() % (value % 16 ? 20 : 300);

		put(&s, start, end, value);
		put_plain(plain, start, end, value);
		if (value % 1000 == 0)
			for (uint64_t i = 0; i < SPACE; i++)
				assert_int_equal(at(&s, i), plain[i]);
	}
	assert_true(s.total > 512);
	intervals_free(&s);
}

static void a_full_set_forgets_the_older_half(void **state)
{
	struct intervals s = { 0 };
	uint64_t n = INTERVALS_MAX + 10;

	(void)state;
	for (uint64_t i = 1; i <= n; i++)
		put(&s, i * 8, i * 8 + 8, i);
	assert_true(s.total <= INTERVALS_MAX);
	assert_int_equal(at(&s, n * 8), n);
	assert_int_equal(at(&s, 8), 0);
	assert_true(at(&s, (n - 1000) * 8) == n - 1000);
	intervals_free(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_range_holds_its_addresses_and_no_others),
		cmocka_unit_test(memory_used_again_holds_nothing_of_what_was_there),
		cmocka_unit_test(a_size_that_was_rounded_up_costs_no_name),
		cmocka_unit_test(addresses_at_the_end_of_all_addresses_are_found),
		cmocka_unit_test(many_ranges_are_as_in_a_plain_list),
		cmocka_unit_test(a_full_set_forgets_the_older_half),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
