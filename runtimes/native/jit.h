/* jit.h - which frames of a native stack are functions that a JIT made. */
#ifndef NATIVE_JIT_H
#define NATIVE_JIT_H

#include "cspy/perfmap.h"
#include "cspy/runtime.h"
#include "cspy/symbols.h"

enum { TRAMPOLINES_MAX = 16 };

struct jit {
	struct perfmap *map;
	struct symbols *symbols; /* borrowed */
	bool there;		 /* the map, when it was read last */
	bool functions;		 /* of a stack that has some, those alone */
	uint64_t array_head;	 /* bytes of V8's bytecode arrays before the bytecode; 0: not met yet */
	/* Return addresses in V8's interpreter, as its frames have shown. */
	raddr_t trampolines[TRAMPOLINES_MAX];
	size_t trampoline_count;
};

/* Push the frames of one stack. */
void jit_push(struct jit *j, struct target *t, const struct code_addr *found, size_t count,
	      const struct stack_copy *stack, struct raw_stacks *out);
/* Is it one of the frames that the map names? */
bool jit_is_frame(const struct raw_frame *f);
MUST_CHECK struct err jit_name(struct jit *j, const struct raw_frame *f, struct strings *strings,
			       struct frame_info *ret);

#endif
