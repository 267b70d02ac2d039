/*
 * debug_offsets.c - the offsets that CPython 3.13 and later state about themselves at the start of
 * _PyRuntime. Upstream: Include/internal/pycore_debug_offsets.h (3.13: pycore_runtime.h), struct
 * _Py_DebugOffsets.
 */
#include <string.h>

#include "find.h"

enum {
	MAX_WORDS = 128,
	MAX_SIZE = 4 << 20, /* of one of the interpreter's structures; _PyRuntime is below 512 KiB in 3.15 */
	FIRST_MINOR = 13,
	PLAIN_HEADER = 16, /* bytes of a PyObject in a build with GIL and without Py_TRACE_REFS */
};

/* What is described, and some words that are needed only to make others relative. */
struct described {
	struct cpy_layout layout;
	int32_t object_size, gil_at, gil_locked, gil_holder, gc_at, gc_collecting, unused;
};

enum word_kind {
	SIZE,	/* of a structure: the offsets that follow lie in it */
	OFFSET, /* in the structure whose size came last */
	MAYBE,	/* the same, and 0 where this build has no such member */
	APART,	/* no offset in that structure */
};

/* One 64-bit word behind version and free_threaded, in upstream's order; a version has those added until
 * then. */
struct word {
	uint8_t since; /* 3.since added it */
	uint8_t kind;
	uint16_t to; /* of the int32_t in struct described */
	const char *name;
};

#define TO(field)      offsetof(struct described, layout.field)
#define SCRATCH(field) offsetof(struct described, field)
#define UNUSED	       offsetof(struct described, unused)

static const struct word words[] = {
	{ 13, SIZE, UNUSED, "runtime_state.size" },
	{ 13, OFFSET, TO(runtime_finalizing), "runtime_state.finalizing" },
	{ 13, OFFSET, TO(runtime_interp_head), "runtime_state.interpreters_head" },
	{ 13, SIZE, UNUSED, "interpreter_state.size" },
	{ 13, OFFSET, UNUSED, "interpreter_state.id" },
	{ 13, OFFSET, TO(interp_next), "interpreter_state.next" },
	{ 13, OFFSET, TO(interp_threads_head), "interpreter_state.threads_head" },
	{ 14, OFFSET, TO(interp_threads_main), "interpreter_state.threads_main" },
	{ 13, OFFSET, SCRATCH(gc_at), "interpreter_state.gc" },
	{ 13, OFFSET, TO(interp_modules), "interpreter_state.imports_modules" },
	{ 13, OFFSET, TO(interp_sysdict), "interpreter_state.sysdict" },
	{ 13, OFFSET, UNUSED, "interpreter_state.builtins" },
	{ 13, OFFSET, TO(interp_gil), "interpreter_state.ceval_gil" },
	{ 13, OFFSET, SCRATCH(gil_at), "interpreter_state.gil_runtime_state" },
	{ 13, APART, UNUSED, "interpreter_state.gil_runtime_state_enabled" },
	{ 13, OFFSET, SCRATCH(gil_locked), "interpreter_state.gil_runtime_state_locked" },
	{ 13, OFFSET, SCRATCH(gil_holder), "interpreter_state.gil_runtime_state_holder" },
	{ 14, OFFSET, UNUSED, "interpreter_state.code_object_generation" },
	{ 14, MAYBE, UNUSED, "interpreter_state.tlbc_generation" },
	{ 13, SIZE, UNUSED, "thread_state.size" },
	{ 13, OFFSET, TO(thread_prev), "thread_state.prev" },
	{ 13, OFFSET, TO(thread_next), "thread_state.next" },
	{ 13, OFFSET, TO(thread_interp), "thread_state.interp" },
	{ 13, OFFSET, TO(thread_frame), "thread_state.current_frame" },
	{ 15, OFFSET, TO(thread_base_frame), "thread_state.base_frame" },
	{ 15, OFFSET, UNUSED, "thread_state.last_profiled_frame" },
	{ 15, OFFSET, UNUSED, "thread_state.last_profiled_frame_seq" },
	{ 13, OFFSET, TO(thread_id), "thread_state.thread_id" },
	{ 13, OFFSET, TO(thread_native_id), "thread_state.native_thread_id" },
	{ 13, OFFSET, TO(thread_chunk), "thread_state.datastack_chunk" },
	{ 13, OFFSET, TO(thread_status), "thread_state.status" },
	{ 15, OFFSET, TO(thread_holds_gil), "thread_state.holds_gil" },
	{ 15, OFFSET, TO(thread_gil_requested), "thread_state.gil_requested" },
	{ 15, OFFSET, UNUSED, "thread_state.current_exception" },
	{ 15, OFFSET, UNUSED, "thread_state.exc_state" },
	{ 15, APART, UNUSED, "err_stackitem.exc_value" },
	{ 13, SIZE, TO(frame_size), "interpreter_frame.size" },
	{ 13, OFFSET, TO(frame_back), "interpreter_frame.previous" },
	{ 13, OFFSET, TO(frame_code), "interpreter_frame.executable" },
	{ 13, OFFSET, TO(frame_pos), "interpreter_frame.instr_ptr" },
	{ 13, OFFSET, TO(frame_locals), "interpreter_frame.localsplus" },
	{ 13, OFFSET, TO(frame_owner), "interpreter_frame.owner" },
	{ 14, OFFSET, UNUSED, "interpreter_frame.stackpointer" },
	{ 14, MAYBE, TO(frame_tlbc), "interpreter_frame.tlbc_index" },
	{ 13, SIZE, TO(code_size), "code_object.size" },
	{ 13, OFFSET, TO(code_filename), "code_object.filename" },
	{ 13, OFFSET, TO(code_name), "code_object.name" },
	{ 13, OFFSET, TO(code_qualname), "code_object.qualname" },
	{ 13, OFFSET, TO(code_lines), "code_object.linetable" },
	{ 13, OFFSET, TO(code_first_line), "code_object.firstlineno" },
	{ 13, OFFSET, TO(code_argcount), "code_object.argcount" },
	{ 13, OFFSET, TO(code_localsplusnames), "code_object.localsplusnames" },
	{ 13, OFFSET, TO(code_localspluskinds), "code_object.localspluskinds" },
	{ 13, OFFSET, TO(code_adaptive), "code_object.co_code_adaptive" },
	{ 14, MAYBE, TO(code_tlbc), "code_object.co_tlbc" },
	{ 13, SIZE, SCRATCH(object_size), "pyobject.size" },
	{ 13, OFFSET, TO(object_type), "pyobject.ob_type" },
	{ 13, SIZE, UNUSED, "type_object.size" },
	{ 13, OFFSET, TO(type_name), "type_object.tp_name" },
	{ 13, OFFSET, UNUSED, "type_object.tp_repr" },
	{ 13, OFFSET, TO(type_flags), "type_object.tp_flags" },
	{ 15, OFFSET, TO(type_basicsize), "type_object.tp_basicsize" },
	{ 15, OFFSET, TO(type_dictoffset), "type_object.tp_dictoffset" },
	{ 15, SIZE, UNUSED, "heap_type_object.size" },
	{ 15, OFFSET, TO(heap_type_cached_keys), "heap_type_object.ht_cached_keys" },
	{ 13, SIZE, UNUSED, "tuple_object.size" },
	{ 13, OFFSET, TO(tuple_items), "tuple_object.ob_item" },
	{ 13, OFFSET, TO(var_size), "tuple_object.ob_size" },
	{ 13, SIZE, UNUSED, "list_object.size" },
	{ 13, OFFSET, TO(list_items), "list_object.ob_item" },
	{ 13, OFFSET, UNUSED, "list_object.ob_size" },
	{ 14, SIZE, UNUSED, "set_object.size" },
	{ 14, OFFSET, TO(set_used), "set_object.used" },
	{ 14, OFFSET, TO(set_table), "set_object.table" },
	{ 14, OFFSET, TO(set_mask), "set_object.mask" },
	{ 13, SIZE, UNUSED, "dict_object.size" },
	{ 13, OFFSET, TO(dict_keys), "dict_object.ma_keys" },
	{ 13, OFFSET, TO(dict_values), "dict_object.ma_values" },
	{ 13, SIZE, UNUSED, "float_object.size" },
	{ 13, OFFSET, TO(float_value), "float_object.ob_fval" },
	{ 13, SIZE, UNUSED, "long_object.size" },
	{ 13, OFFSET, TO(long_tag), "long_object.lv_tag" },
	{ 13, OFFSET, TO(long_digits), "long_object.ob_digit" },
	{ 13, SIZE, UNUSED, "bytes_object.size" },
	{ 13, OFFSET, UNUSED, "bytes_object.ob_size" },
	{ 13, OFFSET, TO(bytes_data), "bytes_object.ob_sval" },
	{ 13, SIZE, UNUSED, "unicode_object.size" },
	{ 13, OFFSET, TO(unicode_state), "unicode_object.state" },
	{ 13, OFFSET, TO(unicode_length), "unicode_object.length" },
	{ 13, OFFSET, TO(unicode_ascii), "unicode_object.asciiobject_size" },
	{ 15, OFFSET, TO(unicode_compact), "unicode_object.compactunicodeobject_size" },
	{ 13, SIZE, UNUSED, "gc.size" },
	{ 13, OFFSET, SCRATCH(gc_collecting), "gc.collecting" },
	/* Behind these come gc.frame, generators, lists and the debugger's door: cspy needs none of them. */
};

/* A word that is not described moves with its neighbour that is. */
static const struct {
	uint16_t field, neighbour;
} neighbours[] = {
	{ TO(runtime_interp_main), TO(runtime_interp_head) },
	{ TO(interp_threads_main), TO(interp_threads_head) },
	{ TO(thread_stack_top), TO(thread_chunk) },
	{ TO(thread_holds_gil), TO(thread_status) },
	{ TO(code_kwonly), TO(code_argcount) },
	{ TO(code_nlocals), TO(code_argcount) },
	{ TO(code_flags), TO(code_argcount) },
	{ TO(code_version), TO(code_argcount) },
	{ TO(type_basicsize), TO(type_flags) },
	{ TO(type_itemsize), TO(type_flags) },
	{ TO(type_dictoffset), TO(type_flags) },
	{ TO(dict_used), TO(dict_keys) },
	{ TO(unicode_compact), TO(unicode_ascii) },
};

static int32_t *field_of(struct described *d, uint16_t at)
{
	return (int32_t *)((char *)d + at);
}

/* The words of a version newer than all known ones are taken to begin like the newest known ones. */
static bool has_word(const struct word *w, unsigned minor)
{
	return w->since <= minor;
}

static size_t word_count(unsigned minor)
{
	size_t n = 0;
	for (size_t i = 0; i < countof(words); i++)
		n += has_word(&words[i], minor);
	return n;
}

static struct err take(struct described *d, bool *is_described, unsigned minor, const uint64_t *values, raddr_t at)
{
	uint64_t size = 0;
	for (size_t i = 0; i < countof(words); i++) {
		const struct word *w = &words[i];
		if (!has_word(w, minor))
			continue;
		uint64_t value = *values++;
		if (w->kind == SIZE)
			size = value;
		if (value > MAX_SIZE || (w->kind == SIZE && value == 0))
			return err_at(ERR_CORRUPT, at, "a structure size that CPython states of itself");
		if ((w->kind == OFFSET || w->kind == MAYBE) && value > size)
			return err_at(ERR_CORRUPT, at, "an offset that CPython states of itself");
		*field_of(d, w->to) = w->kind == MAYBE && value == 0 ? NO_FIELD : (int32_t)value;
		is_described[w->to / sizeof(int32_t)] = true;
	}
	return OK;
}

static void fill_up(struct described *d, const bool *is_described, const struct described *base)
{
	struct described moved = *base;
	cpy_layout_lengthen(&moved.layout, d->object_size - PLAIN_HEADER);
	for (size_t i = 0; i < cpy_layout_field_count; i++) {
		uint16_t at = (uint16_t)(offsetof(struct described, layout) + cpy_layout_fields[i].at);
		if (!is_described[at / sizeof(int32_t)])
			*field_of(d, at) = *field_of(&moved, at);
	}
	for (size_t i = 0; i < countof(neighbours); i++) {
		int32_t *field = field_of(d, neighbours[i].field);
		int32_t *moved_field = field_of(&moved, neighbours[i].field);
		if (!is_described[neighbours[i].field / sizeof(int32_t)] && cpy_has(*moved_field))
			*field = *moved_field + *field_of(d, neighbours[i].neighbour) -
				 *field_of(&moved, neighbours[i].neighbour);
	}
	d->layout.gil_locked = d->gil_locked - d->gil_at;
	d->layout.gil_holder = d->gil_holder - d->gil_at;
	d->layout.interp_gc_collecting = d->gc_at + d->gc_collecting;
}

struct err cpy_debug_offsets(struct memory *m, raddr_t runtime, struct cpy_layout *ret, uint32_t *hexversion)
{
	struct {
		char cookie[8];
		uint64_t version, free_threaded;
	} head;
	uint64_t values[MAX_WORDS];
	bool is_described[sizeof(struct described) / sizeof(int32_t)] = { false };
	_Static_assert(countof(words) <= MAX_WORDS, "room for every word");

	struct err e = memory_read(m, runtime, &head, sizeof head);
	if (failed(e))
		return e;
	unsigned major = (head.version >> 24) & 0xff, minor = (head.version >> 16) & 0xff;
	if (memcmp(head.cookie, "xdebugpy", sizeof head.cookie) != 0)
		return err_at(ERR_UNSUPPORTED, runtime, "no xdebugpy cookie");
	if (head.version > UINT32_MAX || major != cpy_layout_newest()->major || minor < FIRST_MINOR ||
	    head.free_threaded > 1)
		return err_at(ERR_CORRUPT, runtime, "the version that CPython states of itself");
	e = memory_read(m, runtime + sizeof head, values, word_count(minor) * sizeof *values);
	if (failed(e))
		return e;

	const struct cpy_layout *row = cpy_layout_find(major, minor, false);
	struct described base = { .layout = row ? *row : *cpy_layout_newest() }, d = base;
	e = take(&d, is_described, minor, values, runtime);
	if (failed(e))
		return e;
	if (d.object_size < PLAIN_HEADER || d.gil_locked < d.gil_at || d.gil_holder < d.gil_at)
		return err_at(ERR_CORRUPT, runtime, "offsets that CPython states of itself");
	fill_up(&d, is_described, &base);
	d.layout.minor = (uint8_t)minor;
	d.layout.free_threaded = head.free_threaded;
	*ret = d.layout;
	*hexversion = (uint32_t)head.version;
	return OK;
}
