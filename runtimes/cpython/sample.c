/* sample.c - one tick: read everything in one call, then walk the copies. */
#include <string.h>

#include "cpython.h"

/* What seldom changes (lists, garbage collection) is read and checked this often at most. */
static const uint64_t SLOW_NS = 1000 * 1000;
/* The lists are walked afresh this often: an interpreter that ended in the middle of its list leaves no other trace. */
static const uint64_t DISCOVER_NS = 1000 * 1000 * 1000ull;

enum { GAP_WINDOW = 16 };
static const raddr_t UNKNOWN = 1; /* no thread state's address */

void cpy_range(struct cpy *c, raddr_t at, void *buf, size_t len, bool *valid)
{
	size_t i = c->range_count++;

	xgrow(&c->ranges, &c->range_cap, c->range_count, sizeof(*c->ranges));
	xgrow(&c->valid, &c->valid_cap, c->range_count, sizeof(*c->valid));
	c->ranges[i] = (struct memory_range){ at, buf, len };
	c->valid[i] = valid;
}

static void widen(int32_t field, uint32_t size, uint32_t *low, uint32_t *high)
{
	if (!cpy_has(field))
		return;
	if ((uint32_t)field < *low)
		*low = (uint32_t)field;
	if ((uint32_t)field + size > *high)
		*high = (uint32_t)field + size;
}

void cpy_sample_init(struct cpy *c)
{
	const struct cpy_layout *l = c->l;
	const int32_t state[] = { l->thread_next, l->thread_frame, l->thread_chunk, l->thread_stack_top };
	const int32_t frame[] = { l->frame_back, l->frame_code, l->frame_pos, l->cframe_frame, l->cframe_previous };
	const int32_t byte[] = { l->frame_owner, l->frame_is_entry, l->frame_executing };
	uint32_t low = UINT32_MAX, high = 0;

	for (size_t i = 0; i < countof(state); i++)
		widen(state[i], 8, &low, &high);
	c->state_low = low;
	c->state_len = high - low;
	low = UINT32_MAX;
	high = 0;
	widen(l->gil_locked, 4, &low, &high);
	widen(l->gil_holder, 8, &low, &high);
	c->gil_low = low;
	c->gil_len = high > low ? high - low : 0;
	high = 0;
	for (size_t i = 0; i < countof(frame); i++)
		widen(frame[i], 8, &low, &high);
	for (size_t i = 0; i < countof(byte); i++)
		widen(byte[i], 1, &low, &high);
	c->frame_bytes = high;
	c->pthread_tid_at = NO_FIELD;
	codes_init(&c->codes, l);
}

static void plan_lock(struct cpy *c, int which)
{
	if (c->roots.gil_current) {
		c->current_valid[which] = false;
		cpy_range(c, c->roots.gil_current, &c->current[which], 8, &c->current_valid[which]);
	}
	for (size_t i = 0; i < c->interp_count; i++) {
		struct cpy_interp *in = &c->interps[i];

		in->lock_valid[which] = false;
		if (in->gil)
			cpy_range(c, in->gil + c->gil_low, in->lock[which], c->gil_len, &in->lock_valid[which]);
	}
}

static void plan_slow(struct cpy *c)
{
	const struct cpy_layout *l = c->l;

	cpy_range(c, c->roots.interp_head, &c->interp_head_now, 8, NULL);
	if (c->roots.gc_collecting)
		cpy_range(c, c->roots.gc_collecting, &c->collecting, 4, NULL);
	for (size_t i = 0; i < c->interp_count; i++) {
		struct cpy_interp *in = &c->interps[i];

		cpy_range(c, in->at + (raddr_t)l->interp_threads_head, &in->head_now, 8, NULL);
		if (cpy_has(l->interp_gc_collecting))
			cpy_range(c, in->at + (raddr_t)l->interp_gc_collecting, &in->collecting, 4, NULL);
	}
}

static void code_range(void *arg, raddr_t at, void *buf, size_t len)
{
	cpy_range(arg, at, buf, len, NULL);
}

/* Returns where the ranges of the code objects begin. */
static size_t plan(struct cpy *c, bool slow)
{
	size_t codes_from;

	c->range_count = 0;
	c->plans++;
	if (slow)
		plan_slow(c);
	/* One thread alone has the lock or works without it: asked for now and then, that shares a range's price. */
	if (slow || c->look->certain || c->thread_count > 1)
		plan_lock(c, 0);
	for (size_t i = 0; i < c->thread_count; i++)
		if (!c->threads[i].left_out)
			cpy_plan_thread(c, &c->threads[i]);
	codes_from = c->range_count;
	codes_plan(&c->codes, code_range, c);
	if (c->look->certain)
		plan_lock(c, 1);
	return codes_from;
}

/* One call where nothing moved; a range that is gone costs one more, and is not valid. *gap: a code object's was. */
static struct err read_all(struct cpy *c, struct target *t, size_t codes_from, bool *gap)
{
	size_t at = 0, window = c->range_count;

	*gap = false;
	while (at < c->range_count) {
		size_t done, n = c->range_count - at < window ? c->range_count - at : window;
		struct err e = memory_readv(t->memory, c->ranges + at, n, &done);

		for (size_t i = at; i < at + done; i++)
			if (c->valid[i])
				*c->valid[i] = true;
		at += done;
		window *= 2;
		if (!failed(e))
			continue;
		if (e.code != ERR_FAULT)
			return e;
		*gap = *gap || at >= codes_from;
		at++;
		window = GAP_WINDOW; /* gaps come in clusters, and every range of a failed call has its price */
	}
	return OK;
}

/* The thread state that holds the lock of this interpreter, as the first or last word of the tick says; UNKNOWN where
 * that word could not be read. */
static raddr_t holder_of(const struct cpy *c, const struct cpy_interp *in, int which)
{
	uint32_t locked;

	if (c->roots.gil_current)
		return c->current_valid[which] ? c->current[which] : UNKNOWN;
	if (!in->gil)
		return 0;
	if (!in->lock_valid[which])
		return UNKNOWN;
	memcpy(&locked, in->lock[which] + (uint32_t)c->l->gil_locked - c->gil_low, sizeof(locked));
	return locked == 1 ? cpy_word(in->lock[which] + (uint32_t)c->l->gil_holder - c->gil_low) : 0;
}

static bool has_lock(const struct cpy *c, const struct cpy_interp *in)
{
	return c->roots.gil_current || in->gil;
}

static void remember_holder(struct cpy *c, raddr_t holder)
{
	if (!holder || c->holders[0] == holder)
		return;
	memmove(c->holders + 1, c->holders, sizeof(c->holders) - sizeof(c->holders[0]));
	c->holders[0] = holder;
}

static bool is_still(const struct cpy *c, const struct cpy_thread *th)
{
	for (size_t i = 0; th && i < c->look->still_count; i++)
		if (c->look->still[i] == th->ns_tid)
			return true;
	return false;
}

/* Interpreter stacks change under the lock only: where its holder is held still, everybody's is. */
static bool is_sure(struct cpy *c, const struct cpy_thread *th, const struct cpy_interp *in)
{
	raddr_t holder = holder_of(c, in, 0);

	if (!c->look->still_count)
		return false;
	if (is_still(c, th))
		return true;
	return holder && holder == holder_of(c, in, 1) && is_still(c, cpy_thread_at(c, holder));
}

static enum rt_state state_of(const struct cpy *c, const struct cpy_thread *th, const struct cpy_interp *in)
{
	if (!has_lock(c, in))
		return RT_UNKNOWN;
	return holder_of(c, in, 0) == th->at ? RT_RUNNING : RT_OUTSIDE;
}

static void sample_thread(struct cpy *c, struct cpy_thread *th, struct target *t, struct raw_stacks *out)
{
	const struct cpy_interp *in = &c->interps[th->interp];
	struct raw_stack *stack = raw_stacks_push(out);

	stack->state_at = th->at;
	stack->thread = th->ident;
	stack->ns_tid = th->ns_tid;
	stack->state = (uint8_t)state_of(c, th, in);
	stack->gc = stack->state == RT_RUNNING && (in->collecting == 1 || c->collecting == 1);
	stack->sure = is_sure(c, th, in);
	stack->lock_free = c->look->certain && has_lock(c, in) && !holder_of(c, in, 0) && !holder_of(c, in, 1);
	if (th->valid)
		th->next = cpy_state_word(c, th, c->l->thread_next);
	if (th->valid)
		stack->err = cpy_walk(c, th, t, out);
	else
		stack->err = err_at(ERR_FAULT, th->at, "reading a thread state");
	if (c->look->twice && !failed(stack->err))
		stack->agreed = cpy_agreed(c, th, out);
	if (c->look->twice && th->valid)
		cpy_find_top(c, th, stack);
	if (stack->state == RT_RUNNING)
		remember_holder(c, th->at);
}

static void leave_out(struct cpy *c)
{
	for (size_t i = 0; i < c->thread_count; i++)
		c->threads[i].left_out = c->look->leave_out && c->look->leave_out(c->look->arg, c->threads[i].at);
}

/* Somebody who was left out has the lock. */
static bool missed_holder(struct cpy *c)
{
	bool missed = false;

	for (size_t i = 0; i < c->interp_count; i++) {
		struct cpy_thread *th = cpy_thread_at(c, holder_of(c, &c->interps[i], 0));

		if (!th || !th->left_out)
			continue;
		th->left_out = false;
		missed = true;
	}
	return missed;
}

static struct err plan_and_read(struct cpy *c, struct target *t, bool slow, bool *gap)
{
	size_t codes_from = plan(c, slow);

	return read_all(c, t, codes_from, gap);
}

static struct err read_tick(struct cpy *c, struct target *t, bool *gap)
{
	uint64_t now_ns = c->look->now_ns;
	bool slow = now_ns - c->slow_ns >= SLOW_NS;
	struct err e = OK;

	c->tick++;
	if (now_ns - c->discovered_ns >= DISCOVER_NS) {
		e = cpy_threads_discover(c, t);
		c->discovered_ns = now_ns;
	}
	if (failed(e))
		return e;
	leave_out(c);
	e = plan_and_read(c, t, slow, gap);
	if (failed(e))
		return e;
	if (slow)
		c->slow_ns = now_ns;
	if (slow && !cpy_threads_current(c)) {
		e = cpy_threads_discover(c, t); /* and none of them is left out */
		return failed(e) ? e : plan_and_read(c, t, false, gap);
	}
	return missed_holder(c) ? plan_and_read(c, t, false, gap) : OK;
}

struct err cpy_sample(void *instance, struct target *t, const struct rt_look *look, struct raw_stacks *out)
{
	struct cpy *c = instance;
	bool gap;
	struct err e;

	c->look = look;
	e = read_tick(c, t, &gap);
	if (failed(e))
		return e;
	for (size_t i = 0; i < c->thread_count; i++) {
		if (c->threads[i].left_out)
			continue;
		cpy_plan_done(c, &c->threads[i]);
		sample_thread(c, &c->threads[i], t, out);
	}
	codes_stamp(&c->codes, t->memory, out, c->tick, look->now_ns, !gap);
	return OK;
}

static size_t add_mutator(const struct cpy_thread *th, pid_t *ns_tids, size_t cap, size_t n)
{
	if (th && th->ns_tid && n < cap)
		ns_tids[n++] = th->ns_tid;
	return n;
}

/* The holders of the locks; where all are free, who had one lately and is likely to take it next. */
static size_t lock_mutators(struct cpy *c, pid_t *ns_tids, size_t cap)
{
	bool held = false;
	size_t n = 0;

	for (size_t i = 0; i < c->interp_count; i++) {
		raddr_t holder = holder_of(c, &c->interps[i], 0);

		held = held || holder;
		n = add_mutator(cpy_thread_at(c, holder), ns_tids, cap, n);
		if (c->roots.gil_current)
			break;
	}
	for (size_t i = 0; !held && i < HOLDERS; i++)
		n = add_mutator(cpy_thread_at(c, c->holders[i]), ns_tids, cap, n);
	return n;
}

struct err cpy_mutators(void *instance, struct target *t, pid_t *ns_tids, size_t cap, size_t *ret)
{
	struct cpy *c = instance;
	bool gap;
	struct err e;

	*ret = 0;
	c->range_count = 0;
	if (c->thread_count > 1)
		plan_lock(c, 0);
	if (c->range_count) {
		e = read_all(c, t, c->range_count, &gap);
		if (!failed(e))
			*ret = lock_mutators(c, ns_tids, cap);
		return e;
	}
	/* No lock, so everybody; or one thread, with the lock or without. */
	for (size_t i = 0; i < c->thread_count; i++)
		*ret = add_mutator(&c->threads[i], ns_tids, cap, *ret);
	return OK;
}
