/* session.h - the one place that waits: for a deadline, a signal, a key, or the target's end. */
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
	SESSION_KEY,	   /* only after session_terminal(), as the next two: something was typed */
	SESSION_RESIZE,	   /* SIGWINCH */
	SESSION_SUSPEND,   /* SIGTSTP */
};

struct session {
	int signals; /* signalfd */
	int pidfd;   /* owned; -1: none watched */
	int keys;    /* a terminal, borrowed; -1: none */
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
void session_unwatch(struct session *s);
/* What is typed at this terminal, its size, and the wish to suspend are events, too. */
MUST_CHECK struct err session_terminal(struct session *s, int fd);
/* Stop as SIGTSTP would, until continued: this process alone, never what it watches. */
void session_suspend(struct session *s);
/* Sleep until the deadline or what comes before it; an event that is there already wins over a passed
 * deadline. */
enum session_event session_wait(struct session *s, uint64_t deadline_ns);

#endif
