/* recorder.c - sample a process, and its children, until something ends it: when to look, and when it is over. */
#include <sys/prctl.h>
#include <unistd.h>

#include "recorder.h"
#include "starting.h"

static const uint64_t SECOND_NS = 1000000000;
static const uint64_t HOUSE_NS = 250000000;

static void begun(struct recorder *r)
{
	uint64_t now = clock_now();

	if (!r->started_ns) {
		r->started_ns = now;
		r->cpu_ns = clock_own_cpu();
		own_budget_init(&r->own, r->options.max_overhead, now, r->cpu_ns);
		if (r->options.duration_ns && r->end_ns == UINT64_MAX)
			r->end_ns = now + r->options.duration_ns;
	}
	ticker_init(&r->ticker, (uint64_t)((double)SECOND_NS / r->options.rate), now);
	r->next_ns = now;
}

/* What the looks of all processes have in common is told by any that is attached; NULL: none is. */
static const struct watch *any_watch(const struct recorder *r)
{
	return r->root.sampler ? &r->root : r->options.subprocesses ? children_any(&r->children) : NULL;
}

/* A process came to be attached: the first of them starts the clock, or starts it again. */
static void note_attached(struct recorder *r)
{
	if (r->next_ns == UINT64_MAX && any_watch(r))
		begun(r);
}

static struct err open_children(struct recorder *r, uint64_t now)
{
	if (!r->options.subprocesses)
		return OK;
	/* There may never be an interpreter to wait for. */
	if (r->options.duration_ns)
		r->end_ns = now + r->options.duration_ns;
	return children_open(&r->children, &r->watch_options, r->profile, r->root.pid, now);
}

struct err recorder_open(struct recorder *r, const struct recorder_options *o, struct session *s, struct profile *p,
			 pid_t pid)
{
	uint64_t left = o->launched ? STARTING_NS : starting_left(pid), now = clock_now();
	struct err e;

	*r = (struct recorder){
		.options = *o,
		.watch_options = { o->sampler, o->subprocesses },
		.session = s,
		.profile = p,
		.next_ns = UINT64_MAX,
		.end_ns = UINT64_MAX,
		.wake_ns = UINT64_MAX,
	};
	watch_init(&r->root, &r->watch_options, p, pid, now);
	session_watch(s, pid);
	/* Else the kernel may wake us up to 50 us late, to save power. Not for a launched program: it would
	 * inherit it. */
	prctl(PR_SET_TIMERSLACK, 1);
	e = open_children(r, now);
	if (failed(e))
		return e;
	e = watch_attach(&r->root);
	now = clock_now();
	r->house_ns = now + HOUSE_NS;
	note_attached(r);
	if (!failed(e))
		return OK;
	/* A launched program that has ended already is noticed by the next wait. */
	if (!((left || o->subprocesses) && starting_may_pass(e)) && !(o->launched && e.code == ERR_GONE))
		return e;
	watch_start_trying(&r->root, now, now + left);
	return OK;
}

void recorder_close(struct recorder *r)
{
	watch_close(&r->root);
	if (r->options.subprocesses)
		children_close(&r->children);
}

uint64_t recorder_elapsed(const struct recorder *r)
{
	return r->started_ns ? clock_now() - r->started_ns : 0;
}

static void fill_stats(struct recorder *r)
{
	struct profile_stats *s = &r->profile->stats;

	if (!r->started_ns)
		return;
	s->wall_ns = clock_now() - r->started_ns;
	s->cpu_ns = clock_own_cpu() - r->cpu_ns;
	s->rate_wanted = r->options.rate;
	s->held_back = (uint64_t)r->held_back;
	s->held_back_own = (uint64_t)r->held_back_own;
	s->processes = (r->root.about.name[0] != 0) + (r->options.subprocesses ? r->children.attached : 0);
}

void recorder_settle(struct recorder *r)
{
	fill_stats(r);
	if (r->root.sampler)
		sampler_settle(r->root.sampler);
	if (r->options.subprocesses)
		children_settle(&r->children);
}

static void settle(struct recorder *r)
{
	recorder_settle(r);
	profile_balance(r->profile);
}

void recorder_count(struct recorder *r, bool idle, bool lock_only)
{
	r->options.sampler.idle = idle;
	r->options.sampler.lock_only = lock_only;
	r->watch_options.sampler = r->options.sampler; /* of those that will be attached */
	if (r->root.sampler)
		sampler_count(r->root.sampler, idle, lock_only);
	if (r->options.subprocesses)
		children_count(&r->children, idle, lock_only);
}

void recorder_pause(struct recorder *r, bool paused)
{
	uint64_t now = clock_now();

	r->paused = paused;
	if (paused || r->next_ns == UINT64_MAX)
		return;
	/* The looks that were left out were not late. */
	ticker_init(&r->ticker, r->ticker.interval_ns, now);
	r->next_ns = now;
}

static enum recorder_event ended(struct recorder *r, enum recorder_end how)
{
	r->end = how;
	settle(r);
	return RECORDER_ENDED;
}

static enum recorder_event give_up(struct recorder *r, struct err e)
{
	r->root.error = e;
	return ended(r, e.code == ERR_GONE ? RECORDER_END_EXITED : RECORDER_END_LOST);
}

/* The first process may run no interpreter at all when it is not alone. */
static enum recorder_event try_root(struct recorder *r, uint64_t now)
{
	struct err e = watch_try(&r->root, now);

	if (failed(e) && !(r->options.subprocesses && starting_may_pass(e)))
		return give_up(r, e);
	note_attached(r);
	return RECORDER_PROGRESS;
}

static uint64_t own_interval(struct recorder *r, uint64_t now)
{
	return r->own.share > 0 ? own_budget_min_interval(&r->own, now, clock_own_cpu()) : 0;
}

/* The budgets may ask for a longer interval than was wanted, and for another one at each look. */
static void schedule(struct recorder *r, uint64_t now)
{
	const struct watch *any = any_watch(r);
	uint64_t wanted = (uint64_t)((double)SECOND_NS / r->options.rate), least, own;
	double missed;

	r->next_ns = UINT64_MAX;
	if (!any)
		return;
	least = sampler_min_interval(any->sampler);
	own = own_interval(r, now);
	r->ticker.interval_ns = own > least ? own : least;
	if (r->ticker.interval_ns <= wanted) {
		r->ticker.interval_ns = wanted;
	} else {
		missed = (double)r->ticker.interval_ns / (double)wanted - 1;
		r->held_back += missed;
		r->held_back_own += own > least ? missed : 0;
	}
	r->next_ns = ticker_next(&r->ticker, now);
	r->profile->stats.late += r->ticker.late;
	r->ticker.late = 0;
}

static enum recorder_event look(struct recorder *r, uint64_t now)
{
	struct err e = OK;

	r->profile->stats.ticks += any_watch(r) != NULL;
	if (r->root.sampler)
		e = watch_look(&r->root, now);
	if (failed(e))
		return give_up(r, e);
	if (r->options.subprocesses)
		children_look(&r->children, now);
	schedule(r, clock_now());
	return RECORDER_PROGRESS;
}

static void tend_children(struct recorder *r, uint64_t now)
{
	children_tend(&r->children, now);
	note_attached(r);
}

static enum recorder_event heed(struct recorder *r, enum session_event event)
{
	switch (event) {
	case SESSION_EXIT:
		return ended(r, RECORDER_END_EXITED);
	case SESSION_SNAPSHOT:
		settle(r);
		return RECORDER_SNAPSHOT;
	case SESSION_KEY:
		return RECORDER_KEY;
	case SESSION_RESIZE:
		return RECORDER_RESIZE;
	case SESSION_SUSPEND:
		return RECORDER_SUSPEND;
	case SESSION_INTERRUPT:
		/* A child in the foreground got it, too: its last words belong to the profile. The second one
		 * ends it. */
		if (r->options.launched && !r->interrupted) {
			r->interrupted = true;
			return RECORDER_PROGRESS;
		}
		return ended(r, RECORDER_END_STOPPED);
	default:
		return ended(r, RECORDER_END_STOPPED);
	}
}

/* Only looks can wait: a program that is starting is to be caught from its first moment on. */
static uint64_t look_ns(const struct recorder *r)
{
	return r->paused ? UINT64_MAX : r->next_ns;
}

static uint64_t root_try_ns(const struct recorder *r)
{
	return r->root.sampler ? UINT64_MAX : r->root.try_ns;
}

static uint64_t soonest(const struct recorder *r)
{
	uint64_t at = look_ns(r);

	at = r->house_ns < at ? r->house_ns : at;
	at = r->end_ns < at ? r->end_ns : at;
	at = r->wake_ns < at ? r->wake_ns : at;
	at = root_try_ns(r) < at ? root_try_ns(r) : at;
	return r->options.subprocesses && r->children.next_ns < at ? r->children.next_ns : at;
}

/* False: the recording has ended. */
static bool do_what_is_due(struct recorder *r, uint64_t now)
{
	if (now >= look_ns(r) && look(r, now) == RECORDER_ENDED)
		return false;
	if (now >= root_try_ns(r) && try_root(r, now) == RECORDER_ENDED)
		return false;
	if (r->options.subprocesses && now >= r->children.next_ns)
		tend_children(r, now);
	return true;
}

enum recorder_event recorder_next(struct recorder *r)
{
	for (;;) {
		enum session_event event = session_wait(r->session, soonest(r));
		uint64_t now = r->session->now_ns;

		if (event != SESSION_DEADLINE)
			return heed(r, event);
		if (now >= r->end_ns)
			return ended(r, RECORDER_END_DURATION);
		if (!do_what_is_due(r, now))
			return RECORDER_ENDED;
		if (now >= r->root.check_ns)
			watch_check(&r->root, now);
		if (now >= r->house_ns) {
			r->house_ns = now + HOUSE_NS;
			if (r->session->pidfd < 0 && watch_exited(&r->root))
				return ended(r, RECORDER_END_EXITED);
			return RECORDER_PROGRESS;
		}
		if (now >= r->wake_ns)
			return RECORDER_PROGRESS;
	}
}

const struct watch *recorder_watch(const struct recorder *r, pid_t pid)
{
	if (r->root.pid == pid)
		return &r->root;
	return r->options.subprocesses ? children_find(&r->children, pid) : NULL;
}

const struct watch *recorder_watched(const struct recorder *r)
{
	return any_watch(r);
}
