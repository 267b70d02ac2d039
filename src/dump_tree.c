/* dump_tree.c - one look at each process of a tree, with equal stacks put together. */
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "cspy/sampler.h"
#include "dump_tree.h"
#include "family.h"

enum { PROCESSES_MAX = 4096 };

void tree_free(struct tree *t)
{
	if (!t)
		return;
	for (size_t i = 0; i < t->process_count; i++)
		dump_free(t->processes[i].dump);
	free(t->processes);
	free(t->threads);
	free(t->groups);
	free(t);
}

/* A process that has ended since it was listed is left out, as if it had ended before. */
static void add_process(struct tree *tree, const struct relative *r)
{
	struct tree_process p = { .pid = r->pid, .parent = r->parent };
	struct target *target = NULL;

	if (tree->process_count == PROCESSES_MAX) {
		tree->left_out++;
		return;
	}
	p.err = target_open(r->pid, &target);
	if (!failed(p.err)) {
		target_cmdline(target, p.command, sizeof(p.command));
		p.err = dump_take(target, tree->options, p.why, sizeof(p.why), &p.dump);
	}
	target_close(target);
	if (p.err.code == ERR_GONE)
		return;
	xgrow(&tree->processes, &tree->process_cap, tree->process_count + 1, sizeof(p));
	tree->processes[tree->process_count++] = p;
}

static uint64_t hash_text(uint64_t seed, const char *text)
{
	return XXH3_64bits_withSeed(text, strlen(text) + 1, seed);
}

/* By names: addresses differ from process to process. */
static uint64_t stack_hash(const struct dump *d, const struct dump_thread *th)
{
	uint64_t h = th->err.code;

	for (size_t i = 0; i < th->count; i++) {
		frame_id id = d->frames[th->first + i].id;
		struct frame_info info = id ? frames_get(d->frames_known, id) : (struct frame_info){ 0 };

		h = hash_text(h, strings_get(d->strings, info.function));
		h = hash_text(h, strings_get(d->strings, info.file));
		h = XXH3_64bits_withSeed(&info.line, sizeof(info.line), h);
	}
	return h;
}

static void add_threads(struct tree *t, size_t process)
{
	const struct dump *d = t->processes[process].dump;

	for (size_t i = 0; d && i < d->thread_count; i++) {
		xgrow(&t->threads, &t->thread_cap, t->thread_count + 1, sizeof(*t->threads));
		t->threads[t->thread_count++] = (struct tree_thread){ stack_hash(d, &d->threads[i]), process, i };
	}
}

static int by_stack(const void *a, const void *b)
{
	const struct tree_thread *x = a, *y = b;

	if (x->hash != y->hash)
		return x->hash < y->hash ? -1 : 1;
	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	return x->thread < y->thread ? -1 : x->thread > y->thread;
}

/* The odd one out first; of equally many, in the order of their first processes. */
static int by_count(const void *a, const void *b, void *arg)
{
	const struct tree_group *x = a, *y = b;
	const struct tree_thread *threads = arg, *s = &threads[x->first], *t = &threads[y->first];

	if (x->count != y->count)
		return x->count < y->count ? -1 : 1;
	if (s->process != t->process)
		return s->process < t->process ? -1 : 1;
	return s->thread < t->thread ? -1 : s->thread > t->thread;
}

static void make_groups(struct tree *t)
{
	if (!t->thread_count)
		return;
	qsort(t->threads, t->thread_count, sizeof(*t->threads), by_stack);
	for (size_t i = 0; i < t->thread_count; i++) {
		if (!i || t->threads[i].hash != t->threads[i - 1].hash) {
			xgrow(&t->groups, &t->group_cap, t->group_count + 1, sizeof(*t->groups));
			t->groups[t->group_count++] = (struct tree_group){ i, 0 };
		}
		t->groups[t->group_count - 1].count++;
	}
	qsort_r(t->groups, t->group_count, sizeof(*t->groups), by_count, t->threads);
}

struct err tree_take(pid_t root, struct dump_options o, struct tree **ret)
{
	struct tree *t;
	struct family f;
	struct err e = family_open(&f, root);

	if (failed(e))
		return e;
	e = family_update(&f, clock_now());
	if (failed(e)) {
		family_close(&f);
		return e;
	}
	t = xcalloc(1, sizeof(*t));
	t->options = o;
	for (size_t i = 0; i < f.count; i++)
		if (f.list[i].pid == root)
			add_process(t, &f.list[i]);
	for (size_t i = 0; i < f.count; i++)
		if (f.list[i].member && f.list[i].pid != root)
			add_process(t, &f.list[i]);
	family_close(&f);
	for (size_t i = 0; i < t->process_count; i++)
		add_threads(t, i);
	make_groups(t);
	*ret = t;
	return OK;
}
