/* cpython.c - the CPython plugin: what it offers to the rest of cspy. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cpython.h"
#include "objects.h"

enum {
	THREAD_NAME_BYTES = 256,
	GIL_WHOLE_BYTES = 512, /* of a _gil_runtime_state, two condition variables and mutexes included */
};

static void detach(void *instance)
{
	struct cpy *c = instance;

	cpy_threads_free(c);
	codes_free(&c->codes);
	resolver_free(&c->resolver);
	free(c->ranges);
	free(c->valid);
	free(c);
}

struct err cpy_attach_roots(const struct cpy_roots *roots, struct target *t, struct cpy **ret)
{
	struct cpy *c = xcalloc(1, sizeof(*c));
	struct err e;

	c->roots = *roots;
	c->l = &c->roots.layout;
	cpy_sample_init(c);
	e = cpy_threads_discover(c, t);
	if (failed(e))
		detach(c);
	else
		*ret = c;
	return e;
}

static struct err attach(struct target *t, const struct mapping *at, struct image *img, char *why, size_t cap,
			 void **ret)
{
	struct cpy_roots roots = { 0 };
	struct cpy *c;
	struct err e = cpy_find(t, at, img, why, cap, &roots);

	if (failed(e))
		return e;
	e = cpy_attach_roots(&roots, t, &c);
	if (failed(e)) {
		snprintf(why, cap, "CPython %s is starting or ending: its threads can't be listed yet", roots.version);
		return e.code == ERR_GONE ? e : err_at(ERR_CORRUPT, e.at, e.what);
	}
	*ret = c;
	return OK;
}

static void about(void *instance, struct rt_about *ret)
{
	const struct cpy *c = instance;
	const char *flavour = c->l->free_threaded ? "free-threaded" : c->roots.debug_build ? "debug build" : "";

	*ret = (struct rt_about){ .name = "CPython", .layout = c->roots.layout_source };
	snprintf(ret->version, sizeof(ret->version), "%s", c->roots.version);
	snprintf(ret->flavour, sizeof(ret->flavour), "%s", flavour);
	snprintf(ret->lock, sizeof(ret->lock), "%s", c->l->free_threaded ? "" : "GIL");
}

static struct err resolve(void *instance, struct target *t, const struct raw_frame *frame, struct strings *strings,
			  struct frame_info *ret)
{
	struct cpy *c = instance;

	return cpy_resolve(&c->resolver, &c->codes, t->memory, c->l, frame, strings, ret);
}

static struct err verify(void *instance, struct target *t, uint64_t now_ns, struct raw_reuse *reused, size_t cap,
			 size_t *ret)
{
	struct cpy *c = instance;

	return codes_verify(&c->codes, t->memory, now_ns, reused, cap, ret);
}

static struct err thread_name(void *instance, struct target *t, const struct raw_stack *stack, struct strings *strings,
			      str_id *ret)
{
	struct cpy *c = instance;
	const struct cpy_thread *th = cpy_thread_at(c, stack->state_at);
	char name[THREAD_NAME_BYTES];
	raddr_t interp;
	struct err e;

	if (!th)
		return err_at(ERR_UNSUPPORTED, stack->state_at, "finding a thread's name");
	interp = c->interps[th->interp].at;
	/* At the first look there may be hundreds, one after the other. */
	if (c->names_tick != c->tick || c->names_interp != interp)
		c->names = 0;
	c->names_tick = c->tick;
	c->names_interp = interp;
	e = cpy_thread_name(t->memory, c->l, interp, th->ident, &c->names, name, sizeof(name));
	if (!failed(e))
		*ret = strings_add(strings, name, strlen(name));
	return e;
}

static struct err locals(void *instance, struct target *t, const struct raw_frame *frame, rt_local_fn *fn, void *arg)
{
	struct cpy *c = instance;

	return cpy_locals(t->memory, c->l, frame->at, frame->code, fn, arg);
}

/* Threads wait for the GIL at a condition variable inside of its struct. */
static bool lock_at(void *instance, raddr_t at)
{
	const struct cpy *c = instance;

	if (c->roots.runtime && at >= c->roots.runtime && at < c->roots.gil_current)
		return true; /* 3.7 to 3.11: it stands before that word */
	for (size_t i = 0; i < c->interp_count; i++)
		if (c->interps[i].gil && at - c->interps[i].gil < GIL_WHOLE_BYTES)
			return true;
	return false;
}

/* To 3.5, and to 2.7 in other words; from 3.14 on a build may have a function for each instruction. */
static const char *const loops[] = {
	"_PyEval_EvalFrameDefault", "_PyEval_EvalFrameDefault.*", "PyEval_EvalFrameEx", "PyEval_EvalFrameEx.*", NULL,
};

const struct runtime_ops runtime_cpython = {
	.name = "cpython",
	.loops = loops,
	.attach = attach,
	.detach = detach,
	.about = about,
	.sample = cpy_sample,
	.mutators = cpy_mutators,
	.resolve = resolve,
	.verify = verify,
	.thread_name = thread_name,
	.locals = locals,
	.lock_at = lock_at,
};
