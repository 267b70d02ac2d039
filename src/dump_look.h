/* dump_look.h - what is only needed while a dump is taken. Private to dump.c and dump_native.c. */
#ifndef CSPY_DUMP_LOOK_H
#define CSPY_DUMP_LOOK_H

#include "dump.h"
#include "merge.h"
#include "pause.h"

enum { LOOK_TRIES = 50 }; /* until no stack could have changed while it was read */

struct look {
	struct dump *dump;
	struct target *target;
	const struct runtime_ops *ops;
	void *instance;
	enum thread_state *states;	  /* of target->threads, before any was paused */
	struct raw_stacks stacks, before; /* this read's, and the last one's */
	struct pause pause;
	struct merger merger;	    /* where native frames are wanted beside an interpreter's */
	struct profile_stats stats; /* the merger's; nobody asks for them */
};

/* Read the stacks of the threads that are held; native ones beside them where they are wanted. */
MUST_CHECK struct err look_sample(struct look *l, struct raw_stacks *out);
void look_add_thread(struct look *l, const struct raw_stacks *all, const struct raw_stack *s);
bool look_same_frames(const struct raw_frame *a, const struct raw_frame *b, size_t n);

/* dump_native.c. All threads of a process by their native stacks alone. */
MUST_CHECK struct err dump_native_alone(struct look *l);
/* Native frames put between those that the interpreter's threads have; and threads that it knows nothing of. */
MUST_CHECK struct err dump_native_merge(struct look *l);

#endif
