/* copies.c - local copies of parts of a thread's stack. */
#include <stdlib.h>
#include <string.h>

#include "copies.h"

enum { INDEX_FIRST = 64 };

static size_t index_hash(const struct copies *c, raddr_t at)
{
	return (at >> 3) * 0x9E3779B97F4A7C15ull >> 20 & (c->index_cap - 1);
}

static void index_add(struct copies *c, uint32_t piece)
{
	size_t i = index_hash(c, c->pieces[piece].at);

	while (c->index[i])
		i = (i + 1) & (c->index_cap - 1);
	c->index[i] = piece + 1;
}

static void index_rebuild(struct copies *c)
{
	memset(c->index, 0, c->index_cap * sizeof(*c->index));
	for (uint32_t i = 0; i < c->piece_count; i++)
		index_add(c, i);
}

static struct piece *find_piece(const struct copies *c, raddr_t at)
{
	if (!c->piece_count)
		return NULL;
	for (size_t i = index_hash(c, at); c->index[i]; i = (i + 1) & (c->index_cap - 1))
		if (c->pieces[c->index[i] - 1].at == at)
			return &c->pieces[c->index[i] - 1];
	return NULL;
}

void copies_free(struct copies *c)
{
	for (size_t i = 0; i < c->chunk_cap; i++)
		free(c->chunks[i].bytes);
	free(c->chunks);
	free(c->pieces);
	free(c->index);
	free(c->order);
	blocks_free(&c->blocks);
	blocks_free(&c->again_blocks);
	*c = (struct copies){ 0 };
}

/* The walk needs this piece, in this order. */
static void note_met(struct copies *c, struct piece *p, uint32_t tick)
{
	if (p->used == tick)
		return;
	p->used = tick;
	xgrow(&c->order, &c->order_cap, c->order_count + 1, sizeof(*c->order));
	c->order[c->order_count++] = (uint32_t)(p - c->pieces);
}

static const uint8_t *in_chunk(const struct copies *c, raddr_t at, size_t len)
{
	for (size_t i = c->chunk_count; i-- > 0;) {
		const struct chunk *k = &c->chunks[i];

		if (k->valid && at >= k->at && len <= k->len && at - k->at <= k->len - len)
			return k->bytes + (at - k->at);
	}
	return NULL;
}

static const uint8_t *in_piece(const struct piece *p, size_t len)
{
	return p && p->valid && len <= PIECE_BYTES ? p->bytes : NULL;
}

const uint8_t *copies_peek(const struct copies *c, raddr_t at, size_t len)
{
	const uint8_t *found = in_chunk(c, at, len);

	return found ? found : in_piece(find_piece(c, at), len);
}

const uint8_t *copies_find(struct copies *c, raddr_t at, size_t len, uint32_t tick)
{
	const uint8_t *found = in_chunk(c, at, len);
	struct piece *p = found ? NULL : find_piece(c, at);

	if (p)
		note_met(c, p, tick);
	return found ? found : in_piece(p, len);
}

struct piece *copies_known(const struct copies *c, raddr_t at)
{
	return find_piece(c, at);
}

struct piece *copies_piece(struct copies *c, raddr_t at, uint32_t tick)
{
	struct piece *p = find_piece(c, at);

	if (!p) {
		if (c->piece_count == PIECES_MAX)
			return NULL;
		xgrow(&c->pieces, &c->piece_cap, c->piece_count + 1, sizeof(*c->pieces));
		if (c->index_cap < 2 * (c->piece_count + 1)) {
			c->index_cap = c->index_cap ? c->index_cap * 2 : INDEX_FIRST;
			c->index = xrealloc(c->index, c->index_cap, sizeof(*c->index));
			index_rebuild(c);
		}
		p = &c->pieces[c->piece_count];
		*p = (struct piece){ .at = at, .used = tick - 1 };
		index_add(c, (uint32_t)c->piece_count++);
	}
	note_met(c, p, tick);
	return p;
}

void copies_age(struct copies *c, uint32_t tick)
{
	size_t kept = 0;

	if (tick % PIECE_KEPT_TICKS || !c->piece_count)
		return;
	for (size_t i = 0; i < c->piece_count; i++)
		if (tick - c->pieces[i].used <= PIECE_KEPT_TICKS)
			c->pieces[kept++] = c->pieces[i];
	if (kept == c->piece_count)
		return;
	c->piece_count = kept;
	c->order_count = 0;
	index_rebuild(c);
}

struct err pages_read(struct pages *p, struct memory *m, raddr_t at, void *buf, size_t len, uint32_t tick)
{
	raddr_t start = at & ~(raddr_t)(PAGE_BYTES - 1);
	struct page *page = NULL;
	struct err e;

	if (at - start > PAGE_BYTES - len)
		return memory_read(m, at, buf, len);
	for (size_t i = 0; i < PAGES && !page; i++)
		if (p->list[i].at == start && p->list[i].tick == tick)
			page = &p->list[i];
	if (!page) {
		page = &p->list[p->next];
		page->tick = 0;
		e = memory_read(m, start, page->bytes, PAGE_BYTES);
		if (failed(e))
			return e;
		page->at = start;
		page->tick = tick;
		p->next = (p->next + 1) % PAGES;
	}
	memcpy(buf, page->bytes + (at - start), len);
	return OK;
}
