/* resolve.h - frames to names, with the code objects that were read once kept. */
#ifndef CPYTHON_RESOLVE_H
#define CPYTHON_RESOLVE_H

#include "code.h"
#include "codes.h"
#include "cspy/runtime.h"

enum { RESOLVED_MAX = 1 << 16 };

struct resolved {
	raddr_t at; /* 0: empty */
	uint32_t stamp;
	struct cpy_code code;
};

/* Code objects by address and stamp; all zero: empty. */
struct resolver {
	struct resolved *list; /* open addressed */
	size_t cap, used;
	raddr_t code_type; /* the type object `code`, once it was met */
};

void resolver_free(struct resolver *r);
MUST_CHECK struct err cpy_resolve(struct resolver *r, struct codes *codes, struct memory *m, const struct cpy_layout *l,
				  const struct raw_frame *frame, struct strings *strings, struct frame_info *ret);

#endif
