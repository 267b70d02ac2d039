/* codes.h - which code object lies at an address now? Addresses are freed and used again. */
#ifndef CPYTHON_CODES_H
#define CPYTHON_CODES_H

#include "cspy/runtime.h"
#include "layout.h"

enum {
	HEADER_BYTES = 192, /* of a code object, from its first to its last field of interest */
	NAME_BYTES = 64,    /* of the object that holds its name: length, hash, characters */
	CODES_MAX = 1 << 18,
	YOUNG_MAX = 256, /* looked at in one tick */
};

/*
 * A code object's stamp is a hash of its header: line, version number, the pointers to its strings; where versions are
 * not numbered (to 3.10), of its name's bytes too, since a new function often gets the addresses of the one before.
 * A code object that was met lately is looked at each time that it is on a stack. One that has been the same for a
 * while is trusted, and looked at again every few milliseconds by verify().
 */
struct code_entry {
	raddr_t code; /* 0: empty */
	raddr_t name;
	uint64_t born_ns; /* since when it has this stamp */
	uint32_t stamp;	  /* never 0 once known */
	uint32_t checked; /* last tick that looked */
	bool trusted;	  /* was used without looking since the last verify */
	bool planned;	  /* is among the young to be read with the next tick */
};

struct young {
	raddr_t code, name;
	uint8_t header[HEADER_BYTES], text[NAME_BYTES];
};

struct codes {
	struct code_entry *list; /* open addressed */
	size_t cap, used;
	raddr_t *trusted; /* used without looking since the last verify */
	size_t trusted_count, trusted_cap;
	struct young young[YOUNG_MAX]; /* read with this tick */
	size_t young_count;
	uint32_t low, len; /* of the header within the object */
	uint32_t name_at;  /* of the name pointer within the header */
	bool by_name;	   /* stamps need the name */
	struct memory_range *ranges;
	size_t range_cap;
};

void codes_init(struct codes *c, const struct cpy_layout *l);
void codes_free(struct codes *c);
/* Ranges for the next tick's read: call fn for each. */
typedef void codes_range_fn(void *arg, raddr_t at, void *buf, size_t len);
void codes_plan(struct codes *c, codes_range_fn *fn, void *arg);
/* Stamps for all frames of this tick; frames[].stamp is set. Stacks whose code can't be looked at get an error. */
void codes_stamp(struct codes *c, struct memory *m, struct raw_stacks *stacks, uint32_t tick, uint64_t now_ns,
		 bool read);
/* See runtime_ops.verify. */
struct err codes_verify(struct codes *c, struct memory *m, uint64_t now_ns, struct raw_reuse *reused, size_t cap,
			size_t *ret);
/* Is this still the code object with this stamp? */
bool codes_is(struct codes *c, struct memory *m, raddr_t code, uint32_t stamp);

#endif
