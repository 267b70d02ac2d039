/* decode_gc.c - what the machine code of rb_during_gc() says: where the VM is,
 * and the collector's flags. */
#include <string.h>

#include "find.h"

#ifdef __x86_64__
#include <capstone/capstone.h>

enum { CODE_BYTES = 64, INSTRUCTIONS_MAX = 16, OFFSET_MAX = 1 << 16 };

static const cs_x86_op *memory_operand(const cs_insn *in)
{
	const cs_x86 *x = &in->detail->x86;

	for (uint8_t i = 0; i < x->op_count; i++)
		if (x->operands[i].type == X86_OP_MEM)
			return &x->operands[i];
	return NULL;
}

/* The first instruction that names an address tells where the word is, or
 * (through the GOT) where that is told. */
static void take_address(struct memory *m, const cs_insn *in, const cs_x86_op *op, struct rby_gc_code *ret)
{
	raddr_t at = in->address + in->size + (uint64_t)op->mem.disp, through;

	ret->vm_at[0] = at;
	if (in->id != X86_INS_LEA && !failed(memory_ptr(m, at, &through)))
		ret->vm_at[1] = through;
}

/* Then the VM's field and, by a load of a byte or of 32 bits, the object
 * space's. */
static void take_offset(const cs_x86_op *op, struct rby_gc_code *ret)
{
	if (op->mem.disp <= 0 || op->mem.disp > OFFSET_MAX)
		return;
	if (ret->vm_objspace == NO_FIELD && op->size == 8)
		ret->vm_objspace = (int32_t)op->mem.disp;
	else if (ret->vm_objspace != NO_FIELD && op->size < 8)
		ret->objspace_flags = (int32_t)op->mem.disp;
}

void rby_decode_gc(struct memory *m, raddr_t at, struct rby_gc_code *ret)
{
	uint8_t code[CODE_BYTES];
	cs_insn *list;
	size_t n = 0;
	csh handle;

	*ret = (struct rby_gc_code){ { 0, 0 }, NO_FIELD, NO_FIELD };
	if (failed(memory_read(m, at, code, sizeof(code))) || cs_open(CS_ARCH_X86, CS_MODE_64, &handle) != CS_ERR_OK)
		return;
	cs_option(handle, CS_OPT_DETAIL, CS_OPT_ON);
	n = cs_disasm(handle, code, sizeof(code), at, INSTRUCTIONS_MAX, &list);
	for (size_t i = 0; i < n && ret->objspace_flags == NO_FIELD && list[i].id != X86_INS_RET; i++) {
		const cs_x86_op *op = memory_operand(&list[i]);

		if (!op)
			continue;
		if (op->mem.base == X86_REG_RIP && !ret->vm_at[0])
			take_address(m, &list[i], op, ret);
		else if (op->mem.base != X86_REG_RIP)
			take_offset(op, ret);
	}
	if (n)
		cs_free(list, n);
	cs_close(&handle);
	if (ret->objspace_flags == NO_FIELD)
		ret->vm_objspace = NO_FIELD;
}

#else

void rby_decode_gc(struct memory *m, raddr_t at, struct rby_gc_code *ret)
{
	(void)m;
	(void)at;
	*ret = (struct rby_gc_code){ { 0, 0 }, NO_FIELD, NO_FIELD };
}

#endif
