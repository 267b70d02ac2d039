/* slots.c - an open-addressed set of 32-bit ids, by hash. */
#include <stdlib.h>

#include "slots.h"

enum { SLOTS_FIRST = 64 };

int64_t slots_find(const struct slots *s, uint64_t hash, slots_equal_fn *equal, const void *owner, const void *key)
{
	if (!s->cap)
		return SLOTS_NONE;
	/* Ends: slots_add() keeps a third of the slots empty. */
	for (size_t i = (uint32_t)hash & (s->cap - 1); s->list[i].id; i = (i + 1) & (s->cap - 1)) {
		if (s->list[i].hash == (uint32_t)hash && equal(owner, s->list[i].id - 1, key))
			return s->list[i].id - 1;
	}
	return SLOTS_NONE;
}

static void place(struct slots *s, struct slot slot)
{
	size_t i = slot.hash & (s->cap - 1);

	while (s->list[i].id)
		i = (i + 1) & (s->cap - 1);
	s->list[i] = slot;
}

static void grow(struct slots *s)
{
	struct slots bigger = { .cap = s->cap ? s->cap * 2 : SLOTS_FIRST, .used = s->used };

	bigger.list = xcalloc(bigger.cap, sizeof(*bigger.list));
	for (size_t i = 0; i < s->cap; i++) {
		if (s->list[i].id)
			place(&bigger, s->list[i]);
	}
	slots_free(s);
	*s = bigger;
}

void slots_add(struct slots *s, uint64_t hash, uint32_t id)
{
	if ((s->used + 1) * 3 > s->cap * 2)
		grow(s);
	place(s, (struct slot){ (uint32_t)hash, id + 1 });
	s->used++;
}

void slots_free(struct slots *s)
{
	free(s->list);
	*s = (struct slots){ 0 };
}
