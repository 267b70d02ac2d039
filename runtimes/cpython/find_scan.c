/* find_scan.c - find the roots in the writable memory of a file that has no symbols. */
#include <elf.h>
#include <string.h>
#include <sys/mman.h>

#include "find_steps.h"

enum {
	CHUNK_WORDS = 8192,
	MAX_SCAN = 64 << 20, /* bytes of one file's writable segments */
	MAX_READS = 2000000, /* some seconds, where every word looks like a pointer to an interpreter */
};

struct scan {
	struct target *target;
	const struct cpy_layout *layout;
	raddr_t best;
	size_t chain;	/* interpreters that `best` leads to */
	uint64_t limit; /* of the memory's calls */
};

/* A word that may point to an interpreter: these lie in writable memory, aligned. */
static bool is_likely(const struct scan *s, raddr_t word)
{
	if (word == 0 || word % sizeof(word) != 0)
		return false;
	const struct mapping *m = maps_find(&s->target->maps, word);
	return m && (m->prot & PROT_WRITE);
}

static bool describes_itself(const struct scan *s, raddr_t at, uint64_t word)
{
	struct cpy_layout l;
	uint32_t hex;

	return memcmp(&word, "xdebugpy", sizeof(word)) == 0 &&
	       !failed(cpy_debug_offsets(s->target->memory, at, &l, &hex)) &&
	       cpy_prove_patiently(s->target->memory, &l, at + l.runtime_interp_head) > PROOF_LINKED;
}

/* Is `at` interpreters.head of a _PyRuntime? Then interpreters.main is an interpreter as well. */
static bool is_runtime_head(const struct scan *s, raddr_t at)
{
	const struct cpy_layout *l = s->layout;
	raddr_t main;

	return !failed(memory_ptr(s->target->memory, at + l->runtime_interp_main - l->runtime_interp_head, &main)) &&
	       is_likely(s, main) && cpy_is_interpreter(s->target->memory, l, main);
}

/* True ends the search. */
static bool look(struct scan *s, raddr_t at, uint64_t word)
{
	const struct cpy_layout *l = s->layout;
	size_t chain;

	if (describes_itself(s, at, word)) {
		s->best = at;
		return true;
	}
	if (!l || !is_likely(s, word) || !cpy_is_interpreter(s->target->memory, l, word))
		return false;
	bool in_runtime = cpy_has(l->runtime_interp_head);
	if (in_runtime && !is_runtime_head(s, at))
		return false;
	if (cpy_prove_patiently(s->target->memory, l, at) <= PROOF_LINKED)
		return false;
	if (in_runtime) {
		s->best = at - l->runtime_interp_head;
		return true;
	}
	/* To 3.6 another word holds the main interpreter, which is the list's last: the longest list is the
	 * whole. */
	if (cpy_prove(s->target->memory, l, at, &chain) > PROOF_LINKED && chain > s->chain) {
		s->chain = chain;
		s->best = at;
	}
	return false;
}

static bool scan_range(struct scan *s, raddr_t start, raddr_t end)
{
	uint64_t words[CHUNK_WORDS];

	for (raddr_t at = start; at < end && s->target->memory->calls < s->limit; at += sizeof(words)) {
		size_t len = end - at < sizeof(words) ? end - at : sizeof(words);

		if (failed(memory_read(s->target->memory, at, words, len)))
			continue;
		for (size_t i = 0; i < len / sizeof(*words); i++)
			if (look(s, at + i * sizeof(*words), words[i]))
				return true;
	}
	return false;
}

raddr_t cpy_scan(struct target *t, struct image *img, uint64_t bias, const struct cpy_layout *l)
{
	struct scan s = { .target = t, .layout = l, .limit = t->memory->calls + MAX_READS };
	const struct image_segment *segments;
	size_t n = image_segments(img, &segments), left = MAX_SCAN;

	for (size_t i = 0; i < n; i++) {
		uint64_t size = segments[i].mem_size < left ? segments[i].mem_size : left;
		raddr_t start = (bias + segments[i].svma + 7) & ~7ull;

		if (!(segments[i].flags & PF_W))
			continue;
		left -= size;
		if (scan_range(&s, start, (bias + segments[i].svma + size) & ~7ull))
			break;
	}
	return s.best;
}
