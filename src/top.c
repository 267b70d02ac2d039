/* top.c - what `cspy top` samples, and the model kept up to date with it. */
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "output.h"
#include "procfs.h"
#include "roles.h"
#include "sampling.h"
#include "source.h"
#include "stats.h"
#include "top.h"

static const uint64_t SECOND_NS = 1000000000, ASK_NS = 100000000, WINDOW_NS = 10000000000;
/* The first updates come early, so that there is something to see. */
static const uint64_t EARLY_NS[] = { 50000000, 150000000, 400000000 };

static struct recorder_options recorder_options(const struct top *t)
{
	const struct top_options *o = &t->o;

	return (struct recorder_options){
		.sampler = { .pause = o->blocking      ? PAUSE_ALWAYS
				      : o->nonblocking ? PAUSE_NEVER
				      : o->native      ? PAUSE_EACH
						       : PAUSE_BUDGET,
			     .max_pause = o->max_pause,
			     .native = o->native,
			     .idle = o->idle,
			     .lock_only = o->gil,
			     .threads = true,	 /* so that each thread's part is known */
			     .rest = !o->native, /* a native stack needs the thread's own beside it */
			     .last = true,
			     .depth = o->depth },
		.rate = o->rate,
		.max_overhead = o->max_overhead,
		.duration_ns = o->duration_ns,
		.launched = t->child != 0,
		.subprocesses = t->o.subprocesses,
	};
}

struct err top_begin(struct top *t)
{
	struct recorder_options o = recorder_options(t);
	struct err e;

	t->profile = sampling_profile_new(t->o.pid, t->o.rate, t->o.gil ? "gil" : t->o.idle ? "wall" : "cpu");
	page_init(&t->page, t->profile, target_wait_names(), WINDOW_NS);
	roster_init(&t->page.roster, t->o.pid);
	t->page.processes = t->o.subprocesses;
	t->page.by = t->o.lines ? SHARES_LINES : SHARES_FUNCTIONS;
	t->page.idle = t->o.idle;
	t->page.lock_only = t->o.gil;
	t->page.about.pid = t->o.pid;
	t->delay_ns = t->o.delay_ns;
	e = recorder_open(&t->recorder, &o, &t->session, t->profile, t->o.pid);
	t->updated_ns = t->update_ns = t->ask_ns = clock_now();
	return e;
}

/* ---- The model ---- */

static double ratio(uint64_t part, uint64_t whole)
{
	return whole ? (double)part / (double)whole : 0;
}

static void tell_status(struct top *t)
{
	const struct recorder *r = &t->recorder;

	t->page.about.status = t->ended && r->end == RECORDER_END_EXITED ? "ENDED"
			       : t->ended && r->end == RECORDER_END_LOST ? "LOST"
			       : t->ended				 ? "STOPPED"
			       : !recorder_watched(r)			 ? "WAITING"
			       : r->paused				 ? "PAUSED"
									 : "LIVE";
}

static void tell_about(struct top *t, uint64_t now)
{
	const struct profile_stats *s = &t->profile->stats;
	const struct recorder *r = &t->recorder;
	const struct roster *roster = &t->page.roster;
	const struct watch *w = recorder_watched(r);
	struct page_about *a = &t->page.about;
	uint64_t failed = stats_failed(s), elapsed = now - t->updated_ns;
	time_t seconds = time(NULL);
	struct tm day;

	sampling_describe(t->profile, r);
	if (r->root.target)
		a->age_ns = procfs_age(r->root.target->start_time);
	if (w)
		snprintf(a->lock, sizeof(a->lock), "%s", w->about.lock);
	tallies_lock(&t->page.tallies, a->lock);
	/* A process that runs no interpreter is no target, and named all the same. */
	snprintf(a->command, sizeof(a->command), "%s",
		 *t->profile->command || !roster->count ? t->profile->command : roster->list[0]->command);
	snprintf(a->runtime, sizeof(a->runtime), "%s", t->profile->runtime);
	if (localtime_r(&seconds, &day))
		strftime(a->clock, sizeof(a->clock), "%H:%M:%S", &day);
	a->samples = s->samples;
	a->failed = ratio(failed, failed + s->samples);
	a->late = ratio(s->late, s->late + s->ticks);
	if (!elapsed || t->ended || r->paused)
		return;
	a->rate = (double)(s->ticks - t->ticks) * 1e9 / (double)elapsed;
	a->own_cpu = ratio(s->cpu_ns - t->cpu_ns, elapsed);
}

bool top_is_due(const struct top *t)
{
	return !t->ended && clock_now() >= t->update_ns;
}

void top_update(struct top *t)
{
	uint64_t now = clock_now();
	const struct profile_stats *s = &t->profile->stats;

	if (!t->ended)
		recorder_settle(&t->recorder);
	if (!t->recorder.paused)
		t->active_ns += now - t->updated_ns;
	if (s->ticks != t->ticks)
		t->profile->interval_ns = t->active_ns / s->ticks;
	/* Without looks nothing changes; but a tree of processes may never have one. */
	if (s->ticks != t->ticks || (t->o.subprocesses && !s->ticks)) {
		top_meet(t);
		top_read_cpu(t);
		page_update(&t->page, now);
	}
	tell_about(t, now);
	tell_status(t);
	t->ticks = s->ticks;
	t->cpu_ns = s->cpu_ns;
	t->updated_ns = now;
	t->update_ns = now + t->delay_ns;
	if (t->begun_ns && ++t->updates < countof(EARLY_NS) && EARLY_NS[t->updates] < t->delay_ns && !t->o.batch)
		t->update_ns = now + EARLY_NS[t->updates];
}

/* The first look is about to be taken: what is counted, is counted from here on. */
static void begin(struct top *t)
{
	t->begun_ns = t->updated_ns = clock_now();
	tallies_begin(&t->page.tallies.process, t->begun_ns, 0);
	top_meet(t);
	t->update_ns = t->begun_ns + (t->o.batch || EARLY_NS[0] > t->delay_ns ? t->delay_ns : EARLY_NS[0]);
}

enum recorder_event top_next(struct top *t)
{
	struct recorder *r = &t->recorder;
	enum recorder_event event;
	uint64_t now;

	if (!t->begun_ns && ((r->started_ns && r->root.target) || t->o.subprocesses))
		begin(t);
	r->wake_ns = t->ask_ns < t->update_ns ? t->ask_ns : t->update_ns;
	event = recorder_next(r);
	now = clock_now();
	if (now >= t->ask_ns) {
		if (r->children.seen != t->children) /* what they use is counted from here on */
			top_meet(t);
		t->children = r->children.seen;
		if (recorder_watched(r) && !r->paused)
			top_ask(t, now);
		t->ask_ns = now + ASK_NS;
	}
	if (event != RECORDER_ENDED)
		return event;
	top_update(t);
	t->ended = true;
	tell_status(t);
	return event;
}

/* ---- What keys want of the recorder ---- */

void top_pause(struct top *t, bool paused)
{
	if (t->ended)
		return;
	top_update(t); /* up to this moment it was so, or from it on */
	recorder_pause(&t->recorder, paused);
	tell_status(t);
}

void top_count(struct top *t, bool idle, bool lock_only)
{
	if (t->ended)
		return;
	recorder_settle(&t->recorder);
	recorder_count(&t->recorder, idle, lock_only);
	t->page.idle = idle;
	t->page.lock_only = lock_only;
	page_reset(&t->page);
}

void top_read_source(struct top *t)
{
	const struct recorder *r = &t->recorder;
	const char *path = page_source_wanted(&t->page);
	const struct watch *w = recorder_watch(r, t->page.source_pid);
	char why[PAGE_MESSAGE] = "its process has ended";
	char **lines = NULL;
	size_t count = 0;

	if (!*path)
		return;
	if (w && w->target)
		lines = source_read(w->target, path, &count, why, sizeof(why));
	if (!lines && r->root.target)
		lines = source_read(r->root.target, path, &count, why, sizeof(why));
	/* Of whatever process has it. */
	for (size_t i = 0; r->options.subprocesses && !lines && i < r->children.count; i++)
		if (r->children.list[i]->target)
			lines = source_read(r->children.list[i]->target, path, &count, why, sizeof(why));
	page_source_set(&t->page, lines, count, why);
}

static const struct sink_ops *flamegraph(void)
{
	for (const struct sink_ops *const *s = sink_table; *s; s++)
		if (!strcmp((*s)->name, "flamegraph"))
			return *s;
	return sink_table[0];
}

void top_snapshot(struct top *t)
{
	const struct sink_ops *sink = flamegraph();
	struct sink_options o = { 0 };
	struct timespec now;
	struct output out;
	CLEANUP(cleanup_free) char *path = NULL;
	CLEANUP(cleanup_free) char *pattern = xasprintf("cspy-%%p-%%t%s", sink->extension ? sink->extension : "");
	struct err e;

	clock_gettime(CLOCK_REALTIME, &now);
	path = output_name(pattern, t->o.pid, (uint64_t)now.tv_sec * SECOND_NS + (uint64_t)now.tv_nsec);
	recorder_settle(&t->recorder);
	profile_balance(t->profile);
	e = output_open(path, &out);
	if (!failed(e)) {
		profile_write(t->profile, sink, &o, out.stream);
		e = output_commit(&out);
	}
	if (failed(e))
		snprintf(t->page.message, sizeof(t->page.message), "%s: %s: %s", path, e.what, strerror(e.os));
	else
		snprintf(t->page.message, sizeof(t->page.message), "wrote %s", path);
}
