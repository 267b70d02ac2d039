/* text.c - a bounded UTF-8 buffer that never ends within a character. */
#include "text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { REPLACEMENT = 0xFFFD };

void text_init(struct text *t, char *buf, size_t cap)
{
	*t = (struct text){ .buf = buf, .cap = cap };
	buf[0] = '\0';
}

bool text_put(struct text *t, const char *bytes, size_t len)
{
	if (t->full || len >= t->cap - t->len) {
		t->full = true;
		return false;
	}
	memcpy(t->buf + t->len, bytes, len);
	t->len += len;
	t->buf[t->len] = '\0';
	return true;
}

bool text_str(struct text *t, const char *s)
{
	return text_put(t, s, strlen(s));
}

bool text_printf(struct text *t, const char *fmt, ...)
{
	char piece[256];
	va_list args;

	va_start(args, fmt);
	int len = vsnprintf(piece, sizeof(piece), fmt, args);
	va_end(args);
	if (len < 0)
		return false;
	return text_put(t, piece, (size_t)len < sizeof(piece) ? (size_t)len : sizeof(piece) - 1);
}

bool text_char(struct text *t, uint32_t c)
{
	char b[4];

	if ((c >= 0xD800 && c <= 0xDFFF) || c > 0x10FFFF)
		c = REPLACEMENT;
	if (c < 0x80) {
		b[0] = (char)c;
		return text_put(t, b, 1);
	}
	if (c < 0x800) {
		b[0] = (char)(0xC0 | c >> 6);
		b[1] = (char)(0x80 | (c & 0x3F));
		return text_put(t, b, 2);
	}
	if (c < 0x10000) {
		b[0] = (char)(0xE0 | c >> 12);
		b[1] = (char)(0x80 | (c >> 6 & 0x3F));
		b[2] = (char)(0x80 | (c & 0x3F));
		return text_put(t, b, 3);
	}
	b[0] = (char)(0xF0 | c >> 18);
	b[1] = (char)(0x80 | (c >> 12 & 0x3F));
	b[2] = (char)(0x80 | (c >> 6 & 0x3F));
	b[3] = (char)(0x80 | (c & 0x3F));
	return text_put(t, b, 4);
}

/* Length of the character that begins here, 0 when it is no UTF-8. */
static size_t utf8_length(const uint8_t *p, size_t left, uint32_t *ret)
{
	static const uint32_t smallest[] = { 0, 0, 0x80, 0x800, 0x10000 };
	size_t n = p[0] < 0x80 ? 1 : p[0] >> 5 == 6 ? 2 : p[0] >> 4 == 14 ? 3 : p[0] >> 3 == 30 ? 4 : 0;
	uint32_t c = n == 1 ? p[0] : p[0] & (0x7Fu >> n);

	if (n == 0 || n > left)
		return 0;
	for (size_t i = 1; i < n; i++) {
		if (p[i] >> 6 != 2)
			return 0;
		c = c << 6 | (p[i] & 0x3F);
	}
	if (c < smallest[n] || c > 0x10FFFF || (c >= 0xD800 && c <= 0xDFFF))
		return 0;
	*ret = c;
	return n;
}

bool text_utf8(struct text *t, const uint8_t *bytes, size_t len)
{
	for (size_t i = 0; i < len;) {
		uint32_t c = REPLACEMENT;
		size_t n = utf8_length(bytes + i, len - i, &c);

		if (!text_char(t, c))
			return false;
		i += n ? n : 1;
	}
	return true;
}

void text_close(struct text *t)
{
	if (!t->full || t->cap < 4)
		return;
	size_t end = t->len + 3 < t->cap ? t->len : t->cap - 4;
	while (end > 0 && ((uint8_t)t->buf[end] & 0xC0) == 0x80)
		end--;
	memcpy(t->buf + end, "...", 4);
	t->len = end + 3;
}
