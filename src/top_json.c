/* top_json.c - one table of `cspy top` as a JSON object on one line. */
#include "json.h"
#include "top.h"

enum { FUNCTIONS_MAX = 1000 };

static void put_number(FILE *out, const char *key, double v)
{
	json_key(out, key);
	json_number(out, v);
}

static void put_count(FILE *out, const char *key, uint64_t n)
{
	json_key(out, key);
	fprintf(out, "%llu", (unsigned long long)n);
}

static void put_text(FILE *out, const char *key, const char *text)
{
	json_key(out, key);
	json_text(out, text);
}

static const char *thread_name(const struct page *p, uint32_t thread)
{
	return strings_get(frames_strings(p->profile->frames), p->profile->threads[thread].name);
}

static void put_looks(FILE *out, const struct page *p)
{
	const struct page_about *a = &p->about;

	put_number(out, "rate", a->rate);
	fputc(',', out);
	put_number(out, "failed", 100 * a->failed);
	fputc(',', out);
	put_number(out, "late", 100 * a->late);
	fputc(',', out);
	put_number(out, "self_cpu", 100 * a->own_cpu);
	fputc(',', out);
	put_count(out, "samples", a->samples);
	fputc(',', out);
	put_count(out, "window_looks", p->shares.looks_now);
	fputc(',', out);
	put_number(out, "cpu", 100 * p->tallies.process.shares.cpu);
	fputc(',', out);
	put_number(out, "gc", 100 * p->tallies.process.shares.gc);
	fputc(',', out);
}

static void put_lock(FILE *out, const struct page *p)
{
	const struct tallies *t = &p->tallies;

	json_key(out, "lock");
	if (!*p->about.lock) {
		fputs("null,", out);
		return;
	}
	fputc('{', out);
	put_text(out, "name", p->about.lock);
	fputc(',', out);
	put_number(out, "held", 100 * t->process.shares.held);
	fputc(',', out);
	put_number(out, "waited", 100 * t->process.shares.wanted);
	fputc(',', out);
	put_text(out, "top_holder", t->holder != UINT32_MAX ? thread_name(p, t->holder) : "");
	fputs("},", out);
}

/* What a thread or all threads of a process did, in percent. */
static void put_shares(FILE *out, const struct tally_shares *s)
{
	put_number(out, "cpu", 100 * s->cpu);
	fputc(',', out);
	put_number(out, "held", 100 * s->held);
	fputc(',', out);
	put_number(out, "waited", 100 * s->wanted);
}

static void put_thread(FILE *out, const struct page *p, uint32_t i)
{
	const struct tally_thread *th = &p->tallies.threads[i];
	const struct tally_shares *s = &th->tally.shares;

	fputc('{', out);
	put_count(out, "pid", (uint64_t)p->profile->threads[i].pid);
	fputc(',', out);
	put_count(out, "tid", (uint64_t)p->profile->threads[i].tid);
	fputc(',', out);
	put_text(out, "name", thread_name(p, i));
	fputc(',', out);
	put_text(out, "state", th->state);
	fputc(',', out);
	put_shares(out, s);
	fputc('}', out);
}

static void put_process(FILE *out, const struct roster_process *r)
{
	const struct tally_shares *s = &r->tally.shares;

	fputc('{', out);
	put_count(out, "pid", (uint64_t)r->pid);
	fputc(',', out);
	put_count(out, "parent", (uint64_t)r->parent);
	fputc(',', out);
	put_text(out, "command", r->command);
	fputc(',', out);
	put_text(out, "runtime", r->runtime);
	fputc(',', out);
	put_count(out, "threads", r->threads);
	fputc(',', out);
	put_shares(out, s);
	fputc(',', out);
	put_number(out, "gc", 100 * s->gc);
	fputc('}', out);
}

static void put_processes(FILE *out, const struct page *p)
{
	json_key(out, "processes");
	fputc('[', out);
	for (size_t i = 0; i < p->roster.count; i++) {
		if (i)
			fputc(',', out);
		put_process(out, p->roster.list[i]);
	}
	fputs("],", out);
}

static void put_threads(FILE *out, const struct page *p)
{
	const char *between = "";

	json_key(out, "threads");
	fputc('[', out);
	for (uint32_t i = 0; i < p->tallies.count; i++) {
		if (!p->tallies.threads[i].alive)
			continue;
		fputs(between, out);
		put_thread(out, p, i);
		between = ",";
	}
	fputs("],", out);
}

static void put_function(FILE *out, const struct page *p, const struct page_row *r)
{
	const struct share *share = &p->shares.rows[p->by][r->index];
	struct sink_options o = { .function_only = p->by == SHARES_FUNCTIONS, .full_filenames = true };
	struct label l = label_of(p->profile, share->frame, &o);

	fputc('{', out);
	put_text(out, "function", l.function);
	fputc(',', out);
	put_text(out, "file", l.file);
	fputc(',', out);
	put_count(out, "line", l.line);
	fputc(',', out);
	put_number(out, "own", page_share(p, r->own));
	fputc(',', out);
	put_number(out, "total", page_share(p, r->total));
	fputc(',', out);
	put_number(out, "own_seconds", page_seconds(p, share->own));
	fputc(',', out);
	put_number(out, "total_seconds", page_seconds(p, share->total));
	fputc('}', out);
}

void top_json(FILE *out, struct top *t)
{
	struct page *p = &t->page;

	page_fill(p);
	fputc('{', out);
	put_text(out, "clock", p->about.clock);
	fputc(',', out);
	put_text(out, "status", p->about.status);
	fputc(',', out);
	put_count(out, "pid", (uint64_t)p->about.pid);
	fputc(',', out);
	put_text(out, "command", p->about.command);
	fputc(',', out);
	put_text(out, "runtime", p->about.runtime);
	fputc(',', out);
	put_looks(out, p);
	put_lock(out, p);
	put_processes(out, p);
	put_threads(out, p);
	json_key(out, p->by == SHARES_LINES ? "lines" : "functions");
	fputc('[', out);
	for (size_t i = 0; i < p->row_count && i < FUNCTIONS_MAX; i++) {
		if (i)
			fputc(',', out);
		put_function(out, p, &p->rows[i]);
	}
	fputs("]}\n", out);
}
