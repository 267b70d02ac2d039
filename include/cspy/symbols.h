/* symbols.h - names of native code. */
#ifndef CSPY_SYMBOLS_H
#define CSPY_SYMBOLS_H

#include "cspy/frame.h"
#include "cspy/unwind.h"

struct symbols;
struct symbols *symbols_new(struct modules *m); /* borrowed */
void symbols_free(struct symbols *s);		/* accepts NULL; before the modules */
/* How many functions were inlined at the address, as far as DWARF is at hand; `module` is the code_addr's. Cached. */
size_t symbols_inlined(struct symbols *s, raddr_t at, uint32_t module);
/*
 * What code lies at the address: of those that were inlined there, the innermost with `inner` 0, marked "[inlined]";
 * with as many as there are, the function itself. With file and line where DWARF has them; the demangled name from
 * .symtab, .dynsym, .gnu_debugdata or a separate debug file, and the module. Where nobody names it, "libfoo.so+0x1234"
 * with the start of its function, and "[jit]" for code that no file holds. ERR_FAULT: it is no code.
 */
MUST_CHECK struct err symbols_name(struct symbols *s, raddr_t at, size_t inner, struct strings *strings,
				   struct frame_info *ret);

#endif
