/* find.h - where Ruby's roots are in a process, and which layout its memory
 * has. Cold. */
#ifndef RUBY_FIND_H
#define RUBY_FIND_H

#include "cspy/target.h"
#include "layout.h"

enum { AREAS_MAX = 8 };

/* The writable segments of Ruby's file, where they are in the process. */
struct rby_areas {
	struct {
		raddr_t start, end;
	} list[AREAS_MAX];
	size_t count;
};

struct rby_roots {
	struct rby_layout layout;
	char version[32];	/* "3.1.2" */
	char layout_source[96]; /* in words */
	bool exact;		/* the layout was made for this minor version */
	raddr_t vm;		/* rb_vm_t */
	raddr_t vm_at;		/* the word that points to it */
	raddr_t gc_flags;	/* 0: not known */
	raddr_t symbols;	/* ruby_global_symbols; 0: not found (yet), C functions have
				   no names then */
	struct rby_areas areas;
};

/*
 * Is this mapping (the first of its file) a Ruby, and where are its roots?
 * ERR_UNSUPPORTED: not ours. ERR_CORRUPT: ours, but nothing that decodes (still
 * starting, ending, another layout): `why` says what.
 */
MUST_CHECK struct err rby_find(struct target *t, const struct mapping *at, struct image *img, char *why, size_t cap,
			       struct rby_roots *ret);

/* What the machine code of rb_during_gc() says. */
struct rby_gc_code {
	raddr_t vm_at[2];    /* where the word that points to the VM may be; 0: no such
				guess */
	int32_t vm_objspace; /* NO_FIELD: not seen */
	int32_t objspace_flags;
};

/* decode_gc.c: reads the function at `at`, which is short and exported by every
 * Ruby. */
void rby_decode_gc(struct memory *m, raddr_t at, struct rby_gc_code *ret);

/* find_scan.c: search the words of those areas. 0: not there. */
void rby_areas_of(struct image *img, uint64_t bias, struct rby_areas *ret);
raddr_t rby_scan_vm(struct target *t, const struct rby_areas *areas, const struct rby_layout *l);
raddr_t rby_scan_symbols(struct target *t, const struct rby_areas *areas, const struct rby_layout *l);

/* find_scan.c: does VM -> main thread -> VM, main thread -> context -> main
 * thread close? */
enum rby_loop {
	LOOP_NONE,
	LOOP_NO_VM, /* the pointer is NULL: not started, or ended */
	LOOP_CLOSED,
};
enum rby_loop rby_loop(struct memory *m, const struct rby_layout *l, raddr_t vm_at);

#endif
