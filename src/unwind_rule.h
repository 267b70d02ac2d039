/* unwind_rule.h - how to get from one frame's registers to its caller's. */
#ifndef CSPY_UNWIND_RULE_H
#define CSPY_UNWIND_RULE_H

#include "cspy/unwind.h"

enum {
	RULE_SAVED = 34,  /* registers that one rule restores */
	EXPR_OPS = 24,	  /* operations of one expression */
	EXPRS_MAX = 4096, /* different expressions */
};

enum rule_kind {
	RULE_NONE, /* nothing is known: the stack ends here */
	RULE_ROOT, /* the thread's first function: it has no caller */
	RULE_STEP,
};

enum place_kind {
	PLACE_AT,    /* saved at CFA + off */
	PLACE_IS,    /* the value is CFA + off */
	PLACE_REG,   /* in the register `off` */
	PLACE_EXPR,  /* saved where expression `off` says */
	PLACE_VALUE, /* the value that expression `off` gives */
};

struct place {
	uint8_t reg, kind;
	int32_t off;
};

struct rule {
	uint8_t kind, count;
	bool signal;	  /* a signal's frame: the caller did not call, it was interrupted */
	bool guessed;	  /* by the frame pointer, since no CFI says anything */
	bool cfa_is_expr; /* then cfa_off is its number */
	uint8_t cfa_reg;
	uint32_t module; /* that the code belongs to, as code_addr has it */
	int32_t cfa_off;
	uint64_t keep; /* registers that stay as they are */
	struct place saved[RULE_SAVED];
};

#endif
