/* lines.h - which line an instruction of an iseq belongs to. Cold. */
#ifndef RUBY_LINES_H
#define RUBY_LINES_H

#include "cspy/memory.h"
#include "layout.h"

/* From this instruction on, until the next run's. */
struct rby_line {
	uint32_t pos; /* word in the iseq */
	int32_t line;
};

struct rby_lines {
	struct rby_line *list;
	size_t count, cap;
};

void rby_lines_free(struct rby_lines *t);
/* Reads and unpacks the table of the iseq with this body, which has so many
 * words. */
MUST_CHECK struct err rby_lines_read(struct memory *m, const struct rby_layout *l, raddr_t body, uint32_t words,
				     struct rby_lines *ret);
/* `pos` is the word after the instruction, as a frame's pc has it. 0: none. */
uint32_t rby_line_at(const struct rby_lines *t, uint64_t pos);

/* The succinct index: which entry of the table holds for a word? From 1; 0:
 * none. `len` bytes of it are there. */
uint32_t rby_succinct_at(const uint8_t *index, size_t len, uint32_t pos);

#endif
