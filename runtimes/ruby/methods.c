/* methods.c - which method entry does an iseq belong to? Its frame's environment tells, when it is first met. */
#include <string.h>

#include "ruby.h"

enum { ENVS_MAX = 256 }; /* blocks within blocks */

struct asking {
	struct rby *r;
	struct memory *m;
	struct rby_stack *stack;
};

/* A method entry, or what leads to one. 0: neither. */
static raddr_t method_in(const struct asking *a, raddr_t at, bool may_lead)
{
	uint64_t flags;

	if (!at || at % 8 || failed(memory_u64(a->m, at, &flags)) || (flags & TYPE_MASK) != TYPE_IMEMO)
		return 0;
	switch (flags >> IMEMO_SHIFT & IMEMO_MASK) {
	case IMEMO_METHOD:
		return at;
	case IMEMO_SVAR:
		if (may_lead && !failed(memory_ptr(a->m, at + SVAR_METHOD, &at)))
			return method_in(a, at, false);
		return 0;
	default:
		return 0;
	}
}

/* Outwards from the environment at ep. False: it could not be read. */
static bool method_of(const struct asking *a, raddr_t ep, raddr_t *ret)
{
	uint64_t env[ENV_WORDS];

	for (int i = 0; i < ENVS_MAX; i++) {
		if (!rby_stack_env(a->stack, a->m, ep, env))
			return false;
		*ret = method_in(a, env[0], env[2] & ENV_LOCAL);
		if (*ret || env[2] & ENV_LOCAL)
			return true;
		ep = env[1] & ~3ull;
	}
	return false;
}

/* A method of Ruby's has an iseq, which has to be the one that this one is part of: else the frame changed meanwhile. */
static bool belongs(const struct asking *a, const struct rby_code *code, raddr_t method, bool *is_iseq)
{
	raddr_t definition, iseq, local;
	uint64_t type;

	*is_iseq = false;
	if (failed(memory_ptr(a->m, method + METHOD_DEFINITION, &definition)) ||
	    failed(memory_u64(a->m, definition, &type)))
		return false;
	if ((type & METHOD_TYPE_MASK) != METHOD_ISEQ)
		return true;
	*is_iseq = true;
	return !failed(memory_ptr(a->m, definition + DEFINITION_BODY, &iseq)) &&
	       !failed(memory_ptr(a->m, code->body + (raddr_t)a->r->l->body_local, &local)) && iseq == local;
}

static void ask(const struct asking *a, struct rby_code *code, const struct raw_frame *f)
{
	const uint8_t *frame = rby_stack_frame(a->stack, a->r->l, f->at);
	raddr_t method;
	bool is_iseq;

	code->asked++;
	if (!frame || !method_of(a, rby_word(frame + FRAME_EP), &method))
		return;
	if (method && !belongs(a, code, method, &is_iseq))
		return;
	code->method = method && is_iseq ? method : 0;
	code->asked = METHOD_KNOWN;
}

void rby_methods(struct rby *r, struct target *t, const struct raw_stacks *out)
{
	if (!r->codes.unasked)
		return;
	r->codes.unasked = false;
	for (size_t i = 0; i < out->count; i++) {
		const struct raw_stack *stack = &out->list[i];
		struct asking a = {r, t->memory, NULL};

		for (uint32_t k = 0; !failed(stack->err) && k < stack->count; k++) {
			const struct raw_frame *f = &out->frames[stack->first + k];
			struct rby_code *code;

			if (f->pos == RBY_POS_C || f->pos == RBY_POS_GC)
				continue;
			code = rby_codes_find(&r->codes, f->code);
			if (!code || code->asked >= METHOD_ASKS)
				continue;
			if (!a.stack)
				a.stack = &rby_thread_at(r, stack->state_at)->stack;
			ask(&a, code, f);
			r->codes.unasked |= code->asked < METHOD_ASKS;
		}
	}
}
