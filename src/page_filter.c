/* page_filter.c - the regular expression that functions and threads are filtered by. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "page.h"

enum { NOT_ASKED, NO, YES };

void page_filter_free(struct page_filter *f)
{
	if (f->set)
		regfree(&f->regex);
	free(f->known);
	f->set = false;
	f->known = NULL;
	f->known_cap = 0;
}

void page_filter_set(struct page *p, const char *text)
{
	struct page_filter *f = &p->filter;
	regex_t regex;
	int wrong = *text ? regcomp(&regex, text, REG_EXTENDED | REG_ICASE | REG_NOSUB) : 0;

	if (wrong) {
		char why[PAGE_FILTER];

		regerror(wrong, &regex, why, sizeof(why));
		snprintf(p->message, sizeof(p->message), "'%s' is no regular expression: %s", text, why);
		return;
	}
	page_filter_free(f);
	f->set = *text != 0;
	if (f->set)
		f->regex = regex;
	snprintf(f->text, sizeof(f->text), "%s", text);
}

bool page_passes(const struct page *p, const char *text)
{
	return !p->filter.set || regexec(&p->filter.regex, text, 0, NULL, 0) == 0;
}

/* Asked once: what changes of a label later is a folder before its file at most. */
bool page_passes_row(struct page *p, enum shares_by by, uint32_t row)
{
	struct page_filter *f = &p->filter;
	char label[PAGE_LABEL];

	if (!f->set)
		return true;
	if (f->known_by != by && f->known)
		memset(f->known, NOT_ASKED, f->known_cap);
	f->known_by = by;
	xgrow(&f->known, &f->known_cap, (size_t)row + 1, 1);
	if (f->known[row] == NOT_ASKED) {
		page_label(p, p->shares.rows[by][row].frame, by, label, sizeof(label));
		f->known[row] = page_passes(p, label) ? YES : NO;
	}
	return f->known[row] == YES;
}

bool page_filter_key(struct page *p, int key)
{
	struct page_filter *f = &p->filter;
	size_t len = strlen(f->typing);

	if (key == TYPED_ENTER || key == '\n') {
		f->open = false;
		page_filter_set(p, f->typing);
	} else if (key == TYPED_ESCAPE) {
		f->open = false;
	} else if (key == TYPED_ERASE || key == '\b') {
		while (len && ((unsigned char)f->typing[--len] & 0xC0) == 0x80)
			;
		f->typing[len] = 0;
	} else if (key == 'U' - '@') {
		f->typing[0] = 0;
	} else if (key >= ' ' && key < 256 && len + 1 < sizeof(f->typing)) {
		f->typing[len] = (char)key;
		f->typing[len + 1] = 0;
	} else {
		return false;
	}
	return true;
}
