/* find.c - find CPython in one mapped file: every place where its roots may be, until one decodes. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "find_steps.h"

enum {
	MAX_BIASES = 8,	  /* a file may be mapped more than once, and pages of it elsewhere */
	TRACE_REFS = 16,  /* bytes by which Py_TRACE_REFS lengthens every object's header */
	GIL_SEARCH = 256, /* bytes around a word's usual place in which other micro versions have it */
};

struct finding {
	struct target *t;
	struct image *img;
	struct cpy_version version;
	enum cpy_proof best;
	bool finalizing;
	bool no_layout;
	const char *misdescribed; /* what is wrong with what the process says of itself */
	struct cpy_roots *roots;
};

struct bias {
	uint64_t value;
	unsigned votes;
};

static void vote(struct bias *list, size_t *n, uint64_t value)
{
	size_t i = 0;

	while (i < *n && list[i].value != value)
		i++;
	if (i == MAX_BIASES)
		return;
	if (i == *n)
		list[(*n)++] = (struct bias){ value, 0 };
	list[i].votes++;
	/* The most votes first; among equals the lowest mapping. */
	for (; i > 0 && list[i - 1].votes < list[i].votes; i--) {
		struct bias swap = list[i];
		list[i] = list[i - 1];
		list[i - 1] = swap;
	}
}

/*
 * What to add to the file's addresses. Every mapping of the file says something about it: one alone may be a
 * page that was mapped once more elsewhere (libffi does so).
 */
static size_t find_biases(struct target *t, const struct mapping *at, struct image *img, struct bias *ret)
{
	const struct image_segment *segments;
	size_t segment_count = image_segments(img, &segments), n = 0;
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);

	for (size_t i = 0; i < t->maps.count; i++) {
		const struct mapping *m = &t->maps.list[i];
		bool same = at->inode && m->inode == at->inode && m->dev == at->dev;

		if (!same && m->start != at->start)
			continue;
		for (size_t k = 0; k < segment_count; k++) {
			const struct image_segment *s = &segments[k];

			if (m->offset >= s->offset - s->offset % page && m->offset < s->offset + s->file_size)
				vote(ret, &n, m->start - m->offset + s->offset - s->svma);
		}
	}
	return n;
}

static bool has_symbol(struct image *img, const char *name)
{
	struct image_sym sym;

	return image_symbol(img, name, &sym);
}

static bool is_pypy(struct image *img)
{
	return has_symbol(img, "rpython_startup_code") || has_symbol(img, "pypy_main_startup");
}

/*
 * To 3.11 the runtime holds the running thread next to a pointer to the main interpreter. That pointer tells
 * where, since the place differs between micro versions (3.7.4 moved it by 88 bytes).
 */
static raddr_t find_gil_current(struct memory *m, const struct cpy_layout *l, raddr_t runtime)
{
	raddr_t usual = runtime + l->runtime_gil_current, main, word;

	if (l->gil != GIL_RUNTIME)
		return 0;
	if (failed(memory_ptr(m, runtime + l->runtime_interp_main, &main)) || !main)
		return usual;
	for (int32_t by = 0; by <= GIL_SEARCH; by = by <= 0 ? 8 - by : -by)
		if (!failed(memory_ptr(m, runtime + l->runtime_gil_interp + by, &word)) && word == main)
			return usual + by;
	return usual;
}

/* To 3.6, where the symbol is missing: a word near interp_head that holds a thread now and then. */
static raddr_t find_current_word(struct memory *m, const struct cpy_layout *l, raddr_t head)
{
	raddr_t word;

	for (raddr_t at = head - GIL_SEARCH; at <= head + GIL_SEARCH; at += sizeof(at))
		if (!failed(memory_ptr(m, at, &word)) && word && cpy_is_thread(m, l, head, word))
			return at;
	return 0;
}

static raddr_t symbol_at(struct finding *f, uint64_t bias, const char *name)
{
	struct image_sym sym;

	return image_symbol(f->img, name, &sym) ? bias + sym.svma : 0;
}

/* A row that was made for this very version proves itself by less than a guess does. */
static bool is_enough(enum cpy_proof proof, bool exact)
{
	return proof == PROOF_FRAME || (proof == PROOF_MODULES && exact);
}

static bool prove(struct finding *f, struct cpy_layout *l, raddr_t head, bool exact)
{
	enum cpy_proof proof = cpy_prove_patiently(f->t->memory, l, head);
	struct cpy_layout longer = *l;

	f->best = proof > f->best ? proof : f->best;
	if (is_enough(proof, exact))
		return true;
	if (proof != PROOF_LINKED)
		return false;
	cpy_layout_lengthen(&longer, TRACE_REFS);
	if (!is_enough(cpy_prove_patiently(f->t->memory, &longer, head), exact))
		return false;
	f->roots->debug_build = true;
	*l = longer;
	return true;
}

static void fill_roots(struct finding *f, const struct cpy_layout *l, bool self_described)
{
	struct cpy_roots *r = f->roots;

	r->layout = *l;
	r->micro = (uint8_t)f->version.micro;
	memcpy(r->version, f->version.text, sizeof(r->version));
	if (self_described)
		snprintf(r->layout_source, sizeof(r->layout_source), "self-described");
	else
		snprintf(r->layout_source, sizeof(r->layout_source), "layout %u.%u", l->major, l->minor);
	r->debug_build |= has_symbol(f->img, "_Py_RefTotal") || has_symbol(f->img, "_Py_NegativeRefcount");
}

/* _PyRuntime at this address? */
static bool try_runtime(struct finding *f, raddr_t runtime)
{
	struct memory *m = f->t->memory;
	struct cpy_layout l;
	uint32_t hex;
	struct err e = cpy_debug_offsets(m, runtime, &l, &hex);
	bool self_described = !failed(e);
	const struct cpy_layout *row;
	raddr_t finalizing = 0;

	if (self_described)
		cpy_version_from_hex(hex, &f->version);
	else if (e.code == ERR_CORRUPT)
		f->misdescribed = e.what;
	row = cpy_layout_find(f->version.major, f->version.minor, false);
	if (!self_described) {
		if (!row || !cpy_has(row->runtime_interp_head)) {
			f->no_layout = true;
			return false;
		}
		l = *row;
	}
	if (!prove(f, &l, runtime + l.runtime_interp_head, row != NULL)) {
		if (!failed(memory_ptr(m, runtime + l.runtime_finalizing, &finalizing)) && finalizing)
			f->finalizing = true;
		return false;
	}
	f->roots->runtime = runtime;
	f->roots->interp_head = runtime + l.runtime_interp_head;
	f->roots->gil_current = find_gil_current(m, &l, runtime);
	if (cpy_has(l.runtime_gc_collecting))
		f->roots->gc_collecting = runtime + l.runtime_gc_collecting;
	fill_roots(f, &l, self_described);
	return true;
}

/* To 3.6: interp_head at this address? */
static bool try_head(struct finding *f, uint64_t bias, raddr_t head)
{
	const struct cpy_layout *row = cpy_layout_find(f->version.major, f->version.minor, false);
	struct cpy_layout l;

	if (!row || row->gil != GIL_CURRENT) {
		f->no_layout = true;
		return false;
	}
	l = *row;
	if (!prove(f, &l, head, true))
		return false;
	f->roots->interp_head = head;
	f->roots->gil_current = symbol_at(f, bias, "_PyThreadState_Current");
	if (!f->roots->gil_current)
		f->roots->gil_current = find_current_word(f->t->memory, &l, head);
	f->roots->gc_collecting = symbol_at(f, bias, "collecting");
	fill_roots(f, &l, false);
	return true;
}

static bool try_symbols(struct finding *f, uint64_t bias)
{
	raddr_t runtime = symbol_at(f, bias, "_PyRuntime"), head = symbol_at(f, bias, "interp_head");
	uint64_t svma;
	const void *bytes;
	size_t len;

	if (runtime && try_runtime(f, runtime))
		return true;
	if (image_section(f->img, ".PyRuntime", &svma, &bytes, &len) && bias + svma != runtime &&
	    try_runtime(f, bias + svma))
		return true;
	return !runtime && head && try_head(f, bias, head);
}

static bool try_scan(struct finding *f, uint64_t bias)
{
	const struct cpy_layout *row = cpy_layout_find(f->version.major, f->version.minor, false);
	struct cpy_layout longer;
	raddr_t found = cpy_scan(f->t, f->img, bias, row);

	if (!found && row && row->gil <= GIL_RUNTIME) {
		longer = *row;
		cpy_layout_lengthen(&longer, TRACE_REFS);
		found = cpy_scan(f->t, f->img, bias, &longer);
	}
	if (!found)
		return false;
	return row && !cpy_has(row->runtime_interp_head) ? try_head(f, bias, found) : try_runtime(f, found);
}

static struct err explain(const struct finding *f, char *why, size_t cap)
{
	const struct cpy_layout *first = cpy_layout_at(0), *newest = cpy_layout_newest();
	const char *version = f->version.text[0] ? f->version.text : "of unknown version";

	if (f->misdescribed) {
		snprintf(why, cap, "CPython %s: %s is implausible", version, f->misdescribed);
		return err_at(ERR_CORRUPT, 0, "CPython's description of itself is implausible");
	}
	if (f->no_layout) {
		snprintf(why, cap, "CPython %s is not supported: %u.%u and 3.6 to %u.%u are", version, first->major,
			 first->minor, newest->major, newest->minor);
		return err_at(ERR_CORRUPT, 0, "this version of CPython is not supported");
	}
	if (f->best == PROOF_EMPTY || f->best == PROOF_NO_THREAD) {
		if (f->finalizing) {
			snprintf(why, cap, "CPython %s is ending", version);
			return err_at(ERR_CORRUPT, 0, "CPython is ending");
		}
		snprintf(why, cap, "CPython %s is still starting, or has ended: it has no thread", version);
		return err_at(ERR_CORRUPT, 0, "CPython is still starting");
	}
	snprintf(why, cap, "CPython %s: nothing in its memory decodes; is it a build with changed structures?",
		 version);
	return err_at(ERR_CORRUPT, 0, "nothing in CPython's memory decodes");
}

static bool search(struct finding *f, const struct mapping *at)
{
	struct bias biases[MAX_BIASES];
	size_t n = find_biases(f->t, at, f->img, biases);

	for (size_t i = 0; i < n; i++) {
		/* A less likely place must not speak for a more likely one that has something to say. */
		if (i > 0 && biases[i].votes < biases[i - 1].votes && f->best > PROOF_NONE)
			break;
		if (try_symbols(f, biases[i].value))
			return true;
	}
	/* An interpreter that is there but has no thread yet would not be found by searching either. */
	if (f->best == PROOF_EMPTY || f->best == PROOF_NO_THREAD)
		return false;
	for (size_t i = 0; i < n; i++)
		if (try_scan(f, biases[i].value))
			return true;
	return false;
}

static bool names_roots(struct image *img)
{
	uint64_t svma;
	const void *bytes;
	size_t len;

	return has_symbol(img, "_PyRuntime") || has_symbol(img, "_PyThreadState_Current") ||
	       image_section(img, ".PyRuntime", &svma, &bytes, &len);
}

struct err cpy_find(struct target *t, const struct mapping *at, struct image *img, char *why, size_t cap,
		    struct cpy_roots *ret)
{
	struct finding f = { .t = t, .img = img, .roots = ret };
	bool roots_named = names_roots(img), is_interpreter = cpy_version_find(img, &f.version);

	memset(ret, 0, sizeof(*ret));
	if (!roots_named && !is_interpreter) {
		if (!is_pypy(img))
			return err_at(ERR_UNSUPPORTED, 0, "looking for CPython");
		snprintf(why, cap, "this is PyPy, whose frames cspy cannot read");
		return err_at(ERR_CORRUPT, 0, "PyPy is not supported");
	}
	if (!f.version.text[0])
		cpy_version_from_path(at->path, &f.version);
	if (search(&f, at))
		return OK;
	/* Strings alone make no interpreter: another file may be the one. */
	if (!roots_named && f.best < PROOF_LINKED)
		return err_at(ERR_UNSUPPORTED, 0, "looking for CPython");
	f.no_layout |= !cpy_layout_find(f.version.major, f.version.minor, false) && f.best == PROOF_NONE;
	return explain(&f, why, cap);
}
