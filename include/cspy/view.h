/* view.h - a page of `cspy top`: one const table per src/view_NAME.c. */
#ifndef CSPY_VIEW_H
#define CSPY_VIEW_H

#include "cspy/profile.h"

struct page;   /* page.h: the model, what the user chose, and the rows being shown */
struct screen; /* a grid of cells; tests read it back as text */
struct page_row;

enum view_result { VIEW_IGNORED, VIEW_REDRAW };

/* A view is a list of rows; moving in it, sorting it and keeping the selected row selected is the page's work. */
struct view_ops {
	const char *name;
	int key;	  /* that opens it; 0: opened from another view only */
	const char *help; /* its own keys, for the last line */
	/* Columns that a number key sorts by, in order; NULL-terminated; NULL: its rows have an order of their own. */
	const char *const *columns;
	/* Push its rows (page_push); the page sorts them. */
	void (*fill)(struct page *p);
	void (*head)(struct page *p, struct screen *s, int y);
	void (*row)(struct page *p, struct screen *s, int y, const struct page_row *r);
	/* `selected` is NULL when there is no row. NULL: no keys of its own. */
	enum view_result (*key_typed)(struct page *p, const struct page_row *selected, int key);
};

/* Generated from src/view_*.c; NULL-terminated. */
extern const struct view_ops *const view_table[];

#endif
