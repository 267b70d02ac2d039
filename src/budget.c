/* budget.c - which samples may pause the target, and how many there may be. */
#include "budget.h"
#include "random.h"

/* What a pause costs beyond the time measured: the thread's way off its CPU and back onto it, and cold caches.
 * Measured: a program paused 3,000 times a second lost 38 us each time, of which 14 were seen as pause. */
static const double AFTERWARDS_NS = 24000;
/* A program that finds its CPU taken after a pause waits for it, but the scheduler pays most of that back later on.
 * Measured beside a competitor: one thread lost nothing, four that share a lock a tenth of their waits, and they had
 * half of the time only, so a fifth of what was theirs. */
static const double WAIT_LOST = 0.25;
static const double FIRST_GUESS_NS = 30000;
/* What reading a running thread's stack costs it: its cache lines travel to the reader and back. */
static const double READ_NS = 3000;
/* Looks may cost so much of what pauses may cost: 1,333 a second at 1 %. */
static const double READ_SHARE = 0.4;
static const double COST_WEIGHT = 1.0 / 32; /* of the latest one in the mean */
/* May be overdrawn by this much, so that a few long pauses at the start do not end pausing for seconds. */
static const double CREDIT_NS = 5e6;
/* A debt is paid off over so many looks: an interval that followed every single look would follow the target. */
static const double PAY_LOOKS = 8;

void budget_init(struct budget *b, enum pause_mode mode, double share, uint64_t now_ns)
{
	*b = (struct budget){
		.mode = mode,
		.share = share,
		.cost_ns = FIRST_GUESS_NS + AFTERWARDS_NS,
		.start_ns = now_ns,
		.coin = now_ns | 1,
	};
}

/* Smoothed over some 16 looks: a coin that followed every single interval would follow the target. */
static void learn_interval(struct budget *b, uint64_t now_ns)
{
	uint64_t passed = now_ns - b->last_ns;

	if (b->last_ns)
		b->interval_ns = b->interval_ns ? b->interval_ns - b->interval_ns / 16 + passed / 16 : passed;
	b->last_ns = now_ns;
}

bool budget_coin(struct budget *b, uint64_t now_ns)
{
	double allowed, chance;

	if (b->mode != PAUSE_BUDGET)
		return b->mode != PAUSE_NEVER;
	learn_interval(b, now_ns);
	allowed = b->share * (double)(now_ns - b->start_ns) + CREDIT_NS;
	if ((double)b->spent_ns > allowed)
		return false;
	chance = b->interval_ns ? b->share * (double)b->interval_ns / b->cost_ns : 1;
	return (double)(random_next(&b->coin) >> 11) * 0x1p-53 < chance;
}

static void learn_cost(struct budget *b, double cost_ns)
{
	b->cost_ns += (cost_ns - b->cost_ns) * COST_WEIGHT;
}

void budget_spent(struct budget *b, uint64_t held_ns)
{
	b->spent_ns += held_ns + (uint64_t)AFTERWARDS_NS;
	learn_cost(b, (double)held_ns + AFTERWARDS_NS);
}

void budget_waited(struct budget *b, uint64_t waited_ns)
{
	double lost = (double)waited_ns * WAIT_LOST;

	b->spent_ns += (uint64_t)lost;
	b->cost_ns += lost * COST_WEIGHT;
}

void budget_free(struct budget *b)
{
	learn_cost(b, 0);
}

uint64_t budget_min_interval(const struct budget *b)
{
	if (b->mode == PAUSE_EACH)
		return b->share > 0 ? (uint64_t)(b->cost_ns / b->share) : 0;
	return b->mode == PAUSE_BUDGET && b->share > 0 ? (uint64_t)(READ_NS / (b->share * READ_SHARE)) : 0;
}

void own_budget_init(struct own_budget *b, double share, uint64_t now_ns, uint64_t cpu_ns)
{
	*b = (struct own_budget){ share, 0, now_ns, cpu_ns };
}

uint64_t own_budget_min_interval(struct own_budget *b, uint64_t now_ns, uint64_t cpu_ns)
{
	if (b->share <= 0)
		return 0;
	b->debt_ns += (double)(cpu_ns - b->last_cpu_ns) - b->share * (double)(now_ns - b->last_ns);
	/* What is saved in quiet times is not for others, or the share would not hold in them. */
	if (b->debt_ns < 0)
		b->debt_ns = 0;
	b->last_ns = now_ns;
	b->last_cpu_ns = cpu_ns;
	return (uint64_t)(b->debt_ns / b->share / PAY_LOOKS);
}
