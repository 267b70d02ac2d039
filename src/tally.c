/* tally.c - what each thread did lately. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tally.h"

enum { KIND_RUNS = 1, LOCK_NAME = 8 };
static const uint64_t STALE_NS = 1000000000; /* a thread may wait for one thing after another with one stack */

void tallies_init(struct tallies *t, const struct profile *p, const char *const *names, uint64_t window_ns)
{
	*t = (struct tallies){ .profile = p, .names = names, .window_ns = window_ns, .holder = UINT32_MAX };
}

void tallies_free(struct tallies *t)
{
	free(t->threads);
}

void tallies_lock(struct tallies *t, const char *lock)
{
	char text[LOCK_NAME];
	size_t n = 0;

	for (; lock[n] && n + 1 < sizeof(text); n++)
		text[n] = (char)tolower((unsigned char)lock[n]);
	text[n] = 0;
	snprintf(t->lock_wait, sizeof(t->lock_wait), "%s%s", text, n ? "-wait" : "");
}

void tallies_reset(struct tallies *t)
{
	t->process.used = 0;
	for (size_t i = 0; i < t->count; i++)
		t->threads[i].tally.used = 0;
}

size_t tallies_grow(struct tallies *t)
{
	size_t first = t->count;

	xgrow(&t->threads, &t->cap, t->profile->thread_count, sizeof(*t->threads));
	for (; t->count < t->profile->thread_count; t->count++)
		t->threads[t->count] = (struct tally_thread){ .alive = true };
	return first;
}

bool tallies_curious(const struct tallies *t, size_t thread, uint64_t now_ns)
{
	const struct tally_thread *th = &t->threads[thread];
	const struct profile_thread *p = &t->profile->threads[thread];

	/* At each look since then it had the lock, which says as much. */
	if (th->kind == KIND_RUNS && p->looks.held > th->asked_held &&
	    p->looks.held - th->asked_held == p->looks.seen - th->asked_seen)
		return now_ns - th->asked_ns >= STALE_NS;
	return th->kind <= KIND_RUNS || p->last != th->asked_last || p->looks.held != th->asked_held ||
	       now_ns - th->asked_ns >= STALE_NS;
}

void tallies_repeat(struct tallies *t, size_t thread)
{
	struct tally_thread *th = &t->threads[thread];

	th->tally.now.asked++;
	if (th->is_lock) {
		th->tally.now.asked_lock++;
		th->lock++;
	} else if (th->kind < TALLY_KINDS) {
		th->kinds[th->kind]++;
	}
}

void tallies_answer(struct tallies *t, size_t thread, uint64_t now_ns, unsigned kind, bool is_lock)
{
	struct tally_thread *th = &t->threads[thread];

	th->asked_ns = now_ns;
	th->asked_last = t->profile->threads[thread].last;
	th->asked_held = t->profile->threads[thread].looks.held;
	th->asked_seen = t->profile->threads[thread].looks.seen;
	th->kind = kind;
	th->is_lock = is_lock;
	tallies_repeat(t, thread);
}

/* What can't be read any more (it has ended) leaves the last reading. */
void tallies_cpu(struct tally *t, uint64_t cpu_ns)
{
	if (cpu_ns > t->now.cpu_ns)
		t->now.cpu_ns = cpu_ns;
}

static double share(uint64_t part, uint64_t whole)
{
	return whole ? (double)part / (double)whole : 0;
}

static void set_mark(struct tally *t, uint64_t step_ns)
{
	const struct tally_mark *last = &t->marks[(t->first + t->used + TALLY_MARKS - 1) % TALLY_MARKS];

	if (t->used && t->now.at_ns - last->at_ns < step_ns)
		return;
	if (t->used == TALLY_MARKS) {
		t->first = (t->first + 1) % TALLY_MARKS;
		t->used--;
	}
	t->marks[(t->first + t->used++) % TALLY_MARKS] = t->now;
}

void tallies_begin(struct tally *t, uint64_t now_ns, uint64_t cpu_ns)
{
	t->now.at_ns = now_ns;
	t->now.cpu_ns = cpu_ns;
	t->used = 0;
	set_mark(t, 0);
}

void tallies_slide(struct tally *t, const struct profile_looks *looks, uint64_t now_ns, uint64_t window_ns)
{
	const struct tally_mark *now = &t->now, *old = &t->marks[t->first];
	uint64_t seen, ns;
	double wanted, asked;

	t->now.looks = *looks;
	t->now.at_ns = now_ns;
	if (!t->used)
		set_mark(t, 0);
	seen = now->looks.seen - old->looks.seen;
	ns = now->at_ns - old->at_ns;
	/* Where the runtime's memory does not tell who waits for the lock, the kernel's answers do. */
	wanted = share(now->looks.wanted - old->looks.wanted, seen);
	asked = share(now->asked_lock - old->asked_lock, now->asked - old->asked);
	t->shares = (struct tally_shares){
		.cpu = share(now->cpu_ns - old->cpu_ns, ns),
		.held = share(now->looks.held - old->looks.held, seen),
		.wanted = wanted > asked ? wanted : asked,
		.gc = share(now->looks.gc - old->looks.gc, seen),
	};
	set_mark(t, window_ns / (TALLY_MARKS - 1));
}

static void set_state(struct tally_thread *th, enum tally_class class, const char *name)
{
	th->class = (uint8_t) class;
	snprintf(th->state, sizeof(th->state), "%s", name);
}

/* What it did for most of the time since the last update. Without looks since then, it did what it did. */
static void judge(struct tallies *t, struct tally_thread *th, const struct profile_looks *now)
{
	uint64_t seen = now->seen - th->before.seen, held = now->held - th->before.held;
	uint64_t wanted = now->wanted - th->before.wanted, gc = now->gc - th->before.gc;
	uint32_t asked = th->lock;
	unsigned most = 0;

	for (unsigned i = 0; i < TALLY_KINDS; i++) {
		asked += th->kinds[i];
		if (th->kinds[i] > th->kinds[most])
			most = i;
	}
	if (seen && held * 2 > seen)
		set_state(th, TALLY_RUNS, gc * 2 > held ? "gc" : t->names[KIND_RUNS]);
	else if (*t->lock_wait && (th->lock * 2 > asked || wanted * 2 > seen))
		set_state(th, TALLY_WANTS_LOCK, t->lock_wait);
	else if (asked > th->lock)
		set_state(th, most == KIND_RUNS ? TALLY_RUNS : TALLY_WAITS, t->names[most]);
	else if (!th->state[0])
		set_state(th, TALLY_WAITS, t->names[0]);
}

static void update_thread(struct tallies *t, size_t i, uint64_t now_ns)
{
	struct tally_thread *th = &t->threads[i];
	const struct profile_looks *now = &t->profile->threads[i].looks;

	th->alive = now->seen != th->before.seen;
	judge(t, th, now);
	tallies_slide(&th->tally, now, now_ns, t->window_ns);
	th->before = *now;
	th->lock = 0;
	memset(th->kinds, 0, sizeof(th->kinds));
}

/* The commonest cause among those that wait: few kinds, so comparing names does. */
static void find_commonest(struct tallies *t)
{
	size_t best = 0;

	t->off = NULL;
	for (unsigned k = 0; k < TALLY_KINDS && t->names[k]; k++) {
		size_t n = 0;

		for (size_t i = 0; i < t->count; i++)
			n += t->threads[i].alive && t->threads[i].class == TALLY_WAITS &&
			     !strcmp(t->threads[i].state, t->names[k]);
		if (n > best) {
			best = n;
			t->off = t->names[k];
			t->off_share = share(n, t->class[TALLY_WAITS]);
		}
	}
}

void tallies_update(struct tallies *t, uint64_t now_ns)
{
	double most = 0;

	tallies_grow(t);
	tallies_slide(&t->process, &t->profile->looks, now_ns, t->window_ns);
	memset(t->class, 0, sizeof(t->class));
	t->alive = 0;
	t->holder = UINT32_MAX;
	for (size_t i = 0; i < t->count; i++) {
		struct tally_thread *th = &t->threads[i];
		const struct tally_shares *s = &th->tally.shares;

		update_thread(t, i, now_ns);
		t->alive += th->alive;
		t->class[th->class] += th->alive;
		if (th->alive && s->wanted > t->process.shares.wanted)
			t->process.shares.wanted = s->wanted;
		if (th->alive && s->held > most) {
			most = s->held;
			t->holder = (uint32_t)i;
		}
	}
	find_commonest(t);
}
