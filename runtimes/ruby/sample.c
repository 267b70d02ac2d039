/* sample.c - one tick: read everything in one call, then walk the copies. */
#include <string.h>

#include "ruby.h"

/* What seldom changes (lists) is read and checked this often at most. */
static const uint64_t SLOW_NS = 1000 * 1000;
/* The lists are walked afresh this often. */
static const uint64_t DISCOVER_NS = 1000 * 1000 * 1000ull;

void rby_range(struct rby *r, raddr_t at, void *buf, size_t len, bool *valid)
{
	size_t i = r->range_count++;

	xgrow(&r->ranges, &r->range_cap, r->range_count, sizeof(*r->ranges));
	xgrow(&r->valid, &r->valid_cap, r->range_count, sizeof(*r->valid));
	r->ranges[i] = (struct memory_range){ at, buf, len };
	r->valid[i] = valid;
}

void rby_sample_init(struct rby *r)
{
	const struct rby_layout *l = r->l;
	const int32_t fields[] = { l->thread_vm,      l->thread_ec,  l->thread_status, l->thread_region,
				   l->thread_pthread, l->thread_tid, l->thread_native };

	for (size_t i = 0; i < countof(fields); i++)
		if (rby_has(fields[i]) && (uint32_t)fields[i] + 8 > r->state_len)
			r->state_len = (uint32_t)fields[i] + 8;
	r->pthread_tid_at = NO_FIELD;
	rby_codes_init(&r->codes, l);
}

static void plan_lock(struct rby *r, int which)
{
	for (size_t i = 0; i < r->ractor_count; i++)
		if (r->ractors[i].lock_at)
			rby_range(r, r->ractors[i].lock_at, &r->ractors[i].owner[which], 8, NULL);
}

static void plan_slow(struct rby *r)
{
	rby_range(r, r->roots.vm_at, &r->vm_now, 8, NULL);
	if (r->l->thread_list == LIST_RACTORS)
		rby_range(r, r->roots.vm + (raddr_t)r->l->vm_ractors, &r->first_ractor_now, 8, NULL);
	for (size_t i = 0; i < r->ractor_count; i++) {
		struct rby_ractor *ractor = &r->ractors[i];

		rby_range(r, ractor->list, &ractor->first_now, 8, NULL);
		if (r->l->thread_list == LIST_RACTORS)
			rby_range(r, ractor->at + (raddr_t)r->l->ractor_node, &ractor->next_now, 8, NULL);
	}
}

static void code_range(void *arg, raddr_t at, void *buf, size_t len)
{
	rby_range(arg, at, buf, len, NULL);
}

/* A thread that had no native thread, and has none, did not run. */
static void plan_parked(struct rby *r)
{
	for (size_t i = 0; r->l->tid == TID_NATIVE && i < r->thread_count; i++) {
		struct rby_thread *th = &r->threads[i];

		th->native_last = NO_FIELD;
		if (!th->native)
			rby_range(r, th->at + (raddr_t)r->l->thread_native, &th->native_last, 8, NULL);
	}
}

/* Returns where the ranges of the code objects begin. */
static size_t plan(struct rby *r, bool slow)
{
	size_t codes_from;

	r->range_count = 0;
	if (slow)
		plan_slow(r);
	if (r->roots.gc_flags)
		rby_range(r, r->roots.gc_flags, &r->gc_flags, sizeof(r->gc_flags), NULL);
	/* One thread alone has the lock or sleeps: asked for now and then, that
	 * shares a range's price. */
	if (slow || r->look->certain || r->thread_count > 1)
		plan_lock(r, 0);
	for (size_t i = 0; i < r->thread_count; i++)
		if (!r->threads[i].left_out)
			rby_plan_thread(r, &r->threads[i]);
	codes_from = r->range_count;
	rby_codes_plan(&r->codes, code_range, r);
	if (r->look->certain) {
		plan_lock(r, 1);
		plan_parked(r);
	}
	return codes_from;
}

/* One call where nothing moved; a range that is gone costs one more, and is not
 * valid. *gap: a code object's was. */
static struct err read_all(struct rby *r, struct target *t, size_t codes_from, bool *gap)
{
	size_t at = 0;

	*gap = false;
	while (at < r->range_count) {
		size_t done;
		struct err e = memory_readv(t->memory, r->ranges + at, r->range_count - at, &done);

		for (size_t i = at; i < at + done; i++)
			if (r->valid[i])
				*r->valid[i] = true;
		at += done;
		if (!failed(e))
			return OK;
		if (e.code != ERR_FAULT)
			return e;
		*gap = *gap || at >= codes_from;
		at++;
	}
	return OK;
}

static void remember_holder(struct rby_ractor *ractor, raddr_t holder)
{
	if (ractor->holders[0] == holder)
		return;
	memmove(ractor->holders + 1, ractor->holders, sizeof(ractor->holders) - sizeof(ractor->holders[0]));
	ractor->holders[0] = holder;
}

static bool is_still(const struct rby *r, const struct rby_thread *th)
{
	for (size_t i = 0; th && th->ns_tid && i < r->look->still_count; i++)
		if (r->look->still[i] == th->ns_tid)
			return true;
	return false;
}

/* A ractor's stacks change under its lock only: where its holder is held still,
 * all of them are. */
static bool is_sure(struct rby *r, const struct rby_thread *th, const struct rby_ractor *ractor)
{
	raddr_t holder = ractor->owner[0];

	if (r->look->certain && r->l->tid == TID_NATIVE && !th->native && !th->native_last)
		return true;
	if (!r->look->still_count)
		return false;
	if (is_still(r, th))
		return true;
	return ractor->lock_at && holder && holder == ractor->owner[1] && is_still(r, rby_thread_at(r, holder));
}

static enum rt_state state_of(const struct rby *r, const struct rby_thread *th, const struct rby_ractor *ractor)
{
	const struct rby_layout *l = r->l;
	bool outside = rby_state_word(th, l->thread_region) != 0;
	bool sleeping = (th->state[l->thread_status] & THREAD_STATUS_MASK) != THREAD_RUNNABLE;

	if (ractor->lock_at && ractor->owner[0] == th->at)
		return RT_RUNNING;
	if (outside)
		return RT_OUTSIDE;
	if (sleeping)
		return RT_SLEEPING;
	return ractor->lock_at ? RT_WANT_LOCK : RT_UNKNOWN;
}

static void sample_thread(struct rby *r, struct rby_thread *th, struct target *t, struct raw_stacks *out)
{
	struct rby_ractor *ractor = &r->ractors[th->ractor];
	struct raw_stack *stack = raw_stacks_push(out);

	if (th->valid)
		rby_thread_native(r, t, th);
	stack->state_at = th->at;
	stack->thread = th->pthread ? th->pthread : th->at;
	stack->ns_tid = th->ns_tid;
	stack->state = (uint8_t)state_of(r, th, ractor);
	stack->gc = stack->state == RT_RUNNING && r->gc_flags & GC_DURING;
	stack->sure = is_sure(r, th, ractor);
	stack->lock_free = r->look->certain && ractor->lock_at && !ractor->owner[0] && !ractor->owner[1];
	if (stack->gc)
		raw_stacks_frame(out, &(struct raw_frame){ .code = r->roots.gc_flags, .pos = RBY_POS_GC, .stamp = 1 });
	if (th->valid)
		stack->err = rby_walk(r, th, t, out);
	else
		stack->err = err_at(ERR_FAULT, th->at, "reading a thread");
	if (r->look->twice && !failed(stack->err))
		stack->agreed = rby_agreed(r, th, out);
	if (r->look->twice && th->stack.again_valid)
		rby_find_top(r, th, stack);
	if (stack->state == RT_RUNNING)
		remember_holder(ractor, th->at);
}

static void leave_out(struct rby *r)
{
	for (size_t i = 0; i < r->thread_count; i++)
		r->threads[i].left_out = r->look->leave_out && r->look->leave_out(r->look->arg, r->threads[i].at);
}

/* Somebody who was left out has the lock. */
static bool missed_holder(struct rby *r)
{
	bool missed = false;

	for (size_t i = 0; i < r->ractor_count; i++) {
		struct rby_thread *th = r->ractors[i].lock_at ? rby_thread_at(r, r->ractors[i].owner[0]) : NULL;

		if (!th || !th->left_out)
			continue;
		th->left_out = false;
		missed = true;
	}
	return missed;
}

static struct err plan_and_read(struct rby *r, struct target *t, bool slow, bool *gap)
{
	size_t codes_from = plan(r, slow);

	return read_all(r, t, codes_from, gap);
}

static struct err read_tick(struct rby *r, struct target *t, bool *gap)
{
	uint64_t now_ns = r->look->now_ns;
	bool slow = now_ns - r->slow_ns >= SLOW_NS;
	struct err e = OK;

	r->tick++;
	if (now_ns - r->discovered_ns >= DISCOVER_NS) {
		e = rby_threads_discover(r, t);
		r->discovered_ns = now_ns;
	}
	if (failed(e))
		return e;
	leave_out(r);
	e = plan_and_read(r, t, slow, gap);
	if (failed(e))
		return e;
	if (slow)
		r->slow_ns = now_ns;
	if (slow && r->vm_now != r->roots.vm)
		return err_at(ERR_CORRUPT, r->roots.vm_at, "finding Ruby's VM: it has ended");
	if (slow && !rby_threads_current(r)) {
		e = rby_threads_discover(r, t); /* and none of them is left out */
		return failed(e) ? e : plan_and_read(r, t, false, gap);
	}
	return missed_holder(r) ? plan_and_read(r, t, false, gap) : OK;
}

struct err rby_sample(void *instance, struct target *t, const struct rt_look *look, struct raw_stacks *out)
{
	struct rby *r = instance;
	bool gap;
	struct err e;

	r->look = look;
	e = read_tick(r, t, &gap);
	if (failed(e))
		return e;
	for (size_t i = 0; i < r->thread_count; i++)
		if (!r->threads[i].left_out)
			sample_thread(r, &r->threads[i], t, out);
	rby_codes_stamp(&r->codes, t->memory, out, r->tick, look->now_ns, !gap);
	rby_leaves(r, t, out);
	rby_methods(r, t, out);
	return OK;
}

static size_t add_mutator(const struct rby_thread *th, pid_t *ns_tids, size_t cap, size_t n)
{
	if (th && th->ns_tid && n < cap)
		ns_tids[n++] = th->ns_tid;
	return n;
}

struct err rby_mutators(void *instance, struct target *t, pid_t *ns_tids, size_t cap, size_t *ret)
{
	struct rby *r = instance;
	bool gap;
	struct err e;

	*ret = 0;
	r->range_count = 0;
	plan_lock(r, 0);
	e = read_all(r, t, r->range_count, &gap);
	if (failed(e))
		return e;
	for (size_t i = 0; i < r->ractor_count; i++) {
		const struct rby_ractor *ractor = &r->ractors[i];

		if (ractor->owner[0])
			*ret = add_mutator(rby_thread_at(r, ractor->owner[0]), ns_tids, cap, *ret);
		/* Free: whoever had it lately is likely to take it next. No lock at all:
		 * everybody. */
		for (size_t k = 0; ractor->lock_at && !ractor->owner[0] && k < HOLDERS; k++)
			*ret = add_mutator(rby_thread_at(r, ractor->holders[k]), ns_tids, cap, *ret);
		for (size_t k = 0; !ractor->lock_at && k < r->thread_count; k++)
			*ret = add_mutator(&r->threads[k], ns_tids, cap, *ret);
	}
	return OK;
}
