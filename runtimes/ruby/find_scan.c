/* find_scan.c - find the roots in the writable memory of a file that names none
 * of them. */
#include <elf.h>
#include <sys/mman.h>

#include "find.h"

enum {
	CHUNK_WORDS = 8192,
	AHEAD_WORDS = 4,	   /* a look may concern the words that follow */
	SCAN_BYTES_MAX = 64 << 20, /* of one file's writable segments */
	SCAN_READS_MAX = 200000,
	LAST_ID_MIN = 200, /* more names than that are made before the first program runs */
	LAST_ID_MAX = 50000000,
};

static bool is_writable(const struct target *t, raddr_t at)
{
	const struct mapping *m = at && at % sizeof(at) == 0 ? maps_find(&t->maps, at) : NULL;

	return m && (m->prot & PROT_WRITE);
}

/* True ends the search. */
typedef bool scan_fn(void *arg, raddr_t at, const uint64_t *words, size_t left);

/* True: ended by fn. The last words of a chunk are looked at with the next one.
 */
static bool scan_range(struct target *t, raddr_t start, raddr_t end, uint64_t limit, scan_fn *fn, void *arg)
{
	uint64_t words[CHUNK_WORDS];
	const raddr_t step = sizeof(words) - AHEAD_WORDS * sizeof(*words);

	for (raddr_t at = start; at < end && t->memory->calls < limit; at += step) {
		size_t len = end - at < sizeof(words) ? end - at : sizeof(words), n = len / sizeof(*words);

		if (failed(memory_read(t->memory, at, words, len)))
			continue;
		for (size_t i = 0; i < n; i++)
			if (fn(arg, at + i * sizeof(*words), words + i, n - i))
				return true;
	}
	return false;
}

void rby_areas_of(struct image *img, uint64_t bias, struct rby_areas *ret)
{
	const struct image_segment *segments;
	size_t n = image_segments(img, &segments);
	uint64_t left = SCAN_BYTES_MAX;

	ret->count = 0;
	for (size_t i = 0; i < n && ret->count < AREAS_MAX; i++) {
		uint64_t size = segments[i].mem_size < left ? segments[i].mem_size : left;

		if (!(segments[i].flags & PF_W))
			continue;
		left -= size;
		ret->list[ret->count].start = (bias + segments[i].svma + 7) & ~7ull;
		ret->list[ret->count++].end = (bias + segments[i].svma + size) & ~7ull;
	}
}

static void scan(struct target *t, const struct rby_areas *areas, scan_fn *fn, void *arg)
{
	uint64_t limit = t->memory->calls + SCAN_READS_MAX;

	for (size_t i = 0; i < areas->count; i++)
		if (scan_range(t, areas->list[i].start, areas->list[i].end, limit, fn, arg))
			return;
}

static bool closes(struct memory *m, const struct rby_layout *l, raddr_t vm)
{
	raddr_t thread, back, context;

	return !failed(memory_ptr(m, vm + (raddr_t)l->vm_main_thread, &thread)) && thread && thread % 8 == 0 &&
	       !failed(memory_ptr(m, thread + (raddr_t)l->thread_vm, &back)) && back == vm &&
	       !failed(memory_ptr(m, thread + (raddr_t)l->thread_ec, &context)) && context && context % 8 == 0 &&
	       !failed(memory_ptr(m, context + (raddr_t)l->ec_thread, &back)) && back == thread;
}

enum rby_loop rby_loop(struct memory *m, const struct rby_layout *l, raddr_t vm_at)
{
	raddr_t vm;

	if (failed(memory_ptr(m, vm_at, &vm)))
		return LOOP_NONE;
	if (!vm)
		return LOOP_NO_VM;
	return vm % 8 == 0 && closes(m, l, vm) ? LOOP_CLOSED : LOOP_NONE;
}

struct search {
	struct target *t;
	const struct rby_layout *l;
	raddr_t found;
};

static bool look_for_vm(void *arg, raddr_t at, const uint64_t *words, size_t left)
{
	struct search *s = arg;

	(void)left;
	if (!is_writable(s->t, words[0]) || !closes(s->t->memory, s->l, words[0]))
		return false;
	s->found = at;
	return true;
}

raddr_t rby_scan_vm(struct target *t, const struct rby_areas *areas, const struct rby_layout *l)
{
	struct search s = { t, l, 0 };

	scan(t, areas, look_for_vm, &s);
	return s.found;
}

/* {u32 last id, pointer, array of arrays of names}: the array's length follows
 * from the last id. */
static bool look_for_symbols(void *arg, raddr_t at, const uint64_t *words, size_t left)
{
	struct search *s = arg;
	uint32_t last = (uint32_t)words[0];
	uint64_t flags, len;

	if (left < 3 || last < LAST_ID_MIN || last > LAST_ID_MAX || !is_writable(s->t, words[1]) ||
	    !is_writable(s->t, words[2]) || failed(memory_u64(s->t->memory, words[2], &flags)) ||
	    (flags & TYPE_MASK) != TYPE_ARRAY)
		return false;
	if (flags & ARRAY_EMBED)
		len = (flags & s->l->array_len_mask) >> ARRAY_LEN_SHIFT;
	else if (failed(memory_u64(s->t->memory, words[2] + ARRAY_LEN, &len)))
		return false;
	if (len != last / SYMBOLS_UNIT + 1 && len != last / SYMBOLS_UNIT + 2)
		return false;
	s->found = at;
	return true;
}

raddr_t rby_scan_symbols(struct target *t, const struct rby_areas *areas, const struct rby_layout *l)
{
	struct search s = { t, l, 0 };

	scan(t, areas, look_for_symbols, &s);
	return s.found;
}
