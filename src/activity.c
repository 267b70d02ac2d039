/* activity.c - which interpreter threads do something. */
#include <stdlib.h>

#include "activity.h"
#include "map64.h"
#include "random.h"

enum {
	TURNS = 4,	/* threads of a look to be asked about in turn */
	REST_LOOKS = 8, /* one of so many has a thread that rests, a power of two */
	LEAF_FRAMES = 4,
	ANY_TID = -1,
};
static const uint64_t ASK_NS = 1000 * 1000;
/* Who did nothing for so long rests: a thread that works now and then, but more often, is in every look. */
static const uint64_t REST_NS = 500 * 1000 * 1000;
/* Looks that are further apart than this have everybody. */
static const uint64_t REST_INTERVAL_NS = 25 * 1000 * 1000;

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
	a->coin = a->coin ? a->coin : now_ns | 1;
	a->may_ask = passed >= ASK_NS;
	if (!a->may_ask)
		return;
	a->asked_ns = now_ns;
	a->each_ns = (threads + a->left_out) * passed / TURNS;
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
	uint32_t look = a->looks + 1;

	if (!s || !rests(a, s))
		return false;
	/* A look may read more than once: the coin is thrown once, and knows nothing of what there is to see. */
	if (s->left_out_of != look && s->chosen_for != look)
		*(random_next(&a->coin) >> 32 & (REST_LOOKS - 1) ? &s->left_out_of : &s->chosen_for) = look;
	return s->left_out_of == look;
}

void activity_stopped(const struct activity *a, struct seen_thread *seen)
{
	seen->stopped_by = a->looks + 1;
}

static uint32_t stands_for(const struct activity *a, const struct raw_stack *stack, const struct seen_thread *seen)
{
	/* Who has the lock is in every look. */
	if (stack->state == RT_RUNNING)
		return 1;
	/* One that woke up was met by chance, and stands for those that were not. */
	if (seen->busy_ns == a->now_ns)
		return seen->chosen_for == a->looks ? REST_LOOKS : 1;
	/* One that rests did so all the time. */
	return 1 + seen->missed;
}

void activity_looked(const struct activity *a, const struct raw_stack *stack, struct seen_thread *seen)
{
	seen->looked_by = a->looks;
	seen->weight = (stack->weight ? stack->weight : 1) * stands_for(a, stack, seen);
}

void activity_end(struct activity *a, struct profile *p)
{
	a->left_out = 0;
	for (size_t i = 0; a->rest && i < a->count; i++) {
		struct seen_thread *s = &a->list[i];
		bool missed = s->left_out_of == a->looks && s->looked_by != a->looks;

		s->missed = missed ? s->missed + 1 : 0;
		a->left_out += missed;
		if (missed && s->thread != UINT32_MAX)
			p->threads[s->thread].looks.seen++;
	}
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
	return a->now_ns - seen->asked_ns >= a->each_ns;
}

static bool runs(struct activity *a, struct target *t, const struct raw_stack *stack, uint64_t leaf,
		 struct seen_thread *seen)
{
	struct thread *th;

	if (seen->stopped_by == a->looks)
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
