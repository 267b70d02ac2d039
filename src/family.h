/* family.h - a process and its descendants, and those that joined since the last time. */
#ifndef CSPY_FAMILY_H
#define CSPY_FAMILY_H

#include "cspy/base.h"

struct relative {
	pid_t pid, parent;
	bool known;  /* its parent was asked for */
	bool member; /* of the family */
};

struct family {
	int proc, loadavg;
	long last_pid;	       /* the youngest process or thread of the whole machine */
	bool again;	       /* list once more, though it has not changed */
	uint64_t full_ns;      /* the next listing, whatever last_pid says */
	uint64_t next_ns;      /* no listing before this: they cost no more than a share of the time */
	struct relative *list; /* every process of the machine, ascending */
	size_t count, cap;
	struct relative *before; /* the listing before that; its room is used again */
	size_t before_cap;
	pid_t *joined; /* since the last call, ascending */
	size_t joined_count, joined_cap;
};

MUST_CHECK struct err family_open(struct family *f, pid_t root);
void family_close(struct family *f);
/*
 * Look who joined: .joined (the first call tells all but the root). A process that came and ended between two calls is
 * not seen, and its children's descent is lost with it. Cheap while nothing was started anywhere on the machine.
 */
MUST_CHECK struct err family_update(struct family *f, uint64_t now);

#endif
