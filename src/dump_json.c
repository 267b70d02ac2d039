/* dump_json.c - a dump for programs to read: py-spy's keys, and ours beside them. */
#include <inttypes.h>

#include "cspy/sink.h"
#include "dump.h"
#include "json.h"

static void comma(FILE *out, size_t i)
{
	if (i)
		fputc(',', out);
}

static void put_text(FILE *out, const char *key, const char *v)
{
	json_key(out, key);
	json_text(out, v);
}

/* null when there is none */
static void put_id(FILE *out, const char *key, const struct dump *d, str_id v)
{
	json_key(out, key);
	if (v)
		json_text(out, strings_get(d->strings, v));
	else
		fputs("null", out);
}

static void put_bool(FILE *out, const char *key, bool v)
{
	json_key(out, key);
	fputs(v ? "true" : "false", out);
}

static void put_number(FILE *out, const char *key, uint64_t v)
{
	json_key(out, key);
	fprintf(out, "%" PRIu64, v);
}

static void put_error(FILE *out, struct err e)
{
	json_key(out, "error");
	if (!failed(e)) {
		fputs("null", out);
		return;
	}
	fputc('{', out);
	put_text(out, "cause", err_code_name(e.code));
	fputc(',', out);
	put_text(out, "what", e.what ? e.what : "");
	fputc('}', out);
}

static void put_locals(FILE *out, const struct dump *d, const struct dump_frame *f)
{
	json_key(out, "locals");
	if (!f->has_locals) {
		fputs("null", out);
		return;
	}
	fputc('[', out);
	for (size_t i = 0; i < f->local_count; i++) {
		const struct dump_local *l = &d->locals[f->first_local + i];

		comma(out, i);
		fputc('{', out);
		put_text(out, "name", l->name);
		fputs(",\"addr\":null,", out);
		put_bool(out, "arg", l->kind == 'a');
		fputc(',', out);
		put_text(out, "repr", l->value);
		fprintf(out, ",\"kind\":\"%s\"}",
			l->kind == 'a'	 ? "argument"
			: l->kind == 'c' ? "cell"
			: l->kind == 'f' ? "free"
					 : "local");
	}
	fputc(']', out);
}

static const char *bare_name(const struct dump *d, const struct frame_info *info)
{
	return strings_get(d->strings, info->name ? info->name : info->function);
}

static void put_frame(FILE *out, const struct dump *d, const struct dump_frame *f)
{
	static const struct sink_options shortened = { 0 };
	struct frame_info info = { 0 };

	if (f->id)
		info = frames_get(d->frames_known, f->id);
	fputc('{', out);
	put_text(out, "name", f->id ? bare_name(d, &info) : "[unknown]");
	fputc(',', out);
	put_text(out, "filename", strings_get(d->strings, info.file));
	fputc(',', out);
	put_id(out, "module", d, info.module);
	fputc(',', out);
	put_text(out, "short_filename", f->id ? label_of(d->profile, f->id, &shortened).file : "");
	fputc(',', out);
	put_number(out, "line", info.line);
	fputc(',', out);
	put_locals(out, d, f);
	fputc(',', out);
	put_bool(out, "is_entry", f->raw.flags & RAW_FRAME_ENTRY);
	fputc(',', out);
	put_text(out, "qualname", strings_get(d->strings, info.function ? info.function : info.name));
	fputc(',', out);
	put_number(out, "column", info.column);
	fputc(',', out);
	put_number(out, "first_line", info.first_line);
	fputc(',', out);
	put_bool(out, "library", info.library);
	fputc(',', out);
	put_bool(out, "native", info.kind == FRAME_NATIVE);
	fputc(',', out);
	put_error(out, f->err);
	fputc('}', out);
}

static void put_thread(FILE *out, const struct dump *d, const struct dump_thread *th)
{
	fputc('{', out);
	put_number(out, "pid", (uint64_t)d->pid);
	fputc(',', out);
	put_number(out, "thread_id", th->thread);
	fputc(',', out);
	put_id(out, "thread_name", d, th->name);
	fputs(",\"os_thread_id\":", out);
	if (th->tid)
		fprintf(out, "%d,", (int)th->tid);
	else
		fputs("null,", out);
	put_number(out, "ns_pid", (uint64_t)d->ns_pid);
	fputc(',', out);
	put_number(out, "ns_thread_id", (uint64_t)th->ns_tid);
	fputc(',', out);
	put_text(out, "waits_for", th->waits_for);
	fputc(',', out);
	put_bool(out, "active", th->active);
	fputc(',', out);
	put_bool(out, "owns_gil", th->owns_lock);
	fputc(',', out);
	put_text(out, "state", th->state);
	fputc(',', out);
	put_bool(out, "gc", th->gc);
	fputc(',', out);
	put_bool(out, "truncated", th->deep);
	fputc(',', out);
	put_bool(out, "sure", th->sure);
	fputc(',', out);
	put_bool(out, "lost", th->lost);
	fputc(',', out);
	put_bool(out, "native", th->native);
	fputc(',', out);
	put_text(out, "runtime", d->about.name);
	fputc(',', out);
	put_text(out, "runtime_version", d->about.version);
	fputc(',', out);
	put_error(out, th->err);
	fputs(",\"frames\":[", out);
	for (size_t i = 0; i < th->count; i++) {
		comma(out, i);
		put_frame(out, d, &d->frames[th->first + i]);
	}
	fputs("]}", out);
}

void dump_json(FILE *out, const struct dump *d)
{
	fputc('[', out);
	for (size_t i = 0; i < d->thread_count; i++) {
		fputs(i ? ",\n" : "", out);
		put_thread(out, d, &d->threads[i]);
	}
	fputs("]\n", out);
}
