/*
 * fuzz_walk.c - a hostile target: memory whose every word comes from the fuzzer, or recorded memory of which some words
 * do. The first byte picks the layout, or the snapshot; no walk may crash, hang, or allocate without bound.
 */
#include <glob.h>
#include <stdlib.h>
#include <string.h>

#include "cpython_replay.h"
#include "map64.h"

enum {
	HEAD = 4,
	SLOTS = 2048,	      /* that the words of recorded memory fall into */
	CHANGES_MAX = 64,     /* words of recorded memory that are changed */
	CHANGE_BYTES = 10,    /* which, and what it becomes */
	READS_MAX = 3000000,  /* ranges of one run: more is a hang */
	TOTAL_MAX = 1u << 30, /* bytes of one run */
};

struct hostile {
	struct memory base;
	const uint8_t *data; /* never NULL, at least 8 bytes */
	size_t size;
	struct memory *snapshot; /* or NULL: all is made up */
	uint64_t ranges, bytes;
	uint8_t change_of[SLOTS]; /* number of the change plus one; 0: as recorded */
	unsigned failing;	  /* one range of so many fails; 0: none does */
};

/*
 * What a word holds: small numbers, pointers near by, pointers anywhere, bytes of the input. A pointer leads to few
 * different places, so that chains meet what they met before.
 */
static uint64_t word_at(const struct hostile *h, raddr_t at)
{
	uint64_t hash = hash_step(0x1234567, at >> 3), word;

	memcpy(&word, h->data + hash % (h->size - 7), sizeof(word));
	switch (word & 7) {
	case 0:
		return 0;
	case 1:
		return word >> 8 & 0xff;
	case 2:
		return word >> 3;
	case 3:
		return at + (word >> 8 & 0x3f8);
	case 4:
		return at & ~0xfffull;
	default:
		return 0x10000 + (word >> 8 & 0xff) * 0x100;
	}
}

static void make_up(const struct hostile *h, const struct memory_range *r)
{
	uint8_t *out = r->buf;

	for (size_t i = 0; i < r->len;) {
		raddr_t at = r->at + i;
		uint64_t word = word_at(h, at);
		size_t skip = at & 7, n = 8 - skip < r->len - i ? 8 - skip : r->len - i;

		memcpy(out + i, (const uint8_t *)&word + skip, n);
		i += n;
	}
}

/* Recorded memory, with some words replaced: which, is told by a hash of their address. */
static bool change(const struct hostile *h, const struct memory_range *r)
{
	uint8_t *out = r->buf;

	if (failed(memory_read(h->snapshot, r->at, r->buf, r->len)))
		return false;
	for (raddr_t at = (r->at + 7) & ~7ull; at + 8 <= r->at + r->len; at += 8) {
		size_t change = h->change_of[hash_step(1, at) % SLOTS];

		if (change)
			memcpy(out + (at - r->at), h->data + (change - 1) * CHANGE_BYTES + 2, 8);
	}
	return true;
}

static void spread_changes(struct hostile *h)
{
	for (size_t k = 0; k < h->size / CHANGE_BYTES && k < CHANGES_MAX; k++) {
		uint16_t which;

		memcpy(&which, h->data + k * CHANGE_BYTES, sizeof(which));
		h->change_of[which % SLOTS] = (uint8_t)(k + 1);
	}
}

static struct err hostile_read(struct memory *m, const struct memory_range *ranges, size_t n, size_t *done)
{
	struct hostile *h = (struct hostile *)m;

	for (*done = 0; *done < n; ++*done) {
		const struct memory_range *r = &ranges[*done];

		h->bytes += r->len;
		if (++h->ranges > READS_MAX || h->bytes > TOTAL_MAX)
			abort();
		if (h->failing && hash_step(h->ranges, r->at) % h->failing == 0)
			return err_at(ERR_FAULT, r->at, "hostile");
		if (!h->snapshot)
			make_up(h, r);
		else if (!change(h, r))
			return err_at(ERR_FAULT, r->at, "hostile");
	}
	return OK;
}

static void hostile_close(struct memory *m)
{
	memory_close(((struct hostile *)m)->snapshot);
}

static void names_of(struct cpy *c, struct target *t)
{
	static const pid_t still[] = { 1 };
	struct said said;

	/* What is said has to be printable, whatever it is: as far as it is terminated and bounded. */
	said_take(&said, &runtime_cpython, c, t, still, 1);
	for (size_t i = 0; i < said.local_count; i++)
		if (strlen(said.locals[i].value) >= 512 || strlen(said.locals[i].name) >= 256)
			abort();
	for (size_t i = 0; i < said.thread_count; i++)
		if (said.threads[i].count > 1000)
			abort();
	said_free(&said);
}

static void run(const struct cpy_roots *roots, struct target *t)
{
	struct cpy *c;

	if (failed(cpy_attach_roots(roots, t, &c)))
		return;
	names_of(c, t);
	runtime_cpython.detach(c);
}

/* A layout of the rows, or one that the process says of itself. */
static void run_made_up(struct hostile *h, unsigned pick, bool free_threaded)
{
	struct target t = { .pidfd = -1, .proc = -1, .pid = 1, .ns_pid = 1, .memory = &h->base };
	struct cpy_roots roots = { .runtime = 0x10000, .interp_head = 0x10000 };
	unsigned rows = 0;
	uint32_t hex;

	while (cpy_layout_at(rows))
		rows++;
	roots.layout = *cpy_layout_at(pick % rows);
	roots.layout.free_threaded = free_threaded && roots.layout.frames == FRAMES_STACK;
	if (roots.layout.gil != GIL_INTERPRETER)
		roots.gil_current = 0x10008;
	if (pick / rows % 2) {
		struct err e = cpy_debug_offsets(&h->base, roots.runtime, &roots.layout, &hex);

		if (failed(e))
			return;
	}
	run(&roots, &t);
}

static void run_changed(struct hostile *h, const char *path)
{
	struct cpy_roots roots;
	struct target t;

	if (failed(memory_snapshot_open(path, &h->snapshot)))
		return;
	spread_changes(h);
	replay_target(h->snapshot, &h->base, &t);
	if (!failed(replay_roots(h->snapshot, &h->base, &roots)))
		run(&roots, &t);
	replay_target_free(&t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct memory_ops ops = { "hostile", hostile_read, hostile_close };
	struct hostile h = { .base.ops = &ops };
	glob_t found = { 0 };

	if (size < HEAD + 8)
		return 0;
	h.data = data + HEAD;
	h.size = size - HEAD;
	h.failing = data[1] & 1 ? data[2] + 2u : 0;
	if (data[1] & 2 && glob("fixtures/snapshots/cpython/*/*.snap", 0, NULL, &found) == 0)
		run_changed(&h, found.gl_pathv[data[0] % found.gl_pathc]);
	else
		run_made_up(&h, data[0], data[1] & 4);
	globfree(&found);
	return 0;
}
