/* map64.h - an open-addressed map from 64-bit hashes to small values, for the sample path. */
#ifndef CSPY_MAP64_H
#define CSPY_MAP64_H

#include "cspy/base.h"

struct map64_slot {
	uint64_t key; /* 0: empty */
	uint64_t value;
};

/* Keys are hashes of 64 good bits: two of a million things share one with a chance of 1 in 37 million. */
struct map64 {
	struct map64_slot *list;
	size_t cap; /* a power of two */
	size_t used, max;
};

/* `max` entries at most; then map64_put() starts over with an empty map. */
void map64_init(struct map64 *m, size_t max);
void map64_free(struct map64 *m);
/* The value's place, made (0) when it is new: valid until the next put. *fresh tells that the map started over. */
uint64_t *map64_put(struct map64 *m, uint64_t key, bool *fresh);

static inline uint64_t map64_key(uint64_t hash)
{
	return hash ? hash : 1;
}

/* NULL: not there. */
static inline uint64_t *map64_find(const struct map64 *m, uint64_t key)
{
	/* Ends: a quarter of the slots at least is empty. */
	for (size_t i = key & (m->cap - 1);; i = (i + 1) & (m->cap - 1)) {
		if (m->list[i].key == key)
			return &m->list[i].value;
		if (!m->list[i].key)
			return NULL;
	}
}

/* Fold a word into a hash: one multiplication, for chains of words where XXH3's set-up would cost more. */
static inline uint64_t hash_step(uint64_t hash, uint64_t word)
{
	hash = (hash ^ word) * 0x9E3779B97F4A7C15ull;
	return hash ^ hash >> 32;
}

#endif
