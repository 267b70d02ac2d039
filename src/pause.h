/* pause.h - hold some threads of a target still for the length of one read. */
#ifndef CSPY_PAUSE_H
#define CSPY_PAUSE_H

#include "cspy/target.h"

enum { PAUSE_THREADS = 64 }; /* held at once, at most */

struct pause_thread {
	pid_t tid;     /* as cspy sees it */
	pid_t ns_tid;  /* as the target sees it */
	int signal;    /* arrived while it was being stopped: delivered on release, or 0 */
	bool stopped;  /* by us; else it sleeps, and `runs` tells whether it did all the time */
	uint64_t runs; /* times that it got a CPU so far */
};

/*
 * Threads are seized, interrupted, read and let go within one look: between two looks the target is not traced, so
 * signals reach it directly, a debugger can attach, and a killed cspy leaves nothing behind (the kernel detaches and
 * resumes what was stopped).
 */
struct pause {
	struct pause_thread list[PAUSE_THREADS];
	size_t count, stopped;
	uint64_t since_ns;	   /* the first of them stopped; 0: none */
	pid_t late[PAUSE_THREADS]; /* did not stop in time: let go as soon as they do */
	size_t late_count;
};

/*
 * Hold these threads (ids in the target's namespace) in addition to those held already. Threads on a CPU are stopped;
 * sleeping ones are only noted, since waking them would interrupt their system calls. Waits are bounded. ERR_OS with
 * EBUSY: one could not be stopped in time (it is let go when it does stop). ERR_DENIED: ptrace is refused.
 */
MUST_CHECK struct err pause_hold(struct pause *p, struct target *t, const pid_t *ns_tids, size_t n);
bool pause_holds(const struct pause *p, pid_t ns_tid);
/* Was it stopped, rather than found asleep? */
bool pause_stopped(const struct pause *p, pid_t ns_tid);
/* Did every held thread that slept sleep on until now? */
bool pause_still(const struct pause *p, struct target *t);
/* Let all of them run; returns how long they were stopped, in ns (0 when none was). */
uint64_t pause_release(struct pause *p);

#endif
