/* recorder.h - sample a process, and its children, until something ends it: when to look, and when it is over. */
#ifndef CSPY_RECORDER_H
#define CSPY_RECORDER_H

#include "budget.h"
#include "children.h"
#include "session.h"

struct recorder_options {
	struct sampler_options sampler;
	double rate;	      /* samples a second */
	double max_overhead;  /* share of a core for cspy itself, which may lower the rate; 0: any */
	uint64_t duration_ns; /* 0: until something else ends it */
	bool launched;	      /* the process is our child */
	bool subprocesses;    /* its descendants are recorded, too; it need not run an interpreter itself */
};

enum recorder_event {
	RECORDER_PROGRESS, /* a quarter of a second has passed, or .wake_ns */
	RECORDER_SNAPSHOT, /* wanted now; the profile is settled */
	RECORDER_ENDED,	   /* see .end */
	RECORDER_KEY,	   /* as the session's events of these names */
	RECORDER_RESIZE,
	RECORDER_SUSPEND,
};

enum recorder_end {
	RECORDER_END_NONE,
	RECORDER_END_DURATION,
	RECORDER_END_STOPPED, /* by a signal */
	RECORDER_END_EXITED,  /* the process has ended */
	RECORDER_END_LOST,    /* it goes on, but its stacks can't be read (any more): .root.error, .why */
};

struct recorder {
	struct recorder_options options;
	struct session *session; /* borrowed */
	struct profile *profile; /* borrowed */
	struct watch_options watch_options;
	struct watch root;	  /* the process that was asked for */
	struct children children; /* only with .subprocesses */
	struct ticker ticker;
	uint64_t next_ns;    /* the next look; UINT64_MAX: nothing is attached */
	uint64_t end_ns;     /* UINT64_MAX: none */
	uint64_t wake_ns;    /* the caller's: when recorder_next() shall return at the latest; UINT64_MAX: never */
	uint64_t house_ns;   /* the next look at what changes seldom */
	uint64_t started_ns; /* first attached; 0: not yet */
	uint64_t cpu_ns;     /* own CPU time at that moment */
	struct own_budget own;
	double held_back, held_back_own; /* see profile_stats; the second is part of the first */
	bool interrupted;		 /* typed at the terminal; the child got it, too */
	bool paused;			 /* nothing is looked at */
	enum recorder_end end;
};

/*
 * Attach to the process. A process that has just been started gets time to load its interpreter: then this
 * returns OK and recorder_next() goes on trying. The error's words for the user are in .root.why.
 */
MUST_CHECK struct err recorder_open(struct recorder *r, const struct recorder_options *o, struct session *s,
				    struct profile *p, pid_t pid);
/* Sample until something has to be told. After RECORDER_ENDED the profile is settled and its statistics
 * complete. */
enum recorder_event recorder_next(struct recorder *r);
uint64_t recorder_elapsed(const struct recorder *r); /* ns since the first look; 0 before it */
/* Which threads count from now on; see sampler_options. */
void recorder_count(struct recorder *r, bool idle, bool lock_only);
/* While paused, the process is not looked at, and only its end is noticed. */
void recorder_pause(struct recorder *r, bool paused);
/* Its statistics, and all that is pending in the profile, as of now. */
void recorder_settle(struct recorder *r);
/* A process that is attached now: the one that was asked for, or one of its children; NULL: none is. */
const struct watch *recorder_watched(const struct recorder *r);
/* Who watches this process; NULL: nobody. */
const struct watch *recorder_watch(const struct recorder *r, pid_t pid);
void recorder_close(struct recorder *r);

#endif
