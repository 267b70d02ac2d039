/* procfs.h - read small files of /proc. */
#ifndef CSPY_PROCFS_H
#define CSPY_PROCFS_H

#include "cspy/base.h"

/* The whole file below the directory `dir`, NUL-terminated, malloc'ed; NULL (errno set) when it can't be read. */
char *procfs_read(int dir, const char *name, size_t *len);
/* At most cap - 1 bytes, NUL-terminated; -1 (errno set) on failure. */
ssize_t procfs_read_buf(int dir, const char *name, char *buf, size_t cap);
/* A command line with spaces for NULs; "" when it can't be read. */
void procfs_cmdline(int dir, const char *name, char *buf, size_t cap);
/* The fields of stat after the command, which may hold anything: *state, and field numbers as in proc(5). */
struct procfs_stat {
	char state;
	pid_t parent;
	uint64_t flags;	       /* field 9, PF_* of the kernel */
	uint64_t user, system; /* 14 and 15: CPU time, clock ticks */
	uint64_t start_time;   /* 22: clock ticks since boot */
	uint64_t start_code;   /* 26 and 28: where code and stack begin; 0 or 1 where that is not to be known */
	uint64_t start_stack;
};
bool procfs_parse_stat(const char *text, struct procfs_stat *ret);
/* How long ago a process began that has this start_time, in ns. */
uint64_t procfs_age(uint64_t start_time);
/* Value of "Key:" in a status file; NULL when there is none. Points into text. */
const char *procfs_status_value(const char *text, const char *key);

#endif
