/* top_live.c - cspy top on the terminal: draw, take keys, bear resizing and suspending. */
#include <string.h>
#include <time.h>

#include "terminal.h"
#include "top.h"

enum { KEY_CTRL_C = 'C' - '@', KEY_CTRL_Z = 'Z' - '@' };
static const uint64_t DELAY_LEAST_NS = 100000000, DELAY_MOST_NS = 60000000000;

struct live {
	struct top *top;
	struct terminal terminal;
	struct screen screen;
	bool quit;
};

static void draw(struct live *l)
{
	page_draw(&l->top->page, &l->screen);
	terminal_draw(&l->terminal, &l->screen);
}

static void take_size(struct live *l)
{
	int rows, columns;

	terminal_size(&rows, &columns);
	screen_resize(&l->screen, rows, columns);
}

static void suspend(struct live *l)
{
	struct top *t = l->top;
	bool paused = t->recorder.paused;

	top_pause(t, true); /* looks that nobody could take are not late */
	terminal_leave(&l->terminal);
	session_suspend(&t->session);
	terminal_enter(&l->terminal);
	take_size(l); /* the window may have changed meanwhile */
	top_pause(t, paused);
	t->update_ns = clock_now();
}

static void change_delay(struct top *t, bool longer)
{
	uint64_t ns = longer ? t->delay_ns * 2 : t->delay_ns / 2;

	t->delay_ns = ns < DELAY_LEAST_NS ? DELAY_LEAST_NS : ns > DELAY_MOST_NS ? DELAY_MOST_NS : ns;
	t->update_ns = t->updated_ns + t->delay_ns;
	snprintf(t->page.message, sizeof(t->page.message), "an update every %.1f s", (double)t->delay_ns * 1e-9);
}

/* Keys that are more than the page's. */
static void take_key(struct live *l, int key)
{
	struct top *t = l->top;

	if (key == KEY_CTRL_C || (!t->page.filter.open && !t->page.help && (key == 'q' || key == 'Q'))) {
		l->quit = true;
		return;
	}
	if (key == KEY_CTRL_Z) {
		suspend(l);
		return;
	}
	if (page_key(&t->page, key) == VIEW_REDRAW || t->page.filter.open)
		return;
	switch (key) {
	case 'p':
	case ' ':
		top_pause(t, !t->recorder.paused);
		break;
	case 'i':
		top_count(t, !t->page.idle, t->page.lock_only);
		break;
	case 'g':
		top_count(t, t->page.idle, !t->page.lock_only);
		break;
	case 'w':
		top_snapshot(t);
		break;
	case '+':
	case '=':
		change_delay(t, true);
		break;
	case '-':
		change_delay(t, false);
		break;
	default:
		if (key > ' ' && key < TYPED_ERASE)
			snprintf(t->page.message, sizeof(t->page.message), "%c is no key here   ? help", key);
		break;
	}
}

static void take_keys(struct live *l)
{
	int key;

	while (!l->quit && (key = terminal_key(&l->terminal)) != TYPED_NONE)
		take_key(l, key);
	top_read_source(l->top);
}

/* Nothing is sampled any more: the last table stays until the user goes. */
static enum recorder_event next_after_end(struct top *t)
{
	switch (session_wait(&t->session, UINT64_MAX)) {
	case SESSION_KEY:
		return RECORDER_KEY;
	case SESSION_RESIZE:
		return RECORDER_RESIZE;
	case SESSION_SUSPEND:
		return RECORDER_SUSPEND;
	case SESSION_SNAPSHOT:
		return RECORDER_SNAPSHOT;
	default:
		return RECORDER_ENDED;
	}
}

static void heed(struct live *l, enum recorder_event event)
{
	struct top *t = l->top;

	switch (event) {
	case RECORDER_KEY:
		take_keys(l);
		break;
	case RECORDER_RESIZE:
		take_size(l);
		break;
	case RECORDER_SUSPEND:
		suspend(l);
		break;
	case RECORDER_SNAPSHOT:
		top_snapshot(t);
		break;
	case RECORDER_ENDED:
		/* A process that was never read is for the command to explain. */
		l->quit = t->recorder.end == RECORDER_END_STOPPED || t->recorder.end == RECORDER_END_DURATION ||
			  !t->recorder.started_ns;
		session_unwatch(&t->session);
		break;
	case RECORDER_PROGRESS:
		break;
	}
}

static void run(struct live *l)
{
	struct top *t = l->top;

	draw(l);
	while (!l->quit) {
		bool over = t->ended;
		enum recorder_event event = over ? next_after_end(t) : top_next(t);

		if (over && event == RECORDER_ENDED)
			return;
		heed(l, event);
		if (top_is_due(t))
			top_update(t);
		else if (event == RECORDER_PROGRESS)
			continue;
		if (!l->quit)
			draw(l);
	}
}

struct err top_live(struct top *t)
{
	struct live l = { .top = t };
	struct err e = session_terminal(&t->session, 0);

	if (!failed(e))
		e = terminal_open(&l.terminal);
	if (failed(e))
		return e;
	screen_init(&l.screen, 1, 1, l.terminal.ascii);
	take_size(&l);
	top_update(t);
	run(&l);
	terminal_close(&l.terminal);
	screen_free(&l.screen);
	return e;
}
