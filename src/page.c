/* page.c - the view that is open: its rows sorted, the selected one kept selected, keys that mean the same everywhere.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "page.h"

void page_init(struct page *p, const struct profile *profile, const char *const *wait_names, uint64_t window_ns)
{
	*p = (struct page){ .profile = profile, .view = &view_functions };
	shares_init(&p->shares, profile, window_ns);
	tallies_init(&p->tallies, profile, wait_names, window_ns);
	p->about.status = "";
}

void page_free(struct page *p)
{
	shares_free(&p->shares);
	tallies_free(&p->tallies);
	roster_free(&p->roster);
	page_filter_free(&p->filter);
	page_source_free(&p->source);
	view_tree_free(p->tree);
	free(p->rows);
}

void page_update(struct page *p, uint64_t now_ns)
{
	shares_update(&p->shares, now_ns);
	tallies_update(&p->tallies, now_ns);
	roster_end(&p->roster, &p->tallies, now_ns);
}

void page_reset(struct page *p)
{
	shares_reset(&p->shares);
	tallies_reset(&p->tallies);
	for (size_t i = 0; i < p->roster.count; i++)
		p->roster.list[i]->tally.used = 0;
}

/* ---- What views ask ---- */

struct page_place *page_place(struct page *p)
{
	size_t i = 0;

	while (view_table[i] != p->view && i + 1 < PAGE_VIEWS)
		i++;
	return &p->places[i];
}

void page_push(struct page *p, struct page_row row)
{
	if (p->row_count == PAGE_ROWS_MAX)
		return;
	xgrow(&p->rows, &p->row_cap, p->row_count + 1, sizeof(*p->rows));
	p->rows[p->row_count++] = row;
}

void page_label(const struct page *p, frame_id frame, enum shares_by by, char *ret, size_t cap)
{
	struct sink_options o = { .function_only = by == SHARES_FUNCTIONS };
	struct label l = label_of(p->profile, frame, &o);

	if (*l.file && l.line)
		snprintf(ret, cap, "%s (%s:%u)", l.function, l.file, (unsigned)l.line);
	else if (*l.file)
		snprintf(ret, cap, "%s (%s)", l.function, l.file);
	else
		snprintf(ret, cap, "%s", l.function);
}

uint64_t page_samples(const struct page *p, node_id node)
{
	const struct shares_node *n = &p->shares.nodes[node];

	if (node >= p->shares.node_count)
		return 0;
	return n->in[p->since_start ? SHARES_SINCE : SHARES_NOW].weight;
}

double page_percent(uint64_t part, uint64_t whole)
{
	return whole ? 100 * (double)part / (double)whole : 0;
}

double page_share(const struct page *p, uint64_t samples)
{
	return page_percent(samples, p->since_start ? p->shares.looks : p->shares.looks_now);
}

double page_seconds(const struct page *p, uint64_t samples)
{
	return (double)samples * (double)p->profile->interval_ns * 1e-9;
}

/* ---- Rows ---- */

static int by_sort(const void *a, const void *b)
{
	const struct page_row *x = a, *y = b;

	if (x->text && y->text && strcmp(x->text, y->text))
		return strcmp(x->text, y->text);
	if (x->sort != y->sort)
		return x->sort < y->sort ? 1 : -1;
	return x->id < y->id ? -1 : x->id > y->id; /* equals keep their places from draw to draw */
}

/* The cursor goes where the chosen row went; where it is gone, it stays where it was. */
static void find_selected(struct page *p)
{
	struct page_place *place = page_place(p);

	if (!place->pinned)
		place->cursor = 0;
	for (size_t i = 0; place->pinned && i < p->row_count; i++) {
		if (p->rows[i].id == place->selected) {
			place->cursor = i;
			return;
		}
	}
	if (place->cursor >= p->row_count)
		place->cursor = p->row_count ? p->row_count - 1 : 0;
}

void page_fill(struct page *p)
{
	p->row_count = 0;
	p->view->fill(p);
	if (p->view->columns && p->row_count)
		qsort(p->rows, p->row_count, sizeof(*p->rows), by_sort);
	find_selected(p);
}

const struct page_row *page_selected(struct page *p)
{
	const struct page_place *place = page_place(p);

	return place->cursor < p->row_count ? &p->rows[place->cursor] : NULL;
}

static void scroll(struct page *p, size_t rows)
{
	struct page_place *place = page_place(p);

	p->page_rows = rows ? rows : 1;
	if (place->cursor < place->scroll)
		place->scroll = place->cursor;
	if (place->cursor >= place->scroll + p->page_rows)
		place->scroll = place->cursor + 1 - p->page_rows;
	if (place->scroll + p->page_rows > p->row_count)
		place->scroll = p->row_count > p->page_rows ? p->row_count - p->page_rows : 0;
}

static void draw_rows(struct page *p, struct screen *s, int y, int end)
{
	const struct page_place *place = page_place(p);

	scroll(p, end > y ? (size_t)(end - y) : 0);
	for (size_t i = place->scroll; i < p->row_count && y < end; i++, y++) {
		p->view->row(p, s, y, &p->rows[i]);
		if (i == place->cursor && !p->plain)
			screen_style_row(s, y, STYLE_SELECTED);
	}
}

void page_draw(struct page *p, struct screen *s)
{
	int last = p->plain ? s->rows : s->rows - 1, y;

	screen_clear(s);
	page_fill(p);
	if (p->help) {
		page_help(p, s);
	} else {
		y = page_head(p, s, last - 2);
		if (y < last) {
			p->view->head(p, s, y);
			screen_style_row(s, y, STYLE_HEAD);
		}
		draw_rows(p, s, y + 1, last);
	}
	if (!p->plain)
		page_keys(p, s);
}

/* ---- Keys ---- */

void page_open(struct page *p, const struct view_ops *view)
{
	if (p->depth == PAGE_DEPTH) { /* the way back gets shorter, not the way on */
		p->depth--;
		memmove(p->way, p->way + 1, p->depth * sizeof(struct page_step));
	}
	p->way[p->depth++] = (struct page_step){ p->view, p->function };
	p->view = view;
}

enum view_result page_key_function(struct page *p, uint32_t function, pid_t pid, int key)
{
	if (key == 'c') {
		page_source_open(p, function, pid);
	} else if (key == TYPED_ENTER) {
		page_open(p, &view_callers);
		p->function = function;
	} else {
		return VIEW_IGNORED;
	}
	return VIEW_REDRAW;
}

static enum view_result go_back(struct page *p)
{
	if (!p->depth)
		return VIEW_IGNORED;
	p->depth--;
	p->view = p->way[p->depth].view;
	p->function = p->way[p->depth].function;
	if (p->view == &view_processes)
		p->process = 0;
	return VIEW_REDRAW;
}

static enum view_result move(struct page *p, int key)
{
	struct page_place *place = page_place(p);
	size_t last = p->row_count ? p->row_count - 1 : 0, page = p->page_rows, at = place->cursor;

	switch (key) {
	case TYPED_UP:
	case 'k':
		at -= at > 0;
		break;
	case TYPED_DOWN:
	case 'j':
		at += at < last;
		break;
	case TYPED_PAGE_UP:
		at = at > page ? at - page : 0;
		break;
	case TYPED_PAGE_DOWN:
		at = at + page < last ? at + page : last;
		break;
	case TYPED_HOME:
		at = 0;
		break;
	case TYPED_END:
		at = last;
		break;
	default:
		return VIEW_IGNORED;
	}
	place->cursor = at;
	if (at < p->row_count) {
		place->selected = p->rows[at].id;
		place->pinned = true;
	}
	return VIEW_REDRAW;
}

static enum view_result sort(struct page *p, int key)
{
	int count = 0, column = key - '1';

	while (p->view->columns && p->view->columns[count])
		count++;
	if (key == 's' && count)
		column = (page_place(p)->column + 1) % count;
	if (column < 0 || column >= count)
		return VIEW_IGNORED;
	page_place(p)->column = column;
	snprintf(p->message, sizeof(p->message), "sorted by %s", p->view->columns[column]);
	return VIEW_REDRAW;
}

/* v goes through the views that have a key of their own. */
static enum view_result open_view(struct page *p, int key)
{
	size_t at = 0, count = 0;

	while (view_table[count])
		count++;
	for (; at < count && view_table[at] != p->view;)
		at++;
	for (size_t i = 1; i <= count; i++) {
		const struct view_ops *v = view_table[(at + i) % count];

		if (!v->key || (key != 'v' && v->key != key) || (v == &view_processes && !p->processes))
			continue;
		p->view = v;
		p->depth = 0;
		p->process = 0;
		return VIEW_REDRAW;
	}
	return VIEW_IGNORED;
}

static enum view_result choose(struct page *p, int key)
{
	switch (key) {
	case 'l':
	case 'L':
		p->by = p->by == SHARES_LINES ? SHARES_FUNCTIONS : SHARES_LINES;
		return VIEW_REDRAW;
	case 'n':
		p->shares.hide_native = !p->shares.hide_native;
		shares_rebuild(&p->shares);
		return VIEW_REDRAW;
	case 'a':
		p->since_start = !p->since_start;
		return VIEW_REDRAW;
	case 'r':
	case 'R':
		page_reset(p);
		return VIEW_REDRAW;
	case '?':
	case 'h':
		p->help = true;
		return VIEW_REDRAW;
	case '/':
		p->filter.open = true;
		snprintf(p->filter.typing, sizeof(p->filter.typing), "%s", p->filter.text);
		return VIEW_REDRAW;
	case TYPED_ESCAPE:
	case TYPED_ERASE:
	case TYPED_LEFT:
		return go_back(p);
	default:
		return VIEW_IGNORED;
	}
}

enum view_result page_key(struct page *p, int key)
{
	enum view_result done;

	p->message[0] = 0;
	if (p->filter.open)
		return page_filter_key(p, key) ? VIEW_REDRAW : VIEW_IGNORED;
	if (p->help) {
		p->help = false;
		return VIEW_REDRAW;
	}
	page_fill(p);
	done = p->view->key_typed ? p->view->key_typed(p, page_selected(p), key) : VIEW_IGNORED;
	if (done == VIEW_IGNORED)
		done = move(p, key);
	if (done == VIEW_IGNORED)
		done = sort(p, key);
	if (done == VIEW_IGNORED)
		done = choose(p, key);
	return done == VIEW_IGNORED ? open_view(p, key) : done;
}
