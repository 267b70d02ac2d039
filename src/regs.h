/* regs.h - what one architecture knows: its registers, and where code without CFI keeps its return address. */
#ifndef CSPY_REGS_H
#define CSPY_REGS_H

#include "cspy/unwind.h"
#include "unwind_rule.h"

/* DWARF numbers, and a bit for each register that a called function gives back as it was. */
extern const unsigned regs_sp, regs_return, regs_last;
extern const uint64_t regs_preserved;

/* The rule of code that keeps a frame pointer, away from its first and last instructions. */
void regs_frame_rule(struct rule *ret);
/*
 * The rule at `pc` of code without CFI, which may be in the first or last instructions of its function: `code` has
 * `len` bytes from `pc` on, and `before` bytes in front of it. The disassembler is opened when it is 0.
 */
void regs_settle(size_t *disassembler, const uint8_t *code, size_t before, size_t len, raddr_t pc, struct rule *ret);
void regs_settle_close(size_t *disassembler); /* 0 when there is none */

#endif
