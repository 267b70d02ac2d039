/* source.h - a source file's lines, read as the target sees the file. */
#ifndef CSPY_SOURCE_H
#define CSPY_SOURCE_H

#include "cspy/target.h"

/*
 * malloc'ed lines without their ends, in a malloc'ed list; NULL when there are none, and `why` (cap bytes) says why. A
 * relative path is one from the target's working directory. Bounded: 8 MiB, 1 M lines.
 */
char **source_read(struct target *t, const char *path, size_t *count, char *why, size_t cap);

#endif
