/* test_budget.c - which looks may pause the target, and how many there may be, over simulated time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "budget.h"

static const uint64_t START_NS = 1000000000;

struct played {
	uint64_t looks, paused, lost_ns; /* the target's time, with what a pause costs beyond what is measured */
	uint64_t wall_ns;
};

/* A recording of `seconds` whose pauses last cost_ns(seconds passed). */
static struct played play(struct budget *b, uint64_t interval_ns, double seconds, uint64_t (*cost_ns)(double))
{
	struct played p = { 0 };
	uint64_t now = START_NS, end = START_NS + (uint64_t)(seconds * 1e9);

	for (; now < end; now += interval_ns) {
		p.looks++;
		if (!budget_coin(b, now))
			continue;
		uint64_t held = cost_ns((double)(now - START_NS) / 1e9);
		budget_spent(b, held);
		p.paused++;
		p.lost_ns += held;
	}
	p.wall_ns = end - START_NS;
	return p;
}

static uint64_t usual(double s)
{
	(void)s;
	return 40000;
}

static uint64_t gets_slow(double s)
{
	return s < 5 ? 20000 : 2000000;
}

static uint64_t enormous(double s)
{
	(void)s;
	return 50000000;
}

static double share(const struct played *p)
{
	return (double)p->lost_ns / (double)p->wall_ns;
}

static void the_share_is_held_whatever_the_rate(void **state)
{
	static const uint64_t intervals[] = { 10000000, 1000000, 300000, 100000 };

	(void)state;
	for (size_t i = 0; i < countof(intervals); i++) {
		struct budget b;
		struct played p;

		budget_init(&b, PAUSE_BUDGET, 0.01, START_NS);
		p = play(&b, intervals[i], 20, usual);
		/* 5 ms may be overdrawn: a quarter of a thousandth of 20 s */
		assert_true(share(&p) <= 0.01 + 0.0003);
		assert_true(p.paused > 0);
	}
}

static void what_the_budget_gives_is_used(void **state)
{
	struct budget b;
	struct played p;

	(void)state;
	budget_init(&b, PAUSE_BUDGET, 0.01, START_NS);
	p = play(&b, 1000000, 20, usual);
	/* 52 us each with its aftermath: 192 a second, of 1,000 looks */
	assert_in_range(p.paused, 20 * 192 * 8 / 10, 20 * 192 * 11 / 10);
}

static void few_looks_are_all_paused(void **state)
{
	struct budget b;
	struct played p;

	(void)state;
	budget_init(&b, PAUSE_BUDGET, 0.01, START_NS);
	p = play(&b, 10000000, 10, usual); /* 100 looks a second of 52 us: half of what may be lost */
	assert_int_equal(p.paused, p.looks);
}

static void pauses_that_become_slow_become_rare(void **state)
{
	struct budget b;
	struct played p;

	(void)state;
	budget_init(&b, PAUSE_BUDGET, 0.01, START_NS);
	p = play(&b, 1000000, 60, gets_slow);
	assert_true(share(&p) <= 0.0105);
}

static void one_enormous_pause_is_paid_back_before_the_next(void **state)
{
	struct budget b;
	struct played p;

	(void)state;
	budget_init(&b, PAUSE_BUDGET, 0.01, START_NS);
	p = play(&b, 1000000, 30, enormous);
	assert_true(p.paused >= 1);
	/* the last one may be overdrawn */
	assert_true(p.lost_ns <= p.wall_ns / 100 + 5000000 + 50000000);
}

static void always_and_never_are_no_matter_of_chance(void **state)
{
	struct budget b;
	struct played p;

	(void)state;
	budget_init(&b, PAUSE_ALWAYS, 0.01, START_NS);
	p = play(&b, 1000000, 1, enormous);
	assert_int_equal(p.paused, p.looks);
	assert_int_equal(budget_min_interval(&b), 0);
	budget_init(&b, PAUSE_NEVER, 0.01, START_NS);
	p = play(&b, 1000000, 1, enormous);
	assert_int_equal(p.paused, 0);
	assert_int_equal(budget_min_interval(&b), 0);
}

static void a_share_of_nothing_pauses_nothing_beyond_the_first_credit(void **state)
{
	struct budget b;
	struct played p;

	(void)state;
	budget_init(&b, PAUSE_BUDGET, 0, START_NS);
	p = play(&b, 1000000, 10, usual);
	assert_true(p.paused <= 1); /* the first look knows no interval yet */
	assert_int_equal(budget_min_interval(&b), 0);
}

static void waits_after_pauses_are_paid_for(void **state)
{
	uint64_t pauses = 0;
	struct budget b;

	(void)state;
	budget_init(&b, PAUSE_BUDGET, 0.01, START_NS);
	for (uint64_t now = START_NS; now < START_NS + 20000000000; now += 1000000) {
		if (!budget_coin(&b, now))
			continue;
		pauses++;
		budget_spent(&b, 20000);
		budget_waited(&b, 3000000);
	}
	/* a quarter of each 3 ms counts: 200 ms and the credit of pauses, of some 0.8 ms each */
	assert_in_range(pauses, 220, 270);
}

static void looks_that_need_no_pause_are_not_rationed(void **state)
{
	uint64_t looks = 0, fair = 0;
	struct budget b;

	(void)state;
	budget_init(&b, PAUSE_BUDGET, 0.01, START_NS);
	for (uint64_t now = START_NS; now < START_NS + 10000000000; now += 1000000) {
		looks++;
		if (!budget_coin(&b, now))
			continue;
		fair++;
		budget_free(&b);
	}
	assert_true(fair > looks * 9 / 10);
	/* And are no licence for those that do. */
	for (uint64_t now = START_NS + 10000000000; now < START_NS + 20000000000; now += 1000000)
		if (budget_coin(&b, now))
			budget_spent(&b, 20000);
	assert_in_range(b.spent_ns, 80000000, 210000000);
}

/* In one half of each 2 ms the target does one thing, in the other half another: both are paused as often. */
static void the_coin_does_not_follow_what_the_target_does(void **state)
{
	uint64_t seen[2] = { 0 }, paused[2] = { 0 };
	struct budget b;

	(void)state;
	budget_init(&b, PAUSE_BUDGET, 0.01, START_NS);
	for (uint64_t i = 0; i < 200000; i++) {
		uint64_t now = START_NS + i * 250000;
		unsigned half = now / 1000000 % 2;

		seen[half]++;
		if (budget_coin(&b, now)) {
			paused[half]++;
			/* The one thing takes longer to stop in than the other. */
			budget_spent(&b, half ? 80000 : 20000);
		}
	}
	assert_true(paused[0] > 1000);
	double a = (double)paused[0] / (double)seen[0], c = (double)paused[1] / (double)seen[1];
	assert_true(a / c > 0.93 && a / c < 1.07);
}

static void two_coins_do_not_fall_alike(void **state)
{
	struct budget a, b;
	unsigned same = 0, heads = 0;

	(void)state;
	budget_init(&a, PAUSE_BUDGET, 0.07, START_NS);
	budget_init(&b, PAUSE_BUDGET, 0.07, START_NS + 2);
	for (uint64_t i = 1; i <= 10000; i++) {
		bool x = budget_coin(&a, START_NS + i * 400000), y = budget_coin(&b, START_NS + i * 400000);

		same += x == y;
		heads += x;
	}
	assert_in_range(heads, 4000, 6000); /* 0.07 * 400 us / 54 us: about a half */
	assert_in_range(same, 4500, 5500);
}

static void looks_at_a_running_target_are_bounded_too(void **state)
{
	struct budget b;

	(void)state;
	budget_init(&b, PAUSE_BUDGET, 0.01, START_NS);
	assert_in_range(budget_min_interval(&b), 500000, 1000000);
	budget_init(&b, PAUSE_BUDGET, 0.001, START_NS);
	assert_in_range(budget_min_interval(&b), 5000000, 10000000);
}

/* A recording of `seconds`, wanted every interval_ns, whose looks take cost_ns(seconds passed) of cspy's own CPU time.
 */
static struct played play_own(double share, uint64_t interval_ns, double seconds, uint64_t (*cost_ns)(double))
{
	uint64_t now = START_NS, end = START_NS + (uint64_t)(seconds * 1e9), cpu = 77;
	struct own_budget b;
	struct played p = { .wall_ns = end - START_NS };

	own_budget_init(&b, share, now, cpu);
	while (now < end) {
		uint64_t cost = cost_ns((double)(now - START_NS) / 1e9), least;

		p.looks++;
		p.lost_ns += cost;
		cpu += cost;
		least = own_budget_min_interval(&b, now + cost, cpu);
		now += cost + (least > interval_ns ? least : interval_ns);
	}
	return p;
}

static void own_time_stays_within_its_share(void **state)
{
	static const double shares[] = { 0.001, 0.01, 0.1 };

	(void)state;
	for (size_t i = 0; i < sizeof(shares) / sizeof(*shares); i++) {
		struct played p = play_own(shares[i], 10000, 60, usual);

		assert_true(share(&p) > 0.9 * shares[i] && share(&p) < 1.1 * shares[i]);
		p = play_own(shares[i], 1000000, 60, gets_slow);
		/* What a debt is spread over is never paid off, but no more than that. */
		assert_true((double)p.lost_ns < shares[i] * (double)p.wall_ns + 9 * 2000000);
	}
}

static void own_time_that_suffices_leaves_the_rate_alone(void **state)
{
	struct played p = play_own(0.01, 10000000, 10, usual);

	(void)state;
	assert_in_range(p.looks, 990, 1000);
	p = play_own(0, 10000, 1, usual);
	assert_in_range(p.looks, 19000, 21000);
}

static uint64_t first_enormous(double s)
{
	return s < 0.001 ? 50000000 : 40000;
}

static void a_look_that_took_long_is_paid_off_in_steps(void **state)
{
	struct own_budget b;
	struct played p = play_own(0.1, 10000000, 5, first_enormous);

	(void)state;
	assert_true(share(&p) < 0.1);
	own_budget_init(&b, 0.1, START_NS, 0);
	/* 500 ms long nothing more could be paid; the next look comes after a part of that. */
	assert_in_range(own_budget_min_interval(&b, START_NS + 50000000, 50000000), 50000000, 60000000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_share_is_held_whatever_the_rate),
		cmocka_unit_test(what_the_budget_gives_is_used),
		cmocka_unit_test(few_looks_are_all_paused),
		cmocka_unit_test(pauses_that_become_slow_become_rare),
		cmocka_unit_test(one_enormous_pause_is_paid_back_before_the_next),
		cmocka_unit_test(always_and_never_are_no_matter_of_chance),
		cmocka_unit_test(a_share_of_nothing_pauses_nothing_beyond_the_first_credit),
		cmocka_unit_test(waits_after_pauses_are_paid_for),
		cmocka_unit_test(looks_that_need_no_pause_are_not_rationed),
		cmocka_unit_test(the_coin_does_not_follow_what_the_target_does),
		cmocka_unit_test(two_coins_do_not_fall_alike),
		cmocka_unit_test(looks_at_a_running_target_are_bounded_too),
		cmocka_unit_test(own_time_stays_within_its_share),
		cmocka_unit_test(own_time_that_suffices_leaves_the_rate_alone),
		cmocka_unit_test(a_look_that_took_long_is_paid_off_in_steps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
