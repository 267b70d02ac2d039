/* methods.c - which method entry does an iseq belong to? Its frame's
 * environment tells, when it is first met. */
#include <string.h>

#include "ruby.h"

enum { ENVS_MAX = 256 }; /* blocks within blocks */
/* As fast as looks can come, a method of a few hundred nanoseconds is gone again hundreds of times in a row. */
static const uint64_t PATIENCE_NS = 1000 * 1000 * 1000;

struct asking {
	struct rby *r;
	struct memory *m;
	struct rby_stack *stack;
	bool sure; /* the stack can't have changed: what is not found is not there */
};

struct err rby_method_in(struct memory *m, raddr_t at, bool may_lead, raddr_t *ret)
{
	uint64_t flags = 0;
	struct err e = OK;

	*ret = 0;
	if (at && at % 8 == 0)
		e = memory_u64(m, at, &flags);
	if (failed(e) || (flags & TYPE_MASK) != TYPE_IMEMO)
		return e;
	switch (flags >> IMEMO_SHIFT & IMEMO_MASK) {
	case IMEMO_METHOD:
		*ret = at;
		return OK;
	case IMEMO_SVAR:
		e = may_lead ? memory_ptr(m, at + SVAR_METHOD, &at) : OK;
		return may_lead && !failed(e) ? rby_method_in(m, at, false, ret) : e;
	default:
		return OK;
	}
}

struct err rby_method_iseq(struct memory *m, raddr_t method, raddr_t *ret)
{
	raddr_t definition;
	uint64_t type = 0;
	struct err e = memory_ptr(m, method + METHOD_DEFINITION, &definition);

	*ret = 0;
	if (!failed(e))
		e = memory_u64(m, definition, &type);
	if (failed(e) || (type & METHOD_TYPE_MASK) != METHOD_ISEQ)
		return e;
	return memory_ptr(m, definition + DEFINITION_BODY, ret);
}

/* Is this method the one whose iseq is `local`? */
static bool is_of(const struct asking *a, raddr_t method, raddr_t local)
{
	raddr_t iseq;

	return !failed(rby_method_iseq(a->m, method, &iseq)) && iseq == local;
}

/*
 * Outwards from the environment at ep to that of the method; a block that was
 * made a method has an entry of its own on the way. 0: not found, since the
 * stack has changed meanwhile.
 */
static raddr_t method_of(const struct asking *a, raddr_t ep, raddr_t local)
{
	uint64_t env[ENV_WORDS];

	for (int i = 0; i < ENVS_MAX; i++) {
		raddr_t found;

		if (!rby_stack_env(a->stack, a->m, ep, env))
			return 0;
		if (!failed(rby_method_in(a->m, env[0], env[2] & ENV_LOCAL, &found)) && found && is_of(a, found, local))
			return found;
		if (env[2] & ENV_LOCAL)
			return 0;
		ep = env[1] & ~3ull;
	}
	return 0;
}

/* The iseq of the method around this one; 0: it is in none, but in a class body
 * or a file. */
static bool local_of(const struct asking *a, const struct rby_code *code, raddr_t *ret)
{
	raddr_t body;
	uint32_t type;

	if (failed(memory_ptr(a->m, code->body + (raddr_t)a->r->l->body_local, ret)) ||
	    failed(memory_ptr(a->m, *ret + ISEQ_BODY, &body)) || failed(memory_u32(a->m, body, &type)))
		return false;
	if (type != ISEQ_METHOD)
		*ret = 0;
	return true;
}

/* It was not found, again. True: it will not be. */
static bool give_up(const struct asking *a, struct rby_code *code)
{
	if (code->asked + 1 < METHOD_ASKS || a->sure || a->r->look->now_ns - code->born_ns >= PATIENCE_NS)
		code->asked++;
	return code->asked == METHOD_ASKS;
}

/* False: not found out yet. */
static bool ask(const struct asking *a, struct rby_code *code, const struct raw_frame *f)
{
	const uint8_t *frame = rby_stack_frame(a->stack, a->r->l, f->at);
	raddr_t local;

	if (!frame || !local_of(a, code, &local))
		return give_up(a, code);
	if (local)
		code->method = method_of(a, rby_word(frame + FRAME_EP), local);
	if (local && !code->method)
		return give_up(a, code);
	code->asked = METHOD_KNOWN;
	return true;
}

/* Ask about the frames of one stack. False: one has to be met again to be
 * named. */
static bool ask_stack(struct asking *a, const struct raw_frame *frames, uint32_t n)
{
	for (uint32_t k = 0; k < n; k++) {
		struct rby_code *code;

		if (frames[k].pos == RBY_POS_C || frames[k].pos == RBY_POS_GC)
			continue;
		code = rby_codes_find(&a->r->codes, frames[k].code);
		if (code && code->asked < METHOD_ASKS && !ask(a, code, &frames[k]))
			return false;
	}
	return true;
}

void rby_methods(struct rby *r, struct target *t, struct raw_stacks *out)
{
	if (!r->codes.unasked)
		return;
	for (size_t i = 0; i < out->count; i++) {
		struct raw_stack *stack = &out->list[i];
		struct rby_thread *th = rby_thread_at(r, stack->state_at);
		struct asking a = { r, t->memory, &th->stack, stack->sure };

		if (!failed(stack->err) && !ask_stack(&a, &out->frames[stack->first], stack->count))
			stack->err = err_at(ERR_CORRUPT, stack->state_at, "finding the method of a frame");
	}
}
