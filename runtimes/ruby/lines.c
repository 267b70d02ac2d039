/* lines.c - which line an instruction of an iseq belongs to. */
#include <stdlib.h>
#include <string.h>

#include "lines.h"

enum {
	ENTRIES_MAX = 1 << 20,
	ENTRY_BYTES_MAX = 12,
	/* The index: six words of nine 7-bit numbers, then a block for each 512
	   positions. */
	SMALL_BYTES = 48,
	SMALL_POSITIONS = 54,
	SMALL_BITS = 7,
	SMALL_IN_WORD = 9,
	BLOCK_BYTES = 80,
	BLOCK_POSITIONS = 512,
	BLOCK_RANKS = 8, /* within a block: after its rank, seven 9-bit ranks of its
			    words but the first */
	BLOCK_WORDS = 16,
	RANK_BITS = 9,
};

void rby_lines_free(struct rby_lines *t)
{
	free(t->list);
	*t = (struct rby_lines){ 0 };
}

static uint64_t word_at(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static uint32_t half_at(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static size_t succinct_len(uint32_t words)
{
	uint32_t blocks =
		words <= SMALL_POSITIONS ? 0 : (words - SMALL_POSITIONS + BLOCK_POSITIONS - 1) / BLOCK_POSITIONS;

	return SMALL_BYTES + (size_t)blocks * BLOCK_BYTES;
}

uint32_t rby_succinct_at(const uint8_t *index, size_t len, uint32_t pos)
{
	const uint8_t *block;
	uint32_t in_block, word;
	uint64_t bits, ranks;

	if (pos < SMALL_POSITIONS) {
		if (len < SMALL_BYTES)
			return 0;
		bits = word_at(index + pos / SMALL_IN_WORD * 8);
		return bits >> SMALL_BITS * (pos % SMALL_IN_WORD) & ((1 << SMALL_BITS) - 1);
	}
	in_block = (pos - SMALL_POSITIONS) % BLOCK_POSITIONS;
	if (len < SMALL_BYTES + ((size_t)(pos - SMALL_POSITIONS) / BLOCK_POSITIONS + 1) * BLOCK_BYTES)
		return 0;
	block = index + SMALL_BYTES + (size_t)(pos - SMALL_POSITIONS) / BLOCK_POSITIONS * BLOCK_BYTES;
	word = in_block / 64;
	ranks = word_at(block + BLOCK_RANKS);
	bits = word_at(block + BLOCK_WORDS + word * 8) << (63 - in_block % 64);
	return half_at(block) + (word ? (uint32_t)(ranks >> RANK_BITS * (word - 1)) & ((1 << RANK_BITS) - 1) : 0) +
	       (uint32_t)__builtin_popcountll(bits);
}

static void add_line(struct rby_lines *t, uint32_t pos, int32_t line)
{
	if (t->count && t->list[t->count - 1].line == line)
		return;
	xgrow(&t->list, &t->cap, t->count + 1, sizeof(*t->list));
	t->list[t->count++] = (struct rby_line){ pos, line };
}

/* Everything that the table of one iseq consists of, read. */
struct table {
	uint32_t count;
	uint8_t *entries;
	uint32_t *positions; /* NULL: in the entries (2.5), or in the index */
	uint8_t *index;
	size_t index_len;
};

static void table_free(struct table *t)
{
	free(t->entries);
	free(t->positions);
	free(t->index);
}

static struct err read_table(struct memory *m, const struct rby_layout *l, raddr_t body, uint32_t words,
			     struct table *t)
{
	raddr_t entries, positions = 0, index = 0;
	struct err e = memory_u32(m, body + (raddr_t)l->body_line_count, &t->count);

	if (!failed(e))
		e = memory_ptr(m, body + (raddr_t)l->body_lines, &entries);
	if (!failed(e) && rby_has(l->body_positions))
		e = memory_ptr(m, body + (raddr_t)l->body_positions, &positions);
	if (!failed(e) && rby_has(l->body_succinct))
		e = memory_ptr(m, body + (raddr_t)l->body_succinct, &index);
	if (failed(e) || !t->count)
		return e;
	if (t->count > ENTRIES_MAX || l->line_size > ENTRY_BYTES_MAX)
		return err_at(ERR_CORRUPT, body, "reading a line table");
	t->entries = xcalloc(t->count, (size_t)l->line_size);
	e = memory_read(m, entries, t->entries, t->count * (size_t)l->line_size);
	if (failed(e) || l->lines == LINES_ENTRIES || t->count == 1)
		return e;
	if (positions) {
		t->positions = xcalloc(t->count, sizeof(*t->positions));
		return memory_read(m, positions, t->positions, t->count * sizeof(*t->positions));
	}
	t->index_len = succinct_len(words);
	t->index = xcalloc(1, t->index_len);
	return memory_read(m, index, t->index, t->index_len);
}

static int32_t line_of(const struct rby_layout *l, const struct table *t, uint32_t i)
{
	return (int32_t)half_at(t->entries + (size_t)i * (size_t)l->line_size + l->line_at);
}

static void unpack(const struct rby_layout *l, const struct table *t, uint32_t words, struct rby_lines *ret)
{
	if (t->index) {
		for (uint32_t pos = 0; pos < words; pos++) {
			uint32_t i = rby_succinct_at(t->index, t->index_len, pos);

			if (i && i <= t->count)
				add_line(ret, pos, line_of(l, t, i - 1));
		}
		return;
	}
	for (uint32_t i = 0; i < t->count; i++) {
		uint32_t pos = t->positions		   ? t->positions[i]
			       : l->lines == LINES_ENTRIES ? half_at(t->entries + (size_t)i * (size_t)l->line_size)
							   : 0;

		add_line(ret, pos, line_of(l, t, i));
	}
}

struct err rby_lines_read(struct memory *m, const struct rby_layout *l, raddr_t body, uint32_t words,
			  struct rby_lines *ret)
{
	struct table t = { 0 };
	struct err e = read_table(m, l, body, words, &t);

	*ret = (struct rby_lines){ 0 };
	if (!failed(e) && t.count)
		unpack(l, &t, words, ret);
	table_free(&t);
	return e;
}

uint32_t rby_line_at(const struct rby_lines *t, uint64_t pos)
{
	size_t low = 0, high = t->count;

	/* A pc is already behind the instruction that runs. */
	if (pos)
		pos--;
	while (low < high) {
		size_t middle = (low + high) / 2;

		if (t->list[middle].pos <= pos)
			low = middle + 1;
		else
			high = middle;
	}
	return low && t->list[low - 1].line > 0 ? (uint32_t)t->list[low - 1].line : 0;
}
