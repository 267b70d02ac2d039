/* stacks.c - how much of each thread's stack is worth copying. */
#include <stdlib.h>

#include "stacks.h"

enum {
	FIRST = 1 << 20, /* of a stack that nothing is known of */
	SLACK = 4096,
	LEAST = 4096,
	GROWTH = 4,
};

void stacks_free(struct stack_sizes *s)
{
	free(s->list);
	*s = (struct stack_sizes){ 0 };
}

static struct stack_want *want_of(struct stack_sizes *s, pid_t ns_tid)
{
	for (size_t i = 0; i < s->count; i++)
		if (s->list[i].ns_tid == ns_tid)
			return &s->list[i];
	if (s->count == SIZES_MAX)
		s->count = 0; /* threads without end: begin anew */
	xgrow(&s->list, &s->cap, s->count + 1, sizeof(*s->list));
	s->list[s->count] = (struct stack_want){ ns_tid, FIRST };
	return &s->list[s->count++];
}

size_t stacks_size(struct stack_sizes *s, pid_t ns_tid, const struct maps *maps, raddr_t sp, raddr_t *ret_at)
{
	const struct mapping *m = maps_find(maps, sp);
	size_t want = want_of(s, ns_tid)->bytes;

	*ret_at = sp > STACK_BELOW ? sp - STACK_BELOW : 0;
	if (!m)
		return want;
	if (*ret_at < m->start)
		*ret_at = m->start;
	return m->end - *ret_at < want ? m->end - *ret_at : want;
}

void stacks_learn(struct stack_sizes *s, pid_t ns_tid, size_t used, bool too_short)
{
	struct stack_want *w = want_of(s, ns_tid);
	size_t enough = used + used / 2 + SLACK;

	if (too_short)
		w->bytes = w->bytes * GROWTH < STACK_BYTES_MAX ? w->bytes * GROWTH : STACK_BYTES_MAX;
	else if (enough > w->bytes)
		w->bytes = enough < STACK_BYTES_MAX ? enough : STACK_BYTES_MAX;
	else
		w->bytes -= (w->bytes - enough) / 4; /* slowly: deep stacks come back */
}

size_t stacks_copy(struct memory *m, raddr_t at, uint8_t *to, size_t len)
{
	while (failed(memory_read(m, at, to, len))) {
		if (len <= LEAST)
			return 0;
		len = len / 2 > LEAST ? len / 2 : LEAST;
	}
	return len;
}
