/* dump_tree_json.c - the stacks of a tree of processes, for programs to read. */
#include "dump_tree.h"
#include "json.h"

static void put_text(FILE *out, const char *key, const char *v)
{
	json_key(out, key);
	json_text(out, v);
}

static void put_process(FILE *out, const struct tree_process *p)
{
	fprintf(out, "{\"pid\":%d,\"parent\":%d,", (int)p->pid, (int)p->parent);
	put_text(out, "command", p->command);
	fputc(',', out);
	if (p->dump) {
		put_text(out, "runtime", p->dump->about.name);
		fputc(',', out);
		put_text(out, "runtime_version", p->dump->about.version);
		fprintf(out, ",\"paused_ns\":%llu,\"error\":null,\"threads\":", (unsigned long long)p->dump->paused_ns);
		dump_json(out, p->dump);
	} else {
		fputs("\"runtime\":null,\"runtime_version\":null,\"paused_ns\":0,\"error\":{", out);
		put_text(out, "cause", err_code_name(p->err.code));
		fputc(',', out);
		put_text(out, "what", *p->why ? p->why : p->err.what);
		fputs("},\"threads\":[]", out);
	}
	fputc('}', out);
}

/* Ids only: the stack is that of each of these threads above. */
static void put_group(FILE *out, const struct tree *t, const struct tree_group *g)
{
	fprintf(out, "{\"count\":%zu,\"threads\":[", g->count);
	for (size_t i = g->first; i < g->first + g->count; i++) {
		const struct dump *d = t->processes[t->threads[i].process].dump;
		const struct dump_thread *th = &d->threads[t->threads[i].thread];

		fprintf(out, "%s{\"pid\":%d,\"thread_id\":%llu,\"os_thread_id\":", i > g->first ? "," : "", (int)d->pid,
			(unsigned long long)th->thread);
		if (th->tid)
			fprintf(out, "%d}", (int)th->tid);
		else
			fputs("null}", out);
	}
	fputs("]}", out);
}

void tree_json(FILE *out, const struct tree *t)
{
	fputs("{\"processes\":[", out);
	for (size_t i = 0; i < t->process_count; i++) {
		fputs(i ? ",\n" : "", out);
		put_process(out, &t->processes[i]);
	}
	fputs("],\n\"groups\":[", out);
	for (size_t i = 0; i < t->group_count; i++) {
		fputs(i ? ",\n" : "", out);
		put_group(out, t, &t->groups[i]);
	}
	fprintf(out, "],\n\"left_out\":%zu}\n", t->left_out);
}
