/* unwind_rows.c - the rules that were needed so far, by address. */
#include <stdlib.h>
#include <string.h>

#include "unwind_rows.h"

static struct recent *recent_of(struct rows *r, raddr_t at)
{
	return &r->recent[(at * 0x9E3779B97F4A7C15ull) >> 52];
}

void rows_forget(struct rows *r)
{
	for (size_t i = 0; i < r->count; i++)
		free(r->list[i].rule);
	r->count = 0;
	if (r->recent)
		memset(r->recent, 0, RECENT * sizeof(*r->recent));
}

void rows_free(struct rows *r)
{
	rows_forget(r);
	free(r->list);
	free(r->recent);
	*r = (struct rows){ 0 };
}

/* How many rows end at or below the address. */
static size_t rank(const struct rows *r, raddr_t at)
{
	size_t low = 0, high = r->count;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (r->list[mid].end <= at)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

const struct rule *rows_find(struct rows *r, raddr_t at)
{
	struct recent *recent;
	size_t i;

	if (!r->count)
		return NULL;
	recent = recent_of(r, at);
	if (recent->at == at)
		return recent->rule;
	i = rank(r, at);
	if (i == r->count || r->list[i].start > at)
		return NULL;
	*recent = (struct recent){ at, r->list[i].rule };
	return recent->rule;
}

const struct rule *rows_add(struct rows *r, raddr_t start, raddr_t end, const struct rule *rule)
{
	struct rule *kept;
	size_t i;

	if (!r->recent)
		r->recent = xcalloc(RECENT, sizeof(*r->recent));
	if (r->count == ROWS_MAX)
		rows_forget(r);
	i = rank(r, start);
	if (i < r->count && end > r->list[i].start)
		end = r->list[i].start;
	kept = xcalloc(1, sizeof(*kept));
	*kept = *rule;
	xgrow(&r->list, &r->cap, r->count + 1, sizeof(*r->list));
	memmove(&r->list[i + 1], &r->list[i], (r->count - i) * sizeof(*r->list));
	r->list[i] = (struct row){ start, end, kept };
	r->count++;
	return kept;
}
