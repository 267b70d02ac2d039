/* merge.c - native frames put between an interpreter's frames. */
#include <stdlib.h>
#include <string.h>

#include "merge.h"
#include "runtimes.h"

enum { PLACES_MAX = 1 << 18 };

/* What a native frame is to an interpreter. */
enum kind {
	KIND_OTHER, /* an extension's, a library's */
	KIND_OWN,   /* the interpreter's own C code */
	KIND_LOOP,  /* runs its frames */
	KIND_MADE,  /* the interpreter's, too, one for each function, for the sake of profilers: never shown */
	KIND_LIBC,  /* the C library's: tells nothing where it starts a program or a thread */
};

static const char *const c_libraries[] = { "libc.so*", "libc-*", "libpthread*", "ld-linux*", "ld-musl*", NULL };

struct err merger_init(struct merger *m, struct target *t, const char *const *loops, struct strings *strings,
		       size_t depth)
{
	struct err e;

	*m = (struct merger){ .loops = loops, .strings = strings };
	raw_stacks_init(&m->natives, depth);
	raw_stacks_init(&m->merged, depth);
	map64_init(&m->numbers, PLACES_MAX);
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
	map64_free(&m->numbers);
	free(m->places);
	free(m->functions);
}

size_t merger_wants(struct merger *m, struct target *t, const struct raw_stacks *stacks, pid_t *ns_tids)
{
	size_t n = 0;

	for (size_t i = 0; m->ops && i < stacks->count && n < MERGE_THREADS; i++) {
		struct thread *th = target_thread(t, stacks->list[(m->turn + i) % stacks->count].ns_tid);

		/* Whoever sleeps is not woken for this. */
		if (th && target_thread_state(t, th) == THREAD_RUNNING)
			ns_tids[n++] = th->ns_tid;
	}
	m->turn++;
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

static struct merge_place look_up(struct merger *m, struct target *t, const struct raw_frame *f)
{
	struct frame_info info;
	struct merge_place p = { .kind = KIND_OTHER };

	if (failed(m->ops->resolve(m->instance, t, f, m->strings, &info)))
		return p;
	p.function = info.function;
	p.module = info.module;
	if (is_one_of(strings_get(m->strings, info.function), m->loops)) {
		p.kind = KIND_LOOP;
		m->named = true;
		m->own = info.module;
	} else if (info.kind == FRAME_PYTHON) {
		p.kind = KIND_MADE;
	} else if (is_one_of(base_name(strings_get(m->strings, info.module)), c_libraries)) {
		p.kind = KIND_LIBC;
	}
	return p;
}

/* Valid until the next call. */
static const struct merge_place *place_of(struct merger *m, struct target *t, const struct raw_frame *f)
{
	bool fresh;
	uint64_t *number = map64_put(&m->numbers, map64_key(hash_step(hash_step(f->code, f->stamp), f->pos)), &fresh);

	if (fresh)
		m->place_count = 0;
	if (!*number) {
		xgrow(&m->places, &m->place_cap, m->place_count + 1, sizeof(*m->places));
		m->places[m->place_count++] = look_up(m, t, f);
		*number = m->place_count;
	}
	return &m->places[*number - 1];
}

static enum kind kind_of(struct merger *m, struct target *t, const struct raw_frame *f)
{
	const struct merge_place *p = place_of(m, t, f);

	if (p->kind != KIND_OTHER || !m->own)
		return (enum kind)p->kind;
	if (!m->named && p->function == m->loop)
		return KIND_LOOP;
	return p->module == m->own ? KIND_OWN : KIND_OTHER;
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

/* Without what every stack begins with: the C library's start of a program or thread, and the function that it calls.
 */
static size_t without_start(const struct join *j)
{
	size_t n = j->natives;
	bool libc = false;

	while (n > 0 && (!libc || kind_of(j->m, j->t, &j->native[n - 1]) == KIND_LIBC)) {
		libc = libc || kind_of(j->m, j->t, &j->native[n - 1]) == KIND_LIBC;
		n--;
	}
	return n > 0 && kind_of(j->m, j->t, &j->native[n - 1]) == KIND_OTHER ? n - 1 : n;
}

/* musl says nothing of its frames: a way that is lost in it is one to the start of the program or thread. Were it not,
 * as in a function that calls back, the loop's calls would be too few. */
static bool ends_in_libc(const struct join *j)
{
	return j->natives && kind_of(j->m, j->t, &j->native[j->natives - 1]) == KIND_LIBC;
}

static void find_loop(const struct join *j, size_t groups)
{
	struct merger *m = j->m;

	xgrow(&m->functions, &m->function_cap, j->natives, sizeof(*m->functions));
	for (size_t i = 0; i < j->natives; i++) {
		const struct merge_place *p = place_of(m, j->t, &j->native[i]);

		m->functions[i] = p->kind == KIND_OTHER ? p->function : 0;
	}
	m->loop = merge_loop_see(&m->unnamed, m->functions, j->natives, groups);
	for (size_t i = 0; m->loop && i < j->natives; i++)
		if (m->functions[i] == m->loop)
			m->own = place_of(m, j->t, &j->native[i])->module;
}

/* At the leaf, the interpreter's own functions are shown from the first on that an extension or a library called, or
 * all of them when there is none: those before lead from the loop to it, and tell nothing. */
static size_t find_glue(const struct join *j, size_t empty)
{
	size_t end = 0, seen = 0;

	while (end < j->natives && (kind_of(j->m, j->t, &j->native[end]) != KIND_LOOP || seen++ < empty))
		end++;
	for (size_t i = end; i-- > 0;)
		if (kind_of(j->m, j->t, &j->native[i]) == KIND_OTHER)
			return i + 1;
	return end;
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
	size_t glue = find_glue(j, empty), at = 0; /* of the interpreter's frames */

	for (size_t i = 0; i < j->natives; i++) {
		enum kind kind = kind_of(j->m, j->t, &j->native[i]);

		if (kind == KIND_LOOP && empty) {
			empty--;
		} else if (kind == KIND_LOOP) {
			for (size_t n = group(&j->own[at], j->owns - at); n > 0; n--)
				raw_stacks_frame(out, &j->own[at++]);
		} else if (kind != KIND_MADE && (kind != KIND_OWN || (at == 0 && i < glue))) {
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
	size_t loops, groups = count_groups(&j);

	if ((native->lost && !ends_in_libc(&j)) || native->deep || s->deep)
		return false;
	j.natives = without_start(&j);
	loops = count_loops(&j);
	if (!m->named) {
		find_loop(&j, groups);
		loops = count_loops(&j);
	}
	/* A call of the loop begins before its frame does, and ends after it. */
	if (loops < groups || loops > groups + 1)
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
