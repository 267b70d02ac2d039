/* strings.c - interned strings: equal texts share one id and one address. */
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "cspy/frame.h"
#include "slots.h"

enum {
	BLOCK = 64 * 1024,	  /* a longer string gets a block of its own */
	STRINGS_MAX = 1 << 24,	  /* beyond: a runaway target; answered with "" */
	STRINGS_BYTES = 1 << 30,  /* the same */
	STRING_LEN = 1024 * 1024, /* of one string; the rest is left out */
};

struct text {
	const char *bytes; /* NUL-terminated, never moves */
	size_t len;
};

struct strings {
	struct text *list; /* [0] is "" */
	size_t count, cap;
	char **blocks;
	size_t block_count, block_cap;
	char *free; /* in the block that is being filled */
	size_t left;
	size_t bytes; /* in all blocks */
	struct slots index;
};

static const struct text EMPTY = { "", 0 };

struct strings *strings_new(void)
{
	struct strings *s = xcalloc(1, sizeof(*s));

	xgrow(&s->list, &s->cap, 1, sizeof(*s->list));
	s->list[s->count++] = EMPTY;
	return s;
}

void strings_free(struct strings *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->block_count; i++)
		free(s->blocks[i]);
	free(s->blocks);
	free(s->list);
	slots_free(&s->index);
	free(s);
}

static char *new_block(struct strings *s, size_t len)
{
	xgrow(&s->blocks, &s->block_cap, s->block_count + 1, sizeof(*s->blocks));
	s->bytes += len;
	return s->blocks[s->block_count++] = xcalloc(1, len);
}

static const char *copy(struct strings *s, const char *bytes, size_t len)
{
	char *to;

	if (len + 1 > BLOCK / 4) {
		to = new_block(s, len + 1);
	} else {
		if (len + 1 > s->left) {
			s->free = new_block(s, BLOCK);
			s->left = BLOCK;
		}
		to = s->free;
		s->free += len + 1;
		s->left -= len + 1;
	}
	memcpy(to, bytes, len);
	to[len] = 0;
	return to;
}

static bool equal(const void *owner, uint32_t id, const void *key)
{
	const struct text *have = &((const struct strings *)owner)->list[id], *want = key;

	return have->len == want->len && !memcmp(have->bytes, want->bytes, want->len);
}

str_id strings_add(struct strings *s, const char *bytes, size_t len)
{
	struct text t = { bytes, len ? strnlen(bytes, len < STRING_LEN ? len : STRING_LEN) : 0 };
	uint64_t hash;
	int64_t known;

	if (!t.len)
		return 0;
	hash = XXH3_64bits(t.bytes, t.len);
	known = slots_find(&s->index, hash, equal, s, &t);
	if (known != SLOTS_NONE)
		return (str_id)known;
	if (s->count >= STRINGS_MAX || s->bytes + t.len >= STRINGS_BYTES)
		return 0;
	t.bytes = copy(s, t.bytes, t.len);
	xgrow(&s->list, &s->cap, s->count + 1, sizeof(*s->list));
	s->list[s->count] = t;
	slots_add(&s->index, hash, (uint32_t)s->count);
	return (str_id)s->count++;
}

const char *strings_get(const struct strings *s, str_id id)
{
	return id < s->count ? s->list[id].bytes : "";
}
