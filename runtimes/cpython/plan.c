/* plan.c - what to read of a thread: as much as the last tick needed, the fastest changing parts close together. */
#include <string.h>

#include "cpython.h"

enum { WANT_TICKS = 256 }; /* after so many, copy only what was needed lately */

static void plan_piece(struct cpy *c, struct copies *k, struct piece *p)
{
	/* Memory that was freed since is not asked for again: each gap in a scatter read costs another call. */
	if (p->asked && !p->valid)
		p->unreadable = true;
	p->valid = false;
	p->asked = !p->unreadable;
	if (p->asked)
		p->block = blocks_add(&k->blocks, p->at, c->frame_bytes);
}

static void plan_blocks(struct cpy *c, struct blocks *blocks, size_t from, size_t to)
{
	for (size_t i = from; i < to; i++) {
		struct block *b = &blocks->list[i];

		cpy_range(c, b->at, blocks->bytes + b->offset, b->len, &b->valid);
	}
}

void cpy_plan_done(struct cpy *c, struct cpy_thread *th)
{
	struct copies *k = &th->copies;

	for (size_t i = 0; i < k->piece_count; i++) {
		struct piece *p = &k->pieces[i];

		if (!p->asked || !k->blocks.list[p->block].valid)
			continue;
		memcpy(p->bytes, blocks_copy(&k->blocks, p->block, p->at), c->frame_bytes);
		p->valid = true;
	}
}

static void plan_chunk(struct cpy *c, struct chunk *chunk)
{
	xgrow(&chunk->bytes, &chunk->cap, chunk->len, 1);
	chunk->valid = false;
	cpy_range(c, chunk->at, chunk->bytes, chunk->len, &chunk->valid);
}

static void plan_newest_chunk(struct cpy *c, struct copies *k)
{
	struct chunk *last = k->chunk_count ? &k->chunks[k->chunk_count - 1] : NULL;

	if (!last)
		return;
	last->len = k->want < last->size ? k->want : last->size;
	plan_chunk(c, last);
}

static void plan_piece_again(struct cpy *c, struct copies *k, struct piece *p)
{
	if (!p || p->unreadable || p->twice == c->plans)
		return;
	p->twice = c->plans;
	p->again_block = blocks_add(&k->again_blocks, p->at, c->frame_bytes);
}

static void plan_pieces_again(struct cpy *c, struct cpy_thread *th)
{
	struct copies *k = &th->copies;

	blocks_reset(&k->again_blocks);
	for (size_t i = 0; i < CFRAMES && th->cframes[i]; i++)
		plan_piece_again(c, k, copies_known(k, th->cframes[i]));
	for (size_t i = 0; i < k->order_count && i < AGAIN_FRAMES; i++)
		plan_piece_again(c, k, &k->pieces[k->order[i]]);
	blocks_place(&k->again_blocks);
	plan_blocks(c, &k->again_blocks, 0, k->again_blocks.count);
}

/* Once more what lies at the leaf's end, right after it was read first: what short functions did meanwhile is seen. */
static void plan_again(struct cpy *c, struct cpy_thread *th)
{
	struct copies *k = &th->copies;
	const struct chunk *last = k->chunk_count ? &k->chunks[k->chunk_count - 1] : NULL;
	size_t end;

	k->again_valid = false;
	th->top_again = 0;
	cpy_range(c, th->at + (raddr_t)c->l->thread_frame, &th->top_again, 8, NULL);
	plan_pieces_again(c, th);
	if (!last)
		return;
	/* The end of what is live, which is not the end of what is copied: the stack was deeper a while ago, perhaps.
	 */
	end = k->need + SLACK < last->len ? k->need + SLACK : last->len;
	k->again_len = end < AGAIN_BYTES ? end : AGAIN_BYTES;
	k->again_at = last->at + end - k->again_len;
	cpy_range(c, k->again_at, k->again, k->again_len, &k->again_valid);
}

void cpy_plan_thread(struct cpy *c, struct cpy_thread *th)
{
	struct copies *k = &th->copies;
	size_t near = 0;

	if (c->tick % WANT_TICKS == 0 && k->want_next) {
		k->want = k->want_next + SLACK;
		k->want_next = 0;
	}
	copies_age(k, c->tick);
	th->valid = false;
	cpy_range(c, th->at + c->state_low, th->state, c->state_len, &th->valid);
	/* From the leaf to the root: where a stack changes most, there is the least time between two frames, and to the
	 * second read of it. Frames that were met lately, but not by the last walk, may be met again. */
	blocks_reset(&k->blocks);
	for (size_t i = 0; i < k->order_count && i < AGAIN_FRAMES; i++)
		plan_piece(c, k, &k->pieces[k->order[i]]);
	near = k->blocks.count;
	for (size_t i = 0; i < k->piece_count; i++)
		if (!k->order_count || k->pieces[i].used != th->walked)
			plan_piece(c, k, &k->pieces[i]);
	for (size_t i = AGAIN_FRAMES; i < k->order_count; i++)
		plan_piece(c, k, &k->pieces[k->order[i]]);
	blocks_place(&k->blocks);
	plan_blocks(c, &k->blocks, 0, near);
	plan_newest_chunk(c, k);
	if (c->look->twice)
		plan_again(c, th);
	plan_blocks(c, &k->blocks, near, k->blocks.count);
	for (size_t i = k->chunk_count; i-- > 1;)
		plan_chunk(c, &k->chunks[i - 1]);
	if (k->chunk_count > 1)
		cpy_range(c, th->at + (raddr_t)c->l->thread_chunk, &th->last_chunk, 8, NULL);
}

/* The second copy of a frame; NULL: none was made. */
static const uint8_t *again_at(const struct cpy *c, const struct copies *k, raddr_t at)
{
	const struct piece *p;

	/* The address is the target's word: it may lie anywhere, at the very end of all addresses as well. */
	if (k->again_valid && k->again_len >= c->frame_bytes && at >= k->again_at &&
	    at - k->again_at <= k->again_len - c->frame_bytes)
		return k->again + (at - k->again_at);
	p = copies_known(k, at);
	if (!p || p->twice != c->plans || !k->again_blocks.list[p->again_block].valid)
		return NULL;
	return blocks_copy(&k->again_blocks, p->again_block, at);
}

/* The frame on top when the second copy was made. */
static raddr_t second_top(const struct cpy *c, const struct cpy_thread *th)
{
	const uint8_t *cframe;

	if (c->l->frames != FRAMES_CFRAME)
		return th->top_again;
	cframe = again_at(c, &th->copies, th->top_again);
	return cframe ? cpy_word(cframe + c->l->cframe_frame) : 0;
}

enum witness { SAME, MOVED, OTHER, UNKNOWN };

/* Does the second copy show this frame? MOVED: at another position of the same code. UNKNOWN: it was not copied. */
static enum witness witness_of(const struct cpy *c, const struct copies *k, const struct raw_frame *f, size_t depth)
{
	const uint8_t *frame = again_at(c, k, f->at);
	uint64_t pos;

	if (!frame) {
		/* Far from the leaf, or in the part of the data stack below what was copied again. */
		bool below = k->again_valid && k->chunk_count && f->at < k->again_at &&
			     f->at >= k->chunks[k->chunk_count - 1].at;

		return depth >= AGAIN_FRAMES || below ? SAME : UNKNOWN;
	}
	if ((cpy_word(frame + c->l->frame_code) & ~c->l->code_tag_mask) != f->code)
		return OTHER;
	return cpy_position(c->l, f->code, frame, &pos) && pos == f->pos ? SAME : MOVED;
}

static uint32_t find_frame(const struct raw_frame *frames, uint32_t n, raddr_t at)
{
	uint32_t i = 0;

	while (i < n && frames[i].at != at)
		i++;
	return i;
}

/*
 * Frames that had been left when the second copy was made; what was left may lie in memory unchanged. Calls made in
 * between stand above the second top: they are followed down to a frame that the first read met. `n`: to none, and
 * where one of them was not copied, so it is taken to be: a torn stack's top is gone to where nobody looks.
 */
static uint32_t count_left(const struct cpy *c, const struct cpy_thread *th, const struct raw_frame *frames, uint32_t n)
{
	raddr_t at = second_top(c, th);

	for (int i = 0; i < AGAIN_FRAMES && at; i++) {
		uint32_t met = find_frame(frames, n, at);
		const uint8_t *frame;

		if (met < n)
			return met;
		frame = again_at(c, &th->copies, at);
		at = frame ? cpy_word(frame + c->l->frame_back) : 0;
	}
	return n;
}

uint32_t cpy_agreed(struct cpy *c, struct cpy_thread *th, const struct raw_stacks *out)
{
	const struct raw_stack *stack = &out->list[out->count - 1];
	const struct raw_frame *frames = &out->frames[stack->first];
	uint32_t left = count_left(c, th, frames, stack->count);

	for (uint32_t i = stack->count; i-- > 0;) {
		enum witness w = i < left ? OTHER : witness_of(c, &th->copies, &frames[i], i);

		/* It is on the stack still, but was not copied again: nothing is known of it. */
		if (w == UNKNOWN)
			return RAW_NOT_ASKED;
		if (w != SAME)
			return stack->count - i - (w == OTHER);
	}
	return stack->count;
}

static struct raw_frame frame_in(const struct cpy *c, const uint8_t *copy, raddr_t at)
{
	bool native =
		copy && cpy_has(c->l->frame_owner) && c->l->owner_skip && copy[c->l->frame_owner] >= c->l->owner_skip;

	return (struct raw_frame){
		.at = at,
		.code = copy && !native ? cpy_word(copy + c->l->frame_code) & ~c->l->code_tag_mask : 0,
	};
}

/*
 * The leaf at one moment: on top as the second read found it, with the code that was there a moment later and a moment
 * before; see raw_stack.top.
 */
void cpy_find_top(struct cpy *c, struct cpy_thread *th, struct raw_stack *stack)
{
	raddr_t at = second_top(c, th);

	if (!at)
		return;
	stack->top = frame_in(c, again_at(c, &th->copies, at), at);
	stack->top_before = frame_in(c, copies_peek(&th->copies, at, c->frame_bytes), at);
	if (!stack->top.code)
		stack->top = stack->top_before;
}
