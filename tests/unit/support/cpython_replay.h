/* cpython_replay.h - a CPython of recorded memory: its roots as notes in the snapshot, and an instance made of them. */
#ifndef CPYTHON_REPLAY_H
#define CPYTHON_REPLAY_H

#include "cpython/cpython.h"

/* Write down what can't be found again without the interpreter's file: the roots, and the OS threads. */
void replay_note(struct memory *record, const struct cpy_roots *roots, const struct target *t);
/* Roots that the notes name; the layout comes from its row, or from what is recorded of the process's own words. */
MUST_CHECK struct err replay_roots(const struct memory *snapshot, struct memory *m, struct cpy_roots *ret);
/* The layout for roots whose version, addresses and flags are known. */
MUST_CHECK struct err replay_layout(struct memory *m, bool self_described, int32_t object_type,
				    struct cpy_roots *roots);

/* A target with nothing but memory (owned) and the threads that the notes of `snapshot` name. */
void replay_target(const struct memory *snapshot, struct memory *m, struct target *ret);
void replay_target_free(struct target *t);

/*
 * Reads go to `inner`, which stays the caller's: what owns its memory can be given one that is used again. What was not
 * recorded around something that was reads as zeros, so that a snapshot outlives a change of how much is read at once.
 */
struct memory *replay_lend(struct memory *inner);
/* Ranges that were asked for so far. */
uint64_t replay_lent(const struct memory *lent);

#endif
