/* activity.h - which interpreter threads do something: what the sampler knows of each thread across ticks. */
#ifndef CSPY_ACTIVITY_H
#define CSPY_ACTIVITY_H

#include "cspy/profile.h"
#include "cspy/runtime.h"

enum { SEEN_THREADS_MAX = 1 << 16 };

struct seen_thread {
	raddr_t state_at;
	pid_t ns_tid;
	uint32_t thread;	     /* index in the profile */
	node_id root;		     /* below which its stacks hang */
	uint64_t leaf;		     /* hash of its top frames when its state was asked for last */
	bool on_cpu;		     /* as the kernel said then */
	struct raw_frame first_leaf; /* of this look's first read; no stamp: it could not be told */
};

struct activity {
	struct seen_thread *list;
	size_t count, cap;
	size_t threads, turn; /* of this tick, and whose turn it is to be asked about */
	bool may_ask;
	uint64_t asked_ns; /* when states were asked for last */
};

void activity_free(struct activity *a);
/* The entry of stack number `i` of this tick, made (thread = UINT32_MAX) when it is new. */
struct seen_thread *activity_thread(struct activity *a, const struct raw_stack *stack, size_t i);
/*
 * Does the thread do something: hold the lock, or run on a CPU? Asking the kernel costs as much as a whole read, so
 * it is asked about threads whose stack changed or that were on a CPU, and of the others about a few in turn.
 */
bool activity_active(struct activity *a, struct target *t, const struct raw_stacks *all, size_t i,
		     struct seen_thread *seen);
/* A new tick, with so many stacks. */
void activity_begin(struct activity *a, uint64_t now_ns, size_t threads);

#endif
