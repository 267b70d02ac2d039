/* layout.h - what differs between CPython versions, as plain data: offsets AND behaviours. */
#ifndef CPYTHON_LAYOUT_H
#define CPYTHON_LAYOUT_H

#include "cspy/base.h"

enum cpy_line_table {
	LINES_LNOTAB_UNSIGNED, /* to 3.5: pairs (address, line), both unsigned */
	LINES_LNOTAB,	       /* 3.6-3.9: line signed */
	LINES_310,	       /* PEP 626: pairs (address delta, line delta), -128 no line */
	LINES_LOCATIONS,       /* 3.11+: location table with columns */
};

enum cpy_frames {
	FRAMES_HEAP,   /* to 3.10: PyFrameObject chain from tstate.frame by f_back */
	FRAMES_CFRAME, /* 3.11, 3.12: tstate.cframe -> current_frame, frames in data stack chunks */
	FRAMES_STACK,  /* 3.13+: tstate.current_frame */
};

enum cpy_position {
	POS_LASTI_BYTES, /* f_lasti counts bytes */
	POS_LASTI_UNITS, /* 3.10: f_lasti counts 2-byte units */
	POS_POINTER,	 /* 3.11+: pointer into the code */
};

enum cpy_strings {
	STRINGS_PY2,	     /* names are PyStringObject */
	STRINGS_PEP393,	     /* PyUnicodeObject, 1, 2 or 4 bytes a character */
	STRINGS_PEP393_BYTE, /* free-threaded 3.14+: `interned` fills the first byte of the state, kind is
				above it */
};

enum cpy_ints {
	INTS_PY2,     /* PyIntObject beside PyLongObject */
	INTS_OB_SIZE, /* sign in ob_size */
	INTS_LV_TAG,  /* 3.12+ */
};

enum cpy_dict {
	DICT_PY2,     /* ma_table of entries, ma_mask */
	DICT_KEYS36,  /* 3.6-3.10: dk_size, dk_usable, dk_nentries, indices, entries {hash, key, value} */
	DICT_KEYS311, /* 3.11+: dk_log2_size, dk_log2_index_bytes, dk_kind; unicode keys have no hash */
};

/* Where an instance keeps its attributes. */
enum cpy_attrs {
	ATTRS_DICTOFFSET, /* tp_dictoffset */
	ATTRS_311,	  /* values pointer at -4 words, dict pointer at -3 words */
	ATTRS_312,	  /* one tagged pointer at -3 words: low bit set = values */
	ATTRS_INLINE,	  /* 3.13+: inline values behind the object, managed dict pointer at -3 words */
};

/* Who holds the lock. */
enum cpy_gil {
	GIL_CURRENT,	 /* to 3.6: the global _PyThreadState_Current */
	GIL_RUNTIME,	 /* 3.7-3.11: runtime.gilstate.tstate_current */
	GIL_INTERPRETER, /* 3.12+: interp.ceval.gil -> {locked, last_holder} */
};

/*
 * Every offset, as X(field, DWARF path or paths). A path is STRUCT.member[.member]; alternatives are
 * separated by a blank and the first that exists is taken; "sizeof STRUCT" is a size. tools/gen-layouts reads
 * this list. An offset that a version does not have is NO_FIELD.
 */
#define CPY_FIELDS(X)                                                                                                  \
	/* _PyRuntimeState */                                                                                          \
	X(runtime_interp_head, "_PyRuntimeState.interpreters.head pyruntimestate.interpreters.head")                   \
	X(runtime_interp_main, "_PyRuntimeState.interpreters.main pyruntimestate.interpreters.main")                   \
	X(runtime_finalizing, "pyruntimestate._finalizing pyruntimestate.finalizing")                                  \
	X(runtime_gil_current, "pyruntimestate.gilstate.tstate_current")                                               \
	X(runtime_gil_interp, "pyruntimestate.gilstate.autoInterpreterState")                                          \
	X(runtime_gc_collecting, "pyruntimestate.gc.collecting")                                                       \
	/* PyInterpreterState */                                                                                       \
	X(interp_next, "_is.next")                                                                                     \
	X(interp_threads_head, "_is.threads.head _is.tstate_head")                                                     \
	X(interp_threads_main, "_is.threads.main")                                                                     \
	X(interp_modules, "_is.imports.modules _is.modules")                                                           \
	X(interp_sysdict, "_is.sysdict")                                                                               \
	X(interp_gil, "_is.ceval.gil")                                                                                 \
	X(interp_gc_collecting, "_is.gc.collecting")                                                                   \
	/* _gil_runtime_state */                                                                                       \
	X(gil_locked, "_gil_runtime_state.locked")                                                                     \
	X(gil_holder, "_gil_runtime_state.last_holder")                                                                \
	/* PyThreadState */                                                                                            \
	X(thread_prev, "_ts.prev")                                                                                     \
	X(thread_next, "_ts.next")                                                                                     \
	X(thread_interp, "_ts.interp")                                                                                 \
	X(thread_frame, "_ts.current_frame _ts.frame _ts.cframe")                                                      \
	X(thread_root_cframe, "_ts.root_cframe")                                                                       \
	X(thread_base_frame, "_ts.base_frame")                                                                         \
	X(thread_id, "_ts.thread_id")                                                                                  \
	X(thread_native_id, "_ts.native_thread_id")                                                                    \
	X(thread_chunk, "_ts.datastack_chunk")                                                                         \
	X(thread_stack_top, "_ts.datastack_top")                                                                       \
	X(thread_status, "_ts._status")                                                                                \
	X(thread_gil_requested, "_ts.gil_requested")                                                                   \
	X(thread_holds_gil, "_ts.holds_gil")                                                                           \
	X(cframe_frame, "_PyCFrame.current_frame")                                                                     \
	X(cframe_previous, "_PyCFrame.previous")                                                                       \
	/* _PyStackChunk */                                                                                            \
	X(chunk_previous, "_stack_chunk.previous")                                                                     \
	X(chunk_size, "_stack_chunk.size")                                                                             \
	X(chunk_top, "_stack_chunk.top")                                                                               \
	X(chunk_data, "_stack_chunk.data")                                                                             \
	/* _PyInterpreterFrame, or PyFrameObject to 3.10 */                                                            \
	X(frame_size, "sizeof _PyInterpreterFrame")                                                                    \
	X(frame_back, "_PyInterpreterFrame.previous _frame.f_back")                                                    \
	X(frame_code, "_PyInterpreterFrame.f_executable _PyInterpreterFrame.f_code _frame.f_code")                     \
	X(frame_pos, "_PyInterpreterFrame.instr_ptr _PyInterpreterFrame.prev_instr _frame.f_lasti")                    \
	X(frame_owner, "_PyInterpreterFrame.owner")                                                                    \
	X(frame_is_entry, "_PyInterpreterFrame.is_entry")                                                              \
	X(frame_tlbc, "_PyInterpreterFrame.tlbc_index")                                                                \
	X(frame_lineno, "_frame.f_lineno")                                                                             \
	X(frame_executing, "_frame.f_executing _frame.f_state")                                                        \
	X(frame_locals, "_PyInterpreterFrame.localsplus _frame.f_localsplus")                                          \
	/* PyCodeObject */                                                                                             \
	X(code_size, "sizeof PyCodeObject")                                                                            \
	X(code_argcount, "PyCodeObject.co_argcount")                                                                   \
	X(code_kwonly, "PyCodeObject.co_kwonlyargcount")                                                               \
	X(code_nlocals, "PyCodeObject.co_nlocals")                                                                     \
	X(code_flags, "PyCodeObject.co_flags")                                                                         \
	X(code_first_line, "PyCodeObject.co_firstlineno")                                                              \
	X(code_version, "PyCodeObject.co_version")                                                                     \
	X(code_filename, "PyCodeObject.co_filename")                                                                   \
	X(code_name, "PyCodeObject.co_name")                                                                           \
	X(code_qualname, "PyCodeObject.co_qualname")                                                                   \
	X(code_lines, "PyCodeObject.co_linetable PyCodeObject.co_lnotab")                                              \
	X(code_bytes, "PyCodeObject.co_code")                                                                          \
	X(code_adaptive, "PyCodeObject.co_code_adaptive")                                                              \
	X(code_tlbc, "PyCodeObject.co_tlbc")                                                                           \
	X(code_varnames, "PyCodeObject.co_varnames")                                                                   \
	X(code_cellvars, "PyCodeObject.co_cellvars")                                                                   \
	X(code_freevars, "PyCodeObject.co_freevars")                                                                   \
	X(code_localsplusnames, "PyCodeObject.co_localsplusnames")                                                     \
	X(code_localspluskinds, "PyCodeObject.co_localspluskinds")                                                     \
	/* PyObject and the built-in types */                                                                          \
	X(object_type, "_object.ob_type")                                                                              \
	X(var_size, "PyVarObject.ob_size")                                                                             \
	X(type_name, "_typeobject.tp_name")                                                                            \
	X(type_basicsize, "_typeobject.tp_basicsize")                                                                  \
	X(type_itemsize, "_typeobject.tp_itemsize")                                                                    \
	X(type_flags, "_typeobject.tp_flags")                                                                          \
	X(type_dictoffset, "_typeobject.tp_dictoffset")                                                                \
	X(heap_type_cached_keys, "_heaptypeobject.ht_cached_keys")                                                     \
	X(bytes_data, "PyBytesObject.ob_sval PyStringObject.ob_sval")                                                  \
	X(unicode_length, "PyASCIIObject.length PyUnicodeObject.length")                                               \
	X(unicode_state, "PyASCIIObject.state")                                                                        \
	X(unicode_ascii, "sizeof PyASCIIObject")                                                                       \
	X(unicode_compact, "sizeof PyCompactUnicodeObject")                                                            \
	X(unicode_py2_str, "PyUnicodeObject.str")                                                                      \
	X(tuple_items, "PyTupleObject.ob_item")                                                                        \
	X(list_items, "PyListObject.ob_item")                                                                          \
	X(int_py2, "PyIntObject.ob_ival")                                                                              \
	X(long_tag, "_longobject.long_value.lv_tag")                                                                   \
	X(long_digits, "_longobject.long_value.ob_digit _longobject.ob_digit")                                         \
	X(float_value, "PyFloatObject.ob_fval")                                                                        \
	X(cell_ref, "PyCellObject.ob_ref")                                                                             \
	X(set_used, "PySetObject.used")                                                                                \
	X(set_fill, "PySetObject.fill")                                                                                \
	X(set_mask, "PySetObject.mask")                                                                                \
	X(set_table, "PySetObject.table")                                                                              \
	X(dict_used, "PyDictObject.ma_used _dictobject.ma_used")                                                       \
	X(dict_keys, "PyDictObject.ma_keys")                                                                           \
	X(dict_values, "PyDictObject.ma_values")                                                                       \
	X(dict_mask, "_dictobject.ma_mask")                                                                            \
	X(dict_table, "_dictobject.ma_table")                                                                          \
	X(keys_size, "_dictkeysobject.dk_size")                                                                        \
	X(keys_log2_size, "_dictkeysobject.dk_log2_size")                                                              \
	X(keys_log2_index, "_dictkeysobject.dk_log2_index_bytes")                                                      \
	X(keys_kind, "_dictkeysobject.dk_kind")                                                                        \
	X(keys_entries, "_dictkeysobject.dk_nentries")                                                                 \
	X(keys_indices, "_dictkeysobject.dk_indices")                                                                  \
	X(dictvalues_values, "_dictvalues.values")                                                                     \
	X(module_dict, "PyModuleObject.md_dict")

enum { NO_FIELD = -1 };

struct cpy_layout {
	uint8_t major, minor;
	bool free_threaded; /* object headers of 32 bytes, no GIL, bytecode per thread */
	const char *source; /* the upstream tag that the numbers were taken from */
	enum cpy_line_table lines;
	enum cpy_frames frames;
	enum cpy_position position;
	enum cpy_strings strings;
	enum cpy_ints ints;
	enum cpy_dict dict;
	enum cpy_attrs attrs;
	enum cpy_gil gil;
	uint8_t owner_skip; /* frames with this owner or the next are native code's own, without code; 0: none such */
	uint8_t executing;  /* bit N: frame_executing may be N while the frame is on its thread's stack */
	uint64_t code_tag_mask; /* bits to clear in frame_code */
#define X(field, path) int32_t field;
	CPY_FIELDS(X)
#undef X
};

static inline bool cpy_has(int32_t field)
{
	return field != NO_FIELD;
}

/* layouts.c: rows come from layouts/X.Y.inc. NULL when there is none for this version. */
const struct cpy_layout *cpy_layout_find(unsigned major, unsigned minor, bool free_threaded);
/* The newest row, to name in messages. */
const struct cpy_layout *cpy_layout_newest(void);
/* Rows in version order; NULL behind the last. */
const struct cpy_layout *cpy_layout_at(size_t index);

/* The list of offsets at run time. */
struct cpy_layout_field {
	const char *name, *path;
	size_t at; /* of the int32_t in struct cpy_layout */
};
extern const struct cpy_layout_field cpy_layout_fields[];
extern const size_t cpy_layout_field_count;

static inline int32_t *cpy_layout_field(struct cpy_layout *l, const struct cpy_layout_field *f)
{
	return (int32_t *)((char *)l + f->at);
}

/* Every object's header is `by` bytes longer than in the build that the row was read from: Py_TRACE_REFS, or
 * no GIL. */
void cpy_layout_lengthen(struct cpy_layout *l, int32_t by);

#endif
