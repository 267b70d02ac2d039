/* identify.c - from a raw stack to its node in the profile. */
#include <stdio.h>
#include <string.h>

#include "identify.h"
#include "merge.h"

enum { STACKS_MAX = 1 << 20, NAMES_MAX = 1 << 20, COMM_BYTES = 32 };

/* A known node may be 0, the root: what is stored is one more. */
static const uint64_t STORED = 1;

static frame_id mark_frame(struct profile *p, const char *text)
{
	str_id name = strings_add(frames_strings(p->frames), text, strlen(text));

	return frames_add(p->frames, (struct frame_info){ .function = name, .name = name, .kind = FRAME_MARK });
}

void identifier_init(struct identifier *x, struct profile *p, const struct runtime_ops *ops, void *instance,
		     struct target *t, bool function_only)
{
	*x = (struct identifier){
		.profile = p,
		.ops = { ops },
		.instance = { instance },
		.target = t,
		.function_only = function_only,
		.cut = mark_frame(p, "[cut]"),
		.deep = mark_frame(p, "[deeper]"),
		.lost = mark_frame(p, "[lost]"),
	};
	map64_init(&x->stacks, STACKS_MAX);
	map64_init(&x->names, NAMES_MAX);
}

void identifier_add_native(struct identifier *x, const struct runtime_ops *ops, void *instance)
{
	x->ops[OWNER_NATIVE] = ops;
	x->instance[OWNER_NATIVE] = instance;
}

void identifier_free(struct identifier *x)
{
	map64_free(&x->stacks);
	map64_free(&x->names);
}

static uint64_t frame_hash(const struct raw_frame *f)
{
	return hash_step(hash_step(hash_step(f->owner, f->code), f->pos), f->stamp);
}

static struct err name_frame(struct identifier *x, const struct raw_frame *f, frame_id *ret)
{
	uint64_t key = map64_key(frame_hash(f));
	const uint64_t *known = map64_find(&x->names, key);
	struct frame_info info;
	struct err e;
	bool fresh;

	if (known) {
		*ret = (frame_id)*known;
		return OK;
	}
	e = x->ops[f->owner]->resolve(x->instance[f->owner], x->target, f, frames_strings(x->profile->frames), &info);
	if (failed(e))
		return e;
	if (x->function_only)
		info.line = info.first_line;
	/* Columns tell frames apart only where somebody prints them: a profile is by line. */
	info.column = 0;
	*ret = info.function ? frames_add(x->profile->frames, info) : 0;
	*map64_put(&x->names, key, &fresh) = *ret;
	return OK;
}

static struct err make_node(struct identifier *x, const struct raw_frame *frames, const struct raw_stack *stack,
			    size_t skip, node_id root, node_id *ret)
{
	node_id node = root;

	/* Of a stack of which nothing is true not even that is. */
	if ((stack->deep || stack->lost) && skip < stack->count)
		node = profile_child(x->profile, root, stack->deep ? x->deep : x->lost);
	for (size_t i = stack->count; i-- > skip;) {
		frame_id id;
		struct err e = name_frame(x, &frames[i], &id);

		if (failed(e))
			return e;
		if (id) /* 0: the interpreter's own, not to be shown */
			node = profile_child(x->profile, node, id);
	}
	*ret = skip || stack->cut ? profile_child(x->profile, node, x->cut) : node;
	return OK;
}

static uint64_t stack_hash(const struct raw_stacks *all, const struct raw_stack *stack, size_t skip, node_id root)
{
	const struct raw_frame *frames = &all->frames[stack->first];
	uint64_t h = hash_step(root + 1, (skip || stack->cut ? 4 : 0) + (stack->lost ? 2 : 0) + stack->deep);

	for (size_t i = skip; i < stack->count; i++)
		h = hash_step(h, frame_hash(&frames[i]));
	return map64_key(h);
}

bool identify_known(const struct identifier *x, const struct raw_stacks *all, const struct raw_stack *stack,
		    node_id root, node_id *ret)
{
	const uint64_t *known = map64_find(&x->stacks, stack_hash(all, stack, 0, root));

	if (known)
		*ret = (node_id)(*known - STORED);
	return known != NULL;
}

struct err identify(struct identifier *x, const struct raw_stacks *all, const struct raw_stack *stack, size_t skip,
		    node_id root, node_id *ret)
{
	uint64_t h = stack_hash(all, stack, skip, root), *known = map64_find(&x->stacks, h);
	struct err e;
	bool fresh;

	if (known) {
		*ret = (node_id)(*known - STORED);
		return OK;
	}
	e = make_node(x, &all->frames[stack->first], stack, skip, root, ret);
	if (!failed(e))
		*map64_put(&x->stacks, h, &fresh) = *ret + STORED;
	return e;
}

struct err identify_function(struct identifier *x, const struct raw_frame *f, str_id *ret)
{
	frame_id id;
	struct err e = name_frame(x, f, &id);

	if (!failed(e))
		*ret = frames_get(x->profile->frames, id).function;
	return e;
}

static str_id name_thread(struct identifier *x, const struct raw_stack *stack, pid_t tid)
{
	struct strings *strings = frames_strings(x->profile->frames);
	const struct runtime_ops *ops = x->ops[0];
	char comm[COMM_BYTES];
	str_id name;

	if (ops->thread_name && !failed(ops->thread_name(x->instance[0], x->target, stack, strings, &name)))
		return name;
	target_thread_comm(x->target, tid, comm, sizeof(comm));
	return strings_add(strings, comm, strlen(comm));
}

static node_id thread_root(struct identifier *x, node_id root, pid_t tid, str_id name)
{
	struct strings *strings = frames_strings(x->profile->frames);
	CLEANUP(cleanup_free) char *text = xasprintf("thread %s (%d)", strings_get(strings, name), (int)tid);
	str_id id = strings_add(strings, text, strlen(text));
	struct frame_info info = { .function = id, .name = id, .kind = FRAME_THREAD };

	return profile_child(x->profile, root, frames_add(x->profile->frames, info));
}

void identify_thread(struct identifier *x, const struct raw_stack *stack, node_id root, bool frame,
		     struct seen_thread *seen)
{
	const struct thread *th = target_thread(x->target, stack->ns_tid);
	pid_t tid = th ? th->tid : stack->ns_tid;
	str_id name = name_thread(x, stack, tid);

	seen->thread = profile_thread(x->profile, x->target->pid, tid, name);
	seen->root = frame ? thread_root(x, root, tid, name) : root;
}

node_id identify_lost(struct identifier *x, node_id root)
{
	return profile_child(x->profile, root, x->cut);
}
