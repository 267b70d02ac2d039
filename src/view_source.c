/* view_source.c - the selected function's file, with the shares of its lines. */
#include <stdlib.h>

#include "page.h"

static void fill(struct page *p)
{
	const struct page_source *source = &p->source;
	const struct shares *s = &p->shares;

	for (size_t i = 0; i < source->count; i++)
		page_push(p, (struct page_row){ .id = i + 1, .index = (uint32_t)i });
	for (size_t i = 0; i < s->count[SHARES_LINES]; i++) {
		const struct share *row = &s->rows[SHARES_LINES][i];
		struct frame_info info = frames_get(p->profile->frames, row->frame);

		if (!source->file || info.file != source->file || !info.line || info.line > p->row_count)
			continue;
		p->rows[info.line - 1].own += p->since_start ? row->own : row->own_now;
		p->rows[info.line - 1].total += p->since_start ? row->total : row->total_now;
	}
}

static void head(struct page *p, struct screen *s, int y)
{
	const char *file = strings_get(frames_strings(p->profile->frames), p->source.file);

	if (p->source.count)
		screen_printf(s, y, 0, STYLE_HEAD, "  %%Own  %%Total  line  %s", file);
	else
		screen_printf(s, y, 0, STYLE_HEAD, " %s", p->source.why);
}

static void row(struct page *p, struct screen *s, int y, const struct page_row *r)
{
	int x;

	if (r->total)
		screen_printf(s, y, 0, STYLE_BOLD, "%6.2f  %6.2f", page_share(p, r->own), page_share(p, r->total));
	x = screen_printf(s, y, 14, STYLE_DIM, "%6u  ", (unsigned)r->index + 1);
	screen_put(s, y, x, s->columns, r->total ? STYLE_BOLD : STYLE_PLAIN, p->source.lines[r->index]);
}

const struct view_ops view_source = {
	.name = "source",
	.help = "esc back",
	.fill = fill,
	.head = head,
	.row = row,
};
