/* sink_speedscope.c - what each thread did in the order of time, for speedscope.app. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cspy/sink.h"
#include "json.h"

struct speedscope {
	FILE *out;
	const struct profile *p;
	const struct sink_options *options;
	uint32_t *shown;  /* by frame: number in the file's list of frames, from 1 */
	uint32_t *order;  /* runs by thread, each thread's in the order of time */
	size_t *first;	  /* by thread: of its runs in order; one more at the end */
	uint64_t end_ns;  /* of the last run */
	bool many;	  /* more than one process */
	uint64_t each_ns; /* that one sample stands for */
	node_id *path;	  /* scratch: nodes from the leaf up */
	size_t path_cap;
};

static void key_string(FILE *out, const char *key, const char *value)
{
	json_key(out, key);
	json_text(out, value);
}

static void key_number(FILE *out, const char *key, uint64_t value)
{
	json_key(out, key);
	fprintf(out, "%" PRIu64, value);
}

static void write_frame(FILE *out, const struct label *label, uint32_t column)
{
	fputc('{', out);
	key_string(out, "name", label->function);
	if (*label->file) {
		fputc(',', out);
		key_string(out, "file", label->file);
	}
	if (label->line) {
		fputc(',', out);
		key_number(out, "line", label->line);
	}
	if (column) {
		fputc(',', out);
		key_number(out, "col", column);
	}
	fputc('}', out);
}

/* Frames that print the same are one for speedscope. */
static void write_frames(struct speedscope *s)
{
	struct strings *texts = strings_new();
	struct frames *list = frames_new(texts);

	s->shown = xcalloc(frames_count(s->p->frames), sizeof(*s->shown));
	json_key(s->out, "shared");
	fputs("{\"frames\":[", s->out);
	for (size_t i = 1; i < s->p->node_count; i++) {
		frame_id f = s->p->nodes[i].frame;
		struct label label = label_of(s->p, f, s->options);
		struct frame_info info = { .line = label.line };
		size_t before = frames_count(list);

		if (s->shown[f])
			continue;
		info.function = strings_add(texts, label.function, strlen(label.function));
		info.file = strings_add(texts, label.file, strlen(label.file));
		info.column = label.line && !s->options->function_only ? frames_get(s->p->frames, f).column : 0;
		s->shown[f] = frames_add(list, info);
		if (frames_count(list) == before)
			continue;
		fputs(before > 1 ? ",\n" : "\n", s->out);
		write_frame(s->out, &label, info.column);
	}
	fputs("\n]}", s->out);
	frames_free(list);
	strings_free(texts);
}

/* [root, ..., leaf] */
static void write_stack(struct speedscope *s, node_id node)
{
	size_t depth = 0;

	for (; node; node = s->p->nodes[node].parent) { /* parents are smaller: this ends */
		xgrow(&s->path, &s->path_cap, depth + 1, sizeof(*s->path));
		s->path[depth++] = node;
	}
	fputc('[', s->out);
	while (depth--)
		fprintf(s->out, "%" PRIu32 "%s", s->shown[s->p->nodes[s->path[depth]].frame] - 1, depth ? "," : "");
	fputc(']', s->out);
}

static void write_sample(struct speedscope *s, bool *some, bool weights, node_id stack, uint64_t weight)
{
	if (!weight)
		return;
	if (*some)
		fputs(weights ? "," : ",\n", s->out);
	*some = true;
	if (weights)
		fprintf(s->out, "%" PRIu64, weight);
	else
		write_stack(s, stack);
}

/* The runs, and an empty stack for the time between them, so that all threads share one clock. */
static void write_thread_samples(struct speedscope *s, uint32_t thread, bool weights)
{
	uint64_t now = 0;
	bool some = false;

	for (size_t i = s->first[thread]; i < s->first[thread + 1]; i++) {
		const struct profile_run *r = &s->p->runs[s->order[i]];
		uint64_t start = r->start_ns > now ? r->start_ns : now;
		uint64_t end = r->end_ns > start ? r->end_ns : start;

		write_sample(s, &some, weights, 0, start - now);
		write_sample(s, &some, weights, r->stack, end - start);
		now = end;
	}
	write_sample(s, &some, weights, 0, s->end_ns - now);
}

/* A profile without runs: each stack once, with the time it stands for. */
static void write_merged_samples(struct speedscope *s, bool weights)
{
	bool some = false;

	for (size_t i = 0; i < s->p->node_count; i++)
		write_sample(s, &some, weights, (node_id)i, s->p->nodes[i].self * s->each_ns);
}

static void write_samples(struct speedscope *s, int64_t thread, bool weights)
{
	fputs(weights ? ",\n\"weights\":[" : ",\n\"samples\":[", s->out);
	if (thread < 0)
		write_merged_samples(s, weights);
	else
		write_thread_samples(s, (uint32_t)thread, weights);
	fputc(']', s->out);
}

/* Thread -1: all that was seen. */
static void write_profile(struct speedscope *s, const char *name, int64_t thread, uint64_t end_ns)
{
	fputs("{\"type\":\"sampled\",", s->out);
	key_string(s->out, "name", name);
	fputs(",\"unit\":\"nanoseconds\",\"startValue\":0,", s->out);
	key_number(s->out, "endValue", end_ns);
	write_samples(s, thread, false);
	write_samples(s, thread, true);
	fputc('}', s->out);
}

static void write_thread(struct speedscope *s, uint32_t thread)
{
	const struct profile_thread *t = &s->p->threads[thread];
	const char *own = t->name ? strings_get(frames_strings(s->p->frames), t->name) : "thread";
	char *name = s->many ? xasprintf("%s (pid %d, tid %d)", own, (int)t->pid, (int)t->tid)
			     : xasprintf("%s (tid %d)", own, (int)t->tid);

	write_profile(s, name, thread, s->end_ns);
	free(name);
}

/* Runs lie in the order of time; a counting sort keeps that for each thread. */
static void sort_runs(struct speedscope *s)
{
	const struct profile *p = s->p;
	size_t *next = xcalloc(p->thread_count + 1, sizeof(*next));

	s->first = xcalloc(p->thread_count + 1, sizeof(*s->first));
	s->order = xcalloc(p->run_count, sizeof(*s->order));
	for (size_t i = 0; i < p->run_count; i++) {
		s->first[p->runs[i].thread + 1]++;
		if (p->runs[i].end_ns > s->end_ns)
			s->end_ns = p->runs[i].end_ns;
	}
	for (size_t t = 0; t < p->thread_count; t++)
		s->first[t + 1] += s->first[t];
	memcpy(next, s->first, (p->thread_count + 1) * sizeof(*next));
	for (size_t i = 0; i < p->run_count; i++)
		s->order[next[p->runs[i].thread]++] = (uint32_t)i;
	free(next);
}

/* The busiest thread is shown first. */
static void write_profiles(struct speedscope *s)
{
	size_t shown = 0, active = 0;
	uint64_t most = 0;

	for (size_t t = 1; t < s->p->thread_count; t++)
		s->many |= s->p->threads[t].pid != s->p->threads[0].pid;
	json_key(s->out, "profiles");
	fputc('[', s->out);
	for (uint32_t t = 0; t < s->p->thread_count; t++) {
		uint64_t samples = 0;

		for (size_t i = s->first[t]; i < s->first[t + 1]; i++)
			samples += s->p->runs[s->order[i]].samples;
		if (!samples)
			continue;
		if (samples > most) {
			most = samples;
			active = shown;
		}
		if (shown++)
			fputs(",\n", s->out);
		write_thread(s, t);
	}
	if (!shown)
		write_profile(s, "all threads", -1, profile_total(s->p) * s->each_ns);
	fputs("],\n", s->out);
	key_number(s->out, "activeProfileIndex", active);
}

/* speedscope takes no notice of this; people who open the file may. */
static void write_about(FILE *out, const struct profile *p)
{
	const struct {
		const char *key;
		uint64_t value;
	} numbers[] = {
		{ "start_unix_ns", p->start_unix_ns },
		{ "interval_ns", p->interval_ns },
		{ "wall_ns", p->stats.wall_ns },
		{ "ticks", p->stats.ticks },
		{ "late", p->stats.late },
		{ "held_back", p->stats.held_back },
		{ "samples", p->stats.samples },
		{ "idle", p->stats.idle },
		{ "torn", p->stats.torn },
		{ "cut", p->stats.cut },
		{ "deep", p->stats.deep },
		{ "reused", p->stats.reused },
		{ "trie_full", p->stats.trie_full },
		{ "runs_full", p->stats.runs_full },
	};

	json_key(out, "cspy");
	fputc('{', out);
	key_string(out, "command", p->command);
	fputc(',', out);
	key_string(out, "runtime", p->runtime);
	fputc(',', out);
	key_string(out, "mode", p->mode);
	fputs(",\"pid\":", out);
	fprintf(out, "%d", (int)p->pid);
	for (size_t i = 0; i < countof(numbers); i++) {
		fputc(',', out);
		key_number(out, numbers[i].key, numbers[i].value);
	}
	fputc('}', out);
}

static void speedscope_write(FILE *out, const struct profile *p, const struct sink_options *o)
{
	struct speedscope s = { .out = out, .p = p, .options = o, .each_ns = p->interval_ns ? p->interval_ns : 1 };

	sort_runs(&s);
	fputs("{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\n", out);
	key_string(out, "exporter", "cspy " CSPY_VERSION);
	fputs(",\n", out);
	key_string(out, "name", o->title ? o->title : *p->command ? p->command : "cspy");
	fputs(",\n", out);
	write_about(out, p);
	fputs(",\n", out);
	write_frames(&s);
	fputs(",\n", out);
	write_profiles(&s);
	fputs("}\n", out);
	free(s.shown);
	free(s.order);
	free(s.first);
	free(s.path);
}

const struct sink_ops sink_speedscope = {
	.name = "speedscope",
	.extension = ".json",
	.help = "what each thread did in the order of time, for speedscope.app",
	.needs_runs = true,
	.write = speedscope_write,
};
