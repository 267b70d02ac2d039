/* stacks.h - how much of each thread's stack is worth copying. */
#ifndef NATIVE_STACKS_H
#define NATIVE_STACKS_H

#include "cspy/unwind.h"

enum { SIZES_MAX = 1 << 16 };

struct stack_want {
	pid_t ns_tid;
	size_t bytes;
};

/* By thread, as learnt from what unwinding needed. */
struct stack_sizes {
	struct stack_want *list;
	size_t count, cap;
};

void stacks_free(struct stack_sizes *s);
/* Where to begin to copy, and how many bytes: no more than the mapping has, where it is known. */
size_t stacks_size(struct stack_sizes *s, pid_t ns_tid, const struct maps *maps, raddr_t sp, raddr_t *ret_at);
void stacks_learn(struct stack_sizes *s, pid_t ns_tid, size_t used, bool too_short);
/* As much as can be read; how much. */
size_t stacks_copy(struct memory *m, raddr_t at, uint8_t *to, size_t len);

#endif
