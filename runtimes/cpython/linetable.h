/* linetable.h - the line tables of code objects as bytes: no memory of a target is read here. */
#ifndef CPYTHON_LINETABLE_H
#define CPYTHON_LINETABLE_H

#include "layout.h"

struct cpy_place {
	uint32_t line;	 /* 0: the table says that there is none */
	uint32_t column; /* from 1, in UTF-8 bytes as co_positions() counts; 0: none */
};

/*
 * The place of byte `offset` of the bytecode. False: the table is damaged or ends before. Bounded by `len`
 * whatever the bytes are. lnotab tables have no end: every offset is inside.
 */
bool cpy_line_table(enum cpy_line_table kind, const uint8_t *table, size_t len, uint32_t first_line, uint64_t offset,
		    struct cpy_place *ret);

#endif
