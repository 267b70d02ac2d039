/* dump.c - one look at all threads of a process, with everything that is known of them. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cspy/perfmap.h"
#include "cspy/sampler.h"
#include "dump_look.h"
#include "runtimes.h"
#include "target_core.h"

enum {
	DEPTH = 65535,
	HOLDS = 4, /* times that the lock may change hands while its holder is being stopped */
	LOCALS_MAX = 1 << 16,
};

/* A target is not paused for longer than this to print its variables. */
static const uint64_t LOCALS_NS = 200 * 1000 * 1000;

void dump_free(struct dump *d)
{
	if (!d)
		return;
	for (size_t i = 0; i < d->local_count; i++) {
		free(d->locals[i].name);
		free(d->locals[i].value);
	}
	free(d->locals);
	free(d->frames);
	free(d->threads);
	profile_free(d->profile);
	frames_free(d->frames_known);
	strings_free(d->strings);
	free(d);
}

/* ---- Reading the stacks ---- */

static bool all_sure(const struct raw_stacks *s)
{
	for (size_t i = 0; i < s->count; i++)
		if (!s->list[i].sure || failed(s->list[i].err))
			return false;
	return true;
}

static const struct raw_stack *stack_of(const struct raw_stacks *s, raddr_t state_at)
{
	for (size_t i = 0; i < s->count; i++)
		if (s->list[i].state_at == state_at)
			return &s->list[i];
	return NULL;
}

bool look_same_frames(const struct raw_frame *a, const struct raw_frame *b, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (a[i].code != b[i].code || a[i].pos != b[i].pos || a[i].at != b[i].at)
			return false;
	return true;
}

/* What was read twice, and did not run in between, is what it was. */
static void compare(struct look *l)
{
	for (size_t i = 0; i < l->stacks.count; i++) {
		struct raw_stack *s = &l->stacks.list[i];
		const struct raw_stack *b = stack_of(&l->before, s->state_at);
		struct thread *os = s->ns_tid ? target_thread(l->target, s->ns_tid) : NULL;

		if (s->sure || failed(s->err) || !b || failed(b->err) || b->count != s->count)
			continue;
		if (os && target_thread_state(l->target, os) != THREAD_RUNNING)
			s->sure = look_same_frames(&l->stacks.frames[s->first], &l->before.frames[b->first], s->count);
	}
}

struct err look_sample(struct look *l, struct raw_stacks *out)
{
	pid_t held[PAUSE_THREADS];
	struct rt_look look;
	size_t n = 0;
	struct err e;

	for (size_t i = 0; i < l->pause.count; i++)
		held[n++] = l->pause.list[i].ns_tid;
	look = (struct rt_look){
		.now_ns = clock_now(),
		.still = held,
		.still_count = n,
		.certain = true,
		.functions = !l->dump->options.native,
		.sleepers = l->dump->options.native || l->ops->fallback,
	};
	raw_stacks_reset(out);
	e = l->ops->sample(l->instance, l->target, &look, out);
	if (!failed(e))
		e = merger_sample(&l->merger, l->target, &look);
	return e; /* cppcheck-suppress returnDanglingLifetime; an error points to constants only */
}

static struct err sample(struct look *l)
{
	struct raw_stacks last = l->stacks;
	struct err e;

	l->stacks = l->before;
	l->before = last;
	e = look_sample(l, &l->stacks);
	if (!failed(e))
		compare(l);
	return e;
}

/* Stop who could change a stack; while that takes, another one may have become able to. */
static struct err hold_mutators(struct look *l)
{
	pid_t tids[PAUSE_THREADS];
	struct err e = OK;

	for (int i = 0; i < HOLDS && !failed(e); i++) {
		size_t n = 0, before = l->pause.count;

		e = l->ops->mutators(l->instance, l->target, tids, countof(tids), &n);
		if (!failed(e))
			e = pause_hold(&l->pause, l->target, PAUSE_READY, tids, n);
		if (l->pause.count == before)
			break;
	}
	return e;
}

/* Where that was not enough: as many threads as can be held. */
static struct err hold_all(struct look *l)
{
	struct err e = OK;

	for (size_t i = 0; i < l->target->thread_count && l->pause.count < PAUSE_THREADS && !failed(e); i++)
		e = pause_hold(&l->pause, l->target, PAUSE_READY, &l->target->threads[i].ns_tid, 1);
	return e;
}

static struct err hold(struct look *l, bool all)
{
	struct err e;

	if (l->dump->options.nonblocking)
		return OK;
	e = hold_mutators(l);
	return failed(e) || !all ? e : hold_all(l);
}

/* Leaves the target held, unless nonblocking. */
static struct err read_stacks(struct look *l)
{
	struct err e = OK;

	for (int i = 0; i < LOOK_TRIES; i++) {
		l->dump->paused_ns += pause_release(&l->pause);
		e = hold(l, i > 0 || l->dump->options.native);
		if (failed(e) && e.os != EBUSY)
			return e;
		e = sample(l);
		if (e.code == ERR_GONE)
			return e;
		if (!failed(e) && all_sure(&l->stacks) && pause_still(&l->pause, l->target))
			break;
	}
	return e;
}

/* ---- Making a record of them ---- */

static void set_state(struct dump_thread *th, const struct raw_stack *s, enum thread_state os, const char *lock)
{
	char low[sizeof(((struct rt_about *)0)->lock)];
	size_t n = 0;

	for (; lock[n]; n++)
		low[n] = (char)tolower((unsigned char)lock[n]);
	low[n] = 0;
	th->active = os == THREAD_RUNNING;
	th->owns_lock = s->state == RT_RUNNING && *lock;
	th->gc = s->gc;
	if (os == THREAD_DEAD)
		snprintf(th->state, sizeof(th->state), "ended%s%s", th->owns_lock ? "+" : "", th->owns_lock ? low : "");
	else if (os == THREAD_STOPPED)
		snprintf(th->state, sizeof(th->state), "stopped");
	else if (s->state == RT_WANT_LOCK)
		snprintf(th->state, sizeof(th->state), "%s-wait", *low ? low : "lock");
	else
		snprintf(th->state, sizeof(th->state), "%s%s%s%s", th->active ? "active" : "idle",
			 th->owns_lock ? "+" : "", th->owns_lock ? low : "", s->gc ? "+gc" : "");
}

void look_add_thread(struct look *l, const struct raw_stacks *all, const struct raw_stack *s)
{
	struct dump *d = l->dump;
	struct thread *os = s->ns_tid ? target_thread(l->target, s->ns_tid) : NULL;
	struct dump_thread *th;

	xgrow(&d->threads, &d->thread_cap, d->thread_count + 1, sizeof(*d->threads));
	th = &d->threads[d->thread_count++];
	*th = (struct dump_thread){
		.thread = s->thread,
		.tid = os ? os->tid : 0,
		.ns_tid = s->ns_tid,
		.deep = s->deep,
		.lost = s->lost,
		.native = l->ops->fallback,
		.sure = s->sure,
		.err = s->err,
		.first = d->frame_count,
		.count = failed(s->err) ? 0 : s->count,
	};
	set_state(th, s, os ? l->states[os - l->target->threads] : THREAD_UNKNOWN, d->about.lock);
	xgrow(&d->frames, &d->frame_cap, d->frame_count + th->count, sizeof(*d->frames));
	for (size_t i = 0; i < th->count; i++)
		d->frames[d->frame_count++] = (struct dump_frame){ .raw = all->frames[s->first + i] };
}

static void add_local(void *arg, const struct rt_local *local)
{
	struct dump *d = arg;

	if (d->local_count == LOCALS_MAX)
		return;
	xgrow(&d->locals, &d->local_cap, d->local_count + 1, sizeof(*d->locals));
	d->locals[d->local_count++] = (struct dump_local){ xstrdup(local->name), xstrdup(local->value), local->kind };
}

static void read_locals(struct look *l)
{
	struct dump *d = l->dump;
	uint64_t until = clock_now() + LOCALS_NS;

	for (size_t i = 0; i < d->frame_count; i++) {
		struct dump_frame *f = &d->frames[i];

		if (clock_now() > until || d->local_count == LOCALS_MAX) {
			d->locals_cut = true;
			return;
		}
		f->first_local = d->local_count;
		f->has_locals = !failed(l->ops->locals(l->instance, l->target, &f->raw, add_local, d));
		f->local_count = d->local_count - f->first_local;
	}
}

static void name_thread(struct look *l, const struct raw_stack *s, struct dump_thread *th)
{
	char comm[64];

	if (s && l->ops->thread_name &&
	    !failed(l->ops->thread_name(l->instance, l->target, s, l->dump->strings, &th->name)))
		return;
	th->name = 0;
	if (!th->tid)
		return;
	target_thread_comm(l->target, th->tid, comm, sizeof(comm));
	th->name = strings_add(l->dump->strings, comm, strlen(comm));
}

static void resolve(struct look *l, struct dump_frame *f)
{
	struct frame_info info = { 0 };

	if (f->raw.owner == OWNER_NATIVE)
		f->err = l->merger.ops->resolve(l->merger.instance, l->target, &f->raw, l->dump->strings, &info);
	else
		f->err = l->ops->resolve(l->instance, l->target, &f->raw, l->dump->strings, &info);
	if (!failed(f->err))
		f->id = frames_add(l->dump->frames_known, info);
}

/* States are read first: what is paused does not look as it did. */
static enum thread_state *read_states(struct target *t)
{
	enum thread_state *states = xcalloc(t->thread_count, sizeof(*states));

	for (size_t i = 0; i < t->thread_count; i++)
		states[i] = target_thread_state(t, &t->threads[i]);
	return states;
}

static struct err take_stacks(struct look *l)
{
	struct err e = read_stacks(l);

	for (size_t i = 0; !failed(e) && i < l->stacks.count; i++)
		look_add_thread(l, &l->stacks, &l->stacks.list[i]);
	if (!failed(e) && l->dump->options.locals && l->ops->locals)
		read_locals(l);
	l->dump->paused_ns += pause_release(&l->pause);
	/* What follows holds nobody, but one more thread after the other. */
	return failed(e) ? e : dump_native_merge(l);
}

static struct err take(struct look *l)
{
	struct dump *d = l->dump;
	struct err e = target_refresh_threads(l->target);

	if (failed(e))
		return e;
	l->states = read_states(l->target);
	e = l->ops->fallback ? dump_native_alone(l) : take_stacks(l);
	if (failed(e))
		return e;
	for (size_t i = 0; i < d->thread_count; i++) {
		struct dump_thread *th = &d->threads[i];

		name_thread(l, i < l->stacks.count && !l->ops->fallback ? &l->stacks.list[i] : NULL, th);
		if (th->tid && !th->active)
			target_thread_wait_text(l->target, th->tid, th->waits_for, sizeof(th->waits_for));
	}
	for (size_t i = 0; i < d->frame_count; i++)
		resolve(l, &d->frames[i]);
	return OK;
}

/* The main thread first, then in the order in which they were started, as far as ids tell. */
static int by_age(const void *a, const void *b, void *arg)
{
	const struct dump_thread *x = a, *y = b;
	pid_t first = ((const struct dump *)arg)->pid;

	if ((x->tid == first) != (y->tid == first))
		return x->tid == first ? -1 : 1;
	return x->tid < y->tid ? -1 : x->tid > y->tid;
}

static struct dump *dump_new(struct target *t, struct dump_options o)
{
	struct dump *d = xcalloc(1, sizeof(*d));

	d->options = o;
	d->pid = t->pid;
	d->ns_pid = t->ns_pid;
	d->strings = strings_new();
	d->frames_known = frames_new(d->strings);
	d->profile = profile_new(d->frames_known);
	d->signal = target_core_signal(t);
	target_cmdline(t, d->command, sizeof(d->command));
	target_exe(t, d->exe, sizeof(d->exe));
	return d;
}

/* A process that says what code it made needs no -n. */
static struct err attach(struct look *l, const struct dump_options *o, char *why, size_t cap)
{
	bool any = o->any || (!l->target->core && perfmap_exists(l->target));
	struct err e = runtimes_attach(l->target, any, why, cap, &l->ops, &l->instance);

	if (failed(e) || !l->ops->fallback || !o->nonblocking)
		return e;
	l->ops->detach(l->instance);
	snprintf(why, cap, "its stacks can be read only while it is paused: leave --nonblocking out");
	return err_at(ERR_OS, 0, "reading native stacks");
}

struct err dump_take(struct target *t, struct dump_options o, char *why, size_t cap, struct dump **ret)
{
	struct look l = { .target = t };
	struct err e;

	t->debug_server = o.debug_server;
	e = attach(&l, &o, why, cap);

	if (failed(e))
		return e;
	l.dump = dump_new(t, o);
	l.ops->about(l.instance, &l.dump->about);
	raw_stacks_init(&l.stacks, DEPTH);
	raw_stacks_init(&l.before, DEPTH);
	if (o.native && !l.ops->fallback)
		e = merger_init(&l.merger, t, l.ops->loops, l.dump->strings, DEPTH);
	if (!failed(e))
		e = take(&l);
	raw_stacks_free(&l.stacks);
	raw_stacks_free(&l.before);
	merger_free(&l.merger);
	free(l.states);
	l.ops->detach(l.instance);
	if (failed(e)) {
		dump_free(l.dump);
		return e;
	}
	if (l.dump->thread_count)
		qsort_r(l.dump->threads, l.dump->thread_count, sizeof(*l.dump->threads), by_age, l.dump);
	*ret = l.dump;
	return OK;
}
