/* plan.c - what to read of a thread: as much as was needed lately, the fastest
 * changing parts close together. */
#include "ruby.h"

enum {
	SLACK_FRAMES = 4,   /* copied beyond the newest frame: calls that may have been
			       made since */
	SLACK_VALUES = 512, /* bytes, for the same */
	WANT_TICKS = 256,   /* after so many, copy only what was needed lately */
};

static void forget_old_needs(struct rby *r, struct rby_stack *s)
{
	bool anew = r->tick % WANT_TICKS == 0;

	if (s->low_next && (anew || s->low_next < s->low))
		s->low = s->low_next;
	if (anew || s->values_next > s->values_want)
		s->values_want = s->values_next;
	if (anew) {
		s->low_next = s->high;
		s->values_next = 0;
	}
}

void rby_plan_thread(struct rby *r, struct rby_thread *th)
{
	struct rby_stack *s = &th->stack;
	size_t slack = SLACK_FRAMES * (size_t)r->l->frame_size;

	th->valid = s->context_valid = s->frames_valid = s->values_valid = false;
	rby_range(r, th->at, th->state, r->state_len, &th->valid);
	if (!s->context)
		return;
	rby_range(r, s->context, s->context_words, sizeof(s->context_words), &s->context_valid);
	if (!s->low || s->high <= s->low)
		return;
	forget_old_needs(r, s);
	/* From the leaf to the root: where a stack changes most, there is the least
	 * time between two frames. */
	s->frames_at = s->low - s->start > slack ? s->low - slack : s->start;
	s->frames_len = s->high - s->frames_at;
	xgrow(&s->frames, &s->frames_cap, s->frames_len, 1);
	rby_range(r, s->frames_at, s->frames, s->frames_len, &s->frames_valid);
	/* No C function on it, no need of its values. */
	s->values_len = s->values_want ? s->values_want + SLACK_VALUES : 0;
	if (s->values_len > s->frames_at - s->start)
		s->values_len = s->frames_at - s->start;
	if (!s->values_len)
		return;
	xgrow(&s->values, &s->values_cap, s->values_len, 1);
	rby_range(r, s->start, s->values, s->values_len, &s->values_valid);
}

void rby_plan_again(struct rby *r, struct rby_thread *th)
{
	struct rby_stack *s = &th->stack;

	s->again_valid = false;
	s->again_len = 0;
	if (!s->context || !s->low || s->high <= s->low)
		return;
	s->again_at = s->frames_at;
	s->again_len = s->frames_len < AGAIN_BYTES ? s->frames_len : AGAIN_BYTES;
	rby_range(r, s->context, s->context_again, sizeof(s->context_again), NULL);
	rby_range(r, s->again_at, s->again, s->again_len, &s->again_valid);
}

enum witness { SAME, MOVED, OTHER };

/* Does the second copy show this frame? MOVED: at another position of the same
 * code. */
static enum witness witness_of(const struct rby *r, const struct rby_stack *s, const struct raw_frame *f, size_t depth)
{
	const uint8_t *first = rby_stack_frame(s, r->l, f->at), *second;

	if (f->pos == RBY_POS_GC)
		return SAME;
	if (!s->again_valid || !first || f->at < s->again_at)
		return OTHER;
	if (s->again_len < (size_t)r->l->frame_size || f->at - s->again_at > s->again_len - (size_t)r->l->frame_size)
		return depth >= AGAIN_FRAMES ? SAME : OTHER;
	second = s->again + (f->at - s->again_at);
	if (rby_word(first + FRAME_ISEQ) != rby_word(second + FRAME_ISEQ) ||
	    rby_word(first + FRAME_EP) != rby_word(second + FRAME_EP))
		return OTHER;
	return rby_word(first + FRAME_PC) == rby_word(second + FRAME_PC) ? SAME : MOVED;
}

uint32_t rby_agreed(const struct rby *r, const struct rby_thread *th, const struct raw_stacks *out)
{
	const struct raw_stack *stack = &out->list[out->count - 1];
	const struct raw_frame *frames = &out->frames[stack->first];
	raddr_t top = th->stack.context_again[EC_FRAME / 8];

	for (uint32_t i = stack->count; i-- > 0;) {
		/* Frames below the second top, which is the newest then, were popped. */
		enum witness w = frames[i].at && frames[i].at < top ? OTHER : witness_of(r, &th->stack, &frames[i], i);

		if (w != SAME)
			return stack->count - i - (w == OTHER);
	}
	return stack->count;
}
