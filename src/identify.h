/* identify.h - from a raw stack to its node in the profile: one look-up for a stack that was seen before. */
#ifndef CSPY_IDENTIFY_H
#define CSPY_IDENTIFY_H

#include "activity.h"
#include "cspy/profile.h"
#include "cspy/runtime.h"
#include "map64.h"

struct identifier {
	struct profile *profile;
	/* By the frame's owner: the interpreter's plugin, and that of native frames where there are any. */
	const struct runtime_ops *ops[2];
	void *instance[2];
	struct target *target;
	bool function_only;
	struct map64 stacks; /* hash of a root and frames -> node that is true */
	struct map64 names;  /* hash of a raw frame -> frame id */
	frame_id cut, deep, lost;
};

void identifier_init(struct identifier *x, struct profile *p, const struct runtime_ops *ops, void *instance,
		     struct target *t, bool function_only);
/* Who names native frames in merged stacks (merge.h). */
void identifier_add_native(struct identifier *x, const struct runtime_ops *ops, void *instance);
void identifier_free(struct identifier *x);
/*
 * A look-up and nothing else: was this whole stack seen before, and is it true? Either because it is sure now, or
 * because it was found to be true once.
 */
bool identify_known(const struct identifier *x, const struct raw_stacks *all, const struct raw_stack *stack,
		    node_id root, node_id *ret);
/*
 * The node below `root` for the stack without its first `skip` frames; those are shown as "[cut]" when there are any.
 * What is left is remembered as true. ERR_CORRUPT: a code object is no longer the one that the stack was made of.
 */
MUST_CHECK struct err identify(struct identifier *x, const struct raw_stacks *all, const struct raw_stack *stack,
			       size_t skip, node_id root, node_id *ret);

/* The function of one frame. */
MUST_CHECK struct err identify_function(struct identifier *x, const struct raw_frame *f, str_id *ret);

/* Gives a thread that was met first its entry in the profile, and with `frame` a frame of its own below `root`. */
void identify_thread(struct identifier *x, const struct raw_stack *stack, node_id root, bool frame,
		     struct seen_thread *seen);

/* The node for a stack of which nothing is known to be true. */
node_id identify_lost(struct identifier *x, node_id root);

#endif
