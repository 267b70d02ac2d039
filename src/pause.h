/* pause.h - hold some threads of a target still for the length of one read. */
#ifndef CSPY_PAUSE_H
#define CSPY_PAUSE_H

#include "cspy/target.h"

enum { PAUSE_THREADS = 64 }; /* held at once, at most */

struct pause_thread {
	pid_t tid;     /* as cspy sees it */
	pid_t ns_tid;  /* as the target sees it */
	int signal;    /* arrived while it was being stopped: delivered on release, or 0 */
	bool stopped;  /* by us; else it was off its CPU, and `runs` tells whether it stayed so */
	bool waits;    /* for the CPU where we are */
	uint64_t runs; /* times that it got a CPU so far */
};

/* A thread that was stopped and let go, until it is known how long it waited for its CPU then. */
struct pause_return {
	pid_t ns_tid; /* 0: none */
	struct thread_runs before;
};

/*
 * Threads are seized, interrupted, read and let go within one look: between two looks the target is not traced, so
 * signals reach it directly, a debugger can attach, and a killed cspy leaves nothing behind (the kernel detaches and
 * resumes what was stopped).
 */
struct pause {
	struct pause_thread list[PAUSE_THREADS];
	size_t count, stopped;
	size_t waiting;		   /* noted: for the CPU where we are */
	uint64_t switches;	   /* how often we had been taken off it, when the first of those was noted */
	uint64_t since_ns;	   /* the first of them stopped; 0: none */
	pid_t late[PAUSE_THREADS]; /* did not stop in time: let go as soon as they do */
	size_t late_count;
	struct pause_return back; /* the first of those stopped stands for all */
};

/* Who is stopped. */
enum pause_way {
	PAUSE_BUSY,  /* who is on a CPU, as far as that can be told */
	PAUSE_READY, /* who waits for one, too: registers are wanted, or they must stay as they are for long */
};

/*
 * Hold these threads (ids in the target's namespace) in addition to those held already. Sleeping ones are only noted,
 * since waking them would interrupt their system calls; and one whose CPU we have ourselves does not have it, so it is
 * noted too, and stands still as long as we are not taken off. Waits are bounded. ERR_OS with EBUSY: one could not be
 * stopped in time (it is let go when it does stop). ERR_DENIED: ptrace is refused.
 */
MUST_CHECK struct err pause_hold(struct pause *p, struct target *t, enum pause_way way, const pid_t *ns_tids, size_t n);
bool pause_holds(const struct pause *p, pid_t ns_tid);
/* Was it stopped, rather than found off its CPU? */
bool pause_stopped(const struct pause *p, pid_t ns_tid);
/* Did every held thread that was noted stay off its CPU until now? Those that may not have are held no longer. */
bool pause_still(struct pause *p, struct target *t);
/* Let all of them run; returns how long they were stopped, in ns (0 when none was). */
uint64_t pause_release(struct pause *p);
/* How long, in ns, a thread waited for a CPU when it was let go; 0 until that is known. Told once. */
uint64_t pause_waited(struct pause *p, struct target *t);

#endif
