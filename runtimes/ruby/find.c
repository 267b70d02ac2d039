/* find.c - find Ruby in one mapped file: its version, its VM, and what is
 * needed to name C functions. */
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "find.h"

enum {
	ATTEMPTS = 40, /* while the target's own doing may be in the way */
	NAP_NS = 1000 * 1000,
};

struct finding {
	struct target *t;
	struct image *img;
	uint64_t bias; /* to add to the file's addresses */
	struct rby_roots *roots;
	enum rby_loop best;
};

static bool symbol_at(const struct finding *f, const char *name, raddr_t *ret)
{
	struct image_sym sym;

	if (!image_symbol(f->img, name, &sym))
		return false;
	*ret = f->bias + sym.svma;
	return true;
}

/* What to add to the file's addresses, as this mapping of it tells. */
static bool find_bias(const struct mapping *at, struct image *img, uint64_t *ret)
{
	const struct image_segment *segments;
	size_t n = image_segments(img, &segments);
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);

	for (size_t i = 0; i < n; i++) {
		const struct image_segment *s = &segments[i];

		if (at->offset < s->offset - s->offset % page || at->offset >= s->offset + s->file_size)
			continue;
		*ret = at->start - at->offset + s->offset - s->svma;
		return true;
	}
	return false;
}

/* Is this the word that points to the VM? A starting Ruby sets it once, so an
 * empty one is asked again for a while. */
static bool try_vm_at(struct finding *f, const struct rby_layout *l, raddr_t vm_at)
{
	const struct timespec nap = { 0, NAP_NS };

	for (int i = 0; vm_at && i < ATTEMPTS; i++) {
		enum rby_loop loop = rby_loop(f->t->memory, l, vm_at);

		if (loop == LOOP_CLOSED) {
			f->roots->vm_at = vm_at;
			return !failed(memory_ptr(f->t->memory, vm_at, &f->roots->vm));
		}
		if (loop > f->best)
			f->best = loop;
		if (loop == LOOP_NO_VM || i > 2)
			break;
		nanosleep(&nap, NULL);
	}
	return false;
}

static bool find_vm(struct finding *f, const struct rby_layout *l, const struct rby_gc_code *gc)
{
	raddr_t named;

	if (symbol_at(f, "ruby_current_vm_ptr", &named))
		return try_vm_at(f, l, named);
	for (size_t i = 0; i < countof(gc->vm_at); i++)
		if (try_vm_at(f, l, gc->vm_at[i]))
			return true;
	return try_vm_at(f, l, rby_scan_vm(f->t, &f->roots->areas, l));
}

static void find_gc_flags(struct finding *f, const struct rby_layout *l, const struct rby_gc_code *gc)
{
	bool decoded = gc->vm_objspace != NO_FIELD;
	int32_t objspace = decoded ? gc->vm_objspace : l->vm_objspace;
	raddr_t at;

	/* The table knows the field for the patch levels that were looked at only. */
	if (!rby_has(objspace) || failed(memory_ptr(f->t->memory, f->roots->vm + (raddr_t)objspace, &at)) || !at)
		return;
	f->roots->gc_flags = at + (raddr_t)(decoded ? gc->objspace_flags : l->objspace_flags);
}

static bool find_version(struct finding *f, unsigned *major, unsigned *minor, unsigned *patch)
{
	char *text = f->roots->version;
	raddr_t at;

	return symbol_at(f, "ruby_version", &at) &&
	       !failed(memory_str(f->t->memory, at, text, sizeof(f->roots->version))) &&
	       sscanf(text, "%u.%u.%u", major, minor, patch) == 3 && *major < 100 && *minor < 100 && *patch < 1000;
}

/* Rubies whose frames are not in this memory as MRI has them. */
static const char *other_ruby(struct target *t, const struct mapping *at, struct image *img)
{
	struct image_sym sym;
	char command[4096];

	if (strstr(at->path, "truffleruby") || strstr(at->path, "librubyvm"))
		return "this is TruffleRuby, whose frames cspy cannot read";
	if (!strstr(at->path, "libjvm") || !image_symbol(img, "JNI_CreateJavaVM", &sym))
		return NULL;
	target_cmdline(t, command, sizeof(command));
	return strstr(command, "jruby") ? "this is JRuby, which runs in a JVM: cspy cannot read its frames" : NULL;
}

static struct err explain(const struct finding *f, bool exact, char *why, size_t cap)
{
	const char *version = f->roots->version;

	if (f->best == LOOP_NO_VM) {
		snprintf(why, cap, "Ruby %s is still starting, or has ended: it has no VM", version);
		return err_at(ERR_CORRUPT, 0, "Ruby is still starting");
	}
	if (!exact) {
		snprintf(why, cap,
			 "Ruby %s is not known, and its memory is not as the nearest known "
			 "version's",
			 version);
		return err_at(ERR_CORRUPT, 0, "this version of Ruby is not supported");
	}
	snprintf(why, cap,
		 "Ruby %s: nothing in its memory decodes; is it starting, or a build "
		 "with changed structures?",
		 version);
	return err_at(ERR_CORRUPT, 0, "nothing in Ruby's memory decodes");
}

static void describe_layout(struct rby_roots *r)
{
	const struct rby_layout *l = &r->layout;
	unsigned patch = r->exact ? l->patch : l->known;

	snprintf(r->layout_source, sizeof(r->layout_source), "%s %u.%u.%u%s",
		 r->exact ? "layout" : "no layout of its own; that of", l->major, l->minor, patch,
		 l->tried ? "" : ", not tried on a real one");
}

struct err rby_find(struct target *t, const struct mapping *at, struct image *img, char *why, size_t cap,
		    struct rby_roots *ret)
{
	struct finding f = { .t = t, .img = img, .roots = ret };
	const char *other = other_ruby(t, at, img);
	const struct rby_layout *l;
	unsigned major, minor, patch;
	struct rby_gc_code gc = { { 0, 0 }, NO_FIELD, NO_FIELD };
	raddr_t code;

	memset(ret, 0, sizeof(*ret));
	if (other) {
		snprintf(why, cap, "%s", other);
		return err_at(ERR_CORRUPT, 0, "this Ruby is not supported");
	}
	if (!find_bias(at, img, &f.bias) || !symbol_at(&f, "rb_during_gc", &code) ||
	    !find_version(&f, &major, &minor, &patch))
		return err_at(ERR_UNSUPPORTED, 0, "looking for Ruby");
	l = rby_layout_find(major, minor, patch, &ret->exact);
	if (!l) {
		l = rby_layout_at(0);
		snprintf(why, cap, "Ruby %s is not supported: %u.%u and later are", ret->version, l->major, l->minor);
		return err_at(ERR_CORRUPT, 0, "this version of Ruby is not supported");
	}
	ret->layout = *l;
	describe_layout(ret);
	rby_areas_of(img, f.bias, &ret->areas);
	rby_decode_gc(t->memory, code, &gc);
	if (!find_vm(&f, l, &gc))
		return explain(&f, ret->exact, why, cap);
	find_gc_flags(&f, l, &gc);
	ret->symbols = rby_scan_symbols(t, &ret->areas, l);
	return OK;
}
