/* ruby.c - the Ruby plugin: what it offers to the rest of cspy. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ruby.h"

static void detach(void *instance)
{
	struct rby *r = instance;

	rby_threads_free(r);
	rby_codes_free(&r->codes);
	rby_resolver_free(&r->resolver);
	free(r->ranges);
	free(r->valid);
	free(r);
}

struct err rby_attach_roots(const struct rby_roots *roots, struct target *t, struct rby **ret)
{
	struct rby *r = xcalloc(1, sizeof(*r));
	struct err e;

	r->roots = *roots;
	r->l = &r->roots.layout;
	rby_sample_init(r);
	rby_resolver_init(&r->resolver, t->memory, r->l, r->roots.vm, r->roots.symbols);
	e = rby_threads_discover(r, t);
	if (failed(e))
		detach(r);
	else
		*ret = r;
	return e;
}

static struct err attach(struct target *t, const struct mapping *at, struct image *img, char *why, size_t cap,
			 void **ret)
{
	struct rby_roots roots = { 0 };
	struct rby *r;
	struct err e = rby_find(t, at, img, why, cap, &roots);

	if (failed(e))
		return e;
	e = rby_attach_roots(&roots, t, &r);
	if (failed(e)) {
		snprintf(why, cap, "Ruby %s is starting or ending: its threads can't be listed yet", roots.version);
		return e.code == ERR_GONE ? e : err_at(ERR_CORRUPT, e.at, e.what);
	}
	*ret = r;
	return OK;
}

static void about(void *instance, struct rt_about *ret)
{
	const struct rby *r = instance;

	*ret = (struct rt_about){ .name = "Ruby", .layout = r->roots.layout_source };
	snprintf(ret->version, sizeof(ret->version), "%s", r->roots.version);
	if (!r->roots.exact)
		snprintf(ret->flavour, sizeof(ret->flavour), "unknown version, read as %u.%u.%u", r->l->major,
			 r->l->minor, r->l->known);
	snprintf(ret->lock, sizeof(ret->lock), "GVL");
}

/* Of a Ruby that was found while it started, the table of names may not have
 * been there, or not in the maps. */
static void find_symbols(struct rby *r, struct target *t)
{
	if (r->roots.symbols || r->symbol_searches == SEARCHES_MAX || failed(target_refresh_maps(t)))
		return;
	r->symbol_searches++;
	r->roots.symbols = r->resolver.objects.symbols = rby_scan_symbols(t, &r->roots.areas, r->l);
}

static struct err resolve(void *instance, struct target *t, const struct raw_frame *frame, struct strings *strings,
			  struct frame_info *ret)
{
	struct rby *r = instance;

	find_symbols(r, t);
	return rby_resolve(&r->resolver, &r->codes, t, frame, strings, ret);
}

static struct err verify(void *instance, struct target *t, uint64_t now_ns, struct raw_reuse *reused, size_t cap,
			 size_t *ret)
{
	struct rby *r = instance;

	return rby_codes_verify(&r->codes, t->memory, now_ns, reused, cap, ret);
}

static struct err thread_name(void *instance, struct target *t, const struct raw_stack *stack, struct strings *strings,
			      str_id *ret)
{
	struct rby *r = instance;
	char name[NAME_BYTES];
	raddr_t at;
	struct err e = memory_ptr(t->memory, stack->state_at + (raddr_t)r->l->thread_name, &at);

	if (!failed(e) && (!at || at == r->l->nil))
		e = err_at(ERR_UNSUPPORTED, stack->state_at, "finding a thread's name");
	if (!failed(e))
		e = rby_string(&r->resolver.objects, at, name, sizeof(name));
	if (!failed(e) && !name[0])
		e = err_at(ERR_UNSUPPORTED, stack->state_at, "finding a thread's name");
	if (!failed(e))
		*ret = strings_add(strings, name, strlen(name));
	return e;
}

static const char *const loops[] = { "rb_vm_exec", "vm_exec", NULL };

const struct runtime_ops runtime_ruby = {
	.name = "ruby",
	.loops = loops,
	.attach = attach,
	.detach = detach,
	.about = about,
	.sample = rby_sample,
	.mutators = rby_mutators,
	.resolve = resolve,
	.verify = verify,
	.thread_name = thread_name,
};
