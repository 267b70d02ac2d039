/* intervals.c - ranges of addresses in sorted blocks, so that to add one moves few others. */
#include <stdlib.h>
#include <string.h>

#include "intervals.h"

enum { BLOCK = 256 };

struct interval_block {
	size_t count; /* never 0 */
	struct interval list[BLOCK];
};

/* An interval's place; block == count of blocks: behind the last one. */
struct place {
	size_t block, at;
};

void intervals_free(struct intervals *s)
{
	for (size_t i = 0; i < s->count; i++)
		free(s->blocks[i]);
	free(s->blocks);
	*s = (struct intervals){ 0 };
}

/* The first interval that ends after the address. */
static struct place first_after(const struct intervals *s, uint64_t at)
{
	struct place p = { 0, 0 };
	size_t low = 0, high = s->count;

	while (low < high) {
		size_t mid = low + (high - low) / 2;
		const struct interval_block *b = s->blocks[mid];

		if (b->list[b->count - 1].end > at)
			high = mid;
		else
			low = mid + 1;
	}
	p.block = low;
	if (low == s->count)
		return p;
	for (low = 0, high = s->blocks[p.block]->count; low < high;) {
		size_t mid = low + (high - low) / 2;

		if (s->blocks[p.block]->list[mid].end > at)
			high = mid;
		else
			low = mid + 1;
	}
	p.at = low;
	return p;
}

static struct place next(const struct intervals *s, struct place p)
{
	return p.at + 1 < s->blocks[p.block]->count ? (struct place){ p.block, p.at + 1 }
						    : (struct place){ p.block + 1, 0 };
}

static void remove_block(struct intervals *s, size_t block)
{
	free(s->blocks[block]);
	s->count--;
	memmove(&s->blocks[block], &s->blocks[block + 1], (s->count - block) * sizeof(struct interval_block *));
}

/* The place of what came behind it. */
static struct place remove_at(struct intervals *s, struct place p)
{
	struct interval_block *b = s->blocks[p.block];

	s->total--;
	if (b->count == 1) {
		remove_block(s, p.block);
		return (struct place){ p.block, 0 };
	}
	b->count--;
	memmove(&b->list[p.at], &b->list[p.at + 1], (b->count - p.at) * sizeof(b->list[0]));
	return p.at < b->count ? p : (struct place){ p.block + 1, 0 };
}

static void insert_block(struct intervals *s, size_t block)
{
	xgrow(&s->blocks, &s->cap, s->count + 1, sizeof(struct interval_block *));
	memmove(&s->blocks[block + 1], &s->blocks[block], (s->count - block) * sizeof(struct interval_block *));
	s->blocks[block] = xcalloc(1, sizeof(struct interval_block));
	s->count++;
}

/* Its upper half becomes a block of its own. */
static void split(struct intervals *s, size_t block)
{
	struct interval_block *lower, *upper;

	insert_block(s, block + 1);
	lower = s->blocks[block];
	upper = s->blocks[block + 1];
	upper->count = lower->count / 2;
	lower->count -= upper->count;
	memcpy(upper->list, &lower->list[lower->count], upper->count * sizeof(upper->list[0]));
}

static void insert_at(struct intervals *s, struct place p, struct interval fresh)
{
	struct interval_block *b;

	if (!s->count)
		insert_block(s, 0);
	if (p.block == s->count)
		p = (struct place){ s->count - 1, s->blocks[s->count - 1]->count };
	if (s->blocks[p.block]->count == BLOCK) {
		split(s, p.block);
		if (p.at > s->blocks[p.block]->count)
			p = (struct place){ p.block + 1, p.at - s->blocks[p.block]->count };
	}
	b = s->blocks[p.block];
	memmove(&b->list[p.at + 1], &b->list[p.at], (b->count - p.at) * sizeof(b->list[0]));
	b->list[p.at] = fresh;
	b->count++;
	s->total++;
}

static uint64_t oldest(const struct intervals *s)
{
	uint64_t least = UINT64_MAX;

	for (size_t i = 0; i < s->count; i++)
		for (size_t k = 0; k < s->blocks[i]->count; k++)
			if (s->blocks[i]->list[k].value < least)
				least = s->blocks[i]->list[k].value;
	return least;
}

/* One at least goes. */
static void forget_before(struct intervals *s, uint64_t value)
{
	size_t kept = 0;

	s->total = 0;
	for (size_t i = 0; i < s->count; i++) {
		struct interval_block *b = s->blocks[i];
		size_t n = 0;

		for (size_t k = 0; k < b->count; k++)
			if (b->list[k].value >= value)
				b->list[n++] = b->list[k];
		b->count = n;
		s->total += n;
		if (n)
			s->blocks[kept++] = b;
		else
			free(b);
	}
	s->count = kept;
}

void intervals_put(struct intervals *s, struct interval fresh)
{
	struct place p;
	uint64_t least;

	if (fresh.start >= fresh.end)
		return;
	if (s->total >= INTERVALS_MAX) {
		least = oldest(s);
		forget_before(s, least + (fresh.value - least) / 2 + 1);
	}
	p = first_after(s, fresh.start);
	while (p.block < s->count) {
		struct interval *old = &s->blocks[p.block]->list[p.at];

		if (old->start >= fresh.end)
			break;
		if (old->start < fresh.start && old->end - fresh.start <= INTERVAL_SLACK) {
			old->end = fresh.start;
			p = next(s, p);
		} else {
			p = remove_at(s, p);
		}
	}
	insert_at(s, p, fresh);
}

bool intervals_find(const struct intervals *s, uint64_t at, struct interval *ret)
{
	struct place p = first_after(s, at);

	if (p.block == s->count || s->blocks[p.block]->list[p.at].start > at)
		return false;
	*ret = s->blocks[p.block]->list[p.at];
	return true;
}
