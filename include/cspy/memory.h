/* memory.h - read bytes of a target; the only door to its address space. */
#ifndef CSPY_MEMORY_H
#define CSPY_MEMORY_H

#include "cspy/base.h"

struct memory;

/* One range of a scatter read. */
struct memory_range {
	raddr_t at;
	void *buf;
	size_t len;
};

struct memory_ops {
	const char *name; /* "process_vm_readv", "/proc/PID/mem", "snapshot", ... */
	/*
	 * Fill the ranges in order and stop at the first that can't be filled whole; *done is how many were.
	 * A live target serves up to 1024 ranges in one process_vm_readv. Ranges are copied one after the other
	 * while the target may run: what was read is not one moment's truth unless the target is stopped.
	 */
	struct err (*read)(struct memory *m, const struct memory_range *ranges, size_t n, size_t *done);
	void (*close)(struct memory *m);
};

/* Embedded first in the implementation's own struct. */
struct memory {
	const struct memory_ops *ops;
	uint64_t calls; /* scatter reads made, for statistics and tests */
};

/* All or nothing; *done may be NULL. */
MUST_CHECK struct err memory_readv(struct memory *m, const struct memory_range *ranges, size_t n, size_t *done);
MUST_CHECK struct err memory_read(struct memory *m, raddr_t at, void *buf, size_t len);
MUST_CHECK struct err memory_u32(struct memory *m, raddr_t at, uint32_t *ret);
MUST_CHECK struct err memory_u64(struct memory *m, raddr_t at, uint64_t *ret);
MUST_CHECK struct err memory_ptr(struct memory *m, raddr_t at, raddr_t *ret);
/* NUL-terminated copy of at most cap - 1 bytes; a string that runs into unreadable memory is ERR_FAULT. */
MUST_CHECK struct err memory_str(struct memory *m, raddr_t at, char *buf, size_t cap);
void memory_close(struct memory *m); /* accepts NULL */

/* The live process. Falls back to /proc/PID/mem where process_vm_readv is refused or missing. */
MUST_CHECK struct err memory_process_open(pid_t pid, struct memory **ret);

/*
 * A snapshot is a text-free file of (address, length, bytes) ranges that were read from a process once; it answers
 * reads that lie wholly inside what was recorded and ERR_FAULT for everything else.
 */
MUST_CHECK struct err memory_snapshot_open(const char *path, struct memory **ret);
/* What the recorder noted; NULL when it did not, or when m is no snapshot. Lives as long as m. */
const char *memory_snapshot_note(const struct memory *m, const char *key);

/*
 * Passes every read on to `inner` (owned from then on) and keeps what came back, to be written as a snapshot. Of bytes
 * read again, the first reading is kept: a snapshot is meant to be taken of a process that stands still.
 */
struct memory *memory_record_new(struct memory *inner);
/* A line "key=value" for the reader; replaces the key's earlier value. Line breaks become spaces. */
void memory_record_note(struct memory *m, const char *key, const char *value);
MUST_CHECK struct err memory_record_save(struct memory *m, const char *path);

/*
 * For tests: the range with this number (from 0; ranges are counted, not calls) fails with ERR_FAULT, all others go to
 * `inner` (owned from then on).
 */
struct memory *memory_faulty_new(struct memory *inner, uint64_t fail);
/* Was that range asked for? A test that makes each read fail in turn ends when it was not. */
bool memory_faulty_fired(const struct memory *m);

#endif
