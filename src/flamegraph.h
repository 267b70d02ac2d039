/* flamegraph.h - what the parts of the SVG flame graph share: its tree, its colours and safe text. */
#ifndef CSPY_FLAMEGRAPH_H
#define CSPY_FLAMEGRAPH_H

#include <stdio.h>

#include "cspy/sink.h"

/* What a frame's colour says; also its CSS class (k0, k1, ..) and its place in the legend. */
enum flame_color {
	FLAME_ALL, /* the root: everything that was seen */
	FLAME_PYTHON,
	FLAME_PYTHON_LIBRARY,
	FLAME_RUBY,
	FLAME_RUBY_LIBRARY,
	FLAME_JS,
	FLAME_JS_LIBRARY,
	FLAME_NATIVE,
	FLAME_NATIVE_LIBRARY,
	FLAME_KERNEL,
	FLAME_GC,
	FLAME_THREAD,
	FLAME_PROCESS,
	FLAME_MARK,
	FLAME_COLORS,
};

/* Names hash to one of these steps of lightness, so that neighbours differ and a function keeps its own. */
#define FLAME_SHADES 8

struct flame_color_info {
	const char *name;     /* for the legend and for screen readers */
	const char *fallback; /* fill where a viewer knows no CSS variables */
};
extern const struct flame_color_info flame_colors[FLAME_COLORS];

/* What is written on a frame. Both texts are clean: valid, printable and bounded (flame_clean). */
struct flame_label {
	char *name;    /* never "" */
	char *where;   /* "file:line", "file", a module, or "" */
	uint8_t color; /* enum flame_color */
	uint8_t shade;
};

struct flame_node {
	uint32_t parent, label, depth;
	uint64_t self, total; /* samples */
	uint64_t start;	      /* samples left of it */
};

/* Siblings that read the same are one; labels and siblings are sorted, so equal profiles give equal files. */
struct flame {
	struct flame_label *labels;
	size_t label_count;
	struct flame_node *nodes; /* preorder: a node is followed by what it called; [0] is the root */
	size_t node_count;
	uint32_t depth; /* of the deepest node; the root's is 0 */
	bool present[FLAME_COLORS];
};

/* flamegraph_tree.c */
void flame_build(const struct profile *p, const struct sink_options *o, struct flame *ret);
void flame_free(struct flame *f);

/*
 * flamegraph_text.c. Names come from an untrusted process: flame_clean makes a copy that is UTF-8 (what is
 * not becomes U+FFFD), without characters that XML forbids, that end lines or that turn the direction of text
 * around, and with at most `columns` columns, the last two ".." when it was cut. The writers below take clean
 * text only.
 */
char *flame_clean(const char *s, size_t columns);
size_t flame_columns(const char *clean);
void flame_xml(FILE *out, const char *clean);
/* Quoted, and safe as XML text, too: no <, > or & is left. */
void flame_json(FILE *out, const char *clean);
/* 1234567 -> "1,234,567"; part of whole -> "12.34%"; both never depend on the locale. */
void flame_count(char *buf, size_t cap, uint64_t n);
void flame_percent(char *buf, size_t cap, uint64_t part, uint64_t whole);

/* flamegraph_head.c: the lines above the graph, the reason why there is none, and the numbers for machines.
 */
void flame_head(FILE *out, const struct profile *p, const struct sink_options *o);
void flame_title(FILE *out, const struct profile *p, const struct sink_options *o);
void flame_nothing(FILE *out, const struct profile *p);
void flame_stats(FILE *out, const struct profile *p);

/* flamegraph_assets.S: the files in src/assets. */
extern const char flamegraph_js[], flamegraph_js_end[];
extern const char flamegraph_css[], flamegraph_css_end[];

#endif
