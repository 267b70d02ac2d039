/* pystring.c - types and strings: str of PEP 393, bytes, and Python 2's str and unicode. */
#include <string.h>

#include "objects.h"
#include "text.h"

enum {
	CHUNK = 1024,	     /* characters read at a time */
	BYTES_CHUNK = 16384, /* bytes of a Python 2 str that become text */
	TYPE_NAME_CAP = 128,
	LENGTH_CAP = 1 << 30, /* characters of a string: more is taken for damage */
	MAX_CODE_POINT = 0x10FFFF,
	PAGE = 4096, /* the smallest there is */
};

struct err cpy_type_flags(struct memory *m, const struct cpy_layout *l, raddr_t object, raddr_t *type, uint64_t *ret)
{
	struct err e = memory_ptr(m, object + l->object_type, type);

	return failed(e) ? e : memory_u64(m, *type + l->type_flags, ret);
}

struct err cpy_type_of(struct memory *m, const struct cpy_layout *l, raddr_t object, struct cpy_type *ret)
{
	char name[TYPE_NAME_CAP];
	raddr_t name_at;
	struct text text;
	struct err e = cpy_type_flags(m, l, object, &ret->at, &ret->flags);

	if (!failed(e))
		e = memory_ptr(m, ret->at + l->type_name, &name_at);
	if (!failed(e))
		e = memory_str(m, name_at, name, sizeof(name));
	if (failed(e))
		return e;
	text_init(&text, ret->name, sizeof(ret->name));
	text_utf8(&text, (const uint8_t *)name, strlen(name));
	return OK;
}

enum { STATE_KIND = 7, STATE_COMPACT = 1 << 3, STATE_ASCII = 1 << 4 };

/* The bits of PyASCIIObject.state above `interned`: kind 3, compact 1, ascii 1. */
static uint32_t state_bits(const struct cpy_layout *l, uint32_t state)
{
	return state >> (l->strings == STRINGS_PEP393_BYTE ? 8 : 2);
}

bool cpy_state_is_ascii(const struct cpy_layout *l, uint32_t state)
{
	return (~state_bits(l, state) & (STATE_COMPACT | STATE_ASCII)) == 0;
}

static struct err pep393_find(struct memory *m, const struct cpy_layout *l, raddr_t object, struct cpy_chars *ret)
{
	uint32_t state;
	struct memory_range ranges[] = {
		{ object + l->unicode_length, &ret->length, sizeof(ret->length) },
		{ object + l->unicode_state, &state, sizeof(state) },
	};
	struct err e = memory_readv(m, ranges, countof(ranges), NULL);

	if (failed(e))
		return e;
	state = state_bits(l, state);
	ret->unit = state & STATE_KIND;
	ret->ascii = state & STATE_ASCII;
	if (ret->unit != 1 && ret->unit != 2 && ret->unit != 4)
		return err_at(ERR_CORRUPT, object, "kind of string");
	if (!(state & STATE_COMPACT)) /* instances of subclasses, and what old C code made: the pointer ends
					 the struct */
		return memory_ptr(m, object + l->unicode_compact, &ret->data);
	ret->data = object + (ret->ascii ? l->unicode_ascii : l->unicode_compact);
	return OK;
}

struct err cpy_chars_find(struct memory *m, const struct cpy_layout *l, raddr_t object, struct cpy_chars *ret)
{
	raddr_t type;
	uint64_t flags;
	struct err e = cpy_type_flags(m, l, object, &type, &flags);

	*ret = (struct cpy_chars){ 0 };
	if (failed(e))
		return e;
	if (flags & CPY_TYPE_BYTES) {
		ret->data = object + l->bytes_data;
		ret->unit = 1;
		ret->bytes = true;
		e = memory_u64(m, object + l->var_size, &ret->length);
	} else if (!(flags & CPY_TYPE_STR)) {
		return err_at(ERR_CORRUPT, object, "not a string");
	} else if (l->strings == STRINGS_PY2) {
		e = memory_u64(m, object + l->unicode_length, &ret->length);
		if (!failed(e))
			e = memory_ptr(m, object + l->unicode_py2_str, &ret->data);
	} else {
		e = pep393_find(m, l, object, ret);
	}
	if (failed(e))
		return e;
	return ret->length <= LENGTH_CAP ? OK : err_at(ERR_CORRUPT, object, "length of string");
}

/*
 * Python 2 is built with 2 or with 4 bytes a character and does not say so in its objects. Read as 4 bytes,
 * two characters of a narrow build are no code point, unless the second one is a control character.
 */
static struct err py2_is_wide(struct memory *m, const struct cpy_chars *chars, bool *ret)
{
	uint32_t buf[CHUNK];
	size_t n = chars->length < CHUNK ? chars->length + 1 : CHUNK; /* with the zero that ends it */
	raddr_t narrow_end = chars->data + n * 2 - 1, wide_end = chars->data + n * 4 - 1;
	struct err e = memory_read(m, chars->data, buf, n * 4);

	*ret = false;
	/* Memory that ends behind the shorter one says that it is the shorter one. */
	if (e.code == ERR_FAULT && narrow_end / PAGE != wide_end / PAGE)
		return OK;
	if (failed(e))
		return e;
	for (size_t i = 0; i < n; i++) {
		if (buf[i] > MAX_CODE_POINT)
			return OK;
	}
	*ret = chars->length >= CHUNK || buf[n - 1] == 0;
	return OK;
}

static struct err py2_unit(struct memory *m, struct cpy_chars *chars)
{
	bool wide = false;
	struct err e = chars->unit ? OK : py2_is_wide(m, chars, &wide);

	if (!failed(e) && !chars->unit)
		chars->unit = wide ? 4 : 2;
	return e;
}

/* `n` units that lie packed at the front of buf become one to an element. Backwards, for the front is in the
 * way. */
static void spread(uint32_t *buf, size_t n, uint8_t unit)
{
	const uint8_t *packed = (const uint8_t *)buf;

	for (size_t i = n; unit < 4 && i-- > 0;) {
		uint32_t c = packed[i * unit];

		if (unit == 2)
			c |= (uint32_t)packed[i * 2 + 1] << 8;
		buf[i] = c;
	}
}

/* Narrow builds of Python 2 keep what is above U+FFFF as two surrogates. */
static size_t join_surrogates(uint32_t *buf, size_t n)
{
	size_t out = 0;

	for (size_t i = 0; i < n; i++) {
		uint32_t c = buf[i];

		if (c >> 10 == 0xD800 >> 10 && i + 1 < n && buf[i + 1] >> 10 == 0xDC00 >> 10)
			c = 0x10000 + ((c & 0x3FF) << 10) + (buf[++i] & 0x3FF);
		buf[out++] = c;
	}
	return out;
}

struct err cpy_chars_read(struct memory *m, const struct cpy_chars *chars, uint32_t *buf, size_t cap, size_t *ret)
{
	struct cpy_chars known = *chars;
	size_t n = chars->length < cap ? chars->length : cap;
	struct err e = py2_unit(m, &known);

	if (!failed(e) && n)
		e = memory_read(m, chars->data, buf, n * known.unit);
	if (failed(e))
		return e;
	spread(buf, n, known.unit);
	*ret = chars->unit == 0 && known.unit == 2 ? join_surrogates(buf, n) : n;
	return OK;
}

static struct err bytes_text(struct memory *m, const struct cpy_chars *chars, struct text *ret)
{
	uint8_t buf[BYTES_CHUNK];
	size_t n = chars->length < sizeof(buf) ? chars->length : sizeof(buf);
	struct err e = n ? memory_read(m, chars->data, buf, n) : OK;

	if (failed(e))
		return e;
	/* Where it is cut, the start of a character is left out too. */
	for (int i = 0; i < 3 && n < chars->length && n > 0 && (buf[n - 1] & 0x80); i++) {
		n--;
		if (buf[n] >> 6 == 3)
			break;
	}
	text_utf8(ret, buf, n);
	return OK;
}

struct err cpy_string(struct memory *m, const struct cpy_layout *l, raddr_t object, char *buf, size_t cap)
{
	struct cpy_chars chars;
	uint32_t chunk[CHUNK];
	struct text text;
	struct err e = cpy_chars_find(m, l, object, &chars);

	text_init(&text, buf, cap);
	if (failed(e))
		return e;
	if (chars.bytes)
		return l->strings == STRINGS_PY2 ? bytes_text(m, &chars, &text)
						 : err_at(ERR_CORRUPT, object, "not a string");
	e = py2_unit(m, &chars);
	if (failed(e))
		return e;
	while (chars.length > 0 && !text.full) {
		size_t take = chars.length < CHUNK ? chars.length : CHUNK, n;

		e = cpy_chars_read(m, &chars, chunk, take, &n);
		if (failed(e))
			return e;
		if (l->strings == STRINGS_PY2 && chars.unit == 2)
			n = join_surrogates(chunk, n);
		for (size_t i = 0; i < n && !text.full; i++)
			text_char(&text, chunk[i]);
		chars.data += take * chars.unit;
		chars.length -= take;
	}
	return OK;
}
