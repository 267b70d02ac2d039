/* page_help.c - the last line, with keys or a message, and the page that explains the keys. */
#include <stdio.h>
#include <string.h>

#include "page.h"

enum { KEYS_BYTES = 256 };

/* Whole on a screen of 80 columns. */
static const char *const lines[] = {
	"  f functions  t threads  x call tree  P processes (-s)  v the next of them",
	"  up down page-up page-down home end, j k    choose a row; it stays chosen",
	"  enter       what there is to the row: callers, a thread's stack, a branch",
	"  c           the source code around the hot line       esc, left  back",
	"  1 2 3 .. s  sort by that column, by the next one",
	"  l  lines or functions            /  filter by a regex (empty: all)",
	"  i  waiting threads count, too    g  only the lock's holder counts",
	"  n  native frames on or off       a  the last 10 s or since the start",
	"  p, space  pause: nothing is looked at       r  begin to count anew",
	"  + -  more or less time between updates      w  write a flame graph (SVG)",
	"  q  quit      ?  this help; any key leaves it",
	"",
	"  %Own, %Total        share of the looks that saw the function innermost, or",
	"                      anywhere, in a thread's stack: 100 is one thread all the",
	"                      time; recursion counts once",
	"  OwnTime, TotalTime  the same in seconds, since the start",
	"  STATE               run, gc, waiting for the lock, or the system call that",
	"                      the thread waits in",
	"  held, waited        share of the looks at which a thread had the",
	"                      interpreter's lock, or waited for it",
};

void page_help(struct page *p, struct screen *s)
{
	(void)p;
	screen_put(s, 0, 0, s->columns, STYLE_BOLD, "cspy top: keys and columns");
	for (size_t i = 0; i < countof(lines); i++)
		screen_put(s, (int)i + 2, 0, s->columns, STYLE_PLAIN, lines[i]);
}

/* As many keys as have room with their words. */
static void put_whole(struct screen *s, int y, char *keys)
{
	size_t room = s->columns > 0 ? (size_t)s->columns : 0;

	while (strlen(keys) > room) {
		char *last = NULL;

		for (char *gap = strstr(keys, "  "); gap; gap = strstr(gap + 1, "  "))
			last = gap;
		if (!last)
			break;
		*last = 0;
	}
	screen_put(s, y, 0, s->columns, STYLE_DIM, keys);
}

void page_keys(struct page *p, struct screen *s)
{
	int y = s->rows - 1, x;
	char keys[KEYS_BYTES];

	if (p->filter.open) {
		x = screen_put(s, y, 0, s->columns, STYLE_BOLD, "filter: ");
		x = screen_put(s, y, x, s->columns, STYLE_PLAIN, p->filter.typing);
		screen_put(s, y, x, 1, STYLE_SELECTED, " ");
		return;
	}
	if (*p->message) {
		screen_put(s, y, 0, s->columns, STYLE_WARN, p->message);
		return;
	}
	snprintf(keys, sizeof(keys), " q quit  ? help%s%s%s", p->help ? "" : "  ", p->help ? "" : p->view->help,
		 p->help ? "" : "  v view  / filter  s sort  l lines  p pause  r reset  w write");
	put_whole(s, y, keys);
}
