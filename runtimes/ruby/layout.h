/* layout.h - what differs between Ruby versions, as plain data: offsets AND
 * behaviours. */
#ifndef RUBY_LAYOUT_H
#define RUBY_LAYOUT_H

#include "cspy/base.h"

/* Where the list of threads begins. */
enum rby_thread_list {
	LIST_VM,      /* to 2.7: one list in the VM */
	LIST_RACTORS, /* 3.0+: the VM has a list of ractors, each a list of threads */
};

/* Where a thread's OS id is. */
enum rby_tid {
	TID_PTHREAD, /* to 3.0: only the pthread_t, in whose struct the C library
			keeps the id */
	TID_THREAD,  /* 3.1: in the thread */
	TID_NATIVE,  /* 3.2+: in the native thread that runs it now, if any */
};

/* Who has the lock. */
enum rby_lock {
	LOCK_UNKNOWN, /* 2.5: only that somebody has it */
	LOCK_VM,      /* 2.6, 2.7: one lock, its owner a word in the VM */
	LOCK_RACTOR,  /* 3.0+: a lock for each ractor */
};

/* How a control frame is pushed: what may be seen of one that is not finished.
 */
enum rby_push {
	PUSH_LINKED_FIRST, /* ec->cfp points to the new frame before it is filled */
	PUSH_FILLED_FIRST, /* the frame is filled, then linked */
	PUSH_JIT_LINKED,   /* 3.1: filled first by the interpreter, linked first by compiled code */
};

enum rby_line_table {
	LINES_ENTRIES,	/* 2.5: {position, line, events} */
	LINES_SUCCINCT, /* 2.6+: lines beside positions, which become a succinct index
			   when the iseq is finished */
};

/* Where a class keeps its name. */
enum rby_class_path {
	CLASS_PATH_IVARS,  /* to 3.1: the instance variable __classpath__, __attached__
			    * for what a singleton belongs to
			    */
	CLASS_PATH_SHAPES, /* 3.2: the same variables, whose places a list of shapes tells */
	CLASS_PATH_EXT,	   /* 3.3+: fields of the class */
};

/* How an iseq tells its first line. */
enum rby_first_line {
	FIRST_LINE_FIXNUM, /* to 3.1: a Ruby integer, twice the number plus one */
	FIRST_LINE_INT,
};

enum rby_strings {
	STRINGS_FLAGS, /* to 3.1: the length of an embedded string is in its flags */
	STRINGS_LEN,   /* 3.2+: the length has a field of its own */
};

enum { NO_FIELD = -1 };

/* Offsets are bytes, ids are numbers; NO_FIELD where the version has none. */
struct rby_layout {
	uint8_t major, minor, patch; /* the first patch level that has it */
	uint8_t known;		     /* the last that is known to: later ones may differ */
	const char *source;
	bool tried; /* on a real interpreter of this version */
	enum rby_thread_list thread_list;
	enum rby_tid tid;
	enum rby_lock lock;
	enum rby_push push;
	enum rby_line_table lines;
	enum rby_class_path class_path;
	enum rby_first_line first_line;
	enum rby_strings strings;

	int32_t vm_threads, vm_ractors, vm_main_thread, vm_lock_owner, vm_shapes, vm_objspace;
	int32_t objspace_flags;
	int32_t ractor_node, ractor_threads, ractor_lock_owner;
	int32_t thread_vm, thread_ec, thread_name, thread_status, thread_region;
	int32_t thread_pthread, thread_tid, thread_native, native_tid;
	int32_t ec_thread;
	int32_t frame_size, frame_jit_return;
	int32_t body_parent, body_local, body_lines, body_line_count, body_positions, body_succinct;
	int32_t line_size, line_at;
	/* What the call instructions of an iseq know, each in so many bytes; in it, or in what call_cache points to,
	 * the method. */
	int32_t body_calls, body_call_count, call_size, call_cache, call_method;
	int32_t class_ext, class_path_at, class_attached;
	uint32_t array_len_mask, singleton_flag, magic_mask, magic_dummy;
	uint32_t last_op_id, nil;
};

/* The same in every version that is known. */
enum {
	EC_STACK = 0,
	EC_STACK_SIZE = 8, /* in words */
	EC_FRAME = 16,
	FRAME_PC = 0,
	FRAME_SP = 8,
	FRAME_ISEQ = 16,
	FRAME_EP = 32,
	ISEQ_BODY = 16,
	BODY_SIZE = 4,
	BODY_ENCODED = 8,
	BODY_PATH = 64,
	BODY_BASE_LABEL = 72,
	BODY_LABEL = 80,
	BODY_FIRST_LINE = 88,
	METHOD_DEFINITION = 16,
	METHOD_CALLED_ID = 24,
	METHOD_OWNER = 32,
	DEFINITION_BODY = 8, /* the iseq, or the C function */
	DEFINITION_ORIGINAL_ID = 32,
	SVAR_METHOD = 8,
	OBJECT_CLASS = 8,
	STRING_LEN = 16,
	STRING_PTR = 24,
	STRING_EMBEDDED = 16,	 /* STRINGS_FLAGS */
	STRING_EMBEDDED_32 = 24, /* STRINGS_LEN */
	ARRAY_LEN = 16,
	ARRAY_PTR = 32,
	ARRAY_EMBEDDED = 16,
	ARRAY_LEN_SHIFT = 15,
	CLASS_PTR = 24,		/* CLASS_PATH_IVARS: of the rest of the class */
	CLASS_IV_TABLE = 8,	/* in that rest */
	CLASS_SHAPE_SHIFT = 32, /* CLASS_PATH_SHAPES: of its number in a class's flags */
	CLASS_VARIABLES = 0,	/* in class_ext: where they are */
	SHAPE_SIZE = 32,
	SHAPE_NAME = 8,
	SHAPE_NEXT_INDEX = 16,
	SHAPE_TYPE = 24,
	SHAPE_PARENT = 28,
	TABLE_ENTRIES_BOUND = 40,
	TABLE_ENTRIES = 48,
	TABLE_ENTRY = 24, /* {hash, key, value} */
	SYMBOLS_LAST_ID = 0,
	SYMBOLS_IDS = 16,
	SYMBOLS_UNIT = 512, /* names in one array of the array of arrays */
	ID_SCOPE_SHIFT = 4,
};

/* Flags of objects. */
enum {
	TYPE_MASK = 0x1f,
	TYPE_CLASS = 2,
	TYPE_MODULE = 3,
	TYPE_STRING = 5,
	TYPE_ARRAY = 7,
	TYPE_IMEMO = 26,
	TYPE_ICLASS = 28,
	STRING_NOEMBED = 1 << 13,
	STRING_EMBED_SHIFT = 14,
	STRING_EMBED_MASK = 0x1f,
	ARRAY_EMBED = 1 << 13,
	IMEMO_SHIFT = 12,
	IMEMO_MASK = 15,
	IMEMO_SVAR = 2,
	IMEMO_METHOD = 6,
	IMEMO_ISEQ = 7,
};

/* The word at ep[0]; ep[-1] leads to the environment around this one, ep[-2]
 * holds the method entry. */
enum {
	MAGIC_METHOD = 0x11110001,
	MAGIC_BLOCK = 0x22220001,
	MAGIC_CFUNC = 0x55550001,
	MAGIC_IFUNC = 0x66660001,
	MAGIC_RESCUE = 0x78880001,
	ENV_LOCAL = 2,
	FRAME_FINISH = 0x20, /* entered from C */
};

enum { SHAPE_ROOT = 0, SHAPE_VARIABLE = 1 };						   /* a shape's type */
enum { ISEQ_METHOD = 1, ISEQ_BLOCK = 2, ISEQ_RESCUE = 4, ISEQ_ENSURE = 5, ISEQ_EVAL = 6 }; /* a body's type */
enum { METHOD_TYPE_MASK = 15, METHOD_ISEQ = 0, METHOD_CFUNC = 1 };
enum { THREAD_STATUS_MASK = 3, THREAD_RUNNABLE = 0 };
enum { GC_DURING = 1 << 5 };

/* NULL: none that is near. *exact: made for this version and patch level, else a neighbour's. */
const struct rby_layout *rby_layout_find(unsigned major, unsigned minor, unsigned patch, bool *exact);
const struct rby_layout *rby_layout_at(size_t index); /* NULL past the end */

static inline bool rby_has(int32_t field)
{
	return field != NO_FIELD;
}

#endif
