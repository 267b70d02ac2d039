/* frame.h - from raw frames (what a stack holds) to frame ids (what a person reads). */
#ifndef CSPY_FRAME_H
#define CSPY_FRAME_H

#include "cspy/base.h"

enum raw_frame_flags {
	RAW_FRAME_ENTRY = 1 << 0, /* called from native code: a native stack continues below it */
};

/* Everything the walk may learn; no strings, no allocation. */
struct raw_frame {
	raddr_t code;	/* code object, iseq, SharedFunctionInfo, or pc */
	uint64_t pos;	/* where in it: instruction pointer or offset, the owner decides */
	raddr_t at;	/* the frame itself, 0 when it has no address; not part of its identity */
	uint32_t stamp; /* fingerprint of the code object: the same address with another stamp is another function */
	uint8_t owner;	/* index of the runtime instance */
	uint8_t flags;
	uint16_t pad;
};

enum frame_kind {
	FRAME_PYTHON,
	FRAME_RUBY,
	FRAME_JS,
	FRAME_NATIVE,
	FRAME_KERNEL,
	FRAME_GC,
	FRAME_THREAD,  /* the thread's own frame at the root (-t) */
	FRAME_PROCESS, /* the process's own frame at the root (-s) */
	FRAME_MARK,    /* "[cut]", "[deeper]": not a function but a statement about the stack */
	FRAME_KINDS,
};

/* Everything a format may print. */
struct frame_info {
	str_id function;     /* qualified where the version knows it */
	str_id name;	     /* bare function name */
	str_id file;	     /* as the runtime has it */
	str_id module;	     /* shared object or module name, "" when not known */
	uint32_t line;	     /* 0: none */
	uint32_t column;     /* from 1; 0: none */
	uint32_t first_line; /* of the function; 0: not known */
	uint8_t kind;	     /* enum frame_kind */
	bool library;	     /* standard library or installed package, not the program's own code */
};

/*
 * strings.c: interned, append-only; a string lives as long as the table, at the same address. It ends at its first
 * NUL and after 1 MiB; a full table (16 M strings, 1 GiB) and an unknown id answer with "".
 */
struct strings;
struct strings *strings_new(void);
void strings_free(struct strings *s);
str_id strings_add(struct strings *s, const char *bytes, size_t len);
const char *strings_get(const struct strings *s, str_id id);

/* frames.c: equal infos share an id; append-only. Bounded (16 M): a full table answers with 0, no frame. */
struct frames;
struct frames *frames_new(struct strings *s);
void frames_free(struct frames *f);
struct strings *frames_strings(const struct frames *f);
frame_id frames_add(struct frames *f, struct frame_info info);
struct frame_info frames_get(const struct frames *f, frame_id id);
size_t frames_count(const struct frames *f); /* ids are below this; 0 is one of them */

#endif
