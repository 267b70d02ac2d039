/* flamegraph_tree.c - from a profile's trie to the tree that a flame graph shows: labelled, merged and
 * sorted. */
#include <stdlib.h>
#include <string.h>

#include "flamegraph.h"

/* What is kept of a name; nobody reads more, and a target may hold names of any length. */
enum {
	NAME_COLUMNS = 400,
	WHERE_COLUMNS = 200,
};

const struct flame_color_info flame_colors[FLAME_COLORS] = {
	[FLAME_ALL] = { "all", "#d3d7de" },
	[FLAME_PYTHON] = { "Python", "#f5b274" },
	[FLAME_PYTHON_LIBRARY] = { "Python library", "#f1dfc0" },
	[FLAME_RUBY] = { "Ruby", "#f29ba4" },
	[FLAME_RUBY_LIBRARY] = { "Ruby library", "#f2d3d6" },
	[FLAME_JS] = { "JavaScript", "#f0d351" },
	[FLAME_JS_LIBRARY] = { "JavaScript library", "#ece6b4" },
	[FLAME_NATIVE] = { "native", "#9fc3ec" },
	[FLAME_NATIVE_LIBRARY] = { "native library", "#cfdeee" },
	[FLAME_KERNEL] = { "kernel", "#c9b3f0" },
	[FLAME_GC] = { "garbage collection", "#86d3b4" },
	[FLAME_THREAD] = { "thread", "#c3cad6" },
	[FLAME_PROCESS] = { "process", "#b3bccb" },
	[FLAME_MARK] = { "not a function", "#e2e2e2" },
};

/* Children of one node of the new tree, before those that read the same become one. */
struct child {
	uint32_t label; /* sorted, so order of labels is order of siblings */
	node_id node;
};

/* A node to be placed: the first of its twins, and what called it. */
struct pending {
	struct child child;
	uint32_t parent;
};

struct children {
	struct child *list;
	size_t count, cap;
};

/* The trie seen from its parents: lists of children, and of nodes that were merged. */
struct builder {
	const struct profile *p;
	uint64_t *total;  /* by node */
	node_id *first;	  /* first child */
	node_id *sibling; /* next child of the same parent */
	node_id *twin;	  /* next node that is shown as one with this */
	uint32_t *label;  /* by frame, until labels are sorted; then renumbered */
	struct children children;
	struct pending *stack;
	size_t stack_count, stack_cap;
};

static uint8_t color_of(const struct frame_info *info)
{
	static const uint8_t colors[FRAME_KINDS] = {
		[FRAME_PYTHON] = FLAME_PYTHON, [FRAME_RUBY] = FLAME_RUBY,	[FRAME_JS] = FLAME_JS,
		[FRAME_NATIVE] = FLAME_NATIVE, [FRAME_KERNEL] = FLAME_KERNEL,	[FRAME_GC] = FLAME_GC,
		[FRAME_THREAD] = FLAME_THREAD, [FRAME_PROCESS] = FLAME_PROCESS, [FRAME_MARK] = FLAME_MARK,
	};
	uint8_t color = info->kind < FRAME_KINDS ? colors[info->kind] : (uint8_t)FLAME_MARK;

	return info->library && color >= FLAME_PYTHON && color <= FLAME_NATIVE ? color + 1 : color;
}

/* FNV-1a: of the name alone, so a function keeps its shade in every graph. */
static uint8_t shade_of(const char *name)
{
	uint32_t h = 2166136261u;

	for (; *name; name++)
		h = (h ^ (unsigned char)*name) * 16777619u;
	return (uint8_t)((h ^ h >> 15) % FLAME_SHADES);
}

static struct flame_label make_label(const struct profile *p, frame_id id, const struct sink_options *o)
{
	struct frame_info info = frames_get(p->frames, id);
	struct label l = label_of(p, id, o);
	struct flame_label ret = { .color = color_of(&info) };
	/* The suffix that readers of flame graphs know kernel frames by. */
	const char *suffix = info.kind == FRAME_KERNEL ? "_[k]" : "";

	char *name = flame_clean(l.function, NAME_COLUMNS);
	ret.name = xasprintf("%s%s", *name ? name : "[no name]", suffix);
	free(name);
	char *file = flame_clean(l.file, WHERE_COLUMNS);
	ret.where = *file && l.line ? xasprintf("%s:%u", file, (unsigned)l.line) : xstrdup(file);
	free(file);
	ret.shade = shade_of(ret.name);
	return ret;
}

static int compare_labels(const struct flame_label *a, const struct flame_label *b)
{
	int c = strcmp(a->name, b->name);

	if (!c)
		c = strcmp(a->where, b->where);
	return c ? c : (int)a->color - (int)b->color;
}

/* A label and the frame that it is for, while labels are sorted. */
struct named {
	struct flame_label label;
	frame_id frame;
};

static int by_label(const void *a, const void *b)
{
	const struct named *x = a, *y = b;
	int c = compare_labels(&x->label, &y->label);

	return c ? c : (x->frame > y->frame) - (x->frame < y->frame);
}

/* Label 0 is the root's; the others are unique and ascending. */
static void collect_labels(struct builder *b, const struct sink_options *o, struct flame *f)
{
	const struct profile *p = b->p;
	size_t frames = 1, count = 0;

	for (size_t i = 1; i < p->node_count; i++)
		if (p->nodes[i].frame >= frames)
			frames = (size_t)p->nodes[i].frame + 1;
	bool *used = xcalloc(frames, sizeof(*used));
	struct named *named = xcalloc(frames, sizeof(*named));
	for (size_t i = 1; i < p->node_count; i++)
		used[p->nodes[i].frame] = b->total[i] > 0 || used[p->nodes[i].frame];
	for (size_t i = 0; i < frames; i++)
		if (used[i])
			named[count++] = (struct named){ make_label(p, (frame_id)i, o), (frame_id)i };
	qsort(named, count, sizeof(*named), by_label);

	b->label = xcalloc(frames, sizeof(*b->label));
	f->labels = xcalloc(count + 1, sizeof(*f->labels));
	f->labels[f->label_count++] = (struct flame_label){ xstrdup("all"), xstrdup(""), FLAME_ALL, 0 };
	for (size_t i = 0; i < count; i++) {
		struct flame_label *last = &f->labels[f->label_count - 1];
		if (f->label_count > 1 && !compare_labels(last, &named[i].label)) {
			free(named[i].label.name);
			free(named[i].label.where);
		} else {
			f->labels[f->label_count++] = named[i].label;
			f->present[named[i].label.color] = true;
		}
		b->label[named[i].frame] = (uint32_t)(f->label_count - 1);
	}
	free(named);
	free(used);
}

static void link_trie(struct builder *b)
{
	const struct profile *p = b->p;

	b->total = xcalloc(p->node_count, sizeof(*b->total));
	b->first = xcalloc(p->node_count, sizeof(*b->first));
	b->sibling = xcalloc(p->node_count, sizeof(*b->sibling));
	b->twin = xcalloc(p->node_count, sizeof(*b->twin));
	/* A child's id is greater than its parent's: backwards, each is whole before it is added to its
	 * parent. */
	for (size_t i = p->node_count - 1; i > 0; i--) {
		node_id parent = p->nodes[i].parent;
		b->total[i] += p->nodes[i].self;
		b->total[parent] += b->total[i];
		b->sibling[i] = b->first[parent];
		b->first[parent] = (node_id)i;
	}
	b->total[0] += p->nodes[0].self;
}

static int by_child(const void *a, const void *b)
{
	const struct child *x = a, *y = b;

	if (x->label != y->label)
		return x->label < y->label ? -1 : 1;
	return (x->node > y->node) - (x->node < y->node);
}

/* All children of all nodes in a list of twins, sorted by label. Those that were never seen are left out. */
static void gather(struct builder *b, node_id head)
{
	struct children *c = &b->children;

	c->count = 0;
	for (node_id n = head;; n = b->twin[n]) {
		for (node_id k = b->first[n]; k; k = b->sibling[k]) {
			if (!b->total[k])
				continue;
			xgrow(&c->list, &c->cap, c->count + 1, sizeof(*c->list));
			c->list[c->count++] = (struct child){ b->label[b->p->nodes[k].frame], k };
		}
		if (!b->twin[n])
			break;
	}
	if (c->count)
		qsort(c->list, c->count, sizeof(*c->list), by_child);
}

/* Onto the stack, last first, so that the first is placed next; equal labels become one list of twins. */
static void push_children(struct builder *b, uint32_t parent)
{
	const struct children *c = &b->children;

	for (size_t i = c->count; i > 0; i--) {
		struct child k = c->list[i - 1];
		if (i < c->count && c->list[i].label == k.label) {
			b->twin[k.node] = c->list[i].node;
			b->stack[b->stack_count - 1].child = k;
			continue;
		}
		xgrow(&b->stack, &b->stack_cap, b->stack_count + 1, sizeof(*b->stack));
		b->stack[b->stack_count++] = (struct pending){ k, parent };
	}
}

static void place(struct builder *b, struct flame *f, struct child c, uint32_t parent)
{
	struct flame_node *n = &f->nodes[f->node_count];

	*n = (struct flame_node){ .parent = parent, .label = c.label };
	if (f->node_count)
		n->depth = f->nodes[parent].depth + 1;
	if (n->depth > f->depth)
		f->depth = n->depth;
	for (node_id twin = c.node;; twin = b->twin[twin]) {
		n->self += b->p->nodes[twin].self;
		n->total += b->total[twin];
		if (!b->twin[twin])
			break;
	}
	f->node_count++;
}

/* Callees from left to right, what is left of the caller's width is its own time. */
static void set_starts(struct flame *f)
{
	uint64_t *next = xcalloc(f->node_count, sizeof(*next));

	for (size_t i = 1; i < f->node_count; i++) {
		struct flame_node *n = &f->nodes[i];
		n->start = next[n->parent];
		next[n->parent] += n->total;
		next[i] = n->start;
	}
	free(next);
}

void flame_build(const struct profile *p, const struct sink_options *o, struct flame *ret)
{
	struct builder b = { .p = p };

	*ret = (struct flame){ 0 };
	link_trie(&b);
	collect_labels(&b, o, ret);
	ret->nodes = xcalloc(p->node_count, sizeof(*ret->nodes));
	place(&b, ret, (struct child){ 0, 0 }, 0);
	gather(&b, 0);
	push_children(&b, 0);
	while (b.stack_count) {
		struct pending next = b.stack[--b.stack_count];
		uint32_t at = (uint32_t)ret->node_count;
		place(&b, ret, next.child, next.parent);
		gather(&b, next.child.node);
		push_children(&b, at);
	}
	set_starts(ret);
	free(b.total);
	free(b.first);
	free(b.sibling);
	free(b.twin);
	free(b.label);
	free(b.children.list);
	free(b.stack);
}

void flame_free(struct flame *f)
{
	for (size_t i = 0; i < f->label_count; i++) {
		free(f->labels[i].name);
		free(f->labels[i].where);
	}
	free(f->labels);
	free(f->nodes);
}
