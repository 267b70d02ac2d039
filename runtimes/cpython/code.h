/* code.h - one code object, read whole: its names, file and line table. Cold: nothing here is on the sample path. */
#ifndef CPYTHON_CODE_H
#define CPYTHON_CODE_H

#include "cspy/memory.h"
#include "layout.h"

/* Owned strings; "" when the object holds none, never NULL after cpy_code_read(). */
struct cpy_code {
	char *name, *qualname, *filename; /* UTF-8 */
	uint8_t *lines;			  /* the line table's bytes */
	size_t lines_len;
	uint32_t first_line;
	uint32_t code_len; /* bytes of bytecode; 0: not known */
};

MUST_CHECK struct err cpy_code_read(struct memory *m, const struct cpy_layout *l, raddr_t code, struct cpy_code *ret);
void cpy_code_free(struct cpy_code *c); /* accepts NULL */

/*
 * Line and column (from 1; 0 = none) of the instruction at byte `offset` of the bytecode. *line is 0 where the table
 * says that there is none. False when the offset lies outside the table: the frame and the code do not belong together.
 */
bool cpy_line_at(const struct cpy_layout *l, const struct cpy_code *c, uint64_t offset, uint32_t *line,
		 uint32_t *column);

#endif
