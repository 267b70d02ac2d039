/* sink_flamegraph.c - the SVG flame graph: rectangles for viewers without script, and the whole tree for
 * those with. */
#include <stdlib.h>
#include <string.h>

#include "flamegraph.h"

/* Pixels, except where it says otherwise. The script has the same row height. */
enum {
	ROW = 20,
	LEGEND_TOP = 90,
	GRAPH_TOP = 118,
	BOTTOM = 18,
	EMPTY_HEIGHT = 220,
	WIDTH = 1200, /* that labels without script are cut for */
	/* In 1/10000 percent of the width. */
	MARGIN = 10000,
	INNER = 980000,
	/* Frames below 1/1000 of all samples are drawn by script only. */
	STATIC_PART = 1000,
	/* In 1/10 pixel: the advance of a fixed-width character at 12 pixels. */
	COLUMN = 73,
	PADDING = 4,
	LEAST_COLUMNS = 3,
	LEAST_WHERE = 6,
};

/* A share of the width in percent, without a locale's comma. */
static void percent_of_width(FILE *out, uint64_t part, uint64_t whole, unsigned offset)
{
	unsigned n = (unsigned)((double)part / (double)whole * INNER + 0.5) + offset;

	if (n % 10000)
		fprintf(out, "%u.%04u%%", n / 10000, n % 10000);
	else
		fprintf(out, "%u%%", n / 10000);
}

static void where_text(FILE *out, const struct flame_label *l)
{
	if (!*l->where)
		return;
	fputs(" (", out);
	flame_xml(out, l->where);
	fputs(")", out);
}

/* The function and, where there is room left, its place. */
static void static_label(FILE *out, const struct flame_label *l, size_t columns)
{
	if (columns < LEAST_COLUMNS)
		return;
	fprintf(out, "<text x=\"%d\" y=\"14\">", PADDING);
	char *name = flame_clean(l->name, columns);
	flame_xml(out, name);
	free(name);
	size_t taken = flame_columns(l->name);
	if (*l->where && taken + 1 + LEAST_WHERE <= columns) {
		char *full = xasprintf("(%s)", l->where);
		char *where = flame_clean(full, columns - taken - 1);
		fputs(" <tspan class=\"w\">", out);
		flame_xml(out, where);
		fputs("</tspan>", out);
		free(where);
		free(full);
	}
	fputs("</text>", out);
}

/* A nested svg clips its label, so that nothing spills over where the window is narrower than WIDTH. */
static void static_frame(FILE *out, const struct flame *f, const struct flame_node *n)
{
	const struct flame_label *l = &f->labels[n->label];
	uint64_t all = f->nodes[0].total;
	char count[32], percent[32];
	double pixels = (double)n->total / (double)all * WIDTH * INNER / 1000000 - 2 * PADDING;

	flame_count(count, sizeof(count), n->total);
	flame_percent(percent, sizeof(percent), n->total, all);
	fputs("<svg x=\"", out);
	percent_of_width(out, n->start, all, MARGIN);
	fprintf(out, "\" y=\"%u\" width=\"", (unsigned)(n->depth * ROW));
	percent_of_width(out, n->total, all, 0);
	fprintf(out, "\" height=\"%d\"><title>", ROW);
	flame_xml(out, l->name);
	where_text(out, l);
	fprintf(out, " \xE2\x80\x94 %s %s, %s</title>", count, n->total == 1 ? "sample" : "samples", percent);
	fprintf(out, "<rect class=\"k%u s%u\" width=\"100%%\" height=\"%d\" fill=\"%s\"/>", l->color, l->shade, ROW,
		flame_colors[l->color].fallback);
	static_label(out, l, pixels > 0 ? (size_t)(pixels * 10 / COLUMN) : 0);
	fputs("</svg>\n", out);
}

static void static_frames(FILE *out, const struct flame *f)
{
	fprintf(out, "<g class=\"frames\" transform=\"translate(0 %d)\" stroke=\"#fff\" font-size=\"12\">\n",
		GRAPH_TOP);
	for (size_t i = 0; i < f->node_count; i++)
		if ((double)f->nodes[i].total * STATIC_PART >= (double)f->nodes[0].total)
			static_frame(out, f, &f->nodes[i]);
	fputs("</g>\n", out);
}

static void legend(FILE *out, const struct flame *f)
{
	/* Rough: the average advance of a proportional letter at 12 pixels, and the room for the swatch. */
	enum { LETTER = 7, SWATCH = 17, GAP = 14 };
	size_t x = 0;

	fprintf(out,
		"<svg class=\"head legend\" x=\"1%%\" y=\"%d\" height=\"16\" "
		"font-family=\"system-ui,sans-serif\">\n",
		LEGEND_TOP);
	for (unsigned c = FLAME_PYTHON; c < FLAME_COLORS; c++) {
		const struct flame_color_info *info = &flame_colors[c];
		if (!f->present[c])
			continue;
		fprintf(out,
			"<rect class=\"k%u\" x=\"%zu\" y=\"2\" width=\"12\" height=\"12\" rx=\"3\" "
			"fill=\"%s\"/>",
			c, x, info->fallback);
		fprintf(out, "<text x=\"%zu\" y=\"12\" font-size=\"12\">%s</text>\n", x + SWATCH, info->name);
		x += SWATCH + strlen(info->name) * LETTER + GAP;
	}
	fputs("</svg>\n", out);
}

/*
 * For the script: texts once, then three numbers a node in preorder: its label, its own samples, and how many
 * levels it lies above a child of the node before it.
 */
static void compact_tree(FILE *out, const struct flame *f)
{
	fputs("<metadata class=\"cspy-tree\">{\"kinds\":[", out);
	for (size_t i = 0; i < FLAME_COLORS; i++)
		fprintf(out, "%s\"%s\"", i ? "," : "", flame_colors[i].name);
	fputs("],\n\"labels\":[", out);
	for (size_t i = 0; i < f->label_count; i++) {
		const struct flame_label *l = &f->labels[i];
		fputs(i ? ",\n[" : "\n[", out);
		flame_json(out, l->name);
		fputc(',', out);
		flame_json(out, l->where);
		fprintf(out, ",%u,%u]", l->color, l->shade);
	}
	fputs("],\n\"nodes\":[", out);
	for (size_t i = 0; i < f->node_count; i++) {
		const struct flame_node *n = &f->nodes[i];
		uint32_t rise = i ? f->nodes[i - 1].depth + 1 - n->depth : 0;
		fprintf(out, "%s%s%u,%llu,%u", i ? "," : "", i % 16 ? "" : "\n", (unsigned)n->label,
			(unsigned long long)n->self, (unsigned)rise);
	}
	fputs("]}</metadata>\n", out);
}

static void bytes(FILE *out, const char *begin, const char *end)
{
	fwrite(begin, 1, (size_t)(end - begin), out);
}

static void write_flamegraph(FILE *out, const struct profile *p, const struct sink_options *o)
{
	struct flame f;

	flame_build(p, o, &f);
	bool empty = !f.nodes[0].total;
	unsigned height = empty ? EMPTY_HEIGHT : GRAPH_TOP + (f.depth + 1) * ROW + BOTTOM;
	fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n", out);
	/* The style makes it as wide as the window; the width here is for programs that know none, and for
	 * <img>. */
	fprintf(out,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"cspy\" width=\"%d\" height=\"%u\" "
		"font-family=\"monospace\">\n<title>",
		WIDTH, height);
	flame_title(out, p, o);
	fputs(" - cspy flame graph</title>\n<metadata class=\"cspy-stats\">", out);
	flame_stats(out, p);
	fputs("</metadata>\n<style><![CDATA[\n", out);
	bytes(out, flamegraph_css, flamegraph_css_end);
	fputs("]]></style>\n<rect class=\"page\" width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n", out);
	flame_head(out, p, o);
	if (empty) {
		flame_nothing(out, p);
	} else {
		legend(out, &f);
		static_frames(out, &f);
		compact_tree(out, &f);
		fputs("<script><![CDATA[\n", out);
		bytes(out, flamegraph_js, flamegraph_js_end);
		fputs("]]></script>\n", out);
	}
	fputs("</svg>\n", out);
	flame_free(&f);
}

const struct sink_ops sink_flamegraph = {
	.name = "flamegraph",
	.synonym = "svg",
	.extension = ".svg",
	.help = "SVG flame graph: one file that any browser opens, with zoom and search",
	.write = write_flamegraph,
};
