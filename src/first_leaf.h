/* first_leaf.h - which function a look found at the leaf, whatever became of the stack while it was read. */
#ifndef CSPY_FIRST_LEAF_H
#define CSPY_FIRST_LEAF_H

#include "cspy/runtime.h"
#include "map64.h"

struct first_leaf {
	struct map64 clear; /* by code: how often it alone was found on top */
	uint64_t coin;
};

void first_leaf_init(struct first_leaf *f);
void first_leaf_free(struct first_leaf *f);
/* Of the first read of a look. No stamp: it can't be told; what is read later is another moment's. */
struct raw_frame first_leaf_of(struct first_leaf *f, const struct raw_stack *stack, const struct raw_frame *frames);

#endif
