/* balance.h - weights of counted samples, for a whole profile or a part of it. */
#ifndef CSPY_BALANCE_H
#define CSPY_BALANCE_H

#include "cspy/profile.h"

/* What was counted of a profile: all of it, or what a window holds. */
struct balance {
	struct frames *frames;	    /* borrowed, as the rest */
	struct profile_node *nodes; /* in: .frame, .fair, .free; out: .self */
	size_t count;
	const int64_t *moved; /* as the profile's, of the same samples */
	size_t moved_count;
	/* The answer's as well: as profile_stats has them. */
	double lean;
	str_id lean_function;
};

void balance(struct balance *b);

#endif
