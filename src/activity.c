/* activity.c - which interpreter threads do something. */
#include <stdlib.h>

#include "activity.h"
#include "map64.h"

enum {
	TURNS = 4,	/* threads of a look to be asked about in turn */
	REST_LOOKS = 8, /* one of so many has a thread that rests */
	LEAF_FRAMES = 4,
	ANY_TID = -1,
};
static const uint64_t ASK_NS = 1000 * 1000;
/* Who did nothing for so long rests: a thread that works now and then, but more often, is in every look. */
static const uint64_t REST_NS = 500 * 1000 * 1000;
/* Looks that are further apart than this have everybody. */
static const uint64_t REST_INTERVAL_NS = 25 * 1000 * 1000;
/* Where threads rest, some native code may have been woken up by now. */
static const uint64_t RESTING_EACH_NS = 250 * 1000 * 1000;

void activity_free(struct activity *a)
{
	free(a->list);
}

void activity_begin(struct activity *a, uint64_t now_ns, size_t threads)
{
	uint64_t passed = now_ns - a->asked_ns;

	a->quick = now_ns - a->now_ns <= REST_INTERVAL_NS;
	a->now_ns = now_ns;
	a->looks++;
	a->may_ask = passed >= ASK_NS;
	if (!a->may_ask)
		return;
	a->asked_ns = now_ns;
	a->each_ns = threads * passed / TURNS;
}

/* Threads keep their order from tick to tick, mostly. NULL: it is new. */
static struct seen_thread *find(struct activity *a, raddr_t state_at, pid_t ns_tid)
{
	for (size_t i = 0; i < a->count; i++) {
		struct seen_thread *s = &a->list[(a->next + i) % a->count];

		if (s->state_at != state_at || (ns_tid != ANY_TID && s->ns_tid != ns_tid))
			continue;
		a->next = (size_t)(s - a->list) + 1;
		return s;
	}
	return NULL;
}

struct seen_thread *activity_thread(struct activity *a, const struct raw_stack *stack)
{
	struct seen_thread *s = find(a, stack->state_at, stack->ns_tid);

	if (s)
		return s;
	if (a->count == SEEN_THREADS_MAX)
		a->count = 0; /* a program that starts threads without end: begin anew */
	xgrow(&a->list, &a->cap, a->count + 1, sizeof(*a->list));
	s = &a->list[a->count++];
	*s = (struct seen_thread){
		.state_at = stack->state_at,
		.ns_tid = stack->ns_tid,
		.thread = UINT32_MAX,
		.busy_ns = a->now_ns,
	};
	return s;
}

static bool rests(const struct activity *a, const struct seen_thread *seen)
{
	return a->rest && a->quick && a->now_ns - seen->busy_ns >= REST_NS;
}

bool activity_leave_out(struct activity *a, raddr_t state_at)
{
	struct seen_thread *s = a->rest ? find(a, state_at, ANY_TID) : NULL;

	/* Each look another part of them. */
	if (!s || !rests(a, s) || (a->looks + (uint32_t)(s - a->list)) % REST_LOOKS == 0)
		return false;
	/* A look may read more than once. */
	s->left_out += s->left_at != a->looks;
	s->left_at = a->looks;
	return true;
}

void activity_stopped(const struct activity *a, struct seen_thread *seen)
{
	seen->stopped_at = a->looks + 1;
}

void activity_looked(const struct activity *a, struct seen_thread *seen)
{
	/* It was left out of the first read of this look, and then had the lock. */
	seen->left_out -= seen->left_out && seen->left_at + 1 == a->looks;
	seen->stands = 1 + (seen->left_out < REST_LOOKS ? seen->left_out : REST_LOOKS - 1);
	seen->left_out = 0;
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

/* Has its turn come to be asked about, though nothing changed? */
static bool is_due(const struct activity *a, const struct seen_thread *seen)
{
	uint64_t each = a->each_ns;

	if (rests(a, seen))
		each = each * REST_LOOKS < RESTING_EACH_NS ? RESTING_EACH_NS : each * REST_LOOKS;
	return a->now_ns - seen->asked_ns >= each;
}

static bool runs(struct activity *a, struct target *t, const struct raw_stack *stack, uint64_t leaf,
		 struct seen_thread *seen)
{
	struct thread *th;

	if (seen->stopped_at == a->looks)
		return true;
	/* Who has the lock runs; but may be stopped with it, or wait in native code that does not give it up. */
	if (stack->state == RT_RUNNING && seen->leaf && leaf != seen->leaf)
		return true;
	if (leaf == seen->leaf && !(a->may_ask && (seen->on_cpu || is_due(a, seen))))
		return seen->on_cpu;
	seen->asked_ns = a->now_ns;
	th = target_thread(t, stack->ns_tid);
	/* Without an OS thread (not known, or ended) there is nothing to ask: better shown than lost, unless the
	 * runtime itself parked it. */
	return th ? target_thread_state(t, th) == THREAD_RUNNING
		  : stack->ns_tid == 0 && stack->state != RT_SLEEPING && stack->state != RT_WANT_LOCK;
}

bool activity_active(struct activity *a, struct target *t, const struct raw_stacks *all, const struct raw_stack *stack,
		     struct seen_thread *seen)
{
	uint64_t leaf = leaf_hash(all, stack);

	seen->on_cpu = runs(a, t, stack, leaf, seen);
	if (seen->on_cpu || leaf != seen->leaf)
		seen->busy_ns = a->now_ns;
	seen->leaf = leaf;
	return seen->on_cpu;
}
