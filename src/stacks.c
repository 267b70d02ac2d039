/* stacks.c - the arena that one tick's raw stacks lie in. */
#include <stdlib.h>
#include <string.h>

#include "cspy/runtime.h"

void raw_stacks_init(struct raw_stacks *s, size_t depth)
{
	memset(s, 0, sizeof(*s));
	s->depth = depth;
}

void raw_stacks_free(struct raw_stacks *s)
{
	free(s->list);
	free(s->frames);
	raw_stacks_init(s, s->depth);
}

void raw_stacks_reset(struct raw_stacks *s)
{
	s->count = 0;
	s->used = 0;
}

struct raw_stack *raw_stacks_push(struct raw_stacks *s)
{
	struct raw_stack *stack;

	xgrow(&s->list, &s->cap, s->count + 1, sizeof(*s->list));
	xgrow(&s->frames, &s->frame_cap, s->used + 1, sizeof(*s->frames)); /* so that frames[first] is a place */
	stack = &s->list[s->count++];
	memset(stack, 0, sizeof(*stack)); /* the last tick's lies there */
	stack->first = (uint32_t)s->used;
	stack->agreed = RAW_NOT_ASKED;
	return stack;
}

bool raw_stacks_frame(struct raw_stacks *s, const struct raw_frame *f)
{
	struct raw_stack *stack;

	if (!s->count)
		return false;
	stack = &s->list[s->count - 1];
	if (stack->count >= s->depth) {
		stack->deep = true;
		return false;
	}
	xgrow(&s->frames, &s->frame_cap, s->used + 1, sizeof(*s->frames));
	s->frames[s->used++] = *f;
	stack->count++;
	stack->codes |= raw_code_bit(f->code);
	return true;
}
