/* proof.c - contexts that were seen in stacks that could not change, and what they say of others. */
#include <stdlib.h>

#include "proof.h"

enum {
	CONTEXTS_MAX = 1 << 20,
	/* Belief by repetition: always found again this often, or in a third of this many looks. A torn context is
	 * found again as often as its program tears the same way twice: a few percent. */
	AGREE_ALWAYS = 8,
	SEEN_MANY = 48,
	AGREE_MANY = SEEN_MANY / 3,
};

static const uint64_t PROVEN = 1ull << 63;
static const uint64_t ROOT = 0x9ae16a3b2f90404full;  /* stands for "no caller" */
static const uint64_t BEYOND = 0xc3a5c85c97cb3127ull; /* and for "callers cut off" */

/* What a context word counts until it is proven. */
static uint64_t seen_of(uint64_t word)
{
	return word & 0xffff;
}

static uint64_t agreed_of(uint64_t word)
{
	return word >> 16 & 0xffff;
}

void proof_init(struct proof *p)
{
	map64_init(&p->contexts, CONTEXTS_MAX);
	p->hashes = NULL;
	p->cap = 0;
}

void proof_free(struct proof *p)
{
	map64_free(&p->contexts);
	free(p->hashes);
}

static uint64_t caller_hash(const struct raw_frame *f)
{
	return hash_step(hash_step(hash_step(ROOT, f->code), f->pos), f->stamp);
}

/* hashes[i] = context of frame i. */
static void hash_contexts(struct proof *p, const struct raw_frame *frames, size_t n, bool deep)
{
	uint64_t callers[PROOF_CALLERS];

	xgrow(&p->hashes, &p->cap, n, sizeof(*p->hashes));
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

/* Frames that both looks share from the root on; the one above them may have moved on within the same code. */
static size_t shared_from_root(const struct raw_frame *a, size_t n, const struct raw_frame *b, size_t m)
{
	size_t same = 0;

	while (same < n && same < m) {
		const struct raw_frame *x = &a[n - 1 - same], *y = &b[m - 1 - same];

		if (x->code != y->code || x->stamp != y->stamp)
			break;
		same++;
		if (x->pos != y->pos)
			break;
	}
	return same;
}

void proof_compare(struct proof *p, const struct raw_frame *first, size_t n, bool deep, const struct raw_frame *second,
		   size_t n2)
{
	size_t same = shared_from_root(first, n, second, n2);

	hash_contexts(p, first, n, deep);
	for (size_t i = 0; i < n; i++) {
		bool fresh;
		uint64_t *word = map64_put(&p->contexts, p->hashes[i], &fresh);
		uint64_t seen, agreed;

		if (*word == PROVEN)
			continue;
		seen = seen_of(*word) + 1;
		agreed = agreed_of(*word) + (n - i <= same);
		if ((seen == agreed && agreed >= AGREE_ALWAYS) || (seen >= SEEN_MANY && agreed >= AGREE_MANY))
			*word = PROVEN;
		else if (seen >= SEEN_MANY)
			*word = 0; /* judged afresh: what was torn once may be true later */
		else
			*word = agreed << 16 | seen;
	}
}
