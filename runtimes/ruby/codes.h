/* codes.h - which iseq or method entry lies at an address now? Addresses are
 * freed and used again. */
#ifndef RUBY_CODES_H
#define RUBY_CODES_H

#include "cspy/runtime.h"
#include "layout.h"

enum {
	HEAD_BYTES = 40, /* of an iseq, a method entry, a string, a method definition:
			    a slot of Ruby's heap */
	BODY_BYTES = 96, /* of an iseq's body, from its type to its first line */
	CODES_MAX = 1 << 18,
	YOUNG_MAX = 256,	  /* looked at in one tick */
	ISEQ_WORDS_MAX = 1 << 22, /* of one iseq's instructions */
	ENDS_WORDS_MAX = 1 << 16, /* longer ones are not searched for where they end */
};

/* What is read to know a code object: itself, then its body (or definition),
 * then the label that the body points to. */
struct rby_parts {
	raddr_t code, body, label;
	uint8_t head[HEAD_BYTES], body_bytes[BODY_BYTES], label_bytes[HEAD_BYTES];
};

/*
 * The code of a frame of Ruby's is an iseq; of a C function's, its method
 * entry. A stamp is a hash of those parts that never change while it lives.
 * What was met lately is looked at each time that it is on a stack; what has
 * been the same for a while is trusted, and looked at again every few
 * milliseconds by verify().
 */
struct rby_code {
	raddr_t code; /* 0: empty */
	raddr_t body, label;
	raddr_t encoded;		  /* the first instruction; 0: a C function */
	raddr_t method;			  /* method entry that an iseq belongs to; 0: none, or not known */
	raddr_t parent, calls, calls_end; /* leaf.c: what is around an iseq, and its calls */
	uint64_t *ends;			  /* PUSH_LINKED_FIRST: bit n: the instruction before word n
					     leaves the frame */
	uint64_t born_ns;
	uint32_t words; /* of its instructions */
	uint32_t type;	/* leaf.c: of its body */
	uint32_t stamp; /* never 0 once known */
	uint32_t checked;
	uint8_t asked;	  /* times that its method was looked for; METHOD_KNOWN: found out */
	bool around_read; /* what leaf.c wants was read */
	bool trusted, planned;
};

enum { METHOD_ASKS = 250, METHOD_KNOWN = 255 };

struct rby_codes {
	const struct rby_layout *l;
	struct rby_code *list; /* open addressed */
	size_t cap, used;
	raddr_t *trusted; /* used without looking since the last verify */
	size_t trusted_count, trusted_cap;
	struct rby_parts young[YOUNG_MAX]; /* read with this tick */
	size_t young_count;
	struct memory_range *ranges;
	size_t range_cap;
	bool unasked; /* a stack of this tick has code whose method is not known yet */
};

void rby_codes_init(struct rby_codes *c, const struct rby_layout *l);
void rby_codes_free(struct rby_codes *c);
/* Ranges for the next tick's read: call fn for each. */
typedef void rby_range_fn(void *arg, raddr_t at, void *buf, size_t len);
void rby_codes_plan(struct rby_codes *c, rby_range_fn *fn, void *arg);
/*
 * Look at the code of every frame of this tick; `read`: what was planned came.
 * Frames get their stamps, and a frame of Ruby's its position (RBY_POS_*) in
 * place of its pc. A stack whose frames can't be so gets an error.
 */
void rby_codes_stamp(struct rby_codes *c, struct memory *m, struct raw_stacks *stacks, uint32_t tick, uint64_t now_ns,
		     bool read);
/* May the newest frame be one that is linked, but not filled yet? Where compiled code alone does so, a stack that was
 * not held still is rather torn, and better looked at again. */
bool rby_may_be_unfinished(const struct rby_layout *l, const struct raw_stack *stack);
/* The newest frame is none: its caller is the leaf. */
void rby_drop_leaf(struct raw_stack *stack);
/* See runtime_ops.verify. */
struct err rby_codes_verify(struct rby_codes *c, struct memory *m, uint64_t now_ns, struct raw_reuse *reused,
			    size_t cap, size_t *ret);
/* Is this still the code object with this stamp? */
bool rby_codes_is(struct rby_codes *c, struct memory *m, raddr_t code, uint32_t stamp);
/* NULL when it was not met. Valid until the next stamp(). */
struct rby_code *rby_codes_find(struct rby_codes *c, raddr_t code);

/* Positions that are no offset of an instruction. Until they are stamped,
 * frames of Ruby's have their pc. */
static const uint64_t RBY_POS_C = UINT64_MAX;	      /* a C function */
static const uint64_t RBY_POS_GC = UINT64_MAX - 1;    /* the collector */
static const uint64_t RBY_POS_START = UINT64_MAX - 2; /* somewhere in it: compiled code does not always say where */

/* The code of a C function of which no more is known. */
static const raddr_t RBY_CODE_UNKNOWN = 1;

#endif
