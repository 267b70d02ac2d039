/* memory_faulty.c - memory of which one read fails, for tests. */
#include <stdlib.h>

#include "cspy/memory.h"

struct memory_faulty {
	struct memory base;
	struct memory *inner;
	uint64_t fail;	/* number of the range that fails */
	uint64_t asked; /* ranges so far */
};

static struct err faulty_read(struct memory *m, const struct memory_range *ranges, size_t n, size_t *done)
{
	struct memory_faulty *f = (struct memory_faulty *)m;
	bool now = f->asked <= f->fail && f->fail - f->asked < n;
	size_t before = now ? (size_t)(f->fail - f->asked) : n;
	struct err e = memory_readv(f->inner, ranges, before, done);

	f->asked += *done;
	if (failed(e)) {
		f->asked++;
		return e;
	}
	if (!now)
		return OK;
	f->asked++;
	return err_at(ERR_FAULT, ranges[before].at, "a read that was made to fail");
}

static void faulty_close(struct memory *m)
{
	struct memory_faulty *f = (struct memory_faulty *)m;

	memory_close(f->inner);
	free(f);
}

static const struct memory_ops faulty_ops = { "faulty", faulty_read, faulty_close };

struct memory *memory_faulty_new(struct memory *inner, uint64_t fail)
{
	struct memory_faulty *f = xcalloc(1, sizeof(*f));

	f->base.ops = &faulty_ops;
	f->inner = inner;
	f->fail = fail;
	return &f->base;
}

bool memory_faulty_fired(const struct memory *m)
{
	const struct memory_faulty *f = (const struct memory_faulty *)m;

	return f->asked > f->fail;
}
