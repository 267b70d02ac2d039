/* intervals.h - ranges of addresses that don't overlap, since a newer one takes the place of older ones. */
#ifndef CSPY_INTERVALS_H
#define CSPY_INTERVALS_H

#include "cspy/base.h"

enum {
	INTERVALS_MAX = 1 << 20,
	INTERVAL_SLACK = 64, /* bytes by which sizes are rounded up */
};

struct interval {
	uint64_t start, end;
	uint64_t value; /* the larger one is the newer one */
};

struct interval_block;

/* All zero: empty. */
struct intervals {
	struct interval_block **blocks; /* each holds some, ascending */
	size_t count, cap;
	size_t total;
};

void intervals_free(struct intervals *s); /* leaves it empty */
/*
 * What it overlaps is gone: memory that is used again holds nothing of what was there. But an older range that reaches
 * over the new one's start by no more than INTERVAL_SLACK is shortened. A full set first forgets its older half.
 */
void intervals_put(struct intervals *s, struct interval fresh);
bool intervals_find(const struct intervals *s, uint64_t at, struct interval *ret);

#endif
