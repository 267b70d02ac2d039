/* blocks.c - small pieces of memory that lie near each other, read as one range. */
#include <stdlib.h>
#include <string.h>

#include "blocks.h"

enum { INDEX_FIRST = 64 };

void blocks_free(struct blocks *b)
{
	free(b->list);
	free(b->index);
	free(b->bytes);
	*b = (struct blocks){ 0 };
}

void blocks_reset(struct blocks *b)
{
	b->count = 0;
	if (b->index)
		memset(b->index, 0, b->index_cap * sizeof(*b->index));
}

static uint32_t *slot_of(const struct blocks *b, raddr_t at)
{
	raddr_t stretch = at / BLOCK_BYTES;
	size_t i = stretch * 0x9E3779B97F4A7C15ull >> 20 & (b->index_cap - 1);

	while (b->index[i] && b->list[b->index[i] - 1].at / BLOCK_BYTES != stretch)
		i = (i + 1) & (b->index_cap - 1);
	return &b->index[i];
}

static void grow_index(struct blocks *b)
{
	b->index_cap = b->index_cap ? b->index_cap * 2 : INDEX_FIRST;
	b->index = xrealloc(b->index, b->index_cap, sizeof(*b->index));
	memset(b->index, 0, b->index_cap * sizeof(*b->index));
	for (uint32_t i = 0; i < b->count; i++)
		*slot_of(b, b->list[i].at) = i + 1;
}

uint32_t blocks_add(struct blocks *b, raddr_t at, size_t len)
{
	uint32_t *slot;
	struct block *block;

	if (b->index_cap < 2 * (b->count + 1))
		grow_index(b);
	slot = slot_of(b, at);
	if (!*slot) {
		xgrow(&b->list, &b->cap, b->count + 1, sizeof(*b->list));
		b->list[b->count] = (struct block){ .at = at, .len = len };
		*slot = (uint32_t)++b->count;
		return *slot - 1;
	}
	block = &b->list[*slot - 1];
	if (at < block->at) {
		block->len += block->at - at;
		block->at = at;
	}
	if (at + len > block->at + block->len)
		block->len = at + len - block->at;
	return *slot - 1;
}

void blocks_place(struct blocks *b)
{
	size_t total = 0;

	for (size_t i = 0; i < b->count; i++) {
		b->list[i].offset = total;
		total += b->list[i].len;
	}
	xgrow(&b->bytes, &b->byte_cap, total, 1);
}

const uint8_t *blocks_copy(const struct blocks *b, uint32_t block, raddr_t at)
{
	return b->bytes + b->list[block].offset + (at - b->list[block].at);
}
