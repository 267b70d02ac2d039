/* sampler.h - when to look, and one look. */
#ifndef CSPY_SAMPLER_H
#define CSPY_SAMPLER_H

#include "cspy/profile.h"
#include "cspy/runtime.h"

/* Absolute deadlines: being late once never shifts the ones after. */
struct ticker {
	uint64_t interval_ns, next_ns;
	uint64_t late;	/* deadlines skipped because they had passed already */
	uint64_t state; /* of the jitter */
};

uint64_t clock_now(void);     /* CLOCK_MONOTONIC, ns */
uint64_t clock_own_cpu(void); /* CPU time of cspy so far, ns */
void ticker_init(struct ticker *t, uint64_t interval_ns, uint64_t now_ns);
/* The next deadline, jittered by some percent so that sampler and target never lock step. */
uint64_t ticker_next(struct ticker *t, uint64_t now_ns);

enum pause_mode {
	PAUSE_BUDGET, /* as many as the budget allows, by a coin thrown before the read */
	PAUSE_EACH,   /* always, and no more often than the budget allows */
	PAUSE_ALWAYS,
	PAUSE_NEVER,
};

struct sampler_options {
	enum pause_mode pause;
	double max_pause;   /* share of the target's time, for PAUSE_BUDGET; 0.01 by default */
	bool idle;	    /* count threads that do nothing, too */
	bool native;	    /* -n: native frames, too; every look pauses, and the budget lowers the rate */
	bool any;	    /* a process without an interpreter, by its native stacks */
	bool lock_only;	    /* -g: count only the lock's holder */
	bool threads;	    /* -t: the thread is a frame at the root */
	bool function_only; /* -F */
	size_t depth;	    /* frames kept of one stack */
	bool rest; /* look at threads that do nothing for long less often; one look stands for those left out */
	bool last; /* note the stacks of threads that are not counted, too, a few times a second */
	struct debug_server *debug_server; /* to be the target's; borrowed, or NULL */
	node_id root; /* of the profile, below which all stacks hang: a process's own frame, or 0 */
};

struct sampler;

/* Attach the runtime (runtimes.c) and be ready for the first look. `why` gets words for the user on failure. */
MUST_CHECK struct err sampler_new(struct target *t, struct profile *p, struct sampler_options o, char *why, size_t cap,
				  struct sampler **ret);
void sampler_free(struct sampler *s); /* accepts NULL */
/* One look at every thread. Routine failures are counted in the profile, not returned; stats.ticks is the caller's. */
MUST_CHECK struct err sampler_step(struct sampler *s, uint64_t now_ns);
/* Before the profile is read: settle what is pending, name threads, fill the statistics that are known here. */
void sampler_settle(struct sampler *s);
/* How long to wait at least until the next look, so that the budget holds (PAUSE_BUDGET only). */
uint64_t sampler_min_interval(const struct sampler *s);
/* Taken by its native stacks, since no interpreter was found in it. */
bool sampler_is_fallback(const struct sampler *s);
void sampler_about(struct sampler *s, struct rt_about *ret);
/* From the next look on; see sampler_options. */
void sampler_count(struct sampler *s, bool idle, bool lock_only);
/* Is this address, which a thread waits at, part of the interpreter's lock? False also when it is not known. */
bool sampler_lock_at(const struct sampler *s, raddr_t at);

#endif
