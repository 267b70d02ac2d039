/* children.h - the descendants of a recorded process, recorded with it. */
#ifndef CSPY_CHILDREN_H
#define CSPY_CHILDREN_H

#include "family.h"
#include "watch.h"

struct children {
	const struct watch_options *options; /* borrowed, as the profile */
	struct profile *profile;
	struct family family;
	struct watch **list;
	size_t count, cap;
	uint64_t next_ns;   /* when children_tend() has something to do */
	uint64_t attach_ns; /* no try to attach before this: they take no more than a share of the time */
	uint64_t seen;	    /* processes that joined */
	uint64_t attached;  /* of these, that had a runtime */
	uint64_t denied;    /* that may not be read */
	uint64_t left_out;  /* beyond the number that is watched at once */
};

MUST_CHECK struct err children_open(struct children *c, const struct watch_options *o, struct profile *p, pid_t root,
				    uint64_t now);
void children_close(struct children *c);
/* Welcome who joined, try to attach to one of them, notice exec. */
void children_tend(struct children *c, uint64_t now);
/* One look at each that is attached. */
void children_look(struct children *c, uint64_t now);
void children_settle(struct children *c);
/* Which threads count from now on; see sampler_options. */
void children_count(struct children *c, bool idle, bool lock_only);
/* NULL: there is no such child. */
const struct watch *children_find(const struct children *c, pid_t pid);
/* One that is attached, for what is the same in all of them; NULL: none is. */
const struct watch *children_any(const struct children *c);

#endif
