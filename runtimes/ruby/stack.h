/* stack.h - local copies of what is expected to be needed of a thread's stack,
 * refreshed every tick. */
#ifndef RUBY_STACK_H
#define RUBY_STACK_H

#include "cspy/memory.h"
#include "layout.h"

enum {
	STACK_WORDS_MAX = 1 << 24, /* of one thread's stack */
	FRAME_BYTES = 64,	   /* the largest control frame */
	ENV_WORDS = 3,		   /* of an environment: method, what is around it, flags; ep
				      points to the last */
	CONTEXT_WORDS = 3,
	AGAIN_FRAMES = 8,   /* at the leaf's end are looked at twice, when asked for */
	AGAIN_BYTES = 2048, /* of the control frames' end, and of the values', likewise */
};

/*
 * A stack of Ruby's is one piece of memory: values grow up from its start,
 * control frames down from its end. The newest frames are the lowest.
 */
struct rby_stack {
	raddr_t context; /* rb_execution_context_t: another one when a fiber runs */
	uint64_t context_words[CONTEXT_WORDS], context_again[CONTEXT_WORDS];
	bool context_valid; /* in this tick, as all others here */
	raddr_t start, end;
	raddr_t frames_at; /* copied from here */
	size_t frames_len, frames_cap;
	uint8_t *frames;
	bool frames_valid;
	size_t values_len, values_cap; /* copied from the start */
	uint8_t *values;
	bool values_valid;
	raddr_t low, low_next; /* the newest frame that was needed lately, and since
				  `low` was last set */
	raddr_t high;	       /* where the frames that were needed end */
	size_t values_want, values_next;
	uint8_t again[AGAIN_BYTES]; /* second copy of the newest frames */
	raddr_t again_at;
	size_t again_len;
	bool again_valid;
	uint8_t values_again[AGAIN_BYTES]; /* of the newest values */
	raddr_t values_again_at;
	size_t values_again_len;
	bool values_again_valid;
};

void rby_stack_free(struct rby_stack *s);
/* The copied control frame at this address; NULL: not copied. */
const uint8_t *rby_stack_frame(const struct rby_stack *s, const struct rby_layout *l, raddr_t at);
/* ep[-2], ep[-1], ep[0], from the copy or (m not NULL) from where they are: an
 * environment may have moved to the heap.
 */
bool rby_stack_env(struct rby_stack *s, struct memory *m, raddr_t ep, uint64_t words[ENV_WORDS]);
/* The same from the second copy. */
bool rby_stack_env_again(const struct rby_stack *s, raddr_t ep, uint64_t words[ENV_WORDS]);

#endif
