/* unwind.h - the native stack of a stopped thread: registers and one copy of its stack in, addresses out. No names. */
#ifndef CSPY_UNWIND_H
#define CSPY_UNWIND_H

#include "cspy/target.h"

enum {
	REGS = 34,
	STACK_BELOW = 256,
	STACK_BYTES_MAX = 8 << 20, /* copied of one thread's stack */
};

/* As DWARF numbers them. */
struct regs {
	uint64_t v[REGS];
	uint64_t known; /* one bit a register: callers' registers that were not saved are lost */
	raddr_t pc, sp;
};

/* Of a thread that cspy's ptrace holds still. */
MUST_CHECK struct err regs_get(pid_t tid, struct regs *ret);

/* Of one that sleeps and is left alone: nothing else is known of it. */
void regs_of_sleeper(raddr_t pc, raddr_t sp, struct regs *ret);

/*
 * Bytes of the thread's stack, copied while it stood still: from STACK_BELOW bytes below its stack pointer on, since
 * what a function has just popped, or keeps there by the ABI, is wanted too.
 */
struct stack_copy {
	raddr_t at;
	const uint8_t *bytes;
	size_t len;
};

/* A return address points after its call, perhaps into the next function: it is looked up one byte earlier. */
struct code_addr {
	raddr_t at;
	bool is_return;
	uint32_t module; /* number of its file, so that another one at the same address is told apart; 0: none */
	raddr_t cfa;	 /* the stack pointer before this frame's function was called; 0: not found */
};

static inline raddr_t code_addr_lookup(struct code_addr c)
{
	return c.at - c.is_return;
}

/*
 * modules.c: the executable mappings of a target and the files behind them, shared by the unwinder and by symbols.
 * Mappings are read again every second, and soon after an address was met that lies in none. A file is opened when an
 * address in it is met first; bounded.
 */
struct modules;
struct modules *modules_new(struct target *t);
void modules_free(struct modules *m); /* accepts NULL */
enum unwind_end {
	UNWIND_ROOT,  /* the first function of the thread was reached */
	UNWIND_DEEP,  /* `cap` addresses, and there are more */
	UNWIND_SHORT, /* the copy of the stack ends too early */
	UNWIND_LOST,  /* code or stack that nothing is known of, a cycle, or nonsense */
};

struct unwinder;
struct unwinder *unwinder_new(struct target *t, struct modules *m); /* borrows both */
void unwinder_free(struct unwinder *u);				    /* accepts NULL */
/* Up to `cap` addresses, leaf first; how many. *used is how many bytes of the copy were needed. */
size_t unwind(struct unwinder *u, const struct regs *regs, const struct stack_copy *stack, struct code_addr *out,
	      size_t cap, enum unwind_end *end, size_t *used);

#endif
