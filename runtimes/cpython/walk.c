/* walk.c - from copied memory to the frames of one thread. */
#include <string.h>

#include "cpython.h"

enum {
	CODE_BYTES_MAX = 64 << 20, /* of bytecode in one code object */
	STATE_SPAN = 16 << 10,	   /* more than a thread state has */
};

/* Chunks of the data stack below `newest` that are not known yet. They are pushed and popped rarely. */
static struct err push_chunk(struct cpy *c, struct copies *k, struct target *t, raddr_t at, size_t place)
{
	const struct cpy_layout *l = c->l;
	uint64_t size, top;
	struct memory_range ranges[] = {
		{ at + (raddr_t)l->chunk_size, &size, 8 },
		{ at + (raddr_t)l->chunk_top, &top, 8 },
	};
	struct err e = memory_readv(t->memory, ranges, countof(ranges), NULL);
	struct chunk *chunk;

	if (failed(e))
		return e;
	if (size > CHUNK_BYTES_MAX || top > size / 8)
		return err_at(ERR_CORRUPT, at, "walking the data stack");
	xgrow(&k->chunks, &k->chunk_cap, place + 1, sizeof(*k->chunks));
	chunk = &k->chunks[place];
	chunk->at = at;
	chunk->size = size;
	chunk->len = (size_t)l->chunk_data + top * 8;
	chunk->valid = false;
	return OK;
}

/* Addresses of the chunks from the newest down to one that is known (its number + 1 is *known), or to the first. */
static struct err chain_of_chunks(struct cpy *c, struct copies *k, struct target *t, raddr_t newest, raddr_t *chain,
				  size_t *len, size_t *known)
{
	*len = *known = 0;
	for (raddr_t at = newest; at;) {
		struct err e;

		for (size_t i = k->chunk_count; i-- > 0;) {
			if (k->chunks[i].at == at) {
				*known = i + 1;
				return OK;
			}
		}
		if (*len == CHUNKS_MAX)
			return err_at(ERR_CORRUPT, at, "walking the data stack");
		chain[(*len)++] = at;
		e = memory_ptr(t->memory, at + (raddr_t)c->l->chunk_previous, &at);
		if (failed(e))
			return e;
	}
	return OK;
}

static struct err sync_chunks(struct cpy *c, struct copies *k, struct target *t, raddr_t newest)
{
	raddr_t chain[CHUNKS_MAX];
	size_t len, known;
	struct err e = chain_of_chunks(c, k, t, newest, chain, &len, &known);

	if (failed(e))
		return e;
	/* One that was the newest is an older one now: its length is fixed, and what was copied of it may be less. */
	if (known && len) {
		e = push_chunk(c, k, t, k->chunks[known - 1].at, known - 1);
		if (failed(e))
			return e;
	}
	k->chunk_count = known;
	while (len > 0) {
		e = push_chunk(c, k, t, chain[--len], k->chunk_count);
		if (failed(e))
			return e;
		k->chunk_count++;
	}
	return OK;
}

static struct err read_chunk(struct chunk *chunk, size_t from, struct target *t)
{
	struct err e;

	xgrow(&chunk->bytes, &chunk->cap, chunk->len, 1);
	e = memory_read(t->memory, chunk->at + from, chunk->bytes + from, chunk->len - from);
	chunk->valid = !failed(e);
	return e;
}

/* Bring the copies in line with where the thread's data stack ends now. */
static struct err update_chunks(struct cpy *c, struct cpy_thread *th, struct target *t)
{
	struct copies *k = &th->copies;
	raddr_t newest = cpy_state_word(c, th, c->l->thread_chunk), top = cpy_state_word(c, th, c->l->thread_stack_top);
	struct chunk *last;
	struct err e;
	size_t need;

	k->late = false;
	if (!newest) {
		k->chunk_count = 0;
		return OK;
	}
	if (!k->chunk_count || k->chunks[k->chunk_count - 1].at != newest) {
		k->late = true;
		e = sync_chunks(c, k, t, newest);
		if (failed(e))
			return e;
		for (size_t i = 0; i + 1 < k->chunk_count; i++) {
			if (!k->chunks[i].valid && failed(e = read_chunk(&k->chunks[i], 0, t)))
				return e;
		}
		k->chunks[k->chunk_count - 1].valid = false;
	}
	last = &k->chunks[k->chunk_count - 1];
	if (top < last->at || top - last->at > last->size)
		return err_at(ERR_CORRUPT, top, "walking the data stack");
	need = top - last->at;
	k->need = need;
	if (need > k->want_next)
		k->want_next = need;
	if (last->valid && need <= last->len)
		return OK;
	last->len = need + SLACK < last->size ? need + SLACK : last->size;
	k->want = last->len;
	k->late = true;
	return read_chunk(last, 0, t);
}

/*
 * What was read long after the top was known: has the stack stood there all the time? Returning leaves frames in
 * memory, linked as if they were still called, so that of a stack that has shrunk meanwhile each would look like a
 * caller.
 */
static struct err check_depth(struct cpy *c, const struct cpy_thread *th, struct target *t)
{
	raddr_t top = cpy_state_word(c, th, c->l->thread_stack_top), chunk = cpy_state_word(c, th, c->l->thread_chunk);
	raddr_t top_now = top, chunk_now = th->last_chunk;
	struct memory_range ranges[] = {
		{ th->at + (raddr_t)c->l->thread_stack_top, &top_now, 8 },
		{ th->at + (raddr_t)c->l->thread_chunk, &chunk_now, 8 },
	};
	struct err e = th->copies.late ? memory_readv(t->memory, ranges, countof(ranges), NULL) : OK;

	if (failed(e))
		return e;
	return top_now == top && chunk_now == chunk ? OK : err_at(ERR_CORRUPT, chunk, "walking the data stack");
}

static const uint8_t *frame_at(struct cpy *c, struct cpy_thread *th, struct target *t, raddr_t at)
{
	const uint8_t *found = copies_find(&th->copies, at, c->frame_bytes, c->tick);
	struct piece *p;

	if (found)
		return found;
	p = copies_piece(&th->copies, at, c->tick);
	if (!p)
		return NULL;
	p->unreadable = failed(pages_read(&c->pages, t->memory, at, p->bytes, c->frame_bytes, c->tick));
	p->valid = !p->unreadable;
	return p->valid ? p->bytes : NULL;
}

bool cpy_position(const struct cpy_layout *l, raddr_t code, const uint8_t *frame, uint64_t *ret)
{
	uint64_t raw = cpy_word(frame + l->frame_pos);
	int32_t lasti = (int32_t)raw;

	if (l->position == POS_POINTER) {
		raddr_t base = code + (raddr_t)l->code_adaptive;

		if (l->free_threaded && cpy_has(l->code_tlbc)) {
			*ret = raw; /* within one of several copies of the bytecode */
			return true;
		}
		/* Before its first instruction a frame points one instruction ahead of the code. */
		*ret = raw + 2 == base ? 0 : raw - base;
		return *ret < CODE_BYTES_MAX;
	}
	*ret = lasti < 0 ? 0 : (uint64_t)lasti * (l->position == POS_LASTI_UNITS ? 2 : 1);
	return *ret < CODE_BYTES_MAX;
}

static bool in_state(const struct cpy_thread *th, raddr_t at)
{
	return at > th->at && at - th->at < STATE_SPAN;
}

static void note_cframe(struct cpy_thread *th, raddr_t at)
{
	size_t i = 0;

	while (i + 1 < CFRAMES && th->cframes[i] != at)
		i++;
	memmove(th->cframes + 1, th->cframes, i * sizeof(th->cframes[0]));
	th->cframes[0] = at;
}

/* Where the frames begin: in the thread state, or one step away in the evaluation loop's own record (a cframe). */
static struct err top_frame(struct cpy *c, struct cpy_thread *th, struct target *t, raddr_t *ret, raddr_t *cframe)
{
	const uint8_t *bytes;

	*cframe = 0;
	*ret = cpy_state_word(c, th, c->l->thread_frame);
	if (c->l->frames != FRAMES_CFRAME || !*ret)
		return OK;
	note_cframe(th, *ret);
	bytes = frame_at(c, th, t, *ret);
	if (!bytes)
		return err_at(ERR_FAULT, *ret, "reading a frame");
	*cframe = cpy_word(bytes + c->l->cframe_previous);
	bytes += c->l->cframe_frame;
	/* A thread that runs no Python has none; an evaluation loop that has one is on its way in or out. */
	if (!cpy_word(bytes) && !in_state(th, *ret))
		return err_at(ERR_CORRUPT, *ret, "walking the frames");
	*ret = cpy_word(bytes);
	return OK;
}

/* What lies in the newest chunk at or beyond the top of the data stack was popped. */
static bool is_popped(const struct cpy *c, const struct cpy_thread *th, raddr_t at)
{
	raddr_t chunk = cpy_state_word(c, th, c->l->thread_chunk), top = cpy_state_word(c, th, c->l->thread_stack_top);

	return chunk && at >= top && at >= chunk && at - chunk < th->copies.chunks[th->copies.chunk_count - 1].size;
}

static bool in_chunks(const struct copies *k, raddr_t at)
{
	for (size_t i = 0; i < k->chunk_count; i++)
		if (at >= k->chunks[i].at && at - k->chunks[i].at < k->chunks[i].size)
			return true;
	return false;
}

enum owner { PYTHON, NATIVE, NONSENSE };

/*
 * Whose frame is it? Native code that runs the interpreter has frames of its own (the Python frame above it was entered
 * from there); they lie on its stack or in the thread state. Other owners than a thread or a generator are none that a
 * running frame can have.
 */
static enum owner owner_of(const struct cpy *c, const struct cpy_thread *th, const uint8_t *frame, raddr_t at)
{
	const struct cpy_layout *l = c->l;
	uint8_t owner = cpy_has(l->frame_owner) ? frame[l->frame_owner] : 0;

	if (owner <= 1)
		return PYTHON;
	if (l->owner_skip && owner >= l->owner_skip && owner <= l->owner_skip + 1 && !in_chunks(&th->copies, at))
		return NATIVE;
	return NONSENSE;
}

/* Up to 3.10 a frame knows whether it runs; one that was left, and freed perhaps, does not. */
static bool is_executing(const struct cpy_layout *l, const uint8_t *frame)
{
	uint8_t state = cpy_has(l->frame_executing) ? frame[l->frame_executing] : 0;

	return !l->executing || (state < 8 && l->executing >> state & 1);
}

static void mark_entry(struct raw_stacks *out)
{
	struct raw_stack *stack = &out->list[out->count - 1];

	if (stack->count)
		out->frames[stack->first + stack->count - 1].flags |= RAW_FRAME_ENTRY;
}

/*
 * May the stack end with this frame, which has no caller? A frame that is being pushed may be linked in before its
 * caller is known. From 3.12 on native code's own frame ends every stack; in 3.11 the frame that it entered, which
 * is the first on the data stack.
 */
static bool is_root(const struct cpy *c, const struct cpy_thread *th, const uint8_t *frame, raddr_t at)
{
	const struct cpy_layout *l = c->l;
	const struct chunk *first = th->copies.chunk_count ? &th->copies.chunks[0] : NULL;
	raddr_t base;

	if (l->frames == FRAMES_HEAP || owner_of(c, th, frame, at) == NATIVE)
		return true;
	if (!cpy_has(l->frame_is_entry) || !frame[l->frame_is_entry])
		return false;
	/* The first word of the first chunk is left unused. A generator's frame lies elsewhere, and is the root only
	 * where the data stack is empty. */
	base = first ? first->at + (raddr_t)l->chunk_data + 8 : 0;
	if (first && (at < first->at || at - first->at >= first->size))
		return th->copies.chunk_count == 1 && cpy_state_word(c, th, l->thread_stack_top) <= base;
	return !first || at <= base;
}

static struct err walk_from(struct cpy *c, struct cpy_thread *th, struct target *t, raddr_t at, struct raw_stacks *out)
{
	const struct cpy_layout *l = c->l;
	struct raw_stack *stack = &out->list[out->count - 1];
	size_t most = out->depth * 2 + 16, steps = 1; /* frames and sentinels */
	raddr_t passed = 0;			      /* a frame met some time ago, to be met again in a cycle */
	raddr_t top = at;

	for (; at && steps <= most; steps++) {
		const uint8_t *frame = frame_at(c, th, t, at);
		struct raw_frame f = { .at = at };
		enum owner owner;
		raddr_t back;

		if (!frame)
			return err_at(ERR_FAULT, at, "reading a frame");
		owner = owner_of(c, th, frame, at);
		back = cpy_word(frame + l->frame_back);
		f.code = cpy_word(frame + l->frame_code) & ~l->code_tag_mask;
		if (is_popped(c, th, at)) {
			if (!passed && owner == PYTHON)
				stack->top = f;
			return err_at(ERR_CORRUPT, at, "reading a frame");
		}
		if (owner == NATIVE) {
			mark_entry(out);
		} else if ((f.code && is_executing(l, frame)) || stack->count) {
			if (owner != PYTHON || !f.code || !is_executing(l, frame) ||
			    !cpy_position(l, f.code, frame, &f.pos))
				return err_at(ERR_CORRUPT, at, "reading a frame");
			/* To 3.10 every Python function has a call of the evaluation loop of its own. */
			if (l->frames == FRAMES_HEAP || (cpy_has(l->frame_is_entry) && frame[l->frame_is_entry]))
				f.flags |= RAW_FRAME_ENTRY;
			if (!raw_stacks_frame(out, &f))
				return OK; /* as deep as wanted; marked so */
		} else if (!passed && f.code) {
			stack->top = f; /* being popped or pushed: its caller is the leaf */
		}
		if (back ? back == at || back == passed : !is_root(c, th, frame, at))
			return err_at(ERR_CORRUPT, at, "walking the frames");
		if ((steps & (steps - 1)) == 0)
			passed = at;
		at = back;
	}
	/* A thread that runs no Python has no frame, or one in its state (3.14 and later). Else frames without a stack
	 * are in the middle of a change, all of them. */
	return at || (!stack->count && top && !in_state(th, top)) ? err_at(ERR_CORRUPT, at, "walking the frames") : OK;
}

static void restart(struct raw_stacks *out)
{
	struct raw_stack *stack = &out->list[out->count - 1];

	out->used = stack->first;
	stack->count = 0;
	stack->deep = stack->cut = false;
}

struct err cpy_walk(struct cpy *c, struct cpy_thread *th, struct target *t, struct raw_stacks *out)
{
	struct raw_stack *stack = &out->list[out->count - 1];
	struct err e, again;
	raddr_t top = 0, cframe = 0;
	const uint8_t *bytes;

	th->copies.order_count = 0;
	th->walked = c->tick;
	e = c->l->frames == FRAMES_HEAP ? OK : update_chunks(c, th, t);
	if (!failed(e) && !stack->sure && (th->copies.late || th->copies.chunk_count > 1))
		e = check_depth(c, th, t);
	if (!failed(e))
		e = top_frame(c, th, t, &top, &cframe);
	if (!failed(e))
		e = walk_from(c, th, t, top, out);
	if (!failed(e) || !cframe || e.code == ERR_GONE)
		return e;
	/* An evaluation loop that is being entered has put its record in place, but no frame in it: what is there was
	 * left by an earlier one. The record before it tells from where it was entered. */
	bytes = frame_at(c, th, t, cframe);
	if (!bytes || !cpy_word(bytes + c->l->cframe_frame))
		return e;
	restart(out);
	again = walk_from(c, th, t, cpy_word(bytes + c->l->cframe_frame), out);
	stack->cut = true;
	return failed(again) || !stack->count ? e : again;
}
