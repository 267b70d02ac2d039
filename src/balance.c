/* balance.c - correct the weights of samples read while the target ran by those that were taken paused. */
#include <math.h>
#include <stdlib.h>

#include "balance.h"

/*
 * The paused samples were chosen by a coin thrown before anything was read: their shares are the program's. Samples
 * read while the target ran lean: a leaf that returns within the read is cut off, so code that calls little wins. Part
 * of that is known: what the leaf was when it was first read, within some hundred nanoseconds of the moment that was
 * chosen, while the rest of its stack might change until it was read as well (profile_moved()). Where such a share
 * still differs from the paused one by more than chance explains, the paused one is it; all other functions keep their
 * proportions. Where next to nothing was paused, the leaves first read are all there is.
 */
enum { FAIR_MIN = 100 };	     /* fewer paused samples prove nothing */
static const double SIGNIFICANT = 3; /* standard errors */

/* A leaf function, in samples. */
struct leaf {
	double fair, free; /* paused and unpaused, as they were kept */
	double first;	   /* unpaused, as they were first read */
	double due;	   /* of both, by the program's shares */
	double fair_weight, free_weight;
};

struct leaves {
	struct leaf *list;
	size_t count;
	double fair, free; /* sums */
	str_id cut;	   /* that of stacks which are cut; 0: there are none */
};

static str_id leaf_function(const struct balance *b, const struct profile_node *n)
{
	return frames_get(b->frames, n->frame).function;
}

/* Where no stack of a leaf was kept, its share stays with what was cut. */
static void sum_first(const struct balance *b, struct leaves *all)
{
	double lost = 0;

	for (size_t i = 0; i < all->count; i++)
		all->list[i].first = all->list[i].free;
	for (size_t i = 0; i < b->moved_count; i++) {
		if (i < all->count && all->list[i].fair + all->list[i].free > 0)
			all->list[i].first += (double)b->moved[i];
		else
			lost += (double)b->moved[i];
	}
	if (all->cut)
		all->list[all->cut].first += lost;
	for (size_t i = 0; i < all->count; i++)
		if (all->list[i].first < 0)
			all->list[i].first = 0;
}

/* Functions are told apart by name: bodies of one name share their fate, which is harmless. */
static struct leaves sum_leaves(const struct balance *b)
{
	struct leaves all = { .count = 1 };

	for (size_t i = 0; i < b->count; i++)
		if (leaf_function(b, &b->nodes[i]) >= all.count)
			all.count = leaf_function(b, &b->nodes[i]) + 1;
	all.list = xcalloc(all.count, sizeof(*all.list));
	for (size_t i = 0; i < b->count; i++) {
		const struct profile_node *n = &b->nodes[i];
		struct leaf *l = &all.list[leaf_function(b, n)];

		l->fair += (double)n->fair;
		l->free += (double)n->free;
		all.fair += (double)n->fair;
		all.free += (double)n->free;
		if (n->frame && n->free && frames_get(b->frames, n->frame).kind == FRAME_MARK)
			all.cut = leaf_function(b, n);
	}
	sum_first(b, &all);
	return all;
}

static bool leans(const struct leaves *all, const struct leaf *l)
{
	double a = l->fair / all->fair, b = l->first / all->free, both = (l->fair + l->first) / (all->fair + all->free);

	return fabs(a - b) > SIGNIFICANT * sqrt(both * (1 - both) * (1 / all->fair + 1 / all->free));
}

static void find_due(struct leaves *all)
{
	double total = all->fair + all->free, rest_due = total, rest_fair = 0, rest_first = 0, scale;

	for (size_t i = 0; i < all->count; i++) {
		struct leaf *l = &all->list[i];

		l->due = all->fair < FAIR_MIN ? l->fair + l->first : -1;
		if (l->due < 0 && leans(all, l))
			l->due = l->fair / all->fair * total;
		if (l->due < 0) {
			rest_fair += l->fair;
			rest_first += l->first;
		} else {
			rest_due -= l->due;
		}
	}
	scale = rest_first > 0 && rest_due > rest_fair ? (rest_due - rest_fair) / rest_first : 1;
	for (size_t i = 0; i < all->count; i++)
		if (all->list[i].due < 0)
			all->list[i].due = all->list[i].fair + all->list[i].first * scale;
}

/* A paused sample counts at least once. Where a leaf is due more than was kept of it, its paused stacks are the ones
 * that say best how that is shared among them. */
static void find_weights(struct balance *b, struct leaves *all)
{
	for (size_t i = 0; i < all->count; i++) {
		struct leaf *l = &all->list[i];
		double kept = l->fair + l->free, lean = fabs(l->due - kept) / all->free;

		l->fair_weight = l->free_weight = 1;
		if (l->due > kept && kept > 0)
			l->fair_weight = l->free_weight = l->due / kept;
		else if (l->free > 0)
			l->free_weight = l->due > l->fair ? (l->due - l->fair) / l->free : 0;
		if (kept > 0 && i != all->cut && lean > b->lean) {
			b->lean = lean;
			b->lean_function = (str_id)i;
		}
	}
}

/* Whole numbers that add up: what rounding takes from one node is carried on to the next. */
static void assign(struct balance *b, const struct leaves *all)
{
	double carry = 0;

	for (size_t i = 0; i < b->count; i++) {
		struct profile_node *n = &b->nodes[i];
		const struct leaf *l = &all->list[leaf_function(b, n)];
		double want = (double)n->fair * l->fair_weight + (double)n->free * l->free_weight + carry;

		if (!n->fair && !n->free)
			continue;
		n->self = want >= 0.5 ? (uint64_t)(want + 0.5) : 0;
		if (n->self < n->fair)
			n->self = n->fair;
		carry = want - (double)n->self;
	}
}

void balance(struct balance *b)
{
	bool unpaused = false;

	b->lean = 0;
	b->lean_function = 0;
	for (size_t i = 0; i < b->count; i++) {
		b->nodes[i].self = b->nodes[i].fair + b->nodes[i].free;
		unpaused |= b->nodes[i].free > 0;
	}
	if (unpaused) {
		struct leaves all = sum_leaves(b);

		find_due(&all);
		find_weights(b, &all);
		assign(b, &all);
		free(all.list);
	}
}

void profile_balance(struct profile *p)
{
	struct balance b = { p->frames, p->nodes, p->node_count, p->moved, p->moved_cap, 0, 0 };

	balance(&b);
	p->stats.lean = b.lean;
	p->stats.lean_function = b.lean_function;
}
