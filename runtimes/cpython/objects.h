/* objects.h - read Python objects: types, strings, numbers, dicts, and anything as bounded text. Cold. */
#ifndef CPYTHON_OBJECTS_H
#define CPYTHON_OBJECTS_H

#include "cspy/memory.h"
#include "cspy/runtime.h"
#include "layout.h"

/* tp_flags, the same in every version (Include/object.h). */
enum cpy_type_flags {
	CPY_TYPE_INLINE_VALUES = 1 << 2, /* 3.13+ */
	CPY_TYPE_MANAGED_DICT = 1 << 4,	 /* 3.11+; before that unused */
	CPY_TYPE_HEAP = 1 << 9,		 /* made by a class statement */
	CPY_TYPE_INT = 1 << 23,		 /* Python 2: int and its subclasses */
	CPY_TYPE_LONG = 1 << 24,	 /* int, or Python 2's long, and subclasses */
	CPY_TYPE_LIST = 1 << 25,
	CPY_TYPE_TUPLE = 1 << 26,
	CPY_TYPE_BYTES = 1 << 27, /* bytes, or Python 2's str */
	CPY_TYPE_STR = 1 << 28,	  /* str, or Python 2's unicode */
	CPY_TYPE_DICT = 1 << 29,
};

struct cpy_type {
	raddr_t at;
	uint64_t flags;
	char name[128]; /* tp_name, UTF-8, cut; "datetime.date" for some static types, bare for classes */
};

MUST_CHECK struct err cpy_type_of(struct memory *m, const struct cpy_layout *l, raddr_t object, struct cpy_type *ret);
/* Without the name: one read less. */
MUST_CHECK struct err cpy_type_flags(struct memory *m, const struct cpy_layout *l, raddr_t object, raddr_t *type,
				     uint64_t *ret);

/* Where the characters of a str or bytes object lie. */
struct cpy_chars {
	raddr_t data;
	uint64_t length; /* characters */
	uint8_t unit;	 /* bytes of one: 1, 2 or 4; 0: Python 2 unicode, 2 or 4 as its build has it */
	bool ascii, bytes;
};

/* Of a str, or of Python 2's str and unicode, or of bytes; ERR_CORRUPT when it is none of them. */
MUST_CHECK struct err cpy_chars_find(struct memory *m, const struct cpy_layout *l, raddr_t object,
				     struct cpy_chars *ret);
/* The first characters, at most `cap`, as they are: surrogates stay, bytes are numbers. */
MUST_CHECK struct err cpy_chars_read(struct memory *m, const struct cpy_chars *chars, uint32_t *buf, size_t cap,
				     size_t *ret);

/* PyASCIIObject.state: the characters are ASCII and lie behind the header. */
bool cpy_state_is_ascii(const struct cpy_layout *l, uint32_t state);

/* A str (or Python 2 str or unicode) as UTF-8, cut at cap - 1 bytes on a character's border; lone surrogates
 * and bytes that are no text become U+FFFD. */
MUST_CHECK struct err cpy_string(struct memory *m, const struct cpy_layout *l, raddr_t object, char *buf, size_t cap);

/* Value of a dict's str key; ERR_UNSUPPORTED when there is none. Combined, split and inline layouts. */
MUST_CHECK struct err cpy_dict_get(struct memory *m, const struct cpy_layout *l, raddr_t dict, const char *key,
				   raddr_t *ret);
/* Value of a dict's int key, which must be from 0 to 2**61 - 2; ERR_UNSUPPORTED when there is none. */
MUST_CHECK struct err cpy_dict_get_int(struct memory *m, const struct cpy_layout *l, raddr_t dict, uint64_t key,
				       raddr_t *ret);
/* Every entry of a dict until fn says stop (false). At most `max` entries. */
typedef bool cpy_dict_fn(void *arg, raddr_t key, raddr_t value);
MUST_CHECK struct err cpy_dict_each(struct memory *m, const struct cpy_layout *l, raddr_t dict, size_t max,
				    cpy_dict_fn *fn, void *arg);
/* An instance attribute by name, in its __dict__ or its inline values; ERR_UNSUPPORTED when there is none. */
MUST_CHECK struct err cpy_attribute(struct memory *m, const struct cpy_layout *l, raddr_t object, const char *name,
				    raddr_t *ret);

/* repr-like text of any object, bounded in length and depth: ints, floats, strings, containers, else <Type at
 * 0x...>. Never fails: what can't be read is said in the text. */
void cpy_repr(struct memory *m, const struct cpy_layout *l, raddr_t object, char *buf, size_t cap);
/* ERR_CORRUPT when it is no int, ERR_UNSUPPORTED when it does not fit. */
MUST_CHECK struct err cpy_int(struct memory *m, const struct cpy_layout *l, raddr_t object, int64_t *ret);

/* names.c: the name that threading gave to the thread with this ident; ERR_UNSUPPORTED when it has none. *known is
 * where threading keeps them, for the next thread of this interpreter; 0: to be found. */
MUST_CHECK struct err cpy_thread_name(struct memory *m, const struct cpy_layout *l, raddr_t interp, uint64_t ident,
				      raddr_t *known, char *buf, size_t cap);

/* locals.c: arguments, locals, cells and free variables of a frame whose code object is `code`. */
MUST_CHECK struct err cpy_locals(struct memory *m, const struct cpy_layout *l, raddr_t frame, raddr_t code,
				 rt_local_fn *fn, void *arg);

#endif
