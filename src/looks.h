/* looks.h - what the runtime's memory says of threads, whether their stacks are counted or not. */
#ifndef CSPY_LOOKS_H
#define CSPY_LOOKS_H

#include "cspy/profile.h"
#include "cspy/runtime.h"

/* One more look at a thread, which stands for `looks` where it wanted the lock; *any tells what at least one thread
 * was, did or had at this look. */
void looks_note(struct profile_looks *thread, struct profile_looks *any, const struct raw_stack *stack, uint32_t looks);
void looks_add(struct profile_looks *all, const struct profile_looks *any);

#endif
