/* activity.h - which interpreter threads do something: what the sampler knows of each thread across ticks. */
#ifndef CSPY_ACTIVITY_H
#define CSPY_ACTIVITY_H

#include "cspy/profile.h"
#include "cspy/runtime.h"

enum { SEEN_THREADS_MAX = 1 << 16 };

struct seen_thread {
	raddr_t state_at;
	pid_t ns_tid;
	uint32_t thread;   /* index in the profile */
	node_id root;	   /* below which its stacks hang */
	uint64_t leaf;	   /* hash of its top frames when its state was asked for last */
	uint64_t asked_ns; /* when that was */
	uint64_t busy_ns;  /* when it was last met doing something */
	/* Looks by their number: the last one that had it, stopped it while it ran, left it out since it rests, and
	 * had it though it rests. */
	uint32_t looked_by, stopped_by, left_out_of, chosen_for;
	uint32_t weight;	     /* of this look's stack: for so many looks, or threads, it stands */
	uint32_t missed;	     /* looks that left it out since the last one that had it */
	bool on_cpu;		     /* as the kernel said then */
	struct raw_frame first_leaf; /* of this look's first read; no stamp: it could not be told */
};

struct activity {
	struct seen_thread *list;
	size_t count, cap;
	size_t left_out; /* threads, of the last look */
	size_t next;	 /* where the thread after the one that was found last should be */
	bool rest;	 /* leave out those that rest */
	bool quick;	 /* this tick came soon after the last one */
	bool may_ask;
	uint64_t now_ns, asked_ns; /* of this tick; when states were asked for last */
	uint64_t each_ns;	   /* after so long a thread's turn has come to be asked about */
	uint32_t looks;		   /* the number of this one */
	uint64_t coin;
};

void activity_free(struct activity *a);
/* The entry of a stack, made (thread = UINT32_MAX) when it is new. */
struct seen_thread *activity_thread(struct activity *a, const struct raw_stack *stack);
/* May the next look do without this thread? Known by its raw_stack.state_at. */
bool activity_leave_out(struct activity *a, raddr_t state_at);
/* The look that is being taken stopped it while it ran. */
void activity_stopped(const struct activity *a, struct seen_thread *seen);
/*
 * Does the thread do something: hold the lock, or run on a CPU? Asking the kernel costs as much as a whole read, so
 * it is asked about threads whose stack changed or that were on a CPU, and of the others about a few in turn.
 */
bool activity_active(struct activity *a, struct target *t, const struct raw_stacks *all, const struct raw_stack *stack,
		     struct seen_thread *seen);
/* It is in this look, and what it does was asked: sets its weight. */
void activity_looked(const struct activity *a, const struct raw_stack *stack, struct seen_thread *seen);
/* A new tick, with so many stacks. */
void activity_begin(struct activity *a, uint64_t now_ns, size_t threads);
/* All that it has was told; the others were there, too. */
void activity_end(struct activity *a, struct profile *p);

#endif
