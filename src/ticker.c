/* ticker.c - absolute deadlines with jitter. */
#include <time.h>

#include "cspy/sampler.h"
#include "random.h"

uint64_t clock_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
}

uint64_t clock_own_cpu(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
}

void ticker_init(struct ticker *t, uint64_t interval_ns, uint64_t now_ns)
{
	*t = (struct ticker){ .interval_ns = interval_ns ? interval_ns : 1, .next_ns = now_ns, .state = now_ns | 1 };
}

uint64_t ticker_next(struct ticker *t, uint64_t now_ns)
{
	uint64_t slots, jitter;

	/* The grid advances by whole intervals, and a deadline lies anywhere in the first tenth of its own one: so the
	 * rate is exact, and nothing in the target can stay in step with it. */
	t->next_ns += t->interval_ns;
	if (now_ns > t->next_ns) {
		slots = (now_ns - t->next_ns) / t->interval_ns;
		t->late += slots;
		t->next_ns += slots * t->interval_ns;
	}
	jitter = t->interval_ns / 10;
	return t->next_ns + (jitter ? random_next(&t->state) % jitter : 0);
}
