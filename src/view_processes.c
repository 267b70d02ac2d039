/* view_processes.c - the tree of processes: what each used of CPU and lock. */
#include "page.h"

enum { NARROW = 60, RUNTIME_WIDTH = 14, INDENT = 2, INDENT_MAX = 40 };

static void fill(struct page *p)
{
	for (uint32_t i = 0; i < p->roster.count; i++)
		if (page_passes(p, p->roster.list[i]->command))
			page_push(p, (struct page_row){ .id = (uint64_t)p->roster.list[i]->pid, .index = i });
}

void page_processes_head(struct page *p, struct screen *s, int y)
{
	const char *lock = p->about.lock;
	int x = screen_printf(s, y, 0, STYLE_HEAD, "%7s %5s", "PID", "%CPU");

	if (s->columns >= NARROW && *lock)
		x = screen_printf(s, y, x, STYLE_HEAD, " %4s%% wait%%", lock);
	if (s->columns >= NARROW)
		x = screen_printf(s, y, x, STYLE_HEAD, "   GC%% threads  %-*s", RUNTIME_WIDTH, "runtime");
	screen_put(s, y, x + 2, s->columns, STYLE_HEAD, "process");
}

void page_processes_row(struct page *p, struct screen *s, int y, uint32_t process)
{
	const struct roster_process *r = p->roster.list[process];
	const struct tally_shares *t = &r->tally.shares;
	int indent = r->depth * INDENT < INDENT_MAX ? r->depth * INDENT : INDENT_MAX;
	int x = screen_printf(s, y, 0, STYLE_PLAIN, "%7d %5.0f", (int)r->pid, 100 * t->cpu);
	bool wide = s->columns >= NARROW;
	char command[ROSTER_COMMAND];

	page_command(r->command, command, sizeof(command));
	/* What runs no interpreter has no lock. */
	if (wide && *p->about.lock && *r->runtime)
		x = screen_printf(s, y, x, STYLE_PLAIN, " %5.0f %5.0f", 100 * t->held, 100 * t->wanted);
	else if (wide && *p->about.lock)
		x = screen_printf(s, y, x, STYLE_DIM, " %5s %5s", "-", "-");
	if (wide && *r->runtime)
		x = screen_printf(s, y, x, STYLE_PLAIN, " %5.0f %7zu", 100 * t->gc, r->threads);
	else if (wide)
		x = screen_printf(s, y, x, STYLE_DIM, " %5s %7s", "-", "-");
	if (wide) {
		screen_put(s, y, x + 2, RUNTIME_WIDTH, STYLE_DIM, *r->runtime ? r->runtime : "-");
		x += 2 + RUNTIME_WIDTH + indent;
	}
	screen_put(s, y, x + 2, s->columns, *r->runtime ? STYLE_PLAIN : STYLE_DIM, command);
}

static void row(struct page *p, struct screen *s, int y, const struct page_row *r)
{
	page_processes_row(p, s, y, r->index);
}

static enum view_result key_typed(struct page *p, const struct page_row *selected, int key)
{
	if (!selected || key != TYPED_ENTER)
		return VIEW_IGNORED;
	page_open(p, &view_threads);
	p->process = p->roster.list[selected->index]->pid;
	return VIEW_REDRAW;
}

const struct view_ops view_processes = {
	.name = "processes",
	.key = 'P',
	.help = "enter threads",
	.fill = fill,
	.head = page_processes_head,
	.row = row,
	.key_typed = key_typed,
};
