/* dump_native.c - native frames of a dump: every thread, however many there are. */
#include <errno.h>

#include "dump_look.h"

/*
 * As many as can be held at once show one moment. Where there are more, those that sleep are held together, since that
 * stops nobody; of those that run one at a time: who is held waits for the next one to get a CPU.
 */
static struct err hold_some(struct look *l, size_t first, size_t *ret_end)
{
	struct target *t = l->target;
	bool all = t->thread_count <= PAUSE_THREADS;
	struct err e = OK;
	size_t i = first;

	while (i < t->thread_count && l->pause.count < PAUSE_THREADS && (all || !l->pause.stopped)) {
		struct err one = pause_hold(&l->pause, t, PAUSE_READY, &t->threads[i++].ns_tid, 1);

		if (failed(one) && one.os != EBUSY)
			return one;
		if (failed(one))
			e = one;
	}
	*ret_end = i;
	return e;
}

/* Stacks of some threads, from `first` on. An error of one of them is the last. */
static struct err read_some(struct look *l, size_t first, struct raw_stacks *out, size_t *ret_end)
{
	struct err e = OK;

	for (int i = 0; i < LOOK_TRIES; i++) {
		struct err held = hold_some(l, first, ret_end);

		if (!failed(held) || held.os == EBUSY)
			e = look_sample(l, out);
		else
			e = held;
		if (failed(e) || pause_still(&l->pause, l->target))
			break;
		l->dump->paused_ns += pause_release(&l->pause);
	}
	l->dump->paused_ns += pause_release(&l->pause);
	return e;
}

static const struct raw_stack *stack_of(const struct raw_stacks *s, pid_t ns_tid)
{
	for (size_t i = 0; i < s->count; i++)
		if (s->list[i].ns_tid == ns_tid && s->list[i].count)
			return &s->list[i];
	return NULL;
}

/* Who could not be stopped, or sleeps where the kernel tells nothing, is not passed over in silence. */
static void add_without_stack(struct look *l, struct thread *th)
{
	struct raw_stack s = { .ns_tid = th->ns_tid,
			       .sure = true,
			       .err = err_at(ERR_UNSUPPORTED, 0, "reading the registers of a thread") };

	if (target_thread_state(l->target, th) != THREAD_DEAD)
		look_add_thread(l, &l->stacks, &s);
}

struct err dump_native_alone(struct look *l)
{
	size_t end = 0;
	struct err e = OK;

	for (size_t first = 0; first < l->target->thread_count; first = end) {
		e = read_some(l, first, &l->stacks, &end);
		if (!failed(e))
			e = l->ops->complete(l->instance, l->target, &l->stacks);
		if (failed(e))
			return e;
		for (size_t i = first; i < end; i++) {
			struct thread *th = &l->target->threads[i];
			const struct raw_stack *s = stack_of(&l->stacks, th->ns_tid);

			if (s)
				look_add_thread(l, &l->stacks, s);
			else
				add_without_stack(l, th);
		}
	}
	return e;
}

/* ---- Beside an interpreter's ---- */

/* The same thread with native frames between those that it has, whose variables may have been read. */
static void put_between(struct look *l, const struct raw_stacks *all, const struct raw_stack *s, struct dump_thread *th)
{
	struct dump *d = l->dump;
	size_t own = th->first;

	xgrow(&d->frames, &d->frame_cap, d->frame_count + s->count, sizeof(*d->frames));
	th->first = d->frame_count;
	th->count = s->count;
	for (size_t i = 0; i < s->count; i++) {
		const struct raw_frame *f = &all->frames[s->first + i];

		th->native = th->native || f->owner == OWNER_NATIVE;
		if (f->owner == OWNER_NATIVE)
			d->frames[d->frame_count++] = (struct dump_frame){ .raw = *f };
		else
			d->frames[d->frame_count++] = d->frames[own++];
	}
}

static struct dump_thread *thread_of(struct dump *d, pid_t ns_tid)
{
	for (size_t i = 0; i < d->thread_count; i++)
		if (d->threads[i].ns_tid == ns_tid)
			return &d->threads[i];
	return NULL;
}

/* Threads that the interpreter knows nothing of. */
static void add_others(struct look *l)
{
	const struct raw_stacks *natives = &l->merger.natives;

	for (size_t i = 0; i < natives->count; i++)
		if (natives->list[i].count && !thread_of(l->dump, natives->list[i].ns_tid))
			look_add_thread(l, natives, &natives->list[i]);
}

static bool is_as_before(const struct dump *d, const struct dump_thread *th, const struct raw_stacks *all,
			 const struct raw_stack *s)
{
	if (failed(s->err) || s->count != th->count)
		return false;
	for (size_t i = 0; i < s->count; i++)
		if (!look_same_frames(&d->frames[th->first + i].raw, &all->frames[s->first + i], 1))
			return false;
	return true;
}

/* Threads beyond those that were held for the first look. What ran in between keeps the stack that it had. */
static struct err merge_some(struct look *l, size_t first, struct raw_stacks *more, size_t *ret_end)
{
	struct err e = read_some(l, first, more, ret_end);

	if (failed(e))
		return e;
	for (size_t i = 0; i < more->count; i++) {
		struct dump_thread *th = thread_of(l->dump, more->list[i].ns_tid);

		more->list[i].sure =
			more->list[i].sure && th && !th->native && is_as_before(l->dump, th, more, &more->list[i]);
	}
	merger_merge(&l->merger, l->target, more, &l->stats);
	for (size_t i = 0; i < more->count; i++)
		if (more->list[i].sure)
			put_between(l, more, &more->list[i], thread_of(l->dump, more->list[i].ns_tid));
	add_others(l);
	return OK;
}

struct err dump_native_merge(struct look *l)
{
	struct raw_stacks more;
	struct err e = OK;

	if (!l->merger.ops)
		return OK;
	merger_merge(&l->merger, l->target, &l->stacks, &l->stats);
	for (size_t i = 0; i < l->stacks.count; i++)
		if (!failed(l->stacks.list[i].err))
			put_between(l, &l->stacks, &l->stacks.list[i], &l->dump->threads[i]);
	add_others(l);
	raw_stacks_init(&more, l->stacks.depth);
	for (size_t i = 0; l->target->thread_count > PAUSE_THREADS && i < l->target->thread_count && !failed(e);)
		e = merge_some(l, i, &more, &i);
	raw_stacks_free(&more);
	return e;
}
