/* find.h - where CPython's roots are in a process, and which layout its memory has. Cold. */
#ifndef CPYTHON_FIND_H
#define CPYTHON_FIND_H

#include "cspy/target.h"
#include "layout.h"

struct cpy_roots {
	struct cpy_layout layout; /* a row of layouts/, or what the process says of itself, filled up from a row */
	uint8_t micro;		  /* 3.12.1: 1 */
	char version[32];	  /* "3.12.1", "3.15.0b1" */
	char layout_source[48];	  /* "self-described", "layout 3.12" */
	bool debug_build;	  /* Py_DEBUG or Py_TRACE_REFS: objects may have a longer header */
	raddr_t runtime;	  /* _PyRuntime; 0 to 3.6 */
	raddr_t interp_head;	  /* address of the word that holds the first interpreter */
	raddr_t gil_current;	  /* address of the word that holds the running thread state, to 3.11; else 0 */
	raddr_t gc_collecting;	  /* address of the process-wide flag, or 0 */
};

/*
 * Is this mapping (the first of its file) a CPython, and where are its roots? ERR_UNSUPPORTED: not ours.
 * ERR_CORRUPT: ours, but nothing that decodes (still starting, finalizing, a version without layout): `why`
 * says what.
 */
MUST_CHECK struct err cpy_find(struct target *t, const struct mapping *at, struct image *img, char *why, size_t cap,
			       struct cpy_roots *ret);

/* debug_offsets.c: fill a layout from _Py_DebugOffsets at `runtime` (3.13+). `base` gives what is not
 * described. */
MUST_CHECK struct err cpy_debug_offsets(struct memory *m, raddr_t runtime, struct cpy_layout *ret,
					uint32_t *hexversion);

#endif
