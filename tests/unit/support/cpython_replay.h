/* cpython_replay.h - a CPython of recorded memory. */
#ifndef CPYTHON_REPLAY_H
#define CPYTHON_REPLAY_H

#include "cpython/cpython.h"
#include "replay.h"

extern const struct runtime_ops runtime_cpython;

/* Roots that the notes name; the layout comes from its row, or from what is recorded of the process's own words. */
MUST_CHECK struct err replay_roots(const struct memory *snapshot, struct memory *m, struct cpy_roots *ret);
/* The layout for roots whose version, addresses and flags are known. */
MUST_CHECK struct err replay_layout(struct memory *m, bool self_described, int32_t object_type,
				    struct cpy_roots *roots);

#endif
