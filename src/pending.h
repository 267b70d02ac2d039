/* pending.h - samples that wait until their code objects were found to be the same before and after. */
#ifndef CSPY_PENDING_H
#define CSPY_PENDING_H

#include "identify.h"

enum { PENDING_MAX = 4096 };

struct pending_sample {
	uint64_t when_ns;
	uint64_t codes;	    /* as raw_stack.codes */
	uint32_t thread;    /* index in the profile */
	node_id node, root; /* where it ends, and below what it hangs */
	uint32_t weight;
	bool fair, cut;
};

struct pending {
	struct pending_sample list[PENDING_MAX];
	size_t count;
	uint64_t since_ns, settled_ns;
};

void pending_init(struct pending *p, uint64_t now_ns);
/* There must be room: when it is due because it is full, settle first. */
void pending_add(struct pending *p, struct pending_sample sample);
bool pending_is_full(const struct pending *p);
/* Is it time to look at the code objects again? */
bool pending_is_due(const struct pending *p, uint64_t now_ns);
/* Count them all in the profile; those that may hold one of the code objects in `reused` (a bit each) are cut. */
void pending_settle(struct pending *p, struct identifier *names, uint64_t reused, uint64_t now_ns);

#endif
