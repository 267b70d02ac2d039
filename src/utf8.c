/* utf8.c - tell UTF-8 from bytes that are none. */
#include "utf8.h"

static const uint32_t REPLACEMENT = 0xFFFD;

/* Bytes of the sequence that starts so; 0: nothing starts so. */
static size_t sequence_length(unsigned char first)
{
	if (first < 0x80)
		return 1;
	if (first >= 0xC2 && first <= 0xDF)
		return 2;
	if (first >= 0xE0 && first <= 0xEF)
		return 3;
	if (first >= 0xF0 && first <= 0xF4)
		return 4;
	return 0;
}

size_t utf8_next(const char *s, uint32_t *ret)
{
	static const uint32_t smallest[] = { 0, 0, 0x80, 0x800, 0x10000 };
	const unsigned char *p = (const unsigned char *)s;
	size_t len = sequence_length(*p);
	uint32_t c;

	*ret = *p;
	if (len == 1)
		return *p ? 1 : 0;
	*ret = REPLACEMENT;
	if (len == 0)
		return 1;
	c = *p & (0xFFu >> (len + 1));
	for (size_t i = 1; i < len; i++) {
		if ((p[i] & 0xC0) != 0x80) /* NUL as well, so this never runs past the end */
			return 1;
		c = c << 6 | (p[i] & 0x3F);
	}
	if (c < smallest[len] || (c >= 0xD800 && c <= 0xDFFF) || c > 0x10FFFF)
		return 1;
	*ret = c;
	return len;
}

bool utf8_is_control(uint32_t c)
{
	return c < 0x20 || (c >= 0x7F && c < 0xA0) || c == 0x2028 || c == 0x2029;
}

void utf8_put_plain(FILE *out, const char *s)
{
	size_t len;
	uint32_t c;

	for (; (len = utf8_next(s, &c)); s += len) {
		if (utf8_is_control(c))
			fputc('?', out);
		else if (c == 0xFFFD)
			fputs(UTF8_REPLACEMENT, out);
		else
			fwrite(s, 1, len, out);
	}
}
