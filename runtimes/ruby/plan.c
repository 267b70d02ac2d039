/* plan.c - what to read of a thread: as much as was needed lately, the fastest
 * changing parts close together. */
#include <string.h>

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

/* As much as was needed lately, from the start of the stack. No C function on it, no need of its values. */
static void plan_values(struct rby *r, struct rby_stack *s)
{
	s->values_len = s->values_want ? s->values_want + SLACK_VALUES : 0;
	if (s->values_len > s->frames_at - s->start)
		s->values_len = s->frames_at - s->start;
	if (!s->values_len)
		return;
	xgrow(&s->values, &s->values_cap, s->values_len, 1);
	rby_range(r, s->start, s->values, s->values_len, &s->values_valid);
}

static void plan_context(struct rby *r, struct rby_stack *s)
{
	rby_range(r, s->context, s->context_words, sizeof(s->context_words), &s->context_valid);
}

/* From the leaf to the root: where a stack changes most, there is the least time between two frames. */
static void plan_frames(struct rby *r, struct rby_stack *s)
{
	xgrow(&s->frames, &s->frames_cap, s->frames_len, 1);
	rby_range(r, s->frames_at, s->frames, s->frames_len, &s->frames_valid);
}

/* A second time what changes most, right after the first. */
static void plan_again(struct rby *r, struct rby_stack *s)
{
	s->again_at = s->frames_at;
	s->again_len = s->frames_len < AGAIN_BYTES ? s->frames_len : AGAIN_BYTES;
	rby_range(r, s->context, s->context_again, sizeof(s->context_again), NULL);
	rby_range(r, s->again_at, s->again, s->again_len, &s->again_valid);
	s->values_again_len = s->values_len < AGAIN_BYTES ? s->values_len : AGAIN_BYTES;
	s->values_again_at = s->start + s->values_len - s->values_again_len;
	if (s->values_again_len)
		rby_range(r, s->values_again_at, s->values_again, s->values_again_len, &s->values_again_valid);
}

void rby_plan_thread(struct rby *r, struct rby_thread *th)
{
	struct rby_stack *s = &th->stack;
	size_t slack = SLACK_FRAMES * (size_t)r->l->frame_size;

	th->valid = s->context_valid = s->frames_valid = s->values_valid = false;
	s->again_valid = s->values_again_valid = false;
	rby_range(r, th->at, th->state, r->state_len, &th->valid);
	if (!s->context)
		return;
	if (!s->low || s->high <= s->low) {
		plan_context(r, s);
		return;
	}
	forget_old_needs(r, s);
	s->frames_at = s->low - s->start > slack ? s->low - slack : s->start;
	s->frames_len = s->high - s->frames_at;
	/* Each range takes some hundred nanoseconds. What is read twice has the rest of both copies around it: between
	 * them there is as little time as can be. */
	if (r->look->twice)
		plan_values(r, s);
	plan_context(r, s);
	plan_frames(r, s);
	if (r->look->twice)
		plan_again(r, s);
	else
		plan_values(r, s);
}

/* The second copy of a control frame; NULL: none was made. */
static const uint8_t *again_frame(const struct rby_stack *s, const struct rby_layout *l, raddr_t at)
{
	size_t len = (size_t)l->frame_size;

	if (!s->again_valid || at < s->again_at || s->again_len < len || at - s->again_at > s->again_len - len)
		return NULL;
	return s->again + (at - s->again_at);
}

enum witness { SAME, MOVED, OTHER };

/* Which C function runs is told by the environment alone, which was read apart from the frames: it has to have been
 * the same before and after. */
static bool is_same_function(struct rby_stack *s, raddr_t ep)
{
	uint64_t before[ENV_WORDS], after[ENV_WORDS];

	if (s->values_again_valid && ep < s->values_again_at)
		return true; /* far from the leaf */
	return rby_stack_env(s, NULL, ep, before) && rby_stack_env_again(s, ep, after) &&
	       memcmp(before, after, sizeof(before)) == 0;
}

/* Does the second copy show this frame? MOVED: at another position of the same
 * code. */
static enum witness witness_of(const struct rby *r, struct rby_stack *s, const struct raw_frame *f, size_t depth)
{
	const uint8_t *first = rby_stack_frame(s, r->l, f->at), *second = again_frame(s, r->l, f->at);

	if (f->pos == RBY_POS_GC)
		return SAME;
	if (!s->again_valid || !first || f->at < s->again_at)
		return OTHER;
	if (!second)
		return depth >= AGAIN_FRAMES ? SAME : OTHER;
	if (rby_word(first + FRAME_ISEQ) != rby_word(second + FRAME_ISEQ) ||
	    rby_word(first + FRAME_EP) != rby_word(second + FRAME_EP))
		return OTHER;
	if (f->pos == RBY_POS_C && !is_same_function(s, rby_word(first + FRAME_EP)))
		return OTHER;
	return rby_word(first + FRAME_PC) == rby_word(second + FRAME_PC) ? SAME : MOVED;
}

uint32_t rby_agreed(const struct rby *r, struct rby_thread *th, const struct raw_stacks *out)
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

/*
 * What the copy of a control frame says of whose it is; no code: nobody's, but its caller's. A C function is told by
 * its environment, which was read at another moment: where that is gone, it is some C function.
 */
static struct raw_frame owner_in(struct rby *r, struct rby_stack *s, const uint8_t *copy, raddr_t at, bool again)
{
	raddr_t ep = rby_word(copy + FRAME_EP);
	struct raw_frame f = { .at = at, .pos = RBY_POS_START };
	uint64_t env[ENV_WORDS];
	uint32_t magic;

	if (rby_word(copy + FRAME_ISEQ)) {
		f.code = rby_word(copy + FRAME_PC) ? rby_word(copy + FRAME_ISEQ) : 0; /* a block that is a C function */
		return f;
	}
	f.pos = RBY_POS_C;
	f.code = RBY_CODE_UNKNOWN;
	if (again ? !rby_stack_env_again(s, ep, env) : !rby_stack_env(s, NULL, ep, env))
		return f;
	magic = (uint32_t)env[2] & r->l->magic_mask;
	if (magic == (MAGIC_IFUNC & r->l->magic_mask) || magic == r->l->magic_dummy)
		f.code = 0;
	else if (magic == (MAGIC_CFUNC & r->l->magic_mask) && rby_codes_find(&r->codes, env[0]))
		f.code = env[0];
	return f;
}

void rby_find_top(struct rby *r, struct rby_thread *th, struct raw_stack *stack)
{
	struct rby_stack *s = &th->stack;
	raddr_t step = (raddr_t)r->l->frame_size, at = s->context_again[EC_FRAME / 8];

	if (stack->gc) {
		stack->top =
			(struct raw_frame){ .at = r->roots.gc_flags, .code = r->roots.gc_flags, .pos = RBY_POS_GC };
		return;
	}
	for (const uint8_t *first, *second; (second = again_frame(s, r->l, at)); at += step) {
		first = rby_stack_frame(s, r->l, at);
		stack->top = owner_in(r, s, second, at, true);
		stack->top_before = first ? owner_in(r, s, first, at, false) : stack->top;
		if (!stack->top.code)
			stack->top = stack->top_before;
		if (stack->top.code)
			return;
	}
}
