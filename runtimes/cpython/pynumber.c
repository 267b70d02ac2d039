/* pynumber.c - ints and floats as the interpreter would print them. */
#include "pynumber.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	DIGIT_BITS = 30,      /* of a digit of an int: every 64-bit build */
	DIGITS_MAX = 5,	      /* digits of an int that is written in full: 150 bits, 45 decimal digits */
	DIGITS_CAP = 1 << 28, /* digits of any int */
	DECIMAL_CHUNK = 1000000000,
	DECIMAL_CHUNK_DIGITS = 9,
	FLOAT_DIGITS = 17,    /* tell every double from every other */
	FLOAT_POINT_MAX = 16, /* repr() writes an exponent from 1e16 on */
	FLOAT_POINT_MIN = -4, /* and below 1e-4 */
};

struct digits {
	uint32_t low[DIGITS_MAX]; /* least significant first */
	uint32_t top;		  /* the most significant one, when there are more */
	uint64_t count;
	bool negative;
};

/* Sign and number of digits. */
static struct err read_size(struct memory *m, const struct cpy_layout *l, raddr_t object, struct digits *ret)
{
	uint64_t word;
	struct err e = memory_u64(m, object + (l->ints == INTS_LV_TAG ? l->long_tag : l->var_size), &word);

	if (failed(e))
		return e;
	if (l->ints == INTS_LV_TAG) { /* two bits of sign (0 plus, 1 zero, 2 minus), one flag, the count */
		ret->negative = (word & 3) == 2;
		ret->count = (word & 3) == 1 ? 0 : word >> 3;
	} else {
		ret->negative = (int64_t)word < 0;
		ret->count = ret->negative ? -word : word;
	}
	return ret->count <= DIGITS_CAP ? OK : err_at(ERR_CORRUPT, object, "size of int");
}

static struct err read_digits(struct memory *m, const struct cpy_layout *l, raddr_t object, struct digits *ret)
{
	raddr_t type, at = object + l->long_digits;
	uint64_t flags, value;
	struct err e = cpy_type_flags(m, l, object, &type, &flags);

	*ret = (struct digits){ 0 };
	if (failed(e))
		return e;
	if (l->ints == INTS_PY2 && flags & CPY_TYPE_INT) {
		e = memory_u64(m, object + l->int_py2, &value);
		if (failed(e))
			return e;
		ret->negative = (int64_t)value < 0;
		value = ret->negative ? -value : value;
		for (; value; value >>= DIGIT_BITS)
			ret->low[ret->count++] = value & ((1u << DIGIT_BITS) - 1);
		return OK;
	}
	if (!(flags & CPY_TYPE_LONG))
		return err_at(ERR_CORRUPT, object, "not an int");
	e = read_size(m, l, object, ret);
	if (failed(e) || ret->count == 0)
		return e;
	if (ret->count > DIGITS_MAX)
		return memory_u32(m, at + (ret->count - 1) * sizeof(uint32_t), &ret->top);
	return memory_read(m, at, ret->low, ret->count * sizeof(uint32_t));
}

struct err cpy_int(struct memory *m, const struct cpy_layout *l, raddr_t object, int64_t *ret)
{
	struct digits d;
	unsigned __int128 value = 0;
	struct err e = read_digits(m, l, object, &d);

	if (failed(e))
		return e;
	if (d.count > 3)
		return err_at(ERR_UNSUPPORTED, object, "large int");
	for (uint64_t i = d.count; i-- > 0;)
		value = value << DIGIT_BITS | d.low[i];
	if (value > (uint64_t)INT64_MAX + d.negative)
		return err_at(ERR_UNSUPPORTED, object, "large int");
	*ret = (int64_t)(d.negative ? -(uint64_t)value : (uint64_t)value);
	return OK;
}

/* Divide by 10**9; returns the remainder. */
static uint32_t next_decimal_chunk(struct digits *d)
{
	uint64_t rest = 0;

	for (uint64_t i = d->count; i-- > 0;) {
		rest = rest << DIGIT_BITS | d->low[i];
		d->low[i] = (uint32_t)(rest / DECIMAL_CHUNK);
		rest %= DECIMAL_CHUNK;
	}
	while (d->count && d->low[d->count - 1] == 0)
		d->count--;
	return (uint32_t)rest;
}

struct err cpy_int_text(struct memory *m, const struct cpy_layout *l, raddr_t object, struct text *ret)
{
	char decimal[DIGITS_MAX * DECIMAL_CHUNK_DIGITS + 2 * DECIMAL_CHUNK_DIGITS];
	size_t at = sizeof(decimal);
	struct digits d;
	struct err e = read_digits(m, l, object, &d);

	if (failed(e))
		return e;
	if (d.count > DIGITS_MAX) {
		uint64_t bits = (d.count - 1) * DIGIT_BITS;

		for (uint32_t top = d.top; top; top >>= 1)
			bits++;
		text_printf(ret, "<int of %llu bits>", (unsigned long long)bits);
		return OK;
	}
	for (uint64_t i = 0; i < d.count; i++) /* the target's: keeps the division within its bounds */
		d.low[i] &= (1u << DIGIT_BITS) - 1;
	do {
		uint32_t chunk = next_decimal_chunk(&d);

		for (int i = 0; i < DECIMAL_CHUNK_DIGITS && (chunk || d.count || i == 0); i++) {
			decimal[--at] = (char)('0' + chunk % 10);
			chunk /= 10;
		}
	} while (d.count);
	if (d.negative)
		text_str(ret, "-");
	text_put(ret, decimal + at, sizeof(decimal) - at);
	return OK;
}

/* The fewest digits that read back as the same double: "d.ddde+xx". */
static void shortest(double value, char *buf, size_t cap)
{
	for (int digits = 1; digits <= FLOAT_DIGITS; digits++) {
		snprintf(buf, cap, "%.*e", digits - 1, value);
		if (strtod(buf, NULL) == value)
			return;
	}
}

void cpy_float_text(double value, struct text *ret)
{
	char buf[64], digits[FLOAT_DIGITS + 1];
	int n = 0;

	if (!isfinite(value)) {
		text_str(ret, isnan(value) ? "nan" : value < 0 ? "-inf" : "inf");
		return;
	}
	shortest(fabs(value), buf, sizeof(buf));
	char *e = strchr(buf, 'e');
	int exponent = e ? atoi(e + 1) : 0;
	for (const char *p = buf; p < e && n < FLOAT_DIGITS; p++) {
		if (*p >= '0' && *p <= '9')
			digits[n++] = *p;
	}
	digits[n] = '\0';

	if (signbit(value))
		text_str(ret, "-");
	if (exponent < FLOAT_POINT_MIN || exponent >= FLOAT_POINT_MAX)
		text_printf(ret, "%c%s%se%c%02d", digits[0], n > 1 ? "." : "", digits + 1, exponent < 0 ? '-' : '+',
			    abs(exponent));
	else if (exponent < 0)
		text_printf(ret, "0.%.*s%s", -exponent - 1, "000", digits);
	else if (n <= exponent + 1)
		text_printf(ret, "%s%.*s.0", digits, exponent + 1 - n, "0000000000000000");
	else
		text_printf(ret, "%.*s.%s", exponent + 1, digits, digits + exponent + 1);
}
