/* roster.h - the processes that cspy top watches: whose child each is, and what it did lately. */
#ifndef CSPY_ROSTER_H
#define CSPY_ROSTER_H

#include "tally.h"

enum { ROSTER_COMMAND = 128, ROSTER_RUNTIME = 64 }; /* bytes */

struct roster_process {
	pid_t pid, parent;
	bool here;	  /* met since roster_begin() */
	uint64_t program; /* that .command was read of */
	char command[ROSTER_COMMAND];
	char runtime[ROSTER_RUNTIME]; /* "" while it is not attached */
	struct tally tally;	      /* its CPU time; of .shares the rest is what its threads did */
	size_t threads;
	int depth; /* in the tree; 0: the process that was asked for */
};

/* In the order of the tree after roster_end(): each below its parent, brothers by id. */
struct roster {
	pid_t root;
	struct roster_process **list;
	size_t count, cap;
};

void roster_init(struct roster *r, pid_t root);
void roster_free(struct roster *r);
/* Nobody is here until met again. */
void roster_begin(struct roster *r);
/* The entry of a process that is here; valid until roster_end(). *fresh: it was made now, and is to be filled. */
struct roster_process *roster_meet(struct roster *r, pid_t pid, bool *fresh);
/* Who was not met has ended; the others stand in their order, with what their threads did in the window. */
void roster_end(struct roster *r, const struct tallies *t, uint64_t now_ns);

#endif
