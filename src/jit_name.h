/* jit_name.h - what a JIT calls its code in a perf map, split into function, file and line. */
#ifndef CSPY_JIT_NAME_H
#define CSPY_JIT_NAME_H

#include "cspy/frame.h"

/* Not terminated: parts of the name that was split. */
struct jit_text {
	const char *at;
	size_t len;
};

struct jit_name {
	struct jit_text function, file;
	uint32_t line, column; /* where the function begins; 0: not said */
	enum frame_kind kind;
	char tier; /* V8's: ~ interpreted, ^ baseline, + and * optimised; 0: not said */
	bool library;
};

void jit_name_split(const char *text, size_t len, struct jit_name *ret);
/* V8's builtins, stubs and bytecode handlers: they are between functions. */
bool jit_name_is_glue(const char *text, size_t len);

#endif
