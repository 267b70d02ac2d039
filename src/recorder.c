/* recorder.c - sample one process until something ends it: when to look, attaching, and attaching again after
 * exec. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "procfs.h"
#include "recorder.h"
#include "starting.h"

static const uint64_t SECOND_NS = 1000000000;
/* From short, so that little of the start is missed, to long, since each try reads the maps. */
static const uint64_t TRY_FIRST_NS = 1000000, TRY_LAST_NS = 20000000;
static const uint64_t HOUSE_NS = 250000000;

static uint64_t own_cpu(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * SECOND_NS + (uint64_t)t.tv_nsec;
}

/* exec gives a process another stack: where it starts (field 28 of stat) is random and set once for each
 * program. */
static uint64_t running_program(struct target *t)
{
	char text[1024];
	const char *after;
	uint64_t code = 0, stack = 0;

	if (procfs_read_buf(t->proc, "stat", text, sizeof(text)) < 0)
		return 0;
	after = strrchr(text, ')');
	if (!after || sscanf(after + 1,
			     " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %*u %*u "
			     "%*d %*u %" SCNu64 " %*u %" SCNu64,
			     &code, &stack) != 2)
		return 0;
	return stack ? stack ^ code << 1 : 0;
}

static void let_go(struct recorder *r)
{
	sampler_free(r->sampler);
	target_close(r->target);
	r->sampler = NULL;
	r->target = NULL;
}

static void attached(struct recorder *r)
{
	uint64_t now = clock_now();

	sampler_about(r->sampler, &r->about);
	r->program = running_program(r->target);
	if (!r->started_ns) {
		r->started_ns = now;
		r->cpu_ns = own_cpu();
		if (r->options.duration_ns)
			r->end_ns = now + r->options.duration_ns;
	}
	ticker_init(&r->ticker, (uint64_t)((double)SECOND_NS / r->options.rate), now);
	r->next_ns = now;
}

static struct err try_attach(struct recorder *r)
{
	struct err e;

	r->why[0] = 0;
	e = target_open(r->pid, &r->target);
	if (!failed(e)) {
		e = sampler_new(r->target, r->profile, r->options.sampler, r->why, sizeof(r->why), &r->sampler);
		if (failed(e))
			r->sampler = NULL;
	}
	if (failed(e))
		let_go(r);
	else
		attached(r);
	return e;
}

static void start_trying(struct recorder *r, uint64_t now, uint64_t until)
{
	let_go(r);
	r->try_ns = TRY_FIRST_NS;
	r->next_ns = now + r->try_ns;
	r->give_up_ns = until;
}

struct err recorder_open(struct recorder *r, const struct recorder_options *o, struct session *s, struct profile *p,
			 pid_t pid)
{
	uint64_t left = o->launched ? STARTING_NS : starting_left(pid), now;
	struct err e;

	*r = (struct recorder){
		.options = *o, .session = s, .profile = p, .pid = pid, .end_ns = UINT64_MAX, .wake_ns = UINT64_MAX
	};
	session_watch(s, pid);
	/* Else the kernel may wake us up to 50 us late, to save power. Not for a launched program: it would
	 * inherit it. */
	prctl(PR_SET_TIMERSLACK, 1);
	e = try_attach(r);
	now = clock_now();
	r->house_ns = now + HOUSE_NS;
	if (!failed(e))
		return OK;
	/* A launched program that has ended already is noticed by the next wait. */
	if (!left || (!starting_may_pass(e) && !(o->launched && e.code == ERR_GONE)))
		return e;
	r->error = e;
	start_trying(r, now, now + left);
	return OK;
}

void recorder_close(struct recorder *r)
{
	let_go(r);
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
	s->cpu_ns = own_cpu() - r->cpu_ns;
	s->rate_wanted = r->options.rate;
	s->held_back = (uint64_t)r->held_back;
}

void recorder_settle(struct recorder *r)
{
	fill_stats(r);
	if (r->sampler)
		sampler_settle(r->sampler);
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
	if (r->sampler)
		sampler_count(r->sampler, idle, lock_only);
}

void recorder_pause(struct recorder *r, bool paused)
{
	uint64_t now = clock_now();

	r->paused = paused;
	if (paused || !r->sampler)
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

static bool exited(struct recorder *r)
{
	return r->target && target_alive(r->target).code == ERR_GONE;
}

/* The process runs another program now: what was sampled stays, and the new program gets its time to start.
 */
static void after_exec(struct recorder *r, uint64_t now)
{
	sampler_settle(r->sampler);
	r->execs++;
	r->exec_ns = now - r->started_ns;
	r->error = err_at(ERR_UNSUPPORTED, 0, "attaching to what the process runs now");
	start_trying(r, now, now + STARTING_NS);
}

static enum recorder_event give_up(struct recorder *r, struct err e)
{
	r->error = e;
	return ended(r, e.code == ERR_GONE ? RECORDER_END_EXITED : RECORDER_END_LOST);
}

static enum recorder_event attach_again(struct recorder *r, uint64_t now)
{
	struct err e = try_attach(r);

	if (!failed(e))
		return RECORDER_PROGRESS;
	r->error = e;
	if (!starting_may_pass(e) || now >= r->give_up_ns)
		return give_up(r, e);
	r->try_ns = r->try_ns * 2 < TRY_LAST_NS ? r->try_ns * 2 : TRY_LAST_NS;
	r->next_ns = now + r->try_ns;
	return RECORDER_PROGRESS;
}

/* The looks fail as a whole: the sampler has borne that for a while, so it is another program now, or none.
 */
static bool lose(struct recorder *r, struct err e, uint64_t now)
{
	r->error = e;
	if (e.code == ERR_DENIED || exited(r))
		return false;
	sampler_settle(r->sampler);
	start_trying(r, now, now + STARTING_NS);
	return true;
}

/* The budget may ask for a longer interval than was wanted, and for another one at each look. */
static void schedule(struct recorder *r, uint64_t now)
{
	uint64_t wanted = (uint64_t)((double)SECOND_NS / r->options.rate);
	uint64_t least = sampler_min_interval(r->sampler);

	r->ticker.interval_ns = least > wanted ? least : wanted;
	if (least > wanted)
		r->held_back += (double)least / (double)wanted - 1;
	r->next_ns = ticker_next(&r->ticker, now);
	r->profile->stats.late += r->ticker.late;
	r->ticker.late = 0;
}

static enum recorder_event look(struct recorder *r, uint64_t now)
{
	struct err e;

	if (!r->sampler)
		return attach_again(r, now);
	e = sampler_step(r->sampler, now);
	if (failed(e) && !lose(r, e, now))
		return give_up(r, exited(r) ? err_at(ERR_GONE, 0, "looking at the process") : e);
	if (r->sampler)
		schedule(r, clock_now());
	return RECORDER_PROGRESS;
}

static void look_around(struct recorder *r, uint64_t now)
{
	uint64_t program;

	r->house_ns = now + HOUSE_NS;
	if (!r->sampler)
		return;
	program = running_program(r->target);
	if (program && program != r->program)
		after_exec(r, now);
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
static bool is_paused(const struct recorder *r)
{
	return r->paused && r->sampler;
}

static uint64_t soonest(const struct recorder *r)
{
	uint64_t at = r->next_ns < r->house_ns && !is_paused(r) ? r->next_ns : r->house_ns;

	at = at < r->wake_ns ? at : r->wake_ns;
	return at < r->end_ns ? at : r->end_ns;
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
		if (now >= r->next_ns && !is_paused(r) && look(r, now) == RECORDER_ENDED)
			return RECORDER_ENDED;
		if (now >= r->house_ns) {
			look_around(r, now);
			if (r->session->pidfd < 0 && exited(r))
				return ended(r, RECORDER_END_EXITED);
			return RECORDER_PROGRESS;
		}
		if (now >= r->wake_ns)
			return RECORDER_PROGRESS;
	}
}
