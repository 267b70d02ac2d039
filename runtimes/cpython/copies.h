/* copies.h - local copies of those parts of a thread's stack that are expected to be needed, refreshed every tick. */
#ifndef CPYTHON_COPIES_H
#define CPYTHON_COPIES_H

#include "blocks.h"
#include "cspy/memory.h"

enum {
	PIECE_BYTES = 160,     /* the largest frame header, and a word or two */
	PIECES_MAX = 16384,    /* heap frames or generators of one thread */
	PIECE_KEPT_TICKS = 64, /* not needed for so long: no longer read */
	AGAIN_FRAMES = 4,      /* at the leaf's end are read twice, when asked for: a context and its leaf */
	AGAIN_BYTES = 2048,    /* of the data stack's end, likewise */
	CHUNKS_MAX = 4096,     /* data stack chunks of one thread */
	CHUNK_BYTES_MAX = 64 << 20,
	SLACK = 384, /* copied beyond what was needed of the data stack: a call or two more */
	PAGE_BYTES = 4096,
	PAGES = 32,
};

/* What was not foreseen is read by the page: the next frame is often near. Good for one tick. */
struct page {
	raddr_t at;
	uint32_t tick;
	uint8_t bytes[PAGE_BYTES];
};

struct pages {
	struct page list[PAGES];
	size_t next; /* to be replaced */
};

/* Bytes at this address, from a page of this tick or a new one. */
MUST_CHECK struct err pages_read(struct pages *p, struct memory *m, raddr_t at, void *buf, size_t len, uint32_t tick);

/* One data stack chunk: its live part is copied. */
struct chunk {
	raddr_t at;
	size_t len;  /* copied from `at` */
	size_t size; /* of all of it */
	size_t cap;
	uint8_t *bytes;
	bool valid; /* in this tick */
};

/* One frame outside the chunks. */
struct piece {
	raddr_t at;
	uint32_t used;	/* last tick that needed it */
	uint32_t twice; /* last plan that had it twice */
	bool valid;	/* copied in this tick */
	bool asked;	/* among the last tick's ranges, in this block: */
	uint32_t block;
	bool unreadable;      /* when it was last tried */
	uint32_t again_block; /* of again_blocks, when read twice */
	uint8_t bytes[PIECE_BYTES];
};

struct copies {
	struct chunk *chunks; /* oldest first, the newest is last */
	size_t chunk_count, chunk_cap;
	size_t want;		    /* bytes of the newest chunk to copy: what was needed lately */
	size_t want_next;	    /* the largest need since want was last lowered */
	size_t need;		    /* of the last tick */
	bool late;		    /* in this tick something of the chunks was not foreseen, and read after all else */
	struct blocks blocks;	    /* in which the pieces are read */
	struct blocks again_blocks; /* and read again */
	struct piece *pieces;
	size_t piece_count, piece_cap;
	uint32_t *order; /* pieces in the order in which the last walk met them, leaf first */
	size_t order_count, order_cap;
	raddr_t again_at; /* second copy of the newest chunk's end */
	size_t again_len;
	bool again_valid;
	uint8_t again[AGAIN_BYTES];
	uint32_t *index; /* piece number plus one by address; open addressed */
	size_t index_cap;
};

void copies_free(struct copies *c);
/* The copied bytes at this address, or NULL; copies_find() notes that the walk met them. */
const uint8_t *copies_peek(const struct copies *c, raddr_t at, size_t len);
const uint8_t *copies_find(struct copies *c, raddr_t at, size_t len, uint32_t tick);
/* The piece at this address; NULL: there is none. */
struct piece *copies_known(const struct copies *c, raddr_t at);
/* A new piece, not valid yet; NULL when there are too many. */
struct piece *copies_piece(struct copies *c, raddr_t at, uint32_t tick);
/* Forget the pieces that nobody asked for lately. */
void copies_age(struct copies *c, uint32_t tick);

#endif
