/* text.h - a bounded UTF-8 buffer that never ends within a character. */
#ifndef CPYTHON_TEXT_H
#define CPYTHON_TEXT_H

#include "cspy/base.h"

struct text {
	char *buf; /* always terminated */
	size_t len, cap;
	bool full; /* something did not fit: nothing is added any more, so no hole is hidden */
};

/* `cap` counts the terminator and is at least 1. */
void text_init(struct text *t, char *buf, size_t cap);
/* All of it or nothing. */
bool text_put(struct text *t, const char *bytes, size_t len);
bool text_str(struct text *t, const char *s);
bool text_printf(struct text *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* A code point; surrogates and what is above U+10FFFF become U+FFFD. */
bool text_char(struct text *t, uint32_t c);
/* Bytes that may be UTF-8; each byte that is not becomes U+FFFD. */
bool text_utf8(struct text *t, const uint8_t *bytes, size_t len);
/* Make the last bytes "..." when the text is full. */
void text_close(struct text *t);

#endif
