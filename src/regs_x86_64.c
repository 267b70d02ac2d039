/* regs_x86_64.c - registers of x86-64, and the frames of its code that has no CFI. */
#if defined(__x86_64__)
#include <capstone/capstone.h>
#include <errno.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/user.h>

#include "regs.h"

enum {
	RAX,
	RDX,
	RCX,
	RBX,
	RSI,
	RDI,
	RBP,
	RSP,
	R8,
	R9,
	R10,
	R11,
	R12,
	R13,
	R14,
	R15,
	RIP,	    /* as DWARF numbers them */
	AHEAD = 12, /* instructions looked at, before it is taken for the middle of a function */
	POPPED_MAX = 1 << 20,
};

const unsigned regs_sp = RSP, regs_return = RIP, regs_last = RIP;
const uint64_t regs_preserved = 1 << RBX | 1 << RBP | 1 << R12 | 1 << R13 | 1 << R14 | 1 << R15;

struct err regs_get(pid_t tid, struct regs *ret)
{
	struct user_regs_struct u;

	if (ptrace(PTRACE_GETREGS, tid, NULL, &u) != 0)
		return err_errno(errno, "reading registers");
	*ret = (struct regs){
		.v = { u.rax, u.rdx, u.rcx, u.rbx, u.rsi, u.rdi, u.rbp, u.rsp, u.r8, u.r9, u.r10, u.r11, u.r12, u.r13,
		       u.r14, u.r15, u.rip },
		.known = (1 << (RIP + 1)) - 1,
		.pc = u.rip,
		.sp = u.rsp,
	};
	return OK;
}

/* As DWARF numbers it; -1: none that could hold a return address. */
static int number_of(unsigned reg)
{
	static const struct {
		unsigned reg;
		int number;
	} all[] = {
		{ X86_REG_RAX, RAX }, { X86_REG_RDX, RDX }, { X86_REG_RCX, RCX }, { X86_REG_RBX, RBX },
		{ X86_REG_RSI, RSI }, { X86_REG_RDI, RDI }, { X86_REG_R8, R8 },	  { X86_REG_R9, R9 },
		{ X86_REG_R10, R10 }, { X86_REG_R11, R11 }, { X86_REG_R12, R12 }, { X86_REG_R13, R13 },
		{ X86_REG_R14, R14 }, { X86_REG_R15, R15 },
	};

	for (size_t i = 0; i < countof(all); i++)
		if (all[i].reg == reg)
			return all[i].number;
	return -1;
}

/* The return address lies at stack pointer + off; rbp was saved at stack pointer + rbp_at, unless that is negative. */
static void rule_from_sp(int32_t off, int32_t rbp_at, struct rule *ret)
{
	int32_t cfa = off + 8;

	*ret = (struct rule){ .kind = RULE_STEP, .cfa_reg = RSP, .cfa_off = cfa, .keep = regs_preserved };
	ret->saved[ret->count++] = (struct place){ RIP, PLACE_AT, -8 };
	if (rbp_at >= 0)
		ret->saved[ret->count++] = (struct place){ RBP, PLACE_AT, rbp_at - cfa };
}

/* The return address is in a register, about to be pushed again above arguments that are dropped. */
static void rule_from_register(int reg, struct rule *ret)
{
	*ret = (struct rule){ .kind = RULE_STEP, .cfa_reg = RSP, .cfa_off = 0, .keep = regs_preserved };
	ret->saved[ret->count++] = (struct place){ RIP, PLACE_REG, reg };
}

void regs_frame_rule(struct rule *ret)
{
	*ret = (struct rule){
		.kind = RULE_STEP, .guessed = true, .cfa_reg = RBP, .cfa_off = 16, .keep = regs_preserved
	};
	ret->saved[ret->count++] = (struct place){ RIP, PLACE_AT, -8 };
	ret->saved[ret->count++] = (struct place){ RBP, PLACE_AT, -16 };
}

static bool is_mov_rbp_rsp(const cs_insn *i)
{
	const cs_x86_op *op = i->detail->x86.operands;

	return i->id == X86_INS_MOV && op[0].type == X86_OP_REG && op[0].reg == X86_REG_RBP &&
	       op[1].type == X86_OP_REG && op[1].reg == X86_REG_RSP;
}

/* What an instruction means for where the return address is. */
enum effect { PASSES, ENDS, RETURNS, ENTERS };

struct ahead {
	int32_t popped;	  /* bytes that the instructions so far take off the stack */
	int32_t rbp_at;	  /* rbp is restored from there; -1: it is not */
	bool pushed;	  /* the last one was push rbp */
	int taken;	  /* register that the last pop took a word into; -1: none */
	int32_t taken_at; /* where that word is */
	int back;	  /* register that was pushed just now, to be returned to; -1: none */
	bool stack_moved; /* to where that is pushed: `popped` tells nothing more */
};

static const struct ahead nothing = { .rbp_at = -1, .taken = -1, .back = -1 };

static enum effect push_ahead(const cs_x86_op *op, struct ahead *a)
{
	if (op->type != X86_OP_REG)
		return ENDS;
	a->pushed = op->reg == X86_REG_RBP && !a->popped;
	a->back = number_of(op->reg);
	return a->pushed || a->back >= 0 ? PASSES : ENDS;
}

static enum effect step_ahead(const cs_insn *i, struct ahead *a)
{
	const cs_x86_op *op = i->detail->x86.operands;

	switch (i->id) {
	case X86_INS_RET:
		return RETURNS;
	case X86_INS_POP:
		if (op[0].type == X86_OP_REG && op[0].reg == X86_REG_RBP)
			a->rbp_at = a->popped;
		a->taken = op[0].type == X86_OP_REG ? number_of(op[0].reg) : -1;
		a->taken_at = a->popped;
		a->popped += 8;
		return PASSES;
	case X86_INS_ADD:
		if (op[0].type != X86_OP_REG || op[0].reg != X86_REG_RSP)
			return PASSES;
		if (op[1].type != X86_OP_IMM || op[1].imm < 0 || op[1].imm > POPPED_MAX)
			return ENDS;
		a->popped += (int32_t)op[1].imm;
		return PASSES;
	case X86_INS_PUSH:
		return push_ahead(op, a);
	case X86_INS_MOV:
		if (a->pushed && is_mov_rbp_rsp(i))
			return ENTERS;
		return op[0].type == X86_OP_REG && op[0].reg == X86_REG_RSP ? ENDS : PASSES;
	case X86_INS_LEAVE:
	case X86_INS_CALL:
	case X86_INS_JMP:
	case X86_INS_INT3:
	case X86_INS_UD2:
	case X86_INS_HLT:
		return ENDS;
	default:
		return PASSES;
	}
}

/* Does `mov rbp, rsp` follow at pc, after a `push rbp` that has been done? */
static bool is_between(const cs_insn *i, const uint8_t *code, size_t before)
{
	return before && code[before - 1] == 0x55 && is_mov_rbp_rsp(i);
}

static bool moves_stack(const cs_insn *i)
{
	const cs_x86_op *op = i->detail->x86.operands;

	return (i->id == X86_INS_SUB || i->id == X86_INS_AND || i->id == X86_INS_LEA) && op[0].type == X86_OP_REG &&
	       op[0].reg == X86_REG_RSP;
}

static void rule_of_return(const struct ahead *a, struct rule *ret)
{
	if (a->back < 0)
		rule_from_sp(a->popped, a->rbp_at, ret);
	else if (a->back == a->taken)
		rule_from_sp(a->taken_at, a->rbp_at, ret);
	else
		rule_from_register(a->back, ret);
}

/* Code that is taken apart one instruction after the other, since mostly the first ones tell. */
struct reader {
	size_t disassembler;
	const uint8_t *code;
	size_t len;
	uint64_t pc;
	cs_insn *insn;
};

static bool next(struct reader *r)
{
	return cs_disasm_iter(r->disassembler, &r->code, &r->len, &r->pc, r->insn);
}

static enum effect effect_of(const cs_insn *i, struct ahead *a)
{
	bool entering = a->pushed, returning = a->back >= 0;
	enum effect e = step_ahead(i, a);

	if (moves_stack(i)) {
		a->stack_moved = i->id == X86_INS_LEA;
		e = a->stack_moved ? PASSES : ENDS;
	}
	if ((entering && e != ENTERS) || (returning && e != RETURNS))
		return ENDS;
	return e;
}

/* The rule stays as it is where the frame pointer tells. */
static void settle(struct reader *r, const uint8_t *code, size_t before, struct rule *ret)
{
	struct ahead a = nothing;

	for (size_t i = 0; i < AHEAD && next(r); i++) {
		enum effect e;

		if (i == 0 && is_between(r->insn, code, before)) {
			rule_from_sp(8, 0, ret);
			return;
		}
		e = effect_of(r->insn, &a);
		if (e == PASSES)
			continue;
		if (e == ENTERS)
			rule_from_sp(0, -1, ret);
		else if (e == RETURNS && (!a.stack_moved || a.back >= 0))
			rule_of_return(&a, ret);
		return;
	}
}

void regs_settle(size_t *disassembler, const uint8_t *code, size_t before, size_t len, raddr_t pc, struct rule *ret)
{
	struct reader r = { .code = code + before, .len = len, .pc = pc };

	regs_frame_rule(ret);
	if (!*disassembler && (cs_open(CS_ARCH_X86, CS_MODE_64, disassembler) != CS_ERR_OK ||
			       cs_option(*disassembler, CS_OPT_DETAIL, CS_OPT_ON) != CS_ERR_OK))
		return;
	r.disassembler = *disassembler;
	r.insn = cs_malloc(*disassembler);
	if (!r.insn)
		return;
	settle(&r, code, before, ret);
	cs_free(r.insn, 1);
}

void regs_settle_close(size_t *disassembler)
{
	if (*disassembler)
		cs_close(disassembler);
}
#endif
