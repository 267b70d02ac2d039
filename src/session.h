/* session.h - the one place that waits: for a deadline, a signal, or the target's end. */
#ifndef CSPY_SESSION_H
#define CSPY_SESSION_H

#include <signal.h>

#include "cspy/base.h"

enum session_event {
	SESSION_DEADLINE,
	SESSION_INTERRUPT, /* SIGINT typed at the terminal: everything in the foreground got it */
	SESSION_STOP,	   /* SIGTERM, SIGHUP, or SIGINT sent to cspy itself */
	SESSION_SNAPSHOT,  /* SIGUSR1 */
	SESSION_EXIT,	   /* the watched process has ended */
};

struct session {
	int signals; /* signalfd */
	int pidfd;   /* owned; -1: none watched */
	sigset_t taken, saved;
	uint64_t now_ns;    /* CLOCK_MONOTONIC when session_wait() returned */
	uint64_t looked_ns; /* when the descriptors were last asked */
};

/* From now on until session_close(), signals end or snapshot what is being done instead of the program. */
MUST_CHECK struct err session_open(struct session *ret);
/* Signals have their default effect again: the next one ends the program. */
void session_close(struct session *s);
/* Watch this process for its end. Without pidfds in the kernel nothing is watched: ask target_alive() then.
 */
void session_watch(struct session *s, pid_t pid);
/* Sleep until the deadline or what comes before it; an event that is there already wins over a passed
 * deadline. */
enum session_event session_wait(struct session *s, uint64_t deadline_ns);

#endif
