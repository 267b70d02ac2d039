/* sink_folded.c - one line a stack: "root;...;leaf N", as flame graph tools read it. */
#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cspy/sink.h"
#include "utf8.h"

struct text {
	char *s; /* not terminated */
	size_t len, cap;
};

/* The profile again, with frames that print the same made one. */
struct folded {
	const struct profile *from;
	const struct sink_options *options;
	struct strings *labels;
	struct frames *frames; /* function: the label; nothing else */
	struct profile *merged;
	frame_id *same; /* by frame of `from`: the merged frame, 0: not asked for yet */
	struct text scratch;
};

static void append(struct text *t, const char *bytes, size_t len)
{
	xgrow(&t->s, &t->cap, t->len + len, 1);
	memcpy(t->s + t->len, bytes, len);
	t->len += len;
}

/* Whatever the target called it, it stays one field of one line. */
static void append_name(struct text *t, const char *name)
{
	size_t len;
	uint32_t c;

	for (; (len = utf8_next(name, &c)); name += len) {
		if (utf8_is_control(c))
			append(t, " ", 1);
		else if (c == ';')
			append(t, ":", 1);
		else if (c == 0xFFFD)
			append(t, UTF8_REPLACEMENT, strlen(UTF8_REPLACEMENT));
		else
			append(t, name, len);
	}
}

static void append_label(struct text *t, struct label label)
{
	char line[16];

	append_name(t, label.function);
	if (!*label.file)
		return;
	append(t, " (", 2);
	append_name(t, label.file);
	if (label.line) {
		snprintf(line, sizeof(line), ":%" PRIu32, label.line);
		append(t, line, strlen(line));
	}
	append(t, ")", 1);
}

static frame_id merged_frame(struct folded *f, frame_id frame)
{
	struct frame_info info = { 0 };

	if (!f->same[frame]) {
		f->scratch.len = 0;
		append_label(&f->scratch, label_of(f->from, frame, f->options));
		info.function = strings_add(f->labels, f->scratch.s, f->scratch.len);
		f->same[frame] = frames_add(f->frames, info);
	}
	return f->same[frame];
}

static void merge(struct folded *f)
{
	const struct profile *p = f->from;
	node_id *to = xcalloc(p->node_count, sizeof(*to));

	f->same = xcalloc(frames_count(p->frames), sizeof(*f->same));
	for (size_t i = 0; i < p->node_count; i++) {
		const struct profile_node *n = &p->nodes[i];

		if (i) /* parents come first */
			to[i] = profile_child(f->merged, to[n->parent], merged_frame(f, n->frame));
		profile_add(f->merged, to[i], false, n->self);
	}
	free(to);
	free(f->same);
}

static const char *label_text(const struct folded *f, node_id node)
{
	return strings_get(f->labels, frames_get(f->frames, f->merged->nodes[node].frame).function);
}

/* By parent, then by label from z to a. */
static int by_parent(const void *a, const void *b, void *arg)
{
	const struct folded *f = arg;
	node_id x = *(const node_id *)a, y = *(const node_id *)b;
	node_id px = f->merged->nodes[x].parent, py = f->merged->nodes[y].parent;

	return px != py ? (px < py ? -1 : 1) : strcmp(label_text(f, y), label_text(f, x));
}

/* A space and a number at the end would be read as a second column. */
static bool like_column(const char *s)
{
	size_t len = strlen(s), end = len;

	while (end && (isdigit((unsigned char)s[end - 1]) || s[end - 1] == '.'))
		end--;
	return end < len && (!end || s[end - 1] == ' ');
}

static void append_frame(struct text *path, const char *label, bool leaf)
{
	/* At the start of a line "#" would be read as a comment. */
	bool wrap = (!path->len && *label == '#') || (leaf && like_column(label));

	if (path->len)
		append(path, ";", 1);
	if (wrap)
		append(path, "(", 1);
	append(path, label, strlen(label));
	if (wrap)
		append(path, ")", 1);
}

static void print_line(FILE *out, struct text *path, const char *leaf, uint64_t weight)
{
	size_t len = path->len;

	append_frame(path, leaf, true);
	fwrite(path->s, 1, path->len, out);
	fprintf(out, " %" PRIu64 "\n", weight);
	path->len = len;
}

/* Nodes sorted by parent; the children of node n are order[first[n]] to order[first[n + 1] - 1], from z to a.
 */
static void sort_children(const struct folded *f, node_id *order, size_t *first)
{
	const struct profile *m = f->merged;

	for (size_t i = 1; i < m->node_count; i++) {
		order[i - 1] = (node_id)i;
		first[m->nodes[i].parent + 1]++;
	}
	for (size_t i = 0; i < m->node_count; i++)
		first[i + 1] += first[i];
	qsort_r(order, m->node_count - 1, sizeof(*order), by_parent, (void *)f);
}

/* Depth first without recursion: the trie is as deep as the target's stacks were. */
static void print_all(FILE *out, const struct folded *f)
{
	const struct profile *m = f->merged;
	size_t n = m->node_count, left = 1;
	node_id *order = xcalloc(n, sizeof(*order));
	size_t *first = xcalloc(n + 1, sizeof(*first));
	node_id *todo = xcalloc(n, sizeof(*todo)); /* starts with the root */
	size_t *end = xcalloc(n, sizeof(*end));	   /* of a node's frames in `path` */
	struct text path = { 0 };

	sort_children(f, order, first);
	while (left) {
		node_id node = todo[--left];
		const char *label = node ? label_text(f, node) : "[no frames]";

		path.len = end[m->nodes[node].parent]; /* still there: the parent was the last of its depth */
		if (m->nodes[node].self)
			print_line(out, &path, label, m->nodes[node].self);
		if (node)
			append_frame(&path, label, false);
		end[node] = path.len;
		for (size_t i = first[node]; i < first[node + 1]; i++)
			todo[left++] = order[i];
	}
	free(order);
	free(first);
	free(todo);
	free(end);
	free(path.s);
}

static void folded_write(FILE *out, const struct profile *p, const struct sink_options *o)
{
	struct folded f = { .from = p, .options = o, .labels = strings_new() };

	f.frames = frames_new(f.labels);
	f.merged = profile_new(f.frames);
	merge(&f);
	print_all(out, &f);
	profile_free(f.merged);
	frames_free(f.frames);
	strings_free(f.labels);
	free(f.scratch.s);
}

const struct sink_ops sink_folded = {
	.name = "folded",
	.synonym = "raw",
	.extension = ".folded",
	.also = ".txt.raw.collapsed",
	.help = "one line a stack and its count, for flame graph tools",
	.write = folded_write,
};
