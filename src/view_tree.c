/* view_tree.c - the call tree, from the root on; branches open and close. */
#include <stdlib.h>

#include "map64.h"
#include "page.h"

enum {
	DEPTH_MAX = 256, /* of what is opened */
	CHOICES_MAX = 1 << 16,
	OPEN = 1,
	CLOSED,
	INDENT_MAX = 40, /* columns */
};
static const double OPEN_PERCENT = 5; /* a branch is open from this share on, until the user says otherwise */

struct tree {
	struct map64 choices; /* OPEN or CLOSED, by row */
};

/* The trie seen from its parents, while rows are made. */
struct builder {
	struct page *p;
	struct tree *tree;
	uint64_t *total;	  /* by node */
	node_id *child, *sibling; /* first and next; 0: none */
	struct node_key {
		uint64_t key; /* equal: shown as one */
		node_id node;
	} * list; /* a stack of lists: children of what is being opened */
	size_t count, cap;
};

/* Nodes that are shown as one row. */
struct branch {
	size_t first, count; /* in the list */
	uint64_t own, total;
};

void view_tree_free(void *tree)
{
	struct tree *t = tree;

	if (t)
		map64_free(&t->choices);
	free(t);
}

static struct tree *tree_of(struct page *p)
{
	struct tree *t = p->tree;

	if (!t) {
		t = p->tree = xcalloc(1, sizeof(*t));
		map64_init(&t->choices, CHOICES_MAX);
	}
	return t;
}

static void sum_up(struct builder *b)
{
	const struct profile *profile = b->p->profile;
	size_t n = b->p->shares.node_count;

	b->total = xcalloc(n + 1, sizeof(*b->total));
	b->child = xcalloc(n + 1, sizeof(*b->child));
	b->sibling = xcalloc(n + 1, sizeof(*b->sibling));
	for (size_t i = n; i-- > 1;) { /* children come after their parents */
		node_id parent = profile->nodes[i].parent;

		b->total[i] += page_samples(b->p, (node_id)i);
		if (!b->total[i])
			continue;
		b->total[parent] += b->total[i];
		b->sibling[i] = b->child[parent];
		b->child[parent] = (node_id)i;
	}
}

static bool is_hidden(const struct page *p, node_id node)
{
	uint32_t row = shares_row(&p->shares, SHARES_LINES, p->profile->nodes[node].frame);

	return row != SHARES_NONE && !shares_shown(&p->shares, &p->shares.rows[SHARES_LINES][row]);
}

static uint64_t key_of(const struct page *p, node_id node)
{
	frame_id frame = p->profile->nodes[node].frame;
	uint32_t row = shares_row(&p->shares, p->by, frame);

	return row == SHARES_NONE ? 1ull << 32 | frame : row;
}

/* The children of a node; in place of a hidden one, its own. */
static void push_children(struct builder *b, node_id node, int depth)
{
	for (node_id c = b->child[node]; c; c = b->sibling[c]) {
		if (is_hidden(b->p, c) && depth < DEPTH_MAX) {
			push_children(b, c, depth + 1);
			continue;
		}
		xgrow(&b->list, &b->cap, b->count + 1, sizeof(*b->list));
		b->list[b->count++] = (struct node_key){ key_of(b->p, c), c };
	}
}

static int by_key(const void *a, const void *b)
{
	const struct node_key *x = a, *y = b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return x->node < y->node ? -1 : x->node > y->node;
}

static int by_total(const void *a, const void *b)
{
	const struct branch *x = a, *y = b;

	if (x->total != y->total)
		return x->total < y->total ? 1 : -1;
	return x->first < y->first ? -1 : x->first > y->first;
}

/* What the children from `first` on in the list are shown as; malloc'ed. */
static struct branch *merge(struct builder *b, size_t first, size_t *count)
{
	struct branch *branches = NULL;
	size_t n = 0, cap = 0;

	qsort(b->list + first, b->count - first, sizeof(*b->list), by_key);
	for (size_t i = first; i < b->count; i++) {
		struct branch *br;

		if (i == first || b->list[i].key != b->list[i - 1].key) {
			xgrow(&branches, &cap, n + 1, sizeof(*branches));
			branches[n++] = (struct branch){ .first = i };
		}
		br = &branches[n - 1];
		br->count++;
		br->own += page_samples(b->p, b->list[i].node);
		br->total += b->total[b->list[i].node];
	}
	if (n)
		qsort(branches, n, sizeof(*branches), by_total);
	*count = n;
	return branches;
}

static bool is_open(const struct builder *b, uint64_t id, uint64_t total)
{
	const uint64_t *choice = map64_find(&b->tree->choices, id);

	return choice ? *choice == OPEN : page_percent(total, b->total[0]) >= OPEN_PERCENT;
}

/* Rows for the children from `first` on in the list, and below those that are open. */
static void show(struct builder *b, size_t first, uint64_t path, int depth)
{
	size_t end = b->count, n;
	struct branch *branches = merge(b, first, &n);

	for (size_t i = 0; i < n; i++) {
		const struct branch *br = &branches[i];
		uint64_t id = map64_key(hash_step(path, b->list[br->first].key + 1));
		node_id node = b->list[br->first].node;

		page_push(b->p, (struct page_row){
					.id = id,
					.index = b->p->profile->nodes[node].frame,
					.depth = depth,
					.own = br->own,
					.total = br->total,
				});
		if (depth == DEPTH_MAX || !is_open(b, id, br->total))
			continue;
		for (size_t k = 0; k < br->count; k++)
			push_children(b, b->list[br->first + k].node, 0);
		show(b, end, id, depth + 1);
		b->count = end;
	}
	free(branches);
}

static void fill(struct page *p)
{
	struct builder b = { .p = p, .tree = tree_of(p) };

	sum_up(&b);
	push_children(&b, 0, 0);
	if (b.count)
		show(&b, 0, 1, 0);
	free(b.total);
	free(b.child);
	free(b.sibling);
	free(b.list);
}

static void head(struct page *p, struct screen *s, int y)
{
	(void)p;
	screen_put(s, y, 0, s->columns, STYLE_HEAD, " %Total   %Own  Call tree");
}

static bool row_is_open(const struct page *p, const struct page_row *r)
{
	return r + 1 < p->rows + p->row_count && r[1].depth > r->depth;
}

static void row(struct page *p, struct screen *s, int y, const struct page_row *r)
{
	int indent = r->depth < INDENT_MAX ? r->depth : INDENT_MAX;
	char label[PAGE_LABEL];
	const char *mark = row_is_open(p, r) ? "- " : r->total > r->own ? "+ " : "  ";
	int x;

	page_label(p, r->index, p->by, label, sizeof(label));
	x = screen_printf(s, y, 0, STYLE_PLAIN, "%7.2f %6.2f  ", page_share(p, r->total), page_share(p, r->own));
	x = screen_put(s, y, x + indent, s->columns, STYLE_DIM, mark);
	screen_put(s, y, x, s->columns, r->own ? STYLE_BOLD : STYLE_PLAIN, label);
}

/* The process's frame that a row hangs below; 0: there is none. */
static frame_id process_above(const struct page *p, const struct page_row *r)
{
	int depth = r->depth;

	for (; r >= p->rows; r--) {
		if (r->depth > depth)
			continue;
		depth = r->depth;
		if (frames_get(p->profile->frames, r->index).kind == FRAME_PROCESS)
			return r->index;
	}
	return 0;
}

static enum view_result key_typed(struct page *p, const struct page_row *selected, int key)
{
	bool open = selected && row_is_open(p, selected), fresh;
	uint32_t function;

	if (!selected)
		return VIEW_IGNORED;
	if (key == TYPED_ENTER || (key == TYPED_RIGHT && !open) || (key == TYPED_LEFT && open)) {
		*map64_put(&tree_of(p)->choices, selected->id, &fresh) = open ? CLOSED : OPEN;
		return VIEW_REDRAW;
	}
	function = shares_row(&p->shares, SHARES_FUNCTIONS, selected->index);
	if (key != 'c' || function == SHARES_NONE)
		return VIEW_IGNORED;
	page_source_open(p, function, page_source_process(p, process_above(p, selected)));
	return VIEW_REDRAW;
}

const struct view_ops view_tree = {
	.name = "tree",
	.key = 'x',
	.help = "enter open and close  c code",
	.fill = fill,
	.head = head,
	.row = row,
	.key_typed = key_typed,
};
