/* unwind_rows.h - the rules that were needed so far, by address. */
#ifndef CSPY_UNWIND_ROWS_H
#define CSPY_UNWIND_ROWS_H

#include "unwind_rule.h"

enum { ROWS_MAX = 1 << 15, RECENT = 1 << 12 };

struct row {
	raddr_t start, end;
	struct rule *rule;
};

struct recent {
	raddr_t at;
	const struct rule *rule;
};

/* Ascending, not overlapping; the addresses looked up last are found without a search. */
struct rows {
	struct row *list;
	size_t count, cap;
	struct recent *recent;
};

void rows_free(struct rows *r);
void rows_forget(struct rows *r);
const struct rule *rows_find(struct rows *r, raddr_t at);
/* No row covers `start`; `end` is cut down to where the next one begins. A full table starts over. */
const struct rule *rows_add(struct rows *r, raddr_t start, raddr_t end, const struct rule *rule);

#endif
