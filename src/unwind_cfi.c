/* unwind_cfi.c - rules out of the call frame information of ELF files, as libdw reads it. */
#include <dwarf.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "image_elf.h"
#include "procfs.h"
#include "regs.h"
#include "unwind_cfi.h"

enum { MEMORY_MORE = 256 << 20 }; /* that reading one rule may take */

struct cfi {
	struct image *image;
	Dwarf_CFI *eh;
	Dwarf *debug; /* opened only where .eh_frame does not know an address */
	Dwarf_CFI *debug_frame;
	bool debug_tried;
};

struct cfi *cfi_new(struct image *img)
{
	struct cfi *c = xcalloc(1, sizeof(*c));

	c->image = img;
	c->eh = dwarf_getcfi_elf(image_elf(img));
	return c;
}

void cfi_free(struct cfi *c)
{
	if (!c)
		return;
	if (c->eh)
		dwarf_cfi_end(c->eh);
	if (c->debug)
		dwarf_end(c->debug); /* owns its own */
	free(c);
}

/* Go has no other. */
static Dwarf_CFI *debug_frame(struct cfi *c)
{
	const void *bytes;
	uint64_t svma;
	size_t len;

	if (c->debug_tried)
		return c->debug_frame;
	c->debug_tried = true;
	if (!image_section(c->image, ".debug_frame", &svma, &bytes, &len) &&
	    !image_section(c->image, ".zdebug_frame", &svma, &bytes, &len))
		return NULL;
	c->debug = dwarf_begin_elf(image_elf(c->image), DWARF_C_READ, NULL);
	c->debug_frame = c->debug ? dwarf_getcfi(c->debug) : NULL;
	return c->debug_frame;
}

const char *cfi_source(struct cfi *c)
{
	if (c->eh)
		return debug_frame(c) ? ".eh_frame and .debug_frame" : ".eh_frame";
	return debug_frame(c) ? ".debug_frame" : NULL;
}

static bool fits(uint64_t offset)
{
	return (int64_t)offset == (int32_t)offset;
}

/* A register and an offset where that is all, else an expression. */
static bool compile_cfa(Dwarf_Frame *f, struct exprs *exprs, struct rule *ret)
{
	Dwarf_Op *ops;
	size_t n;

	if (dwarf_frame_cfa(f, &ops, &n) != 0 || !n)
		return false;
	if (n == 1 && ops->atom == DW_OP_bregx && ops->number < REGS && fits(ops->number2)) {
		ret->cfa_reg = (uint8_t)ops->number;
		ret->cfa_off = (int32_t)ops->number2;
		return true;
	}
	if (n == 1 && ops->atom >= DW_OP_breg0 && ops->atom <= DW_OP_breg31 && fits(ops->number)) {
		ret->cfa_reg = (uint8_t)(ops->atom - DW_OP_breg0);
		ret->cfa_off = (int32_t)ops->number;
		return true;
	}
	ret->cfa_is_expr = true;
	return exprs_add(exprs, ops, n, &ret->cfa_off);
}

/* A location or, with DW_OP_stack_value at its end, a value. */
static bool compile_place(const Dwarf_Op *ops, size_t n, struct exprs *exprs, struct place *ret)
{
	bool is_value = n && ops[n - 1].atom == DW_OP_stack_value;

	n -= is_value;
	if (n == 1 && ops->atom == DW_OP_regx && ops->number < REGS) {
		ret->kind = PLACE_REG;
		ret->off = (int32_t)ops->number;
		return true;
	}
	if (n && n <= 2 && ops[0].atom == DW_OP_call_frame_cfa &&
	    (n == 1 || (ops[1].atom == DW_OP_plus_uconst && fits(ops[1].number)))) {
		ret->kind = is_value ? PLACE_IS : PLACE_AT;
		ret->off = n == 1 ? 0 : (int32_t)ops[1].number;
		return true;
	}
	ret->kind = is_value ? PLACE_VALUE : PLACE_EXPR;
	return exprs_add(exprs, ops, n, &ret->off);
}

/* False: nonsense. */
static bool compile_register(Dwarf_Frame *f, unsigned reg, struct exprs *exprs, struct rule *rule)
{
	struct place place = { .reg = (uint8_t)reg };
	Dwarf_Op mem[3], *ops;
	size_t n;

	if (dwarf_frame_register(f, (int)reg, mem, &ops, &n) != 0)
		return false;
	if (!n) {
		/* Without a place of its own it stays what it was, or is lost. */
		if (!ops)
			rule->keep |= 1ull << reg;
		else if (reg == regs_return)
			rule->kind = RULE_ROOT;
		return true;
	}
	if (!compile_place(ops, n, exprs, &place))
		return false;
	rule->saved[rule->count++] = place;
	return true;
}

static bool compile(Dwarf_Frame *f, struct exprs *exprs, struct rule *ret)
{
	*ret = (struct rule){ .kind = RULE_STEP };
	if (!compile_cfa(f, exprs, ret))
		return false;
	for (unsigned reg = 0; reg <= regs_last; reg++)
		if (!compile_register(f, reg, exprs, ret))
			return false;
	return true;
}

/*
 * A file may name a register of any number, and libdw then makes room for as many: gigabytes. Within the limit it says
 * that there is no memory, and the address has no rule. False: there is no limit, since it can't be told what is used.
 */
static bool limit_memory(struct rlimit *old)
{
	struct rlimit r;
	uint64_t pages;
	char text[64];

	if (getrlimit(RLIMIT_AS, old) != 0 || procfs_read_buf(AT_FDCWD, "/proc/self/statm", text, sizeof(text)) <= 0 ||
	    sscanf(text, "%" SCNu64, &pages) != 1)
		return false;
	r = *old;
	if (pages * (uint64_t)sysconf(_SC_PAGESIZE) + MEMORY_MORE < r.rlim_cur)
		r.rlim_cur = pages * (uint64_t)sysconf(_SC_PAGESIZE) + MEMORY_MORE;
	return setrlimit(RLIMIT_AS, &r) == 0;
}

static Dwarf_Frame *find_frame(struct cfi *c, uint64_t svma)
{
	Dwarf_CFI *debug;
	Dwarf_Frame *f;

	if (c->eh && dwarf_cfi_addrframe(c->eh, svma, &f) == 0)
		return f;
	debug = debug_frame(c);
	return debug && dwarf_cfi_addrframe(debug, svma, &f) == 0 ? f : NULL;
}

static Dwarf_Frame *frame_at(struct cfi *c, uint64_t svma)
{
	struct rlimit old;
	bool limited = limit_memory(&old);
	Dwarf_Frame *f = find_frame(c, svma);

	if (limited)
		setrlimit(RLIMIT_AS, &old);
	return f;
}

bool cfi_rule(struct cfi *c, struct exprs *exprs, uint64_t svma, struct rule *ret, uint64_t *end)
{
	CLEANUP(cleanup_free) Dwarf_Frame *f = frame_at(c, svma);
	uint64_t start;
	bool signal;

	if (!f || dwarf_frame_info(f, &start, end, &signal) != (int)regs_return || svma < start || svma >= *end)
		return false;
	if (!compile(f, exprs, ret))
		*ret = (struct rule){ .kind = RULE_NONE };
	ret->signal = signal;
	return true;
}
