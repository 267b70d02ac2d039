/* view_callers.c - who calls the selected function, and whom it calls. */
#include <stdlib.h>

#include "page.h"

enum group { CALLERS, SELF, CALLEES };

/* Samples by function, and the stack that each was counted for last. */
struct sums {
	uint64_t *samples[CALLEES + 1], *walked[CALLEES + 1];
};

static void count(struct sums *sums, enum group group, uint32_t row, uint64_t samples, uint64_t walk)
{
	if (sums->walked[group][row] == walk)
		return;
	sums->walked[group][row] = walk;
	sums->samples[group][row] += samples;
}

/* From the leaf on: what stands right below and above the function in this stack. */
static void count_stack(const struct page *p, struct sums *sums, node_id node, uint64_t samples)
{
	const struct shares *s = &p->shares;
	uint32_t below = SHARES_NONE, walk = node;

	for (; node; node = p->profile->nodes[node].parent) {
		uint32_t row = shares_row(s, SHARES_FUNCTIONS, p->profile->nodes[node].frame);

		if (row == SHARES_NONE || !shares_shown(s, &s->rows[SHARES_FUNCTIONS][row]))
			continue;
		if (below == p->function)
			count(sums, CALLERS, row, samples, walk);
		if (row == p->function && below != SHARES_NONE)
			count(sums, CALLEES, below, samples, walk);
		below = row;
	}
}

static int by_samples(const void *a, const void *b)
{
	const struct page_row *x = a, *y = b;

	if (x->depth != y->depth)
		return x->depth - y->depth;
	if (x->total != y->total)
		return x->total < y->total ? 1 : -1;
	return x->id < y->id ? -1 : x->id > y->id;
}

static void push(struct page *p, enum group group, uint32_t row, uint64_t samples)
{
	const struct share *share = &p->shares.rows[SHARES_FUNCTIONS][row];

	page_push(p, (struct page_row){
			     .id = (uint64_t)group << 32 | row,
			     .index = row,
			     .depth = group,
			     .own = group != SELF    ? 0
				    : p->since_start ? share->own
						     : share->own_now,
			     .total = group != SELF    ? samples
				      : p->since_start ? share->total
						       : share->total_now,
		     });
}

static void fill(struct page *p)
{
	size_t rows = p->shares.count[SHARES_FUNCTIONS];
	struct sums sums;

	if (p->function >= rows)
		return;
	for (int g = CALLERS; g <= CALLEES; g++) {
		sums.samples[g] = xcalloc(rows, sizeof(uint64_t));
		sums.walked[g] = xcalloc(rows, sizeof(uint64_t));
	}
	for (node_id i = 1; i < p->shares.node_count; i++) {
		uint64_t samples = page_samples(p, i);

		if (samples)
			count_stack(p, &sums, i, samples);
	}
	push(p, SELF, p->function, 0);
	for (uint32_t i = 0; i < rows; i++) {
		if (sums.samples[CALLERS][i])
			push(p, CALLERS, i, sums.samples[CALLERS][i]);
		if (sums.samples[CALLEES][i])
			push(p, CALLEES, i, sums.samples[CALLEES][i]);
	}
	qsort(p->rows, p->row_count, sizeof(*p->rows), by_samples);
	for (int g = CALLERS; g <= CALLEES; g++) {
		free(sums.samples[g]);
		free(sums.walked[g]);
	}
}

static void head(struct page *p, struct screen *s, int y)
{
	char label[PAGE_LABEL] = "";

	if (p->function < p->shares.count[SHARES_FUNCTIONS])
		page_label(p, p->shares.rows[SHARES_FUNCTIONS][p->function].frame, SHARES_FUNCTIONS, label,
			   sizeof(label));
	screen_printf(s, y, 0, STYLE_HEAD, " %%Total  callers and callees of %s", label);
}

static void row(struct page *p, struct screen *s, int y, const struct page_row *r)
{
	static const char *const marks[] = { [CALLERS] = "called by ", [SELF] = "", [CALLEES] = "  calls " };
	char label[PAGE_LABEL];
	int x;

	page_label(p, p->shares.rows[SHARES_FUNCTIONS][r->index].frame, SHARES_FUNCTIONS, label, sizeof(label));
	x = screen_printf(s, y, 0, STYLE_PLAIN, "%7.2f  ", page_share(p, r->total));
	x = screen_put(s, y, x, s->columns, STYLE_DIM, marks[r->depth]);
	x = screen_put(s, y, x, s->columns, r->depth == SELF ? STYLE_BOLD : STYLE_PLAIN, label);
	if (r->depth == SELF)
		screen_printf(s, y, x, STYLE_DIM, "  own %.2f", page_share(p, r->own));
}

static enum view_result key_typed(struct page *p, const struct page_row *selected, int key)
{
	if (!selected || (key != TYPED_ENTER && key != 'c'))
		return VIEW_IGNORED;
	if (key == 'c') {
		page_source_open(p, selected->index, 0);
	} else if (selected->index != p->function) {
		page_open(p, &view_callers);
		p->function = selected->index;
		page_place(p)->pinned = false;
	}
	return VIEW_REDRAW;
}

const struct view_ops view_callers = {
	.name = "callers",
	.help = "enter go there  c code  esc back",
	.fill = fill,
	.head = head,
	.row = row,
	.key_typed = key_typed,
};
