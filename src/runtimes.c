/* runtimes.c - find which runtime a target runs and attach its plugin. */
#include <stdio.h>
#include <string.h>

#include "runtimes.h"

/* Offer one mapped file to every plugin. A plugin that knows it but can't attach leaves its reason in `why`. */
static struct err offer(struct target *t, const struct mapping *m, bool fallback, char *why, size_t cap,
			const struct runtime_ops **ops, void **instance)
{
	struct err result = err_at(ERR_UNSUPPORTED, m->start, "looking for an interpreter");
	struct image *img;
	int fd;

	if (failed(target_open_mapping(t, m, &fd)) || failed(image_open(fd, m->path, &img)))
		return result;
	for (const struct runtime_ops *const *r = runtime_table; *r && failed(result); r++) {
		char words[256] = "";
		struct err e;

		if ((*r)->fallback != fallback)
			continue;
		e = (*r)->attach(t, m, img, words, sizeof(words), instance);
		if (e.code == ERR_UNSUPPORTED)
			continue;
		result = e;
		*ops = *r;
		if (failed(e) && words[0])
			snprintf(why, cap, "%s", words);
	}
	image_close(img);
	return result;
}

/* The first mapping of each file; the program itself comes first in nearly every process. */
static bool is_first_of_file(const struct maps *maps, size_t i)
{
	const struct mapping *m = &maps->list[i];

	if (!m->inode || m->path[0] != '/')
		return false;
	for (size_t k = 0; k < i; k++)
		if (maps->list[k].inode == m->inode && maps->list[k].dev == m->dev)
			return false;
	return true;
}

static struct err offer_all(struct target *t, bool fallback, char *why, size_t cap, const struct runtime_ops **ops,
			    void **instance, raddr_t *ret_at)
{
	struct err best = err_at(ERR_UNSUPPORTED, 0, "looking for an interpreter");

	for (size_t i = 0; i < t->maps.count; i++) {
		struct err e;

		if (!is_first_of_file(&t->maps, i))
			continue;
		*ret_at = t->maps.list[i].start;
		e = offer(t, &t->maps.list[i], fallback, why, cap, ops, instance);
		if (!failed(e) || e.code == ERR_GONE)
			return e;
		if (e.code != ERR_UNSUPPORTED)
			best = e;
	}
	return best;
}

struct err runtimes_find(struct target *t, bool any, char *why, size_t cap, const struct runtime_ops **ops,
			 void **instance, raddr_t *ret_at)
{
	char exe[256];
	struct err e;

	target_exe(t, exe, sizeof(exe));
	snprintf(why, cap, "no interpreter that cspy knows in %s; --native shows native stacks",
		 exe[0] ? exe : "this process");
	e = offer_all(t, false, why, cap, ops, instance, ret_at);
	return e.code == ERR_UNSUPPORTED && any ? offer_all(t, true, why, cap, ops, instance, ret_at) : e;
}

struct err runtimes_attach(struct target *t, bool any, char *why, size_t cap, const struct runtime_ops **ops,
			   void **instance)
{
	raddr_t at;

	return runtimes_find(t, any, why, cap, ops, instance, &at);
}

/* Registers can be read only of threads that stand still. */
struct err runtimes_attach_sampled(struct target *t, struct sampler_options *o, char *why, size_t cap,
				   const struct runtime_ops **ops, void **instance)
{
	struct err e = runtimes_attach(t, o->any, why, cap, ops, instance);

	if (failed(e) || !(*ops)->fallback)
		return e;
	if (o->pause == PAUSE_NEVER) {
		(*ops)->detach(*instance);
		snprintf(why, cap, "its stacks can be read only while it is paused: leave --nonblocking out");
		return err_at(ERR_OS, 0, "reading native stacks");
	}
	if (o->pause == PAUSE_BUDGET)
		o->pause = PAUSE_EACH;
	return e;
}

struct err runtimes_attach_native(struct target *t, const struct runtime_ops **ops, void **instance)
{
	char why[64];
	raddr_t at;

	return offer_all(t, true, why, sizeof(why), ops, instance, &at);
}
