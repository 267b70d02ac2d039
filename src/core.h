/* core.h - a core file: the memory, mappings and threads of a process that is no more. */
#ifndef CSPY_CORE_H
#define CSPY_CORE_H

#include "cspy/target.h"

struct core_segment {
	raddr_t start;
	uint64_t size;	    /* in memory */
	uint64_t file_size; /* of that in the core file; the rest was not dumped */
	uint64_t at;	    /* in the core file */
	uint32_t flags;	    /* PF_* */
};

/* A mapped file, as the note NT_FILE has it. */
struct core_file {
	raddr_t start, end;
	uint64_t offset;
	char *path; /* owned */
	int fd;	    /* of the file here, when it is the one that was mapped; -1: not found, -2: not looked for yet */
};

struct core {
	int fd;
	const char *exe;	       /* the user's word for the program's own file, or NULL; borrowed */
	struct core_segment *segments; /* ascending, not overlapping */
	size_t segment_count, segment_cap;
	struct core_file *files; /* ascending */
	size_t file_count, file_cap;
	pid_t *tids; /* the one that ended the process first */
	size_t tid_count, tid_cap;
	pid_t pid;
	int signal; /* what ended it; 0: not known */
	char command[81], name[17];
};

/* ERR_UNSUPPORTED: not a core file of this machine. */
MUST_CHECK struct err core_open(const char *path, const char *exe, struct core **ret);
void core_close(struct core *c); /* accepts NULL */
/* What was not dumped, or not whole, is answered from the mapped files where they are the same ones; else ERR_FAULT. */
MUST_CHECK struct err core_read(struct core *c, raddr_t at, void *buf, size_t len);
/* The file that was mapped there, opened; ERR_UNSUPPORTED: it is not here, or another one by now. */
MUST_CHECK struct err core_open_file(struct core *c, raddr_t at, int *ret);
/* As /proc/PID/maps would have told it; malloc'ed. */
char *core_maps(const struct core *c);

/* memory_core.c: `c` is borrowed. */
struct memory *memory_core_new(struct core *c);

#endif
