/* view_threads.c - the table of threads: state by cause, CPU, how long each held the lock and waited for it. */
#include <stdio.h>
#include <string.h>

#include "page.h"

enum { NARROW = 60, TINY = 36, NAME_WIDTH = 18, STATE_WIDTH = 10 };

static const char *const columns[] = { "%CPU", "lock held", "lock waited", "name", "state", "id", NULL };

static const char *name_of(const struct page *p, uint32_t thread)
{
	return strings_get(frames_strings(p->profile->frames), p->profile->threads[thread].name);
}

static struct page_row row_of(const struct page *p, uint32_t i, int column)
{
	const struct tally_thread *th = &p->tallies.threads[i];
	const struct tally_shares *s = &th->tally.shares;
	struct page_row r = { .id = i, .index = i, .sort = s->cpu };

	switch (column) {
	case 1:
		r.sort = s->held;
		break;
	case 2:
		r.sort = s->wanted;
		break;
	case 3:
		r.text = name_of(p, i);
		break;
	case 4:
		r.text = th->state;
		break;
	case 5:
		r.sort = -(double)p->profile->threads[i].tid;
		break;
	default:
		break;
	}
	return r;
}

static void fill(struct page *p)
{
	int column = page_place(p)->column;

	for (uint32_t i = 0; i < p->tallies.count; i++)
		if (p->tallies.threads[i].alive && page_passes(p, name_of(p, i)) &&
		    (!p->process || p->profile->threads[i].pid == p->process))
			page_push(p, row_of(p, i, column));
}

void page_threads_head(struct page *p, struct screen *s, int y)
{
	const char *lock = p->about.lock;
	int x = p->processes ? screen_printf(s, y, 0, STYLE_HEAD, "%7s ", "PID") : 0;

	x = screen_printf(s, y, x, STYLE_HEAD, "%7s %-*s %-*s %5s", "TID", s->columns < TINY ? 8 : NAME_WIDTH, "name",
			  STATE_WIDTH, "STATE", "%CPU");

	if (s->columns < NARROW)
		return;
	if (*lock)
		x = screen_printf(s, y, x, STYLE_HEAD, " %4s%% wait%%", lock);
	screen_put(s, y, x + 2, s->columns, STYLE_HEAD, "top frame");
}

static enum style style_of(const struct tally_thread *th)
{
	return th->class == TALLY_RUNS ? STYLE_GOOD : th->class == TALLY_WANTS_LOCK ? STYLE_WAIT : STYLE_DIM;
}

/* The innermost frame that is one of a function. */
static frame_id top_frame(const struct page *p, uint32_t thread)
{
	node_id node = p->profile->threads[thread].last;

	for (; node; node = p->profile->nodes[node].parent) {
		frame_id frame = p->profile->nodes[node].frame;
		uint32_t row = shares_row(&p->shares, SHARES_LINES, frame);

		if (row != SHARES_NONE && shares_shown(&p->shares, &p->shares.rows[SHARES_LINES][row]))
			return frame;
	}
	return 0;
}

void page_threads_row(struct page *p, struct screen *s, int y, uint32_t thread)
{
	const struct tally_thread *th = &p->tallies.threads[thread];
	const struct tally_shares *t = &th->tally.shares;
	int width = s->columns < TINY ? 8 : NAME_WIDTH, x = 0;
	char label[PAGE_LABEL];
	frame_id top = top_frame(p, thread);

	if (p->processes)
		x = screen_printf(s, y, x, STYLE_PLAIN, "%7d ", (int)p->profile->threads[thread].pid);
	x = screen_printf(s, y, x, STYLE_PLAIN, "%7d ", (int)p->profile->threads[thread].tid);
	screen_put(s, y, x, width, STYLE_PLAIN, name_of(p, thread));
	x += width + 1;
	screen_put(s, y, x, STATE_WIDTH, style_of(th), th->state);
	x = screen_printf(s, y, x + STATE_WIDTH, STYLE_PLAIN, " %5.0f", 100 * t->cpu);
	if (s->columns < NARROW)
		return;
	if (*p->about.lock)
		x = screen_printf(s, y, x, STYLE_PLAIN, " %5.0f %5.0f", 100 * t->held, 100 * t->wanted);
	if (!top)
		return;
	page_label(p, top, SHARES_LINES, label, sizeof(label));
	screen_put(s, y, x + 2, s->columns, STYLE_PLAIN, label);
}

static void row(struct page *p, struct screen *s, int y, const struct page_row *r)
{
	page_threads_row(p, s, y, r->index);
}

static enum view_result key_typed(struct page *p, const struct page_row *selected, int key)
{
	if (!selected || key != TYPED_ENTER)
		return VIEW_IGNORED;
	page_open(p, &view_stack);
	p->thread = selected->index;
	return VIEW_REDRAW;
}

const struct view_ops view_threads = {
	.name = "threads",
	.key = 't',
	.help = "enter stack",
	.columns = columns,
	.fill = fill,
	.head = page_threads_head,
	.row = row,
	.key_typed = key_typed,
};
