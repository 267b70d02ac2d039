/* unwind_expr.h - DWARF expressions that call frame information may hold, and their values. */
#ifndef CSPY_UNWIND_EXPR_H
#define CSPY_UNWIND_EXPR_H

#include <elfutils/libdw.h>

#include "unwind_rule.h"

struct expr {
	uint8_t count;
	Dwarf_Op ops[EXPR_OPS];
};

/* All that are known, by number. */
struct exprs {
	struct expr *list;
	size_t count, cap;
};

void exprs_free(struct exprs *x);
/* False: too long, or too many. */
bool exprs_add(struct exprs *x, const Dwarf_Op *ops, size_t n, int32_t *ret);

/* What an expression may ask for. */
struct expr_context {
	const struct regs *regs;
	const struct stack_copy *stack;
	raddr_t cfa;
};

/* A word of the stack that was copied; false when it lies elsewhere. */
bool stack_word(const struct stack_copy *s, raddr_t at, uint64_t *ret);
/* False: an operation that call frame information has no use for, or memory that was not copied. */
bool expr_value(const struct exprs *x, int32_t number, const struct expr_context *c, uint64_t *ret);

#endif
