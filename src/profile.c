/* profile.c - what was seen, counted: a trie of stacks, the threads, and their runs of equal looks. */
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "cspy/profile.h"
#include "label.h"
#include "slots.h"

enum {
	NODES_MAX = 4 << 20,   /* 128 MB of nodes */
	RUNS_MAX = 16 << 20,   /* 512 MB of runs */
	THREADS_MAX = 1 << 20, /* the last one stands for all beyond */
};

struct index {
	struct slots children;
	struct slots threads;
	size_t *last_run; /* per thread: index in runs plus one, 0: none */
	size_t last_run_cap;
};

struct child {
	node_id parent;
	frame_id frame;
};

struct thread_key {
	pid_t pid, tid;
};

struct profile *profile_new(struct frames *frames)
{
	struct profile *p = xcalloc(1, sizeof(*p));

	p->frames = frames;
	xgrow(&p->nodes, &p->node_cap, 1, sizeof(*p->nodes));
	p->node_count = 1;
	p->command = xstrdup("");
	p->runtime = xstrdup("");
	p->mode = xstrdup("");
	p->index = xcalloc(1, sizeof(struct index));
	p->labels = label_files_new();
	return p;
}

void profile_free(struct profile *p)
{
	struct index *x;

	if (!p)
		return;
	x = p->index;
	slots_free(&x->children);
	slots_free(&x->threads);
	free(x->last_run);
	free(x);
	label_files_free(p->labels);
	free(p->nodes);
	free(p->threads);
	free(p->runs);
	free(p->moved);
	free(p->command);
	free(p->runtime);
	free(p->mode);
	free(p);
}

static bool same_child(const void *owner, uint32_t id, const void *key)
{
	const struct profile_node *n = &((const struct profile *)owner)->nodes[id];
	const struct child *c = key;

	return n->parent == c->parent && n->frame == c->frame;
}

node_id profile_child(struct profile *p, node_id parent, frame_id frame)
{
	struct index *x = p->index;
	struct child key = { parent, frame };
	uint64_t hash = XXH3_64bits(&key, sizeof(key));
	int64_t known = slots_find(&x->children, hash, same_child, p, &key);

	if (known != SLOTS_NONE)
		return (node_id)known;
	if (p->node_count >= NODES_MAX) {
		p->stats.trie_full++;
		return parent;
	}
	xgrow(&p->nodes, &p->node_cap, p->node_count + 1, sizeof(*p->nodes));
	p->nodes[p->node_count] = (struct profile_node){ .parent = parent, .frame = frame };
	slots_add(&x->children, hash, (uint32_t)p->node_count);
	return (node_id)p->node_count++;
}

static bool same_thread(const void *owner, uint32_t id, const void *key)
{
	const struct profile_thread *t = &((const struct profile *)owner)->threads[id];
	const struct thread_key *k = key;

	return t->pid == k->pid && t->tid == k->tid;
}

uint32_t profile_thread(struct profile *p, pid_t pid, pid_t tid, str_id name)
{
	struct index *x = p->index;
	struct thread_key key = { pid, tid };
	uint64_t hash = XXH3_64bits(&key, sizeof(key));
	int64_t known = slots_find(&x->threads, hash, same_thread, p, &key);

	if (known != SLOTS_NONE) {
		if (name)
			p->threads[known].name = name;
		return (uint32_t)known;
	}
	if (p->thread_count >= THREADS_MAX)
		return THREADS_MAX - 1;
	xgrow(&p->threads, &p->thread_cap, p->thread_count + 1, sizeof(*p->threads));
	xgrow(&x->last_run, &x->last_run_cap, p->thread_count + 1, sizeof(*x->last_run));
	p->threads[p->thread_count] = (struct profile_thread){ .pid = pid, .tid = tid, .name = name };
	slots_add(&x->threads, hash, (uint32_t)p->thread_count);
	return (uint32_t)p->thread_count++;
}

static int64_t *moved_of(struct profile *p, str_id function)
{
	size_t had = p->moved_cap;

	if (function >= had) {
		xgrow(&p->moved, &p->moved_cap, (size_t)function + 1, sizeof(*p->moved));
		memset(p->moved + had, 0, (p->moved_cap - had) * sizeof(*p->moved));
	}
	return &p->moved[function];
}

void profile_moved(struct profile *p, str_id leaf, node_id stack, unsigned n)
{
	str_id kept = frames_get(p->frames, p->nodes[stack].frame).function;

	if (kept == leaf)
		return;
	*moved_of(p, leaf) += n;
	*moved_of(p, kept) -= n;
}

void profile_add(struct profile *p, node_id stack, bool fair, uint64_t n)
{
	struct profile_node *node = &p->nodes[stack];

	*(fair ? &node->fair : &node->free) += n;
	node->self += n;
}

/* The run that this look may continue: the thread's last, when looked at no more than 1.5 intervals ago. */
static struct profile_run *recent_run(struct profile *p, uint32_t thread, uint64_t when_ns)
{
	const struct index *x = p->index;
	struct profile_run *r;

	if (!x->last_run[thread])
		return NULL;
	r = &p->runs[x->last_run[thread] - 1];
	return when_ns <= r->end_ns + p->interval_ns / 2 ? r : NULL;
}

void profile_run(struct profile *p, uint32_t thread, node_id stack, uint64_t when_ns)
{
	struct index *x = p->index;
	struct profile_run *last;

	if (!p->keep_runs || thread >= p->thread_count)
		return;
	when_ns = when_ns > p->start_ns ? when_ns - p->start_ns : 0;
	last = recent_run(p, thread, when_ns);
	if (last && when_ns < last->start_ns) /* a clock that goes back */
		when_ns = last->start_ns;
	if (last && last->stack == stack) {
		if (last->end_ns < when_ns + p->interval_ns)
			last->end_ns = when_ns + p->interval_ns;
		last->samples++;
		return;
	}
	if (last) /* what was seen then lasted until now: neither an overlap nor a hole of some jitter */
		last->end_ns = when_ns;
	if (p->run_count >= RUNS_MAX) {
		x->last_run[thread] = 0; /* it ended here, and is not to be extended later */
		p->stats.runs_full++;
		return;
	}
	xgrow(&p->runs, &p->run_cap, p->run_count + 1, sizeof(*p->runs));
	p->runs[p->run_count] = (struct profile_run){ when_ns, when_ns + p->interval_ns, thread, stack, 1 };
	x->last_run[thread] = ++p->run_count;
}

uint64_t profile_total(const struct profile *p)
{
	uint64_t total = 0;

	for (size_t i = 0; i < p->node_count; i++)
		total += p->nodes[i].self;
	return total;
}
