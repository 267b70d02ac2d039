/* view_functions.c - the table of functions, or of lines: own and total shares. */
#include "page.h"

enum { NARROW = 60, TINY = 30 }; /* columns */

static const char *const columns[] = { "%Own", "%Total", "OwnTime", "TotalTime", NULL };

static double sort_key(const struct page *p, const struct share *row, int column)
{
	double own = (double)row->own, total = (double)row->total;

	switch (column) {
	case 0:
		return p->since_start ? own : (double)row->own_now + own * 1e-15;
	case 1:
		return p->since_start ? total : (double)row->total_now + total * 1e-15;
	case 2:
		return own;
	default:
		return total;
	}
}

static void fill(struct page *p)
{
	const struct shares *s = &p->shares;
	int column = page_place(p)->column;

	for (uint32_t i = 0; i < s->count[p->by]; i++) {
		const struct share *row = &s->rows[p->by][i];

		if (!row->total || !shares_shown(s, row) || !page_passes_row(p, p->by, i))
			continue;
		page_push(p, (struct page_row){
				     .id = (uint64_t)p->by << 32 | i,
				     .sort = sort_key(p, row, column),
				     .index = i,
				     .own = p->since_start ? row->own : row->own_now,
				     .total = p->since_start ? row->total : row->total_now,
			     });
	}
}

static void head(struct page *p, struct screen *s, int y)
{
	const char *what = p->by == SHARES_LINES ? "Line" : "Function";

	if (s->columns < TINY)
		screen_printf(s, y, 0, STYLE_HEAD, "  %%Own %s", what);
	else if (s->columns < NARROW)
		screen_printf(s, y, 0, STYLE_HEAD, "  %%Own  %%Total  %s", what);
	else
		screen_printf(s, y, 0, STYLE_HEAD, "  %%Own  %%Total   OwnTime TotalTime  %s (file:line)", what);
}

static void row(struct page *p, struct screen *s, int y, const struct page_row *r)
{
	const struct share *share = &p->shares.rows[p->by][r->index];
	double own = page_share(p, r->own), total = page_share(p, r->total);
	char label[PAGE_LABEL];
	int x;

	page_label(p, share->frame, p->by, label, sizeof(label));
	x = screen_printf(s, y, 0, STYLE_PLAIN, "%6.2f", own);
	if (s->columns >= TINY)
		x = screen_printf(s, y, x, STYLE_PLAIN, "  %6.2f", total);
	if (s->columns >= NARROW)
		x = screen_printf(s, y, x, STYLE_DIM, "%10.2f%10.2f", page_seconds(p, share->own),
				  page_seconds(p, share->total));
	screen_put(s, y, x + (s->columns < TINY ? 1 : 2), s->columns, r->own ? STYLE_BOLD : STYLE_PLAIN, label);
}

static enum view_result key_typed(struct page *p, const struct page_row *selected, int key)
{
	const struct shares *s = &p->shares;

	if (!selected)
		return VIEW_IGNORED;
	return page_key_function(p, shares_row(s, SHARES_FUNCTIONS, s->rows[p->by][selected->index].frame), 0, key);
}

const struct view_ops view_functions = {
	.name = "functions",
	.key = 'f',
	.help = "enter callers  c code",
	.columns = columns,
	.fill = fill,
	.head = head,
	.row = row,
	.key_typed = key_typed,
};
