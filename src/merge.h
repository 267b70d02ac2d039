/* merge.h - native frames put between an interpreter's frames. */
#ifndef CSPY_MERGE_H
#define CSPY_MERGE_H

#include "cspy/profile.h"
#include "cspy/runtime.h"
#include "map64.h"
#include "merge_loop.h"

/* Owner of native frames in a merged stack; the interpreter's own have 0. */
enum { OWNER_NATIVE = 1, MERGE_THREADS = 2 };

/* What lies at an address, as far as merging has to know. */
struct merge_place {
	str_id function, module;
	uint8_t kind;
};

struct merger {
	const struct runtime_ops *ops; /* of native stacks; NULL: nothing is merged */
	void *instance;
	const char *const *loops; /* of the interpreter: see runtime.h */
	struct strings *strings;  /* borrowed */
	struct raw_stacks natives, merged;
	struct map64 numbers; /* of an address in `places`, plus one */
	struct merge_place *places;
	size_t place_count, place_cap;
	struct merge_loop unnamed; /* where no symbol tells the loop */
	bool named;		   /* one does */
	str_id loop;		   /* the function that is it, when none does */
	str_id own;		   /* the module that it is in; 0: not met yet */
	str_id *functions;	   /* of the stack in hand, for `unnamed` */
	size_t function_cap, turn;
};

/* An error leaves it without ops. */
MUST_CHECK struct err merger_init(struct merger *m, struct target *t, const char *const *loops, struct strings *strings,
				  size_t depth);
void merger_free(struct merger *m);
/*
 * Threads of these stacks that run now and should be held, too, before those that could change an interpreter's stack:
 * up to MERGE_THREADS, others each time, as who is held waits for the next one to get a CPU. How many.
 */
size_t merger_wants(struct merger *m, struct target *t, const struct raw_stacks *stacks, pid_t *ns_tids);
/* While threads are held: take what their native stacks need. */
MUST_CHECK struct err merger_sample(struct merger *m, struct target *t, const struct rt_look *look);
/*
 * After they run on: replace each sure stack of which there is a native one by both in one. Native frames of the
 * interpreter's loop give way to the interpreter's frames that it ran; its other functions are left out but for those
 * at the leaf. A stack that does not fit its native one stays as it is, and is counted.
 */
void merger_merge(struct merger *m, struct target *t, struct raw_stacks *stacks, struct profile_stats *stats);

#endif
