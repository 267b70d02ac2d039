/* regs_aarch64.c - registers of aarch64, and the frames of its code that has no CFI. Never tried on such a machine. */
#if defined(__aarch64__)
#include <elf.h>
#include <errno.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>

#include "regs.h"

enum { FP = 29, LR = 30, SP = 31 }; /* as DWARF numbers them */

const unsigned regs_sp = SP, regs_return = LR, regs_last = SP;
const uint64_t regs_preserved = 0x7ffull << 19; /* x19 to x29 */

struct err regs_get(pid_t tid, struct regs *ret)
{
	struct user_regs_struct u;
	struct iovec v = { &u, sizeof(u) };

	if (ptrace(PTRACE_GETREGSET, tid, (void *)NT_PRSTATUS, &v) != 0)
		return err_errno(errno, "reading registers");
	*ret = (struct regs){ .known = (1ull << (SP + 1)) - 1, .pc = u.pc, .sp = u.sp };
	memcpy(ret->v, u.regs, sizeof(u.regs));
	ret->v[SP] = u.sp;
	return OK;
}

void regs_frame_rule(struct rule *ret)
{
	*ret = (struct rule){
		.kind = RULE_STEP, .guessed = true, .cfa_reg = FP, .cfa_off = 16, .keep = regs_preserved
	};
	ret->saved[ret->count++] = (struct place){ LR, PLACE_AT, -8 };
	ret->saved[ret->count++] = (struct place){ FP, PLACE_AT, -16 };
}

/* Not told from the instructions yet: what is in the middle of its function is right. */
void regs_settle(size_t *disassembler, const uint8_t *code, size_t before, size_t len, raddr_t pc, struct rule *ret)
{
	(void)disassembler;
	(void)code;
	(void)before;
	(void)len;
	(void)pc;
	regs_frame_rule(ret);
}

void regs_settle_close(size_t *disassembler)
{
	(void)disassembler;
}
#endif
