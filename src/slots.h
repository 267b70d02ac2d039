/* slots.h - an open-addressed set of 32-bit ids, by hash; what an id stands for is its owner's matter. */
#ifndef CSPY_SLOTS_H
#define CSPY_SLOTS_H

#include "cspy/base.h"

enum { SLOTS_NONE = -1 };

struct slot {
	uint32_t hash;
	uint32_t id; /* plus one; 0: empty */
};

/* All zero: an empty set. Ids may be anything below UINT32_MAX. */
struct slots {
	struct slot *list;
	size_t cap; /* a power of two, or 0 */
	size_t used;
};

/* Does the id stand for this key? */
typedef bool slots_equal_fn(const void *owner, uint32_t id, const void *key);

/* The id, or SLOTS_NONE. Never allocates. */
int64_t slots_find(const struct slots *s, uint64_t hash, slots_equal_fn *equal, const void *owner, const void *key);
/* The caller knows that the id is not there yet. */
void slots_add(struct slots *s, uint64_t hash, uint32_t id);
void slots_free(struct slots *s);

#endif
