/* output.h - an output file that is there whole or not at all. */
#ifndef CSPY_OUTPUT_H
#define CSPY_OUTPUT_H

#include <stdio.h>

#include "cspy/base.h"

/*
 * Everything is written to memory first; output_commit() then copies it beside the file as .NAME.XXXXXX and
 * renames that. What is no regular file (a pipe, a device, "-" for standard output) is written to directly.
 */
struct output {
	FILE *stream;	  /* write here */
	const char *path; /* borrowed */
};

/* Will `path` be writable later? To be asked before work is put into what goes there. */
MUST_CHECK struct err output_check(const char *path);
bool output_is_file(const char *path); /* there is a regular file, or nothing yet */
MUST_CHECK struct err output_open(const char *path, struct output *ret);
/*
 * Both end the output. A signal that ends the program leaves no part of a file behind. ERR_OS with the errno
 * of what failed: ENOSPC and such.
 */
MUST_CHECK struct err output_commit(struct output *o);
void output_abort(struct output *o);

/* %p is the process id, %t the local time as 20300131-235959, %% a percent sign. malloc'ed. */
char *output_name(const char *pattern, pid_t pid, uint64_t unix_ns);

#endif
