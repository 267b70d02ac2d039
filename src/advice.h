/* advice.h - say what failed, why, and the one thing to do about it; and the exit codes. */
#ifndef CSPY_ADVICE_H
#define CSPY_ADVICE_H

#include <stdio.h>

#include "cspy/base.h"

enum exit_code {
	EXIT_OK = 0,
	EXIT_FAILED = 1,
	EXIT_USAGE = 2,
	EXIT_DENIED = 3,
	EXIT_UNSUPPORTED = 4,  /* no runtime found, or a version that is not known */
	EXIT_GONE = 5,	       /* the target ended before a sample was taken */
	EXIT_NO_COMMAND = 127, /* what should be started could not be */
};

struct advice {
	char text[700]; /* "what failed: why" */
	char hint[300]; /* one line, or "" */
	enum exit_code exit_code;
};

/* What is known of a process and of ourselves, beside the error: apart from how it is found out, for the
 * tests. */
struct advice_facts {
	pid_t pid;
	bool exists;
	bool zombie;
	bool kernel_thread;
	pid_t process; /* the process that the id is a thread of; pid itself when it is a process */
	pid_t tracer;  /* 0: none */
	char tracer_name[32];
	long uid, own_uid;  /* effective ones */
	char user[64];	    /* name or number of uid */
	bool can_trace;	    /* CAP_SYS_PTRACE */
	bool foreign_users; /* it lives in another user namespace */
	bool readable;	    /* it was read, so what was refused is to pause it: for the caller to set */
	bool dumpable;
	int yama;      /* ptrace_scope; 0 also where there is no Yama */
	char exe[256]; /* "" when not readable */
};

void advice_find_facts(pid_t pid, struct advice_facts *ret);
/* Why a process could not be looked at. `why` has the runtimes' words, or "". */
void advice_attach(const struct advice_facts *f, struct err e, const char *why, struct advice *ret);
/* A process that can't be a target, whatever is tried: false when it may be one. */
bool advice_hopeless(const struct advice_facts *f, struct advice *ret);
/* "cspy: TEXT" and "cspy: HINT" on lines of their own. */
void advice_print(FILE *out, const struct advice *a);
/* The same of two texts, to standard error; returns the code, for `return advice_say(...)`. */
int advice_say(enum exit_code code, const char *text, const char *hint);

#endif
