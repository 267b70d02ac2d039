/* unwind_expr.c - DWARF expressions that call frame information may hold, and their values. */
#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#include "unwind_expr.h"

enum { STACK_WORDS = 16 };

void exprs_free(struct exprs *x)
{
	free(x->list);
	*x = (struct exprs){ 0 };
}

bool exprs_add(struct exprs *x, const Dwarf_Op *ops, size_t n, int32_t *ret)
{
	if (n > EXPR_OPS || x->count == EXPRS_MAX)
		return false;
	for (size_t i = 0; i < x->count; i++) {
		if (x->list[i].count == n && !memcmp(x->list[i].ops, ops, n * sizeof(*ops))) {
			*ret = (int32_t)i;
			return true;
		}
	}
	xgrow(&x->list, &x->cap, x->count + 1, sizeof(*x->list));
	x->list[x->count].count = (uint8_t)n;
	memcpy(x->list[x->count].ops, ops, n * sizeof(*ops));
	*ret = (int32_t)x->count++;
	return true;
}

bool stack_word(const struct stack_copy *s, raddr_t at, uint64_t *ret)
{
	if (at < s->at || s->len < sizeof(*ret) || at - s->at > s->len - sizeof(*ret))
		return false;
	memcpy(ret, s->bytes + (at - s->at), sizeof(*ret));
	return true;
}

struct machine {
	const struct expr_context *c;
	uint64_t words[STACK_WORDS];
	size_t count;
};

static bool push(struct machine *m, uint64_t v)
{
	if (m->count == STACK_WORDS)
		return false;
	m->words[m->count++] = v;
	return true;
}

static bool push_reg(struct machine *m, uint64_t reg, uint64_t off)
{
	if (reg >= REGS || !(m->c->regs->known >> reg & 1))
		return false;
	return push(m, m->c->regs->v[reg] + off);
}

/* Operations on the two topmost words. */
static bool binary(struct machine *m, uint8_t atom)
{
	uint64_t a, b, *to;

	if (m->count < 2)
		return false;
	b = m->words[--m->count];
	to = &m->words[m->count - 1];
	a = *to;
	switch (atom) {
	case DW_OP_plus:
		*to = a + b;
		return true;
	case DW_OP_minus:
		*to = a - b;
		return true;
	case DW_OP_mul:
		*to = a * b;
		return true;
	case DW_OP_and:
		*to = a & b;
		return true;
	case DW_OP_or:
		*to = a | b;
		return true;
	case DW_OP_xor:
		*to = a ^ b;
		return true;
	case DW_OP_shl:
		*to = b < 64 ? a << b : 0;
		return true;
	case DW_OP_shr:
		*to = b < 64 ? a >> b : 0;
		return true;
	case DW_OP_eq:
		*to = a == b;
		return true;
	case DW_OP_ne:
		*to = a != b;
		return true;
	case DW_OP_ge:
		*to = (int64_t)a >= (int64_t)b;
		return true;
	case DW_OP_gt:
		*to = (int64_t)a > (int64_t)b;
		return true;
	case DW_OP_le:
		*to = (int64_t)a <= (int64_t)b;
		return true;
	case DW_OP_lt:
		*to = (int64_t)a < (int64_t)b;
		return true;
	default:
		return false;
	}
}

static bool is_constant(uint8_t atom)
{
	return atom == DW_OP_addr || (atom >= DW_OP_const1u && atom <= DW_OP_consts);
}

static bool step(struct machine *m, const Dwarf_Op *op)
{
	uint64_t *top = m->count ? &m->words[m->count - 1] : NULL;

	if (op->atom >= DW_OP_lit0 && op->atom <= DW_OP_lit31)
		return push(m, (uint64_t)(op->atom - DW_OP_lit0));
	if (op->atom >= DW_OP_breg0 && op->atom <= DW_OP_breg31)
		return push_reg(m, (uint64_t)(op->atom - DW_OP_breg0), op->number);
	if (is_constant(op->atom))
		return push(m, op->number);
	switch (op->atom) {
	case DW_OP_bregx:
		return push_reg(m, op->number, op->number2);
	case DW_OP_call_frame_cfa:
		return push(m, m->c->cfa);
	case DW_OP_nop:
		return true;
	case DW_OP_dup:
		return top && push(m, *top);
	case DW_OP_drop:
		m->count -= top != NULL;
		return top != NULL;
	case DW_OP_deref:
		return top && stack_word(m->c->stack, *top, top);
	case DW_OP_plus_uconst:
		if (top)
			*top += op->number;
		return top != NULL;
	default:
		return binary(m, op->atom);
	}
}

bool expr_value(const struct exprs *x, int32_t number, const struct expr_context *c, uint64_t *ret)
{
	const struct expr *e = &x->list[number];
	struct machine m = { .c = c };

	/* No jumps, so this ends. */
	for (size_t i = 0; i < e->count; i++)
		if (!step(&m, &e->ops[i]))
			return false;
	if (!m.count)
		return false;
	*ret = m.words[m.count - 1];
	return true;
}
