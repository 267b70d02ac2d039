/* view_stack.c - the stack that one thread was seen with last, innermost frame first. */
#include "page.h"

static void fill(struct page *p)
{
	const struct profile *profile = p->profile;
	uint32_t count = 0, i = 0;
	node_id leaf = p->thread < profile->thread_count ? profile->threads[p->thread].last : 0;

	for (node_id n = leaf; n; n = profile->nodes[n].parent)
		count++;
	for (node_id n = leaf; n; n = profile->nodes[n].parent, i++) {
		frame_id frame = profile->nodes[n].frame;
		uint32_t row = shares_row(&p->shares, SHARES_LINES, frame);

		if (row == SHARES_NONE || !shares_shown(&p->shares, &p->shares.rows[SHARES_LINES][row]))
			continue;
		/* A caller is the same row when what it calls changes. */
		page_push(p, (struct page_row){ .id = count - i, .index = frame });
	}
}

static void head(struct page *p, struct screen *s, int y)
{
	const struct profile_thread *th = &p->profile->threads[p->thread];
	const char *name = strings_get(frames_strings(p->profile->frames), th->name);
	const char *state = p->thread < p->tallies.count ? p->tallies.threads[p->thread].state : "";

	screen_printf(s, y, 0, STYLE_HEAD, " stack of %s (%d): %s", name, (int)th->tid, state);
}

static void row(struct page *p, struct screen *s, int y, const struct page_row *r)
{
	char label[PAGE_LABEL];

	page_label(p, r->index, SHARES_LINES, label, sizeof(label));
	screen_put(s, y, 1, s->columns, STYLE_PLAIN, label);
}

static enum view_result key_typed(struct page *p, const struct page_row *selected, int key)
{
	uint32_t function = selected ? shares_row(&p->shares, SHARES_FUNCTIONS, selected->index) : SHARES_NONE;

	return function == SHARES_NONE ? VIEW_IGNORED
				       : page_key_function(p, function, p->profile->threads[p->thread].pid, key);
}

const struct view_ops view_stack = {
	.name = "stack",
	.help = "enter callers  c code  esc back",
	.fill = fill,
	.head = head,
	.row = row,
	.key_typed = key_typed,
};
