/* page_head.c - the lines above a view's table: what is watched, how the looks go, bars, and the busiest threads. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "page.h"

enum {
	BARS_FROM = 10,	   /* rows of room above the last line, from which on there are bars */
	THREADS_FROM = 16, /* and some threads */
	THREADS_SHARE = 3, /* they get one row in so many */
	BAR_WIDTH = 38,
	NARROW = 60,
	WIDE = 100,
	NAME_WIDTH = 24,
};

static void put_right(struct screen *s, int y, int from, enum style style, const char *text)
{
	int x = s->columns - (int)strlen(text) - 1;

	if (x >= from)
		screen_put(s, y, x, s->columns, style, text);
}

static void format_age(uint64_t ns, char *ret, size_t cap)
{
	unsigned long long s = ns / 1000000000;

	if (s < 60)
		snprintf(ret, cap, "%llus", s);
	else if (s < 3600)
		snprintf(ret, cap, "%llum%02llus", s / 60, s % 60);
	else if (s < 86400)
		snprintf(ret, cap, "%lluh%02llum", s / 3600, s / 60 % 60);
	else
		snprintf(ret, cap, "%llud%02lluh", s / 86400, s / 3600 % 24);
}

static const char *base(const char *word, size_t len)
{
	const char *slash = memrchr(word, '/', len);

	return slash && slash + 1 < word + len ? slash + 1 : word;
}

void page_command(const char *command, char *ret, size_t cap)
{
	static const char *const interpreters[] = { "python", "pypy", "ruby", "node" };
	size_t len = strcspn(command, " ");
	const char *program = base(command, len), *rest = command + len;
	bool interprets = false;

	len -= (size_t)(program - command);
	for (size_t i = 0; i < countof(interpreters); i++)
		interprets = interprets || !strncmp(program, interpreters[i], strlen(interpreters[i]));
	/* Which interpreter, is said beside it. */
	if (interprets && *rest && rest[1] && rest[1] != '-')
		snprintf(ret, cap, "%s", base(rest + 1, strcspn(rest + 1, " ")));
	else
		snprintf(ret, cap, "%.*s%s", (int)len, program, rest);
}

static void draw_title(const struct page *p, struct screen *s)
{
	const struct page_about *a = &p->about;
	bool wide = s->columns >= NARROW;
	char age[32] = "", state[64], others[32] = "", rest[256], command[sizeof(a->command)];
	int x, room;

	snprintf(state, sizeof(state), "%s%s%s", wide ? a->clock : "", wide ? "  " : "", a->status);
	room = s->columns - (int)strlen(state) - 3;
	if (a->age_ns && s->columns >= WIDE) /* before that, who it is */
		format_age(a->age_ns, age, sizeof(age));
	if (p->roster.count > 1)
		snprintf(others, sizeof(others), " + %zu", p->roster.count - 1);
	if (wide)
		snprintf(rest, sizeof(rest), "   pid %d%s   %s%s%s", (int)a->pid, others, a->runtime,
			 *age ? "   up " : "", age);
	else
		snprintf(rest, sizeof(rest), " %d %s", (int)a->pid, a->runtime);
	x = screen_put(s, 0, 0, room, STYLE_BOLD, "cspy top");
	if (wide) { /* the command line gets what the rest leaves */
		page_command(a->command, command, sizeof(command));
		x = screen_put(s, 0, x, room - x, STYLE_PLAIN, " - ");
		x = screen_put(s, 0, x, room - x - (int)strlen(rest), STYLE_PLAIN, command);
	}
	screen_put(s, 0, x, room - x, STYLE_PLAIN, rest);
	put_right(s, 0, room, STYLE_BOLD, state);
}

static void draw_looks(const struct page *p, struct screen *s, int y)
{
	const struct page_about *a = &p->about;
	const char *what = p->by == SHARES_LINES && p->view == &view_functions ? "lines" : p->view->name;
	char text[128];
	int x = screen_printf(s, y, 0, STYLE_PLAIN, " rate %.0f/s", a->rate), room;

	x = screen_printf(s, y, x, a->failed >= 0.001 ? STYLE_WARN : STYLE_PLAIN, "  err %.1f%%", 100 * a->failed);
	x = screen_printf(s, y, x, a->late >= 0.05 ? STYLE_WARN : STYLE_PLAIN, "  late %.1f%%", 100 * a->late);
	x = screen_printf(s, y, x, STYLE_PLAIN, "  self-cpu %.1f%%", 100 * a->own_cpu);
	x = screen_printf(s, y, x, STYLE_PLAIN, "   samples %llu", (unsigned long long)a->samples);
	snprintf(text, sizeof(text), "%s%s%s%s", p->since_start ? "since start" : "window 10 s",
		 p->idle ? ", idle too" : "", p->lock_only ? ", lock only" : "",
		 p->shares.hide_native ? ", no native" : "");
	x = screen_printf(s, y, x, STYLE_PLAIN, "  %s", text);
	snprintf(text, sizeof(text), "view: %s", what);
	room = s->columns - (int)strlen(text) - 2;
	if (p->filter.set) {
		x = screen_put(s, y, x, 3, STYLE_WARN, "  /");
		x = screen_put(s, y, x, room - x, STYLE_WARN, p->filter.text);
	}
	put_right(s, y, x, STYLE_PLAIN, text);
}

/* Returns the column after the percentage. */
static int draw_bar(struct screen *s, int y, const char *name, double share)
{
	int width = s->columns >= WIDE ? BAR_WIDTH : s->columns / 3 - 8, x;

	width = width < 4 ? 4 : width;
	x = screen_printf(s, y, 0, STYLE_PLAIN, " %-3s [", name);
	for (int i = 0; i < width; i++) {
		bool full = share > 0 && (double)i < share * width;

		x = screen_put(s, y, x, 1, full ? STYLE_BAR : STYLE_DIM, full ? "#" : ".");
	}
	return screen_printf(s, y, x, STYLE_PLAIN, "] %3.0f%%", 100 * share);
}

static int draw_bars(const struct page *p, struct screen *s, int y)
{
	const struct tallies *t = &p->tallies;
	const struct tally_shares *all = &t->process.shares;
	int x = draw_bar(s, y, "CPU", all->cpu);

	x = screen_printf(s, y++, x, STYLE_PLAIN, "   threads %zu: %zu run", t->alive, t->class[TALLY_RUNS]);
	if (t->class[TALLY_WANTS_LOCK])
		x = screen_printf(s, y - 1, x, STYLE_WAIT, "  %zu %s", t->class[TALLY_WANTS_LOCK], t -> lock_wait);
	screen_printf(s, y - 1, x, STYLE_PLAIN, "  %zu idle", t->class[TALLY_WAITS]);
	if (*p->about.lock) {
		x = draw_bar(s, y, p->about.lock, all->held);
		x = screen_printf(s, y, x, STYLE_PLAIN, " held  %.0f%% waited", 100 * all->wanted);
		if (t->holder != UINT32_MAX) {
			const struct profile_thread *th = &p->profile->threads[t->holder];

			x = screen_put(s, y, x, s->columns, STYLE_PLAIN, "  top holder: ");
			x = screen_put(s, y, x, NAME_WIDTH, STYLE_PLAIN,
				       strings_get(frames_strings(p->profile->frames), th->name));
			screen_printf(s, y, x, STYLE_PLAIN, " (%.0f%%)", 100 * t->threads[t->holder].tally.shares.held);
		}
		y++;
	}
	x = draw_bar(s, y, "GC", all->gc);
	if (t->off)
		screen_printf(s, y, x, STYLE_PLAIN, "   off-cpu: %s %.0f%%", t->off, 100 * t->off_share);
	return y + 1;
}

static void draw_rule(struct screen *s, int y)
{
	for (int x = 0; x < s->columns; x++)
		screen_put(s, y, x, 1, STYLE_DIM, "-");
}

struct busy {
	double cpu;
	uint32_t thread;
};

static int by_cpu(const void *a, const void *b)
{
	const struct busy *x = a, *y = b;

	if (x->cpu != y->cpu)
		return x->cpu < y->cpu ? 1 : -1;
	return x->thread < y->thread ? -1 : x->thread > y->thread;
}

static int draw_threads(struct page *p, struct screen *s, int y, size_t most)
{
	const struct tallies *t = &p->tallies;
	struct busy *busy = xcalloc(t->count + 1, sizeof(*busy));
	size_t n = 0;

	for (uint32_t i = 0; i < t->count; i++)
		if (t->threads[i].alive)
			busy[n++] = (struct busy){ t->threads[i].tally.shares.cpu, i };
	qsort(busy, n, sizeof(*busy), by_cpu);
	draw_rule(s, y++);
	page_threads_head(p, s, y);
	screen_style_row(s, y, STYLE_HEAD);
	if (n > most)
		put_right(s, y, 0, STYLE_HEAD, p->plain ? "" : "[t] all threads");
	y++;
	for (size_t i = 0; i < n && i < most; i++)
		page_threads_row(p, s, y++, busy[i].thread);
	draw_rule(s, y++);
	free(busy);
	return y;
}

/* Where nothing can be opened by a key. */
static int draw_processes(struct page *p, struct screen *s, int y)
{
	draw_rule(s, y++);
	page_processes_head(p, s, y);
	screen_style_row(s, y++, STYLE_HEAD);
	for (uint32_t i = 0; i < p->roster.count && i < p->processes_most; i++)
		page_processes_row(p, s, y++, i);
	return y;
}

int page_head(struct page *p, struct screen *s, int most)
{
	bool others = p->view != &view_threads && p->view != &view_stack;
	int y = 1;

	draw_title(p, s);
	if (most >= BARS_FROM / 2)
		draw_looks(p, s, y++);
	if (most >= BARS_FROM)
		y = draw_bars(p, s, y);
	if (p->processes && p->processes_most)
		y = draw_processes(p, s, y);
	if (most >= THREADS_FROM && others && p->tallies.alive) {
		size_t rows = p->threads_most ? p->threads_most : (size_t)((most - y - 3) / THREADS_SHARE);

		y = draw_threads(p, s, y, rows);
	}
	return y;
}
