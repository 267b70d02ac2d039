/* walk.c - from copied memory to the frames of one thread. */
#include "ruby.h"

enum { EXTRA_FRAMES = 64, READ_SLACK_FRAMES = 4 };

/* Another execution context than foreseen, or the first time: read it alone. */
static struct err update_context(struct rby *r, struct rby_thread *th, struct target *t)
{
	struct rby_stack *s = &th->stack;
	raddr_t context = rby_state_word(th, r->l->thread_ec);
	raddr_t start, end;

	if (context != s->context || !s->context_valid) {
		s->context = context;
		s->frames_valid = s->values_valid = s->again_valid = false;
		if (context) {
			struct err e = memory_read(t->memory, context, s->context_words, sizeof(s->context_words));

			if (failed(e))
				return e;
		}
	}
	if (!context || !s->context_words[0]) {
		s->low = s->high = 0;
		return OK;
	}
	if (s->context_words[EC_STACK_SIZE / 8] > STACK_WORDS_MAX)
		return err_at(ERR_CORRUPT, context, "reading an execution context");
	start = s->context_words[EC_STACK / 8];
	end = start + s->context_words[EC_STACK_SIZE / 8] * 8;
	if (start % 8 || end < start)
		return err_at(ERR_CORRUPT, context, "reading an execution context");
	if (start != s->start || end != s->end) {
		s->frames_valid = s->values_valid = s->again_valid = false;
		s->low = s->low_next = 0;
		s->values_want = s->values_next = 0;
		s->start = start;
		s->end = end;
	}
	return OK;
}

/*
 * Have the frames from `at` to `high` copied. What was not foreseen is read after all else: a thread that has returned
 * meanwhile has left frames behind, each of which would look like the caller of the next.
 */
static struct err update_frames(struct rby *r, struct rby_stack *s, struct target *t, raddr_t at, raddr_t high,
				bool sure)
{
	size_t slack = READ_SLACK_FRAMES * (size_t)r->l->frame_size;
	raddr_t now = at;
	struct err e;

	if (!s->low_next || at < s->low_next)
		s->low_next = at;
	if (!s->low || at < s->low)
		s->low = at;
	s->high = high;
	if (s->frames_valid && at >= s->frames_at && high <= s->frames_at + s->frames_len)
		return OK;
	s->frames_at = at - s->start > slack ? at - slack : s->start;
	s->frames_len = high - s->frames_at;
	xgrow(&s->frames, &s->frames_cap, s->frames_len, 1);
	e = memory_read(t->memory, s->frames_at, s->frames, s->frames_len);
	if (!failed(e) && !sure)
		e = memory_ptr(t->memory, s->context + EC_FRAME, &now);
	s->frames_valid = !failed(e);
	return failed(e) || now == at ? e : err_at(ERR_CORRUPT, now, "reading the control frames");
}

struct walk {
	struct rby *r;
	struct rby_stack *s;
	struct target *t;
	raddr_t top, high;
};

/* What one control frame is. */
enum verdict { SHOWN, SKIPPED, BROKEN, UNREAD };

/*
 * To 3.0 a frame is linked before it is filled: a C function's frame on top may
 * have been left by a call that returned. While a C function runs its caller's
 * values end below its environment, the arguments being taken off.
 */
static bool is_left_over(const struct walk *w, raddr_t at, raddr_t ep)
{
	const uint8_t *caller = rby_stack_frame(w->s, w->r->l, at + (raddr_t)w->r->l->frame_size);

	return w->r->l->push == PUSH_LINKED_FIRST && at == w->top && caller && rby_word(caller + FRAME_ISEQ) &&
	       rby_word(caller + FRAME_PC) && rby_word(caller + FRAME_SP) + 16 >= ep;
}

static enum verdict c_frame(const struct walk *w, const uint8_t *frame, raddr_t at, struct raw_frame *ret)
{
	const struct rby_layout *l = w->r->l;
	raddr_t ep = rby_word(frame + FRAME_EP);
	uint64_t env[ENV_WORDS];
	uint32_t magic;

	if (rby_word(frame + FRAME_PC))
		return BROKEN;
	if (!rby_stack_env(w->s, w->t->memory, ep, env))
		return ep >= w->s->start && ep < w->s->end ? UNREAD : BROKEN;
	magic = (uint32_t)env[2] & l->magic_mask;
	if (magic == (MAGIC_IFUNC & l->magic_mask) || magic == l->magic_dummy)
		return SKIPPED;
	if (magic != (MAGIC_CFUNC & l->magic_mask) || !env[0] || env[0] % 8)
		return BROKEN;
	if (is_left_over(w, at, ep))
		return SKIPPED;
	ret->code = env[0];
	ret->pos = RBY_POS_C;
	ret->flags = env[2] & FRAME_FINISH ? RAW_FRAME_ENTRY : 0;
	return SHOWN;
}

static enum verdict ruby_frame(const struct walk *w, const uint8_t *frame, raddr_t at, struct raw_frame *ret)
{
	const struct rby_layout *l = w->r->l;
	bool compiled = at == w->top && rby_has(l->frame_jit_return) && rby_word(frame + l->frame_jit_return);
	uint64_t env[ENV_WORDS];

	ret->code = rby_word(frame + FRAME_ISEQ);
	/* Compiled code says where it is only before it calls something. */
	ret->pos = compiled ? RBY_POS_START : rby_word(frame + FRAME_PC);
	if (!ret->pos)
		return SKIPPED; /* a block that is a C function */
	if (ret->code % 8)
		return BROKEN;
	/* It is not worth a read of its own: only where it was copied anyway. */
	if (rby_stack_env(w->s, NULL, rby_word(frame + FRAME_EP), env) && env[2] & FRAME_FINISH)
		ret->flags = RAW_FRAME_ENTRY;
	return SHOWN;
}

static struct err walk_frames(const struct walk *w, struct raw_stacks *out)
{
	raddr_t step = (raddr_t)w->r->l->frame_size;
	/* The first frame of a stack is no call; in the main thread it holds a copy
	 * of the program's own. */
	raddr_t high = w->high == w->s->end ? w->high - step : w->high;

	for (raddr_t at = w->top; at + step <= high; at += step) {
		const uint8_t *frame = rby_stack_frame(w->s, w->r->l, at);
		struct raw_frame f = { .at = at };
		enum verdict v;

		if (!frame)
			return err_at(ERR_FAULT, at, "reading a control frame");
		v = rby_word(frame + FRAME_ISEQ) ? ruby_frame(w, frame, at, &f) : c_frame(w, frame, at, &f);
		/* One that is being pushed: its caller is the leaf. */
		if (v == BROKEN && at == w->top && rby_may_be_unfinished(w->r->l, &out->list[out->count - 1]))
			v = SKIPPED;
		if (v == UNREAD)
			return err_at(ERR_FAULT, at, "reading an environment");
		if (v == BROKEN)
			return err_at(ERR_CORRUPT, at, "reading a control frame");
		if (v == SHOWN && !raw_stacks_frame(out, &f))
			return OK; /* as deep as wanted; marked so */
	}
	/* Not all were copied. */
	if (w->high < w->s->end)
		out->list[out->count - 1].deep = true;
	return OK;
}

struct err rby_walk(struct rby *r, struct rby_thread *th, struct target *t, struct raw_stacks *out)
{
	struct rby_stack *s = &th->stack;
	struct walk w = { .r = r, .s = s, .t = t };
	raddr_t step = (raddr_t)r->l->frame_size;
	size_t most = out->depth * 2 + EXTRA_FRAMES;
	struct err e = update_context(r, th, t);

	if (failed(e) || !s->context || !s->context_words[0])
		return e;
	w.top = s->context_words[EC_FRAME / 8];
	if (w.top < s->start || w.top > s->end || (s->end - w.top) % step)
		return err_at(ERR_CORRUPT, w.top, "finding the control frames");
	w.high = (s->end - w.top) / step > most ? w.top + most * step : s->end;
	e = update_frames(r, s, t, w.top, w.high, out->list[out->count - 1].sure);
	return failed(e) ? e : walk_frames(&w, out);
}
