/* roster.c - the processes that cspy top watches: whose child each is, and what it did lately. */
#include <stdlib.h>

#include "roster.h"

enum { NOBODY = UINT32_MAX };

void roster_init(struct roster *r, pid_t root)
{
	*r = (struct roster){ .root = root };
}

void roster_free(struct roster *r)
{
	for (size_t i = 0; i < r->count; i++)
		free(r->list[i]);
	free(r->list);
}

void roster_begin(struct roster *r)
{
	for (size_t i = 0; i < r->count; i++)
		r->list[i]->here = false;
}

struct roster_process *roster_meet(struct roster *r, pid_t pid, bool *fresh)
{
	struct roster_process *p = NULL;

	for (size_t i = 0; i < r->count && !p; i++)
		if (r->list[i]->pid == pid)
			p = r->list[i];
	*fresh = !p;
	if (!p) {
		xgrow(&r->list, &r->cap, r->count + 1, sizeof(struct roster_process *));
		p = r->list[r->count++] = xcalloc(1, sizeof(*p));
		p->pid = pid;
		p->depth = 1; /* until it is placed */
	}
	p->here = true;
	return p;
}

static int by_pid(const void *a, const void *b)
{
	const struct roster_process *x = *(struct roster_process *const *)a, *y = *(struct roster_process *const *)b;

	return x->pid < y->pid ? -1 : x->pid > y->pid;
}

/* By id, without those that have ended. */
static void sort_and_drop(struct roster *r)
{
	size_t kept = 0;

	for (size_t i = 0; i < r->count; i++) {
		if (r->list[i]->here)
			r->list[kept++] = r->list[i];
		else
			free(r->list[i]);
	}
	r->count = kept;
	if (kept)
		qsort(r->list, kept, sizeof(struct roster_process *), by_pid);
}

/* Index in the list, which is sorted by id. */
static uint32_t find(const struct roster *r, pid_t pid)
{
	size_t low = 0, high = r->count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (r->list[middle]->pid < pid)
			low = middle + 1;
		else
			high = middle;
	}
	return low < r->count && r->list[low]->pid == pid ? (uint32_t)low : NOBODY;
}

/* The tree, by index in the sorted list. */
struct links {
	uint32_t root;
	struct link {
		uint32_t parent, child, sibling;
	} * list;
};

/* Whose parent is not here hangs below the root: a descendant stays one when its parent ends. */
static struct links link_all(const struct roster *r)
{
	struct links l = { find(r, r->root), xcalloc(r->count + 1, sizeof(*l.list)) };

	for (uint32_t i = 0; i < r->count; i++)
		l.list[i] = (struct link){ NOBODY, NOBODY, NOBODY };
	for (uint32_t i = (uint32_t)r->count; i-- > 0;) {
		uint32_t parent = find(r, r->list[i]->parent);

		if (i == l.root)
			continue;
		parent = parent == NOBODY || parent == i ? l.root : parent;
		if (parent == NOBODY)
			continue;
		l.list[i].parent = parent;
		l.list[i].sibling = l.list[parent].child;
		l.list[parent].child = i;
	}
	return l;
}

/* What is not below the root (ids were used again while they were read) comes last. */
static void put_in_order(struct roster *r)
{
	struct links l = link_all(r);
	struct roster_process **sorted = xcalloc(r->count + 1, sizeof(struct roster_process *));
	size_t n = 0;
	int depth = 0;

	for (uint32_t i = l.root; i != NOBODY;) {
		r->list[i]->depth = depth;
		r->list[i]->here = false;
		sorted[n++] = r->list[i];
		if (l.list[i].child != NOBODY) {
			i = l.list[i].child;
			depth++;
			continue;
		}
		for (; i != NOBODY && l.list[i].sibling == NOBODY; i = l.list[i].parent)
			depth--;
		i = i == NOBODY ? NOBODY : l.list[i].sibling;
	}
	for (size_t i = 0; i < r->count; i++) {
		if (r->list[i]->here) {
			r->list[i]->depth = 1;
			sorted[n++] = r->list[i];
		}
	}
	free(r->list);
	free(l.list);
	r->list = sorted;
	r->cap = r->count + 1;
}

/* Only one thread has the lock at a time; where there is none, all may be said to hold it. */
static void add_thread(struct roster_process *p, const struct tally_shares *th)
{
	struct tally_shares *s = &p->tally.shares;

	p->threads++;
	s->held = s->held + th->held < 1 ? s->held + th->held : 1;
	s->gc = s->gc + th->gc < 1 ? s->gc + th->gc : 1;
	s->wanted = th->wanted > s->wanted ? th->wanted : s->wanted;
}

void roster_end(struct roster *r, const struct tallies *t, uint64_t now_ns)
{
	static const struct profile_looks none;
	uint32_t at = NOBODY;

	sort_and_drop(r);
	for (size_t i = 0; i < r->count; i++) {
		tallies_slide(&r->list[i]->tally, &none, now_ns, t->window_ns);
		r->list[i]->threads = 0;
	}
	for (size_t i = 0; i < t->count; i++) {
		pid_t pid = t->profile->threads[i].pid;

		if (!t->threads[i].alive)
			continue;
		if (at == NOBODY || r->list[at]->pid != pid)
			at = find(r, pid);
		if (at != NOBODY)
			add_thread(r->list[at], &t->threads[i].tally.shares);
	}
	put_in_order(r);
}
