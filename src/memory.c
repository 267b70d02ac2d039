/* memory.c - the few words in which everybody asks for a target's memory. */
#include <string.h>

#include "cspy/memory.h"

enum { STR_STEP = 256 }; /* a string is fetched in pieces that do not cross this boundary, so never a page */

struct err memory_readv(struct memory *m, const struct memory_range *ranges, size_t n, size_t *done)
{
	size_t filled = 0;
	struct err e;

	m->calls++;
	e = m->ops->read(m, ranges, n, &filled);
	if (done)
		*done = filled;
	return e;
}

struct err memory_read(struct memory *m, raddr_t at, void *buf, size_t len)
{
	struct memory_range r = { at, buf, len };

	return memory_readv(m, &r, 1, NULL);
}

struct err memory_u32(struct memory *m, raddr_t at, uint32_t *ret)
{
	return memory_read(m, at, ret, sizeof(*ret));
}

struct err memory_u64(struct memory *m, raddr_t at, uint64_t *ret)
{
	return memory_read(m, at, ret, sizeof(*ret));
}

struct err memory_ptr(struct memory *m, raddr_t at, raddr_t *ret)
{
	return memory_u64(m, at, ret);
}

struct err memory_str(struct memory *m, raddr_t at, char *buf, size_t cap)
{
	size_t have = 0;

	if (!cap)
		return OK;
	while (have < cap - 1) {
		size_t len = STR_STEP - (at + have) % STR_STEP;
		struct err e;

		if (len > cap - 1 - have)
			len = cap - 1 - have;
		e = memory_read(m, at + have, buf + have, len);
		if (failed(e)) {
			buf[have] = 0;
			return e;
		}
		if (memchr(buf + have, 0, len))
			return OK;
		have += len;
	}
	buf[cap - 1] = 0;
	return OK;
}

void memory_close(struct memory *m)
{
	if (m)
		m->ops->close(m);
}
