/* find_steps.h - the steps of cpy_find(): which version, where it may be, and whether that decodes. */
#ifndef CPYTHON_FIND_STEPS_H
#define CPYTHON_FIND_STEPS_H

#include "find.h"

struct cpy_version {
	unsigned major, minor, micro;
	char text[32]; /* "3.12.1", "3.15.0b1"; "3.12" where no more is known; "" nothing is known */
};

void cpy_version_from_hex(uint32_t hex, struct cpy_version *ret); /* PY_VERSION_HEX */
/* From the symbol Py_Version, else from what only an interpreter's read-only data holds. False: not a
 * CPython. */
bool cpy_version_find(struct image *img, struct cpy_version *ret);
/* "…/libpython3.8.so.1.0", "/usr/bin/python3.8" */
bool cpy_version_from_path(const char *path, struct cpy_version *ret);

/* How far a word that should hold the first interpreter was followed, in rising order. */
enum cpy_proof {
	PROOF_NONE,	 /* leads nowhere, or to something else */
	PROOF_EMPTY,	 /* 0: no interpreter yet, or no more */
	PROOF_NO_THREAD, /* an interpreter without threads: still starting, or finalizing */
	PROOF_LINKED,	 /* threads lead back to their interpreter, but nothing else decodes */
	PROOF_MODULES,	 /* and sys.modules is a dict: threads without frames, in native code */
	PROOF_FRAME,	 /* and a frame's code object is one */
};

/* Follow the word at `head`. *chain (may be NULL) is the number of interpreters. */
enum cpy_proof cpy_prove(struct memory *m, const struct cpy_layout *l, raddr_t head, size_t *chain);
/* The same, again and again while the target's own doing may have been in the way. */
enum cpy_proof cpy_prove_patiently(struct memory *m, const struct cpy_layout *l, raddr_t head);
/* Does its first thread lead back to it, and is its sys.modules a dict? */
bool cpy_is_interpreter(struct memory *m, const struct cpy_layout *l, raddr_t interp);
/* Is this a thread state of an interpreter in the list? */
bool cpy_is_thread(struct memory *m, const struct cpy_layout *l, raddr_t head, raddr_t thread);

/*
 * Search the file's writable segments, moved by `bias`, for _PyRuntime or (to 3.6) for interp_head; `l` is
 * the layout to assume, NULL: only what describes itself. Answers the address of the struct or word, 0 when
 * there is none.
 */
raddr_t cpy_scan(struct target *t, struct image *img, uint64_t bias, const struct cpy_layout *l);

#endif
