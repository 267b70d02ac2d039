/* dump_tree_text.c - the stacks of a tree of processes, for people to read. */
#include <string.h>

#include "dump_tree.h"
#include "utf8.h"

enum { IDS_SHOWN = 16 }; /* of one group; the rest is counted */

static const struct dump *dump_of(const struct tree *t, const struct tree_thread *th)
{
	return t->processes[th->process].dump;
}

static const struct dump_thread *thread_of(const struct tree *t, const struct tree_thread *th)
{
	return &dump_of(t, th)->threads[th->thread];
}

static size_t processes_of(const struct tree *t, const struct tree_group *g)
{
	size_t n = 0;

	for (size_t i = g->first; i < g->first + g->count; i++)
		n += i == g->first || t->threads[i].process != t->threads[i - 1].process;
	return n;
}

/* "4711 4712/4715 ...": a thread that is not its process's first has an id of its own. */
static void print_ids(FILE *out, const struct tree *t, const struct tree_group *g)
{
	for (size_t i = 0; i < g->count && i < IDS_SHOWN; i++) {
		const struct dump *d = dump_of(t, &t->threads[g->first + i]);
		pid_t tid = thread_of(t, &t->threads[g->first + i])->tid;

		fprintf(out, " %d", (int)d->pid);
		if (tid && tid != d->pid)
			fprintf(out, "/%d", (int)tid);
	}
	if (g->count > IDS_SHOWN)
		fprintf(out, " and %zu more", g->count - IDS_SHOWN);
	fputc('\n', out);
}

/* What each waits for, equal ones once. Threads of a group are few, or equal. */
static void print_waits(FILE *out, const struct tree *t, const struct tree_group *g)
{
	const char *seen[4];
	size_t n = 0;

	for (size_t i = g->first; i < g->first + g->count && n < countof(seen); i++) {
		const char *waits = thread_of(t, &t->threads[i])->waits_for;
		size_t k = 0;

		while (k < n && strcmp(seen[k], waits) != 0)
			k++;
		if (!*waits || k < n)
			continue;
		seen[n++] = waits;
		fputs("    [waits: ", out);
		utf8_put_plain(out, waits);
		fputs("]\n", out);
	}
}

static void print_states(FILE *out, const struct tree *t, const struct tree_group *g)
{
	size_t active = 0;

	for (size_t i = g->first; i < g->first + g->count; i++)
		active += thread_of(t, &t->threads[i])->active;
	if (active == 0 || active == g->count)
		fprintf(out, " (%s)", g->count > 1 ? (active ? "all active" : "all idle") : active ? "active" : "idle");
	else
		fprintf(out, " (%zu active, %zu idle)", active, g->count - active);
}

static void print_group(FILE *out, const struct tree *t, const struct tree_group *g)
{
	const struct dump *d = dump_of(t, &t->threads[g->first]);
	const struct dump_thread *th = thread_of(t, &t->threads[g->first]);
	size_t processes = processes_of(t, g);

	fprintf(out, "%zu thread%s in %zu process%s", g->count, g->count == 1 ? "" : "s", processes,
		processes == 1 ? "" : "es");
	print_states(out, t, g);
	fputc(':', out);
	print_ids(out, t, g);
	print_waits(out, t, g);
	if (failed(th->err))
		dump_text_error(out, "stack could not be read", th->err);
	for (size_t i = 0; i < th->count; i++)
		dump_text_frame(out, d, &d->frames[th->first + i]);
	if (th->deep)
		fputs("    [more frames, not read]\n", out);
	fputc('\n', out);
}

static void print_others(FILE *out, const struct tree *t)
{
	for (size_t i = 0; i < t->process_count; i++) {
		const struct tree_process *p = &t->processes[i];

		if (p->dump)
			continue;
		fprintf(out,
			"%s %d: ", p->err.code == ERR_UNSUPPORTED ? "No interpreter in process" : "Not read: process",
			(int)p->pid);
		utf8_put_plain(out, p->command);
		if (p->err.code != ERR_UNSUPPORTED) {
			fputs(" (", out);
			utf8_put_plain(out, p->err.code == ERR_DENIED ? "no permission" : p->why);
			fputc(')', out);
		}
		fputc('\n', out);
	}
	if (t->left_out)
		fprintf(out, "%zu more processes were left out\n", t->left_out);
}

void tree_text(FILE *out, const struct tree *t)
{
	size_t read = 0;

	for (size_t i = 0; i < t->process_count; i++)
		read += t->processes[i].dump != NULL;
	fprintf(out, "Process %d: ", t->process_count ? (int)t->processes[0].pid : 0);
	utf8_put_plain(out, t->process_count ? t->processes[0].command : "");
	fprintf(out, "\n%zu process%s, %zu %s, %zu thread%s, %zu different stack%s\n\n", t->process_count,
		t->process_count == 1 ? "" : "es", read, t->options.native ? "read" : "with an interpreter",
		t->thread_count, t->thread_count == 1 ? "" : "s", t->group_count, t->group_count == 1 ? "" : "s");
	for (size_t i = 0; i < t->group_count; i++)
		print_group(out, t, &t->groups[i]);
	print_others(out, t);
}
