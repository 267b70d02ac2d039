/* demangle.c - C++ and Rust names as people write them. */
#include <libiberty/demangle.h>
#include <setjmp.h>
#include <stdio.h>
#include <string.h>

#include "demangle.h"

enum { MANGLED_MAX = 4096, OPTIONS = DMGL_ANSI };

struct sink {
	char *buf;
	size_t cap, used;
	jmp_buf enough;
};

/* A short name can stand for gigabytes: what was written so far is all that will be shown. */
static void take(const char *text, size_t len, void *arg)
{
	struct sink *s = arg;
	size_t room = s->cap - 1 - s->used;
	size_t n = len < room ? len : room;

	memcpy(s->buf + s->used, text, n);
	s->used += n;
	s->buf[s->used] = 0;
	if (n < len)
		longjmp(s->enough, 1);
}

void demangle(const char *name, char *buf, size_t cap)
{
	struct sink s = { .buf = buf, .cap = cap };
	int done;

	buf[0] = 0;
	if (strlen(name) > MANGLED_MAX || name[0] != '_') {
		snprintf(buf, cap, "%s", name);
		return;
	}
	if (setjmp(s.enough))
		return;
	/* Rust's older names look like C++, and are told by their last part. */
	done = rust_demangle_callback(name, OPTIONS, take, &s);
	if (!done) {
		s.used = 0;
		done = cplus_demangle_v3_callback(name, OPTIONS, take, &s);
	}
	if (!done)
		snprintf(buf, cap, "%s", name);
}
