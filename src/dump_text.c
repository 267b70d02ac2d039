/* dump_text.c - a dump for people to read. */
#include <inttypes.h>
#include <string.h>

#include "cspy/sink.h"
#include "dump.h"
#include "utf8.h"

void dump_text_error(FILE *out, const char *lead, struct err e)
{
	fprintf(out, "    [%s: %s", lead, err_code_name(e.code));
	if (e.what)
		fprintf(out, ", %s", e.what);
	if (e.at)
		fprintf(out, " at 0x%" PRIx64, e.at);
	fputs("]\n", out);
}

static void print_locals(FILE *out, const struct dump *d, const struct dump_frame *f, bool arguments)
{
	bool headed = false;

	for (size_t i = f->first_local; i < f->first_local + f->local_count; i++) {
		const struct dump_local *l = &d->locals[i];

		if ((l->kind == 'a') != arguments)
			continue;
		if (!headed)
			fprintf(out, "        %s:\n", arguments ? "Arguments" : "Locals");
		headed = true;
		fputs("            ", out);
		utf8_put_plain(out, l->name);
		fputs(": ", out);
		utf8_put_plain(out, l->value);
		fputc('\n', out);
	}
}

void dump_text_frame(FILE *out, const struct dump *d, const struct dump_frame *f)
{
	struct sink_options o = { .full_filenames = d->options.full_filenames };
	struct label label;

	if (!f->id) {
		dump_text_error(out, "frame could not be named", f->err);
		return;
	}
	label = label_of(d->profile, f->id, &o);
	fputs("    ", out);
	utf8_put_plain(out, label.function);
	if (*label.file) {
		fputs(" (", out);
		utf8_put_plain(out, label.file);
		if (label.line)
			fprintf(out, ":%" PRIu32, label.line);
		fputc(')', out);
	}
	fputc('\n', out);
	print_locals(out, d, f, true);
	print_locals(out, d, f, false);
}

static void print_thread(FILE *out, const struct dump *d, const struct dump_thread *th)
{
	if (th->tid)
		fprintf(out, "Thread %d (%s)", (int)th->tid, th->state);
	else
		fprintf(out, "Thread 0x%" PRIX64 " (%s)", th->thread, th->state);
	if (th->name) {
		fputs(": \"", out);
		utf8_put_plain(out, strings_get(d->strings, th->name));
		fputc('"', out);
	}
	fputc('\n', out);
	if (failed(th->err))
		dump_text_error(out, "stack could not be read", th->err);
	else if (!th->sure)
		fputs("    [read while the thread ran: may mix two moments]\n", out);
	if (d->options.native && !th->native)
		fputs("    [without its native frames: they were not found, or did not fit]\n", out);
	for (size_t i = 0; i < th->count; i++)
		dump_text_frame(out, d, &d->frames[th->first + i]);
	if (th->deep)
		fputs("    [more frames, not read]\n", out);
	if (th->lost)
		fputs("    [more frames, lost: the way to them was not found]\n", out);
}

void dump_text(FILE *out, const struct dump *d)
{
	fprintf(out, "Process %d", (int)d->pid);
	if (d->ns_pid != d->pid)
		fprintf(out, " (%d in its container)", (int)d->ns_pid);
	fputs(": ", out);
	utf8_put_plain(out, d->command);
	fprintf(out, "\n%s%s%s (", d->about.name, *d->about.version ? " v" : "", d->about.version);
	utf8_put_plain(out, d->exe);
	fputc(')', out);
	if (*d->about.flavour)
		fprintf(out, ", %s", d->about.flavour);
	if (d->signal)
		fprintf(out, "\nEnded by signal %d (%s)", d->signal, strsignal(d->signal));
	fputs("\n\n", out);
	for (size_t i = 0; i < d->thread_count; i++)
		print_thread(out, d, &d->threads[i]);
	if (d->locals_cut)
		fputs("[variables of the other frames were not read: it would have paused the process for "
		      "too long]\n",
		      out);
}
