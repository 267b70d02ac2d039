/* memory_core.c - memory of a process that is no more, from its core file. */
#include <stdlib.h>

#include "core.h"

struct memory_core {
	struct memory base;
	struct core *core; /* borrowed */
};

static struct err read_ranges(struct memory *m, const struct memory_range *ranges, size_t n, size_t *done)
{
	const struct memory_core *mc = (const struct memory_core *)m;

	for (*done = 0; *done < n; ++*done) {
		const struct memory_range *r = &ranges[*done];
		struct err e = core_read(mc->core, r->at, r->buf, r->len);

		if (failed(e))
			return e;
	}
	return OK;
}

static void core_memory_close(struct memory *m)
{
	free(m);
}

static const struct memory_ops core_ops = { "core", read_ranges, core_memory_close };

struct memory *memory_core_new(struct core *c)
{
	struct memory_core *m = xcalloc(1, sizeof(*m));

	m->base.ops = &core_ops;
	m->core = c;
	return &m->base;
}
