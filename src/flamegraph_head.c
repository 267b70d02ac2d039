/* flamegraph_head.c - what stands above a flame graph: its title, how it was recorded, and how far to trust
 * it. */
#include <stdlib.h>
#include <string.h>

#include "flamegraph.h"
#include "json.h"

enum {
	TITLE_COLUMNS = 160, /* of a command line */
	WORD_COLUMNS = 80,
	TEXT_COLUMNS = 4096, /* where nobody has to read it at once */
};

/* Between the parts of a line. */
static const char separator[] = " \xC2\xB7 ";

static void cleaned(FILE *out, const char *s, size_t columns)
{
	char *text = flame_clean(s, columns);

	flame_xml(out, text);
	free(text);
}

static void counted(FILE *out, const char *before, uint64_t n, const char *after)
{
	char count[32];

	flame_count(count, sizeof(count), n);
	fprintf(out, "%s%s%s", before, count, after);
}

/* One digit after the point, whatever the locale says. */
static void tenths(FILE *out, double v, const char *unit)
{
	uint64_t n = v > 0 && v < 1e15 ? (uint64_t)(v * 10 + 0.5) : 0;

	counted(out, "", n / 10, "");
	if (n % 10)
		fprintf(out, ".%u", (unsigned)(n % 10));
	fputs(unit, out);
}

static double rate_of(const struct profile *p)
{
	if (p->stats.rate_wanted > 0)
		return p->stats.rate_wanted;
	return p->interval_ns ? 1e9 / (double)p->interval_ns : 0;
}

void flame_title(FILE *out, const struct profile *p, const struct sink_options *o)
{
	const char *title = o->title && *o->title ? o->title : p->command;

	cleaned(out, *title ? title : "Flame graph", TITLE_COLUMNS);
}

/* Which process, and how it was looked at. */
static void about_line(FILE *out, const struct profile *p)
{
	double rate = rate_of(p);

	if (p->pid > 0)
		fprintf(out, "pid %ld%s", (long)p->pid, separator);
	if (*p->runtime) {
		cleaned(out, p->runtime, WORD_COLUMNS);
		fputs(separator, out);
	}
	if (*p->mode) {
		cleaned(out, p->mode, WORD_COLUMNS);
		fputs(separator, out);
	}
	if (p->stats.wall_ns) {
		tenths(out, (double)p->stats.wall_ns / 1e9, " s");
		fputs(rate > 0 ? " at " : separator, out);
	}
	if (rate > 0) {
		tenths(out, rate, " samples/s");
		fputs(separator, out);
	}
	uint64_t samples = profile_total(p);
	counted(out, "", samples, samples == 1 ? " sample" : " samples");
}

static uint64_t all_failed(const struct profile_stats *s)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < ERR_CODES; i++)
		sum += s->failed[i];
	return sum;
}

/* What a reader must know to trust the picture: the first three are shown even when they are 0. */
static void trust_line(FILE *out, const struct profile *p)
{
	const struct profile_stats *s = &p->stats;

	counted(out, "paused for ", s->paused, "");
	counted(out, " of ", s->ticks, " looks");
	counted(out, separator, s->cut, " cut");
	counted(out, separator, all_failed(s), " failed");
	if (s->deep)
		counted(out, separator, s->deep, " too deep");
	if (s->trie_full)
		counted(out, separator, s->trie_full, " frames left out");
	if (s->late)
		counted(out, separator, s->late, " looks late");
	if (s->held_back)
		counted(out, separator, s->held_back, " held back");
	fprintf(out, "%slean ", separator);
	tenths(out, s->lean * 100, "%");
	if (s->lean_function) {
		fputs(" (", out);
		cleaned(out, strings_get(frames_strings(p->frames), s->lean_function), WORD_COLUMNS);
		fputs(")", out);
	}
}

void flame_head(FILE *out, const struct profile *p, const struct sink_options *o)
{
	fputs("<g class=\"head\" fill=\"#1f2328\" font-family=\"system-ui,sans-serif\">\n"
	      "<text class=\"title\" x=\"1%\" y=\"32\" font-size=\"19\" font-weight=\"600\">",
	      out);
	flame_title(out, p, o);
	fputs("</text>\n<text class=\"about\" x=\"1%\" y=\"55\" font-size=\"13\">", out);
	about_line(out, p);
	fputs("</text>\n<text class=\"trust\" x=\"1%\" y=\"74\" font-size=\"12\">", out);
	trust_line(out, p);
	fputs("</text>\n</g>\n", out);
}

void flame_nothing(FILE *out, const struct profile *p)
{
	const struct profile_stats *s = &p->stats;

	fputs("<g class=\"head\" fill=\"#1f2328\" font-family=\"system-ui,sans-serif\">\n"
	      "<text class=\"nothing\" x=\"50%\" y=\"150\" text-anchor=\"middle\" font-size=\"17\">No "
	      "samples</text>\n"
	      "<text class=\"reason\" x=\"50%\" y=\"174\" text-anchor=\"middle\" font-size=\"13\">",
	      out);
	if (!s->ticks)
		fputs("The process was never looked at: it ended, or the recording did, before the first "
		      "look.",
		      out);
	else if (s->idle)
		counted(out, "All ", s->idle, " stacks that were seen were idle; --idle counts them as well.");
	else if (all_failed(s))
		counted(out, "None of ", all_failed(s), " stacks could be read.");
	else
		counted(out, "", s->ticks, " looks, and no thread had a stack.");
	fputs("</text>\n</g>\n", out);
}

static void member(FILE *out, const char *key, uint64_t n)
{
	fprintf(out, ",\"%s\":%llu", key, (unsigned long long)n);
}

static void text_member(FILE *out, const char *key, const char *value)
{
	char *text = flame_clean(value, TEXT_COLUMNS);

	fprintf(out, ",\"%s\":", key);
	flame_json(out, text);
	free(text);
}

static void real_member(FILE *out, const char *key, double v)
{
	fprintf(out, ",\"%s\":", key);
	json_number(out, v);
}

void flame_stats(FILE *out, const struct profile *p)
{
	const struct profile_stats *s = &p->stats;
	const struct {
		const char *key;
		uint64_t n;
	} counts[] = {
		{ "ticks", s->ticks },	       { "late", s->late },
		{ "held_back", s->held_back }, { "samples", s->samples },
		{ "idle", s->idle },	       { "paused", s->paused },
		{ "paused_ns", s->paused_ns }, { "pause_failed", s->pause_failed },
		{ "torn", s->torn },	       { "cut", s->cut },
		{ "deep", s->deep },	       { "reused", s->reused },
		{ "reads", s->reads },	       { "trie_full", s->trie_full },
		{ "runs_full", s->runs_full }, { "cpu_ns", s->cpu_ns },
		{ "wall_ns", s->wall_ns },
	};

	fputs("{\"format\":\"cspy flame graph\",\"version\":1,\"cspy\":\"" CSPY_VERSION "\"", out);
	text_member(out, "command", p->command);
	member(out, "pid", (uint64_t)(p->pid > 0 ? p->pid : 0));
	text_member(out, "runtime", p->runtime);
	text_member(out, "mode", p->mode);
	member(out, "start_unix_ns", p->start_unix_ns);
	member(out, "interval_ns", p->interval_ns);
	member(out, "weight", profile_total(p));
	fputs(",\"stats\":{\"unit\":\"samples\"", out);
	for (size_t i = 0; i < countof(counts); i++)
		member(out, counts[i].key, counts[i].n);
	real_member(out, "rate_wanted", s->rate_wanted);
	real_member(out, "lean", s->lean);
	text_member(out, "lean_function", strings_get(frames_strings(p->frames), s->lean_function));
	fputs(",\"failed\":{\"all\":", out);
	fprintf(out, "%llu", (unsigned long long)all_failed(s));
	for (size_t i = ERR_NONE + 1; i < ERR_CODES; i++)
		member(out, err_code_name((enum err_code)i), s->failed[i]);
	fputs("}}}", out);
}
