/* blocks.h - small pieces of memory that lie near each other, read as one range. */
#ifndef CPYTHON_BLOCKS_H
#define CPYTHON_BLOCKS_H

#include "cspy/base.h"

/* Pieces within one such stretch share a range: a range more costs as much as a kilobyte or two. */
enum { BLOCK_BYTES = 2048 };

struct block {
	raddr_t at;    /* from the first piece's start */
	size_t len;    /* to the last one's end */
	size_t offset; /* of its copy in blocks.bytes */
	bool valid;    /* was read */
};

struct blocks {
	struct block *list; /* in the order in which their first pieces were added */
	size_t count, cap;
	uint32_t *index; /* number plus one by stretch; open addressed */
	size_t index_cap;
	uint8_t *bytes;
	size_t byte_cap;
};

void blocks_free(struct blocks *b);
void blocks_reset(struct blocks *b);
/* The number of the block that this piece is part of. */
uint32_t blocks_add(struct blocks *b, raddr_t at, size_t len);
/* All pieces are added: make room for the copies. Addresses in bytes are good until the next reset. */
void blocks_place(struct blocks *b);
/* The copy of a piece that was added to this block. */
const uint8_t *blocks_copy(const struct blocks *b, uint32_t block, raddr_t at);

#endif
