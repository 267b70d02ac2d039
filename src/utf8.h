/* utf8.h - tell UTF-8 from bytes that are none: names come from a process that may say anything. */
#ifndef CSPY_UTF8_H
#define CSPY_UTF8_H

#include <stdio.h>

#include "cspy/base.h"

#define UTF8_REPLACEMENT "\xEF\xBF\xBD" /* U+FFFD */

/*
 * The character at s, which is NUL-terminated, and its length in bytes (1 to 4; 0 at the end). Where the
 * bytes are not UTF-8 (cut off, overlong, a surrogate, beyond U+10FFFF) the length is 1 and the character
 * U+FFFD.
 */
size_t utf8_next(const char *s, uint32_t *ret);
/* C0, DEL and C1 controls, and the line and paragraph separators: what breaks a line or a terminal. */
bool utf8_is_control(uint32_t c);
/* A text of the target's on a person's terminal: nothing of it may move the cursor, or look like another line. */
void utf8_put_plain(FILE *out, const char *s);

#endif
