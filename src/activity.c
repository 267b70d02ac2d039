/* activity.c - which interpreter threads do something. */
#include <stdlib.h>

#include "activity.h"
#include "map64.h"

enum { TURNS = 4, LEAF_FRAMES = 4 };
static const uint64_t ASK_NS = 1000 * 1000;

void activity_free(struct activity *a)
{
	free(a->list);
}

void activity_begin(struct activity *a, uint64_t now_ns, size_t threads)
{
	a->may_ask = now_ns - a->asked_ns >= ASK_NS;
	if (!a->may_ask)
		return;
	a->asked_ns = now_ns;
	a->turn = threads ? (a->turn + TURNS) % threads : 0;
	a->threads = threads;
}

static bool is_same(const struct seen_thread *s, const struct raw_stack *stack)
{
	return s->state_at == stack->state_at && s->ns_tid == stack->ns_tid;
}

struct seen_thread *activity_thread(struct activity *a, const struct raw_stack *stack, size_t i)
{
	struct seen_thread *s;

	/* Threads keep their order from tick to tick, mostly. */
	if (i < a->count && is_same(&a->list[i], stack))
		return &a->list[i];
	for (size_t k = 0; k < a->count; k++)
		if (is_same(&a->list[k], stack))
			return &a->list[k];
	if (a->count == SEEN_THREADS_MAX)
		a->count = 0; /* a program that starts threads without end: begin anew */
	xgrow(&a->list, &a->cap, a->count + 1, sizeof(*a->list));
	s = &a->list[a->count++];
	*s = (struct seen_thread){ .state_at = stack->state_at, .ns_tid = stack->ns_tid, .thread = UINT32_MAX };
	return s;
}

static uint64_t leaf_hash(const struct raw_stacks *all, const struct raw_stack *stack)
{
	uint64_t h = stack->count;

	for (uint32_t i = 0; i < stack->count && i < LEAF_FRAMES; i++) {
		h = hash_step(h, all->frames[stack->first + i].code);
		h = hash_step(h, all->frames[stack->first + i].pos);
	}
	return h;
}

bool activity_active(struct activity *a, struct target *t, const struct raw_stacks *all, size_t i,
		     struct seen_thread *seen)
{
	const struct raw_stack *stack = &all->list[i];
	bool turn = a->may_ask && (i + a->threads - a->turn) % a->threads < TURNS;
	uint64_t leaf;
	struct thread *th;

	leaf = leaf_hash(all, stack);
	/* Who has the lock runs; but may be stopped with it, or wait in native code that does not give it up. */
	if (stack->state == RT_RUNNING && seen->leaf && leaf != seen->leaf) {
		seen->leaf = leaf;
		return seen->on_cpu = true;
	}
	if (leaf == seen->leaf && !turn && !(seen->on_cpu && a->may_ask))
		return seen->on_cpu;
	seen->leaf = leaf;
	th = target_thread(t, stack->ns_tid);
	/* Without an OS thread (not known, or ended) there is nothing to ask: better shown than lost, unless the
	 * runtime itself parked it. */
	seen->on_cpu = th ? target_thread_state(t, th) == THREAD_RUNNING
			  : stack->ns_tid == 0 && stack->state != RT_SLEEPING && stack->state != RT_WANT_LOCK;
	return seen->on_cpu;
}
