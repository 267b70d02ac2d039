/* merge.c - native frames put between an interpreter's frames. */
#include <string.h>

#include "merge.h"
#include "runtimes.h"

enum { KINDS_MAX = 1 << 18 };

/* What a native frame is to an interpreter. */
enum kind {
	KIND_OTHER,   /* an extension's, a library's */
	KIND_OWN,     /* the interpreter's own C code */
	KIND_LOOP,    /* runs its frames */
	KIND_BEGIN,   /* starts a thread or a program: tells nothing */
	KIND_UNKNOWN, /* as yet */
};

/* What a thread's stack begins with in every program. */
static const char *const begins[] = { "_start", "main",	  "__libc_start_*", "start_thread",
				      "clone",	"clone3", "__clone*",	    NULL };
static const char *const c_libraries[] = { "libc.so*", "libc-*", "libpthread*", "ld-linux*", NULL };

struct err merger_init(struct merger *m, struct target *t, const char *const *loops, struct strings *strings,
		       size_t depth)
{
	struct err e;

	*m = (struct merger){ .loops = loops, .strings = strings };
	raw_stacks_init(&m->natives, depth);
	raw_stacks_init(&m->merged, depth);
	map64_init(&m->kinds, KINDS_MAX);
	e = runtimes_attach_native(t, &m->ops, &m->instance);
	if (failed(e))
		m->ops = NULL;
	return e;
}

void merger_free(struct merger *m)
{
	if (!m->ops)
		return;
	m->ops->detach(m->instance);
	raw_stacks_free(&m->natives);
	raw_stacks_free(&m->merged);
	map64_free(&m->kinds);
}

size_t merger_wants(const struct merger *m, struct target *t, const struct raw_stacks *stacks, pid_t *ns_tids, size_t n,
		    size_t cap)
{
	for (size_t i = 0; m->ops && i < stacks->count && n < cap; i++) {
		struct thread *th = target_thread(t, stacks->list[i].ns_tid);

		/* Whoever sleeps is not woken for this. */
		if (th && target_thread_state(t, th) == THREAD_RUNNING)
			ns_tids[n++] = th->ns_tid;
	}
	return n;
}

struct err merger_sample(struct merger *m, struct target *t, const struct rt_look *look)
{
	raw_stacks_reset(&m->natives);
	return m->ops ? m->ops->sample(m->instance, t, look, &m->natives) : OK;
}

static bool matches(const char *text, const char *pattern)
{
	size_t len = strlen(pattern);

	return len && pattern[len - 1] == '*' ? !strncmp(text, pattern, len - 1) : !strcmp(text, pattern);
}

static bool is_one_of(const char *text, const char *const *patterns)
{
	for (; patterns && *patterns; patterns++)
		if (matches(text, *patterns))
			return true;
	return false;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* An address's module and kind, with the module's id in the upper half. The interpreter's own is told by its loop. */
static uint64_t look_up(struct merger *m, struct target *t, const struct raw_frame *f)
{
	struct frame_info info;
	const char *name;
	enum kind kind = KIND_OTHER;

	if (failed(m->ops->resolve(m->instance, t, f, m->strings, &info)))
		return KIND_OTHER;
	name = strings_get(m->strings, info.function);
	if (is_one_of(name, m->loops))
		kind = KIND_LOOP;
	else if (info.kind == FRAME_PYTHON) /* a trampoline of the interpreter's, made for profilers */
		kind = KIND_OWN;
	else if (is_one_of(name, begins) || is_one_of(base_name(strings_get(m->strings, info.module)), c_libraries))
		kind = KIND_BEGIN;
	if (kind == KIND_LOOP)
		m->own = info.module;
	return (uint64_t)info.module << 32 | kind;
}

static enum kind kind_of(struct merger *m, struct target *t, const struct raw_frame *f)
{
	bool fresh;
	uint64_t *known = map64_put(&m->kinds, map64_key(hash_step(f->code, f->stamp)), &fresh);
	enum kind kind;

	if (!*known)
		*known = (look_up(m, t, f) + 1);
	kind = (enum kind)((*known - 1) & UINT32_MAX);
	return kind == KIND_OTHER && m->own && (*known - 1) >> 32 == m->own ? KIND_OWN : kind;
}

struct join {
	struct merger *m;
	struct target *t;
	const struct raw_frame *native, *own; /* leaf first */
	size_t natives, owns;
};

/* How many of the interpreter's frames, from the leaf on, one call of its loop runs. */
static size_t group(const struct raw_frame *own, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (own[i].flags & RAW_FRAME_ENTRY)
			return i + 1;
	return n;
}

static size_t count_groups(const struct join *j)
{
	size_t groups = 0;

	for (size_t at = 0; at < j->owns; groups++)
		at += group(&j->own[at], j->owns - at);
	return groups;
}

static size_t count_loops(const struct join *j)
{
	size_t loops = 0;

	for (size_t i = 0; i < j->natives; i++)
		loops += kind_of(j->m, j->t, &j->native[i]) == KIND_LOOP;
	return loops;
}

static void put_native(struct raw_stacks *out, const struct raw_frame *f)
{
	struct raw_frame copy = *f;

	copy.owner = OWNER_NATIVE;
	raw_stacks_frame(out, &copy);
}

/* `empty` calls of the loop at the leaf have no frame yet, or have it no more. */
static void put_all(const struct join *j, size_t empty, struct raw_stacks *out)
{
	size_t at = 0; /* of the interpreter's frames */

	for (size_t i = 0; i < j->natives; i++) {
		enum kind kind = kind_of(j->m, j->t, &j->native[i]);

		if (kind == KIND_LOOP && empty) {
			empty--;
		} else if (kind == KIND_LOOP) {
			for (size_t n = group(&j->own[at], j->owns - at); n > 0; n--)
				raw_stacks_frame(out, &j->own[at++]);
		} else if (at == 0 || kind == KIND_OTHER || (kind == KIND_BEGIN && at < j->owns)) {
			put_native(out, &j->native[i]);
		}
	}
}

static const struct raw_stack *native_of(const struct merger *m, pid_t ns_tid)
{
	for (size_t i = 0; i < m->natives.count; i++)
		if (m->natives.list[i].ns_tid == ns_tid && m->natives.list[i].count)
			return &m->natives.list[i];
	return NULL;
}

static bool join(struct merger *m, struct target *t, const struct raw_stacks *stacks, const struct raw_stack *s,
		 const struct raw_stack *native)
{
	struct join j = { m, t, &m->natives.frames[native->first], &stacks->frames[s->first], native->count, s->count };
	size_t loops = count_loops(&j), groups = count_groups(&j);

	/* A call of the loop begins before its frame does, and ends after it. */
	if (loops < groups || loops > groups + 1 || native->lost || native->deep || s->deep)
		return false;
	put_all(&j, loops - groups, &m->merged);
	return true;
}

static void copy(const struct raw_stacks *from, const struct raw_stack *s, struct raw_stacks *out)
{
	for (size_t i = 0; i < s->count; i++)
		raw_stacks_frame(out, &from->frames[s->first + i]);
}

/* What the stack says beside its frames. */
static void describe(const struct raw_stack *from, struct raw_stack *ret)
{
	uint64_t codes = ret->codes | from->codes;
	uint32_t first = ret->first, count = ret->count;
	bool deep = ret->deep || from->deep;

	*ret = *from;
	ret->first = first;
	ret->count = count;
	ret->codes = codes;
	ret->deep = deep;
}

void merger_merge(struct merger *m, struct target *t, struct raw_stacks *stacks, struct profile_stats *stats)
{
	struct raw_stacks swap = *stacks;

	if (!m->ops || failed(m->ops->complete(m->instance, t, &m->natives)))
		return;
	raw_stacks_reset(&m->merged);
	for (size_t i = 0; i < stacks->count; i++) {
		const struct raw_stack *s = &stacks->list[i];
		const struct raw_stack *native = s->sure && !failed(s->err) ? native_of(m, s->ns_tid) : NULL;
		bool joined;

		raw_stacks_push(&m->merged);
		joined = native && join(m, t, stacks, s, native);
		if (!joined)
			copy(stacks, s, &m->merged);
		describe(s, &m->merged.list[m->merged.count - 1]);
		if (native)
			*(joined ? &stats->merged : &stats->unmerged) += 1;
	}
	*stacks = m->merged;
	m->merged = swap;
}
