/* frames.c - interned frames: equal infos share one id. */
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "cspy/frame.h"
#include "slots.h"

enum { FRAMES_MAX = 1 << 24 }; /* beyond: a runaway target; answered with 0 */

struct frames {
	struct strings *strings; /* borrowed */
	struct frame_info *list; /* [0] is no frame */
	size_t count, cap;
	struct slots index;
};

struct frames *frames_new(struct strings *s)
{
	struct frames *f = xcalloc(1, sizeof(*f));

	f->strings = s;
	xgrow(&f->list, &f->cap, 1, sizeof(*f->list));
	f->count = 1;
	return f;
}

void frames_free(struct frames *f)
{
	if (!f)
		return;
	free(f->list);
	slots_free(&f->index);
	free(f);
}

struct strings *frames_strings(const struct frames *f)
{
	return f->strings;
}

static bool equal(const void *owner, uint32_t id, const void *key)
{
	/* NOLINTNEXTLINE(bugprone-suspicious-memory-comparison,cert-exp42-c,cert-flp37-c): see normalise() */
	return !memcmp(&((const struct frames *)owner)->list[id], key, sizeof(struct frame_info));
}

/* The same fields with the padding zeroed, so that bytes may be hashed and compared. */
static void normalise(const struct frame_info *from, struct frame_info *ret)
{
	memset(ret, 0, sizeof(*ret));
	ret->function = from->function;
	ret->name = from->name;
	ret->file = from->file;
	ret->module = from->module;
	ret->line = from->line;
	ret->column = from->column;
	ret->first_line = from->first_line;
	ret->kind = from->kind;
	ret->library = from->library;
}

frame_id frames_add(struct frames *f, struct frame_info info)
{
	struct frame_info key;
	uint64_t hash;
	int64_t known;

	normalise(&info, &key);
	hash = XXH3_64bits(&key, sizeof(key));
	known = slots_find(&f->index, hash, equal, f, &key);
	if (known != SLOTS_NONE)
		return (frame_id)known;
	if (f->count >= FRAMES_MAX)
		return 0;
	xgrow(&f->list, &f->cap, f->count + 1, sizeof(*f->list));
	memcpy(&f->list[f->count], &key, sizeof(key)); /* an assignment need not copy the padding */
	slots_add(&f->index, hash, (uint32_t)f->count);
	return (frame_id)f->count++;
}

struct frame_info frames_get(const struct frames *f, frame_id id)
{
	return f->list[id < f->count ? id : 0];
}

size_t frames_count(const struct frames *f)
{
	return f->count;
}
