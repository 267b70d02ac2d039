/* resolve.h - frames to names, each code object read once. Cold. */
#ifndef RUBY_RESOLVE_H
#define RUBY_RESOLVE_H

#include "codes.h"
#include "cspy/target.h"
#include "lines.h"
#include "objects.h"

enum { RESOLVED_MAX = 1 << 17 };

/* What is known of one code object. */
struct rby_named {
	raddr_t at;	/* 0: empty */
	uint32_t stamp; /* of it when it was read */
	str_id function, name, file, module;
	uint32_t first_line;
	bool library;
	struct rby_lines lines;
};

struct rby_resolver {
	struct rby_named *list; /* open addressed */
	size_t cap, used;
	struct rby_objects objects;
};

void rby_resolver_init(struct rby_resolver *r, struct memory *m, const struct rby_layout *l, raddr_t vm,
		       raddr_t symbols);
void rby_resolver_free(struct rby_resolver *r);
struct err rby_resolve(struct rby_resolver *r, struct rby_codes *codes, struct target *t, const struct raw_frame *frame,
		       struct strings *strings, struct frame_info *ret);

#endif
