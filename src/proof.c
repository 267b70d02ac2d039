/* proof.c - contexts that were seen in stacks that could not change, and what they say of others. */
#include <stdlib.h>

#include "proof.h"

enum {
	CONTEXTS_MAX = 1 << 20,
	/* Belief by repetition: found again each time, or often enough in many. A torn context is found again as often
	 * as its program happens to tear the same way twice in a row: where two calls alternate, up to a third. */
	AGAIN_ALWAYS = 24,
	SEEN_MANY = 64,
	AGAIN_MANY = SEEN_MANY * 3 / 4,
	SEEN_MOST = 256,
	AGAIN_MOST = SEEN_MOST * 11 / 20,
};

static const uint64_t PROVEN = 1ull << 63;
static const uint64_t ROOT = 0x9ae16a3b2f90404full;   /* stands for "no caller" */
static const uint64_t BEYOND = 0xc3a5c85c97cb3127ull; /* and for "callers cut off" */

/* What a context word counts until it is proven. */
static uint64_t seen_of(uint64_t word)
{
	return word & 0xffff;
}

static uint64_t again_of(uint64_t word)
{
	return word >> 16 & 0xffff;
}

void proof_init(struct proof *p, enum proof_by by)
{
	map64_init(&p->contexts, CONTEXTS_MAX);
	p->by = by;
	p->hashes = NULL;
	p->cap = 0;
	p->believed = 0;
}

void proof_free(struct proof *p)
{
	map64_free(&p->contexts);
	free(p->hashes);
}

/* hashes[i] = all callers of frame i, and its code. */
static void hash_paths(struct proof *p, const struct raw_frame *frames, size_t n, bool deep)
{
	uint64_t path = deep ? BEYOND : ROOT;

	for (size_t i = n; i-- > 0;) {
		path = hash_step(hash_step(path, frames[i].code), frames[i].stamp);
		p->hashes[i] = map64_key(path);
		path = hash_step(path, frames[i].pos);
	}
}

static uint64_t caller_hash(const struct raw_frame *f)
{
	return hash_step(hash_step(hash_step(ROOT, f->code), f->pos), f->stamp);
}

/* hashes[i] = the next callers of frame i, and its code. */
static void hash_callers(struct proof *p, const struct raw_frame *frames, size_t n, bool deep)
{
	uint64_t callers[PROOF_CALLERS];

	for (size_t k = 0; k < PROOF_CALLERS; k++)
		callers[k] = deep ? BEYOND : ROOT;
	for (size_t i = n; i-- > 0;) {
		uint64_t h = hash_step(hash_step(ROOT, frames[i].code), frames[i].stamp);

		for (size_t k = 0; k < PROOF_CALLERS; k++)
			h = hash_step(h, callers[k]);
		p->hashes[i] = map64_key(h);
		for (size_t k = PROOF_CALLERS - 1; k > 0; k--)
			callers[k] = callers[k - 1];
		callers[0] = caller_hash(&frames[i]);
	}
}

static void hash_contexts(struct proof *p, const struct raw_frame *frames, size_t n, bool deep)
{
	xgrow(&p->hashes, &p->cap, n, sizeof(*p->hashes));
	if (p->by == PROOF_BY_PATH)
		hash_paths(p, frames, n, deep);
	else
		hash_callers(p, frames, n, deep);
}

void proof_learn(struct proof *p, const struct raw_frame *frames, size_t n, bool deep)
{
	bool fresh;

	hash_contexts(p, frames, n, deep);
	for (size_t i = 0; i < n; i++)
		*map64_put(&p->contexts, p->hashes[i], &fresh) = PROVEN;
}

size_t proof_unproven(struct proof *p, const struct raw_frame *frames, size_t n, bool deep)
{
	hash_contexts(p, frames, n, deep);
	for (size_t i = n; i-- > 0;) {
		const uint64_t *word = map64_find(&p->contexts, p->hashes[i]);

		if (!word || *word != PROVEN)
			return i + 1;
	}
	return 0;
}

static bool is_believed(uint64_t seen, uint64_t again)
{
	return (seen == again && again >= AGAIN_ALWAYS) || (seen == SEEN_MANY && again >= AGAIN_MANY) ||
	       (seen == SEEN_MOST && again >= AGAIN_MOST);
}

void proof_witness(struct proof *p, const struct raw_frame *frames, size_t n, bool deep, size_t agreed)
{
	hash_contexts(p, frames, n, deep);
	for (size_t i = 0; i < n; i++) {
		bool fresh;
		uint64_t *word = map64_put(&p->contexts, p->hashes[i], &fresh);
		uint64_t seen, again;

		if (*word == PROVEN)
			continue;
		seen = seen_of(*word) + 1;
		again = again_of(*word) + (n - i <= agreed);
		if (is_believed(seen, again)) {
			*word = PROVEN;
			p->believed++;
		} else if (seen >= SEEN_MOST) {
			*word = 0; /* judged afresh: what was torn once may be true later */
		} else {
			*word = again << 16 | seen;
		}
	}
}
