/* balance.c - correct the weights of samples read while the target ran by those that were taken paused. */
#include <math.h>
#include <stdlib.h>

#include "cspy/profile.h"

/*
 * The paused samples were chosen by a coin thrown before anything was read: their shares are the program's. Samples
 * read while the target ran lean: a leaf that returns within the read is cut off, so code that calls little wins.
 * Per leaf function both kinds give a share. Where they differ by more than chance explains, the unpaused samples
 * get the weight that makes their share the paused ones'; all other functions keep their proportions.
 */
/*
 * Where nothing was paused, the fair shares are those of the leaves as they were first read: a leaf is read within some
 * hundred nanoseconds of the moment that was chosen, while the rest of its stack may change until it is read as well.
 */
enum { FAIR_MIN = 100 };	     /* fewer paused samples prove nothing */
static const double SIGNIFICANT = 3; /* standard errors */

struct leaf {
	double fair, free; /* samples */
	double weight;	   /* of one unpaused sample */
	bool leans;
};

static str_id leaf_function(const struct profile *p, node_id node)
{
	return frames_get(p->frames, p->nodes[node].frame).function;
}

/* Functions are told apart by name: bodies of one name share their fate, which is harmless. */
static struct leaf *sum_leaves(const struct profile *p, size_t *count)
{
	struct leaf *leaves;

	*count = 1;
	for (node_id i = 0; i < p->node_count; i++)
		if (leaf_function(p, i) >= *count)
			*count = leaf_function(p, i) + 1;
	leaves = xcalloc(*count, sizeof(*leaves));
	for (node_id i = 0; i < p->node_count; i++) {
		struct leaf *l = &leaves[leaf_function(p, i)];

		l->fair += (double)p->nodes[i].fair;
		l->free += (double)p->nodes[i].free;
	}
	return leaves;
}

static void note_lean(struct profile *p, str_id function, double lean)
{
	if (lean <= p->stats.lean)
		return;
	p->stats.lean = lean;
	p->stats.lean_function = function;
}

/* Mark what leans, note the worst, and give every leaf its weight. */
static void weigh(struct profile *p, struct leaf *leaves, size_t count, double fair, double free_)
{
	double rest_fair = 1, rest_free = 1;

	for (size_t i = 0; i < count; i++) {
		struct leaf *l = &leaves[i];
		double a = l->fair / fair, b = l->free / free_, both = (l->fair + l->free) / (fair + free_);
		double error = sqrt(both * (1 - both) * (1 / fair + 1 / free_));

		l->leans = fabs(a - b) > SIGNIFICANT * error && l->free > 0;
		if (!l->leans)
			continue;
		note_lean(p, (str_id)i, fabs(a - b));
		l->weight = a / b;
		rest_fair -= a;
		rest_free -= b;
	}
	for (size_t i = 0; i < count; i++)
		if (!leaves[i].leans)
			leaves[i].weight = rest_free > 0 && rest_fair > 0 ? rest_fair / rest_free : 1;
}

/* The leaf of stacks that are cut; 0: there are none. */
static str_id cut_leaf(const struct profile *p)
{
	for (node_id i = 1; i < p->node_count; i++)
		if (p->nodes[i].free && frames_get(p->frames, p->nodes[i].frame).kind == FRAME_MARK)
			return leaf_function(p, i);
	return 0;
}

/* By the leaves as they were first read. Where no stack of such a leaf was kept, its share stays with what was cut. */
static void weigh_by_first(struct profile *p, struct leaf *leaves, size_t count, double free_)
{
	str_id cut = cut_leaf(p);
	double lost = 0;

	for (size_t i = 0; i < p->moved_cap; i++)
		if (p->moved[i] > 0 && (i >= count || leaves[i].free < 1))
			lost += (double)p->moved[i];
	for (size_t i = 0; i < count; i++) {
		struct leaf *l = &leaves[i];
		double first = l->free + (i < p->moved_cap ? (double)p->moved[i] : 0) + (i == cut ? lost : 0);

		l->weight = l->free > 0 && first > 0 ? first / l->free : 0;
		if (l->free > 0 && i != cut)
			note_lean(p, (str_id)i, fabs(first - l->free) / free_);
	}
}

/* Whole numbers that add up: what rounding takes from one node is carried on to the next. */
static void assign(struct profile *p, const struct leaf *leaves)
{
	double carry = 0;

	for (node_id i = 0; i < p->node_count; i++) {
		struct profile_node *n = &p->nodes[i];
		double want;

		n->self = n->fair;
		if (!n->free)
			continue;
		want = (double)n->free * leaves[leaf_function(p, i)].weight + carry;
		if (want >= 0.5)
			n->self += (uint64_t)(want + 0.5);
		carry = want - (double)(n->self - n->fair);
	}
}

void profile_balance(struct profile *p)
{
	double fair = 0, free_ = 0;
	struct leaf *leaves;
	size_t count;

	p->stats.lean = 0;
	p->stats.lean_function = 0;
	for (node_id i = 0; i < p->node_count; i++) {
		struct profile_node *n = &p->nodes[i];

		n->self = n->fair + n->free;
		fair += (double)n->fair;
		free_ += (double)n->free;
	}
	if (free_ < 1 || (fair < FAIR_MIN && !p->moved_cap))
		return;
	leaves = sum_leaves(p, &count);
	if (fair < FAIR_MIN)
		weigh_by_first(p, leaves, count, free_);
	else
		weigh(p, leaves, count, fair, free_);
	assign(p, leaves);
	free(leaves);
}
