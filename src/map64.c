/* map64.c - an open-addressed map from 64-bit hashes to small values. */
#include <stdlib.h>
#include <string.h>

#include "map64.h"

enum { FIRST_CAP = 1024 };

void map64_init(struct map64 *m, size_t max)
{
	*m = (struct map64){ .list = xcalloc(FIRST_CAP, sizeof(*m->list)), .cap = FIRST_CAP, .max = max };
}

void map64_free(struct map64 *m)
{
	free(m->list);
	*m = (struct map64){ 0 };
}

static struct map64_slot *empty_slot(struct map64_slot *list, size_t cap, uint64_t key)
{
	size_t i = key & (cap - 1);

	while (list[i].key)
		i = (i + 1) & (cap - 1);
	return &list[i];
}

static void grow(struct map64 *m)
{
	size_t cap = m->cap * 2;
	struct map64_slot *list = xcalloc(cap, sizeof(*list));

	for (size_t i = 0; i < m->cap; i++)
		if (m->list[i].key)
			*empty_slot(list, cap, m->list[i].key) = m->list[i];
	free(m->list);
	m->list = list;
	m->cap = cap;
}

uint64_t *map64_put(struct map64 *m, uint64_t key, bool *fresh)
{
	uint64_t *found = map64_find(m, key);
	struct map64_slot *slot;

	*fresh = false;
	if (found)
		return found;
	if (m->used >= m->max) {
		memset(m->list, 0, m->cap * sizeof(*m->list));
		m->used = 0;
		*fresh = true;
	} else if (m->used >= m->cap / 4 * 3) {
		grow(m);
	}
	slot = empty_slot(m->list, m->cap, key);
	slot->key = key;
	m->used++;
	return &slot->value;
}
