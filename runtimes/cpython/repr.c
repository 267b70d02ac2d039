/* repr.c - any object as bounded text, written as repr() would where that can be done without running code.
 */
#include <stdio.h>
#include <string.h>

#include "objects.h"
#include "pynumber.h"
#include "text.h"

enum {
	DEPTH_MAX = 3,	   /* containers within containers that are opened */
	ELEMENTS_MAX = 16, /* of one container that are shown */
	CHARS_MAX = 160,   /* of one string that are shown */
	SLOTS_MAX = 1024,  /* of a set's table that are looked at */
	LENGTH_CAP = 1 << 30,
};

struct repr {
	struct memory *m;
	const struct cpy_layout *l;
	struct text *out;
	int depth;
	size_t shown; /* in the container that is open */
};

static void repr_object(struct repr *r, raddr_t object);

/* Between two elements, or the end of what is shown. */
static bool separate(struct repr *r)
{
	if (r->out->full)
		return false;
	if (r->shown >= ELEMENTS_MAX) {
		text_str(r->out, ", ...");
		return false;
	}
	if (r->shown++)
		text_str(r->out, ", ");
	return true;
}

static void repr_other(struct repr *r, raddr_t object, const struct cpy_type *type)
{
	text_printf(r->out, "<%s at 0x%llx>", type->name, (unsigned long long)object);
}

static void escape(struct text *out, uint32_t c)
{
	text_printf(out, c < 0x100 ? "\\x%02x" : c < 0x10000 ? "\\u%04x" : "\\U%08x", (unsigned int)c);
}

/*
 * What repr() escapes, as far as a table this short can say: controls, separators, format characters,
 * surrogates and private use. A rarer character that is shown as itself does no harm, one that steers a
 * terminal would.
 */
static bool is_printable(uint32_t c)
{
	static const struct {
		uint32_t first, last;
	} escaped[] = {
		{ 0x00, 0x1F },	    { 0x7F, 0xA0 },	  { 0xAD, 0xAD },	{ 0x600, 0x605 },
		{ 0x61C, 0x61C },   { 0x6DD, 0x6DD },	  { 0x70F, 0x70F },	{ 0x1680, 0x1680 },
		{ 0x180E, 0x180E }, { 0x2000, 0x200F },	  { 0x2028, 0x202F },	{ 0x205F, 0x206F },
		{ 0x3000, 0x3000 }, { 0xD800, 0xF8FF },	  { 0xFEFF, 0xFEFF },	{ 0xFFF0, 0xFFFB },
		{ 0xFFFE, 0xFFFF }, { 0x1FFFE, 0x1FFFF }, { 0xE0000, 0xE00FF }, { 0xF0000, 0x10FFFF },
	};

	for (size_t i = 0; i < countof(escaped); i++) {
		if (c >= escaped[i].first && c <= escaped[i].last)
			return false;
	}
	return true;
}

static void repr_char(struct text *out, uint32_t c, char quote, bool only_ascii)
{
	if (c == (uint8_t)quote || c == '\\')
		text_printf(out, "\\%c", (char)c);
	else if (c == '\n' || c == '\r' || c == '\t')
		text_printf(out, "\\%c", c == '\n' ? 'n' : c == '\r' ? 'r' : 't');
	else if ((only_ascii && c >= 0x7F) || !is_printable(c))
		escape(out, c);
	else
		text_char(out, c);
}

static struct err repr_string(struct repr *r, raddr_t object)
{
	bool py2 = r->l->strings == STRINGS_PY2, single = false, twice = false;
	uint32_t c[CHARS_MAX];
	struct cpy_chars chars;
	size_t n;
	struct err e = cpy_chars_find(r->m, r->l, object, &chars);

	if (!failed(e))
		e = cpy_chars_read(r->m, &chars, c, CHARS_MAX, &n);
	if (failed(e))
		return e;
	for (size_t i = 0; i < n; i++) {
		single |= c[i] == '\'';
		twice |= c[i] == '"';
	}
	char quote = single && !twice ? '"' : '\'';
	text_printf(r->out, "%s%c", chars.bytes == py2 ? "" : py2 ? "u" : "b", quote);
	for (size_t i = 0; i < n && !r->out->full; i++)
		repr_char(r->out, c[i], quote, py2 || chars.bytes);
	text_printf(r->out, "%c%s", quote, chars.length > CHARS_MAX ? "..." : "");
	return OK;
}

/* Items of a list or tuple, which stand in a row. */
static struct err repr_items(struct repr *r, raddr_t items, uint64_t count)
{
	raddr_t at[ELEMENTS_MAX + 1]; /* one more, to know that there is more */
	size_t n = count < countof(at) ? count : countof(at);
	struct err e = n ? memory_read(r->m, items, at, n * sizeof(at[0])) : OK;

	for (size_t i = 0; i < n && !failed(e) && separate(r); i++)
		repr_object(r, at[i]);
	return e;
}

static struct err repr_sequence(struct repr *r, raddr_t object, bool list)
{
	raddr_t items = object + r->l->tuple_items;
	uint64_t count;
	struct err e = memory_u64(r->m, object + r->l->var_size, &count);

	if (!failed(e) && list)
		e = memory_ptr(r->m, object + r->l->list_items, &items);
	if (!failed(e) && count > LENGTH_CAP)
		e = err_at(ERR_CORRUPT, object, "length of sequence");
	if (failed(e))
		return e;
	text_str(r->out, list ? "[" : "(");
	e = repr_items(r, items, count);
	text_str(r->out, list ? "]" : count == 1 ? ",)" : ")");
	return e;
}

static bool repr_entry(void *arg, raddr_t key, raddr_t value)
{
	struct repr *r = arg;

	if (!separate(r))
		return false;
	repr_object(r, key);
	text_str(r->out, ": ");
	repr_object(r, value);
	return true;
}

static struct err repr_dict(struct repr *r, raddr_t object)
{
	text_str(r->out, "{");
	struct err e = cpy_dict_each(r->m, r->l, object, ELEMENTS_MAX + 1, repr_entry, r);
	text_str(r->out, "}");
	return e;
}

/* A slot of a set that is empty, or was. */
static bool is_free_slot(struct repr *r, raddr_t key, uint64_t hash, bool deleted)
{
	char name[16];

	if (!key)
		return true;
	if (r->l->dict != DICT_PY2)
		return hash == UINT64_MAX; /* the hash of no object */
	/* Python 2 marks a deleted one by a string of its own. */
	return deleted && !failed(cpy_string(r->m, r->l, key, name, sizeof(name))) && strcmp(name, "<dummy key>") == 0;
}

static struct err repr_set_items(struct repr *r, raddr_t table, uint64_t mask, bool deleted)
{
	size_t key = r->l->dict == DICT_PY2 ? 1 : 0; /* {hash, key} there, {key, hash} since */
	uint64_t slot[2];

	for (uint64_t i = 0; i <= mask && i < SLOTS_MAX; i++) {
		struct err e = memory_read(r->m, table + i * sizeof(slot), slot, sizeof(slot));

		if (failed(e))
			return e;
		if (is_free_slot(r, slot[key], slot[1 - key], deleted))
			continue;
		if (!separate(r))
			break;
		repr_object(r, slot[key]);
	}
	return OK;
}

static struct err repr_set(struct repr *r, raddr_t object, bool frozen)
{
	bool py2 = r->l->dict == DICT_PY2;
	uint64_t used, fill = 0, mask;
	raddr_t table;
	struct memory_range ranges[] = {
		{ object + r->l->set_used, &used, sizeof(used) },
		{ object + r->l->set_mask, &mask, sizeof(mask) },
		{ object + r->l->set_table, &table, sizeof(table) },
		{ object + r->l->set_fill, &fill, sizeof(fill) },
	};
	struct err e = memory_readv(r->m, ranges, countof(ranges), NULL);

	if (failed(e))
		return e;
	const char *open = frozen ? "frozenset({" : "{", *close = frozen ? "})" : "}";
	if (py2) {
		open = frozen ? "frozenset([" : "set([";
		close = "])";
	} else if (used == 0) {
		open = frozen ? "frozenset(" : "set(";
		close = ")";
	}
	text_str(r->out, open);
	e = used ? repr_set_items(r, table, mask, fill != used) : OK;
	text_str(r->out, close);
	return e;
}

enum shape { SHAPE_OTHER, SHAPE_LIST, SHAPE_TUPLE, SHAPE_DICT, SHAPE_SET, SHAPE_FROZENSET };

static enum shape shape_of(const struct cpy_type *type)
{
	static const struct {
		const char *name;
		enum shape shape;
	} shapes[] = {
		{ "list", SHAPE_LIST }, { "tuple", SHAPE_TUPLE },	  { "dict", SHAPE_DICT },
		{ "set", SHAPE_SET },	{ "frozenset", SHAPE_FROZENSET },
	};

	for (size_t i = 0; i < countof(shapes); i++) {
		if (strcmp(type->name, shapes[i].name) == 0)
			return shapes[i].shape;
	}
	return SHAPE_OTHER;
}

static struct err repr_container(struct repr *r, raddr_t object, enum shape shape)
{
	static const char *const closed[] = {
		[SHAPE_LIST] = "[...]",
		[SHAPE_TUPLE] = "(...)",
		[SHAPE_DICT] = "{...}",
		[SHAPE_SET] = "{...}",
		[SHAPE_FROZENSET] = "frozenset({...})",
	};
	struct repr inner = *r;
	struct err e = OK;

	if (r->depth >= DEPTH_MAX) {
		text_str(r->out, closed[shape]);
		return e;
	}
	inner.depth++;
	inner.shown = 0;
	switch (shape) {
	case SHAPE_LIST:
	case SHAPE_TUPLE:
		return repr_sequence(&inner, object, shape == SHAPE_LIST);
	case SHAPE_DICT:
		return repr_dict(&inner, object);
	case SHAPE_SET:
	case SHAPE_FROZENSET:
		return repr_set(&inner, object, shape == SHAPE_FROZENSET);
	case SHAPE_OTHER:
		break;
	}
	return e;
}

static struct err repr_int(struct repr *r, raddr_t object, const struct cpy_type *type)
{
	int64_t value = 0;
	struct err e;

	if (strcmp(type->name, "bool") == 0) {
		e = cpy_int(r->m, r->l, object, &value);
		if (!failed(e))
			text_str(r->out, value ? "True" : "False");
		return e;
	}
	e = cpy_int_text(r->m, r->l, object, r->out);
	if (!failed(e) && r->l->ints == INTS_PY2 && type->flags & CPY_TYPE_LONG)
		text_str(r->out, "L");
	return e;
}

/* A class made by the program may have a repr of its own, which can't be run: only built-in types are opened.
 */
static struct err repr_exact(struct repr *r, raddr_t object, const struct cpy_type *type)
{
	enum shape shape = shape_of(type);
	double value;

	if (shape != SHAPE_OTHER)
		return repr_container(r, object, shape);
	/* From 3.12 on the bit of Python 2's int says something else, of classes among others. */
	if (type->flags & CPY_TYPE_LONG || (r->l->ints == INTS_PY2 && type->flags & CPY_TYPE_INT))
		return repr_int(r, object, type);
	if (type->flags & (CPY_TYPE_BYTES | CPY_TYPE_STR))
		return repr_string(r, object);
	if (strcmp(type->name, "float") == 0) {
		struct err e = memory_read(r->m, object + r->l->float_value, &value, sizeof(value));

		if (!failed(e))
			cpy_float_text(value, r->out);
		return e;
	}
	if (strcmp(type->name, "NoneType") == 0)
		text_str(r->out, "None");
	else if (strcmp(type->name, "NotImplementedType") == 0)
		text_str(r->out, "NotImplemented");
	else if (strcmp(type->name, "ellipsis") == 0)
		text_str(r->out, "Ellipsis");
	else
		repr_other(r, object, type);
	return OK;
}

static void repr_object(struct repr *r, raddr_t object)
{
	struct cpy_type type;
	struct err e = object ? cpy_type_of(r->m, r->l, object, &type) : err_at(ERR_CORRUPT, 0, "null");

	if (!failed(e)) {
		if (type.flags & CPY_TYPE_HEAP)
			repr_other(r, object, &type);
		else
			e = repr_exact(r, object, &type);
	}
	if (failed(e))
		text_printf(r->out, "<unreadable at 0x%llx>", (unsigned long long)object);
}

void cpy_repr(struct memory *m, const struct cpy_layout *l, raddr_t object, char *buf, size_t cap)
{
	struct text text;
	struct repr r = { .m = m, .l = l, .out = &text };

	text_init(&text, buf, cap);
	repr_object(&r, object);
	text_close(&text);
}
