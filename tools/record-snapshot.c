/* record-snapshot.c - record what cspy reads of a CPython process, and write down what it says of it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cpython_replay.h"
#include "cpython_said.h"
#include "pause.h"
#include "runtimes.h"

enum {
	WHOLE_STATE = 640, /* bytes of a thread state, which hold all that was ever of interest */
	CFRAMES_MAX = 256, /* of one thread */
};

static const char usage[] = "usage: record-snapshot PID OUT.snap\n"
			    "Writes the memory that was read to OUT.snap, and what was said of it to OUT.expected.\n";

static int complain(const char *what, struct err e)
{
	fprintf(stderr, "record-snapshot: %s: %s, %s\n", what, err_code_name(e.code), e.what ? e.what : "");
	return 1;
}

/* "x.snap" -> "x.expected" */
static char *expected_path(const char *snap)
{
	size_t len = strlen(snap);

	if (len > 5 && !strcmp(snap + len - 5, ".snap"))
		len -= 5;
	return xasprintf("%.*s.expected", (int)len, snap);
}

/* The roots are found in the plain process: searching its files is no part of what is replayed. */
static struct err find_roots(struct target *t, struct cpy_roots *ret)
{
	const struct runtime_ops *ops;
	char why[256] = "";
	void *instance;
	struct err e = runtimes_attach(t, false, why, sizeof(why), &ops, &instance);

	if (failed(e)) {
		fprintf(stderr, "record-snapshot: %s\n", why);
		return e;
	}
	if (strcmp(ops->name, "cpython") == 0)
		*ret = ((struct cpy *)instance)->roots;
	else
		e = err_at(ERR_UNSUPPORTED, 0, "only CPython can be recorded");
	ops->detach(instance);
	return e;
}

/*
 * Whole pages are read where one frame of many is wanted: those pass the recorder by, or it would keep whatever else
 * the process has there.
 */
struct sieve {
	struct memory base;
	struct memory *record; /* owned */
	struct memory *plain;  /* the recorder's own */
};

static struct err sieve_read(struct memory *m, const struct memory_range *ranges, size_t n, size_t *done)
{
	struct sieve *s = (struct sieve *)m;
	bool page = n == 1 && ranges->len == PAGE_BYTES && ranges->at % PAGE_BYTES == 0;

	return memory_readv(page ? s->plain : s->record, ranges, n, done);
}

static void sieve_close(struct memory *m)
{
	memory_close(((struct sieve *)m)->record);
	free(m);
}

/* Takes `plain` over. */
static struct sieve *sieve_new(struct memory *plain)
{
	static const struct memory_ops ops = { "sieve", sieve_read, sieve_close };
	struct sieve *s = xcalloc(1, sizeof(*s));

	s->base.ops = &ops;
	s->plain = plain;
	s->record = memory_record_new(plain);
	return s;
}

static void read_some(struct memory *record, raddr_t at, size_t len)
{
	CLEANUP(cleanup_free) char *buf = xcalloc(len, 1);

	while (len >= 8 && failed(memory_read(record, at, buf, len)))
		len /= 2;
}

/* 3.11 and 3.12: the records of evaluation loops. The walk goes to an outer one only when the inner one leads nowhere.
 */
static void record_cframes(struct memory *record, const struct cpy_layout *l, raddr_t thread)
{
	raddr_t at;
	struct err e = memory_ptr(record, thread + (raddr_t)l->thread_frame, &at);

	for (int i = 0; i < CFRAMES_MAX && !failed(e) && at; i++) {
		read_some(record, at, PIECE_BYTES);
		e = memory_ptr(record, at + (raddr_t)l->cframe_previous, &at);
	}
}

/* The frames that came by the page; and of everything a little more than today's walk needs. */
static void record_whole(struct memory *record, const struct cpy *c, const struct said *said)
{
	const struct cpy_layout *l = c->l;

	for (size_t i = 0; i < c->thread_count; i++) {
		const struct copies *k = &c->threads[i].copies;

		read_some(record, c->threads[i].at, WHOLE_STATE);
		if (l->frames == FRAMES_CFRAME)
			record_cframes(record, l, c->threads[i].at);
		for (size_t p = 0; p < k->piece_count; p++)
			read_some(record, k->pieces[p].at, PIECE_BYTES);
	}
	for (size_t tick = 0; tick < SAID_TICKS; tick++) {
		const struct raw_stacks *all = &said->ticks[tick];

		for (size_t i = 0; i < all->used; i++)
			read_some(record, all->frames[i].code, (size_t)l->code_size);
	}
}

static struct err hold_all(struct pause *p, struct target *t, pid_t *tids, size_t *n)
{
	for (*n = 0; *n < t->thread_count && *n < PAUSE_THREADS; ++*n)
		tids[*n] = t->threads[*n].ns_tid;
	return pause_hold(p, t, tids, *n);
}

static struct err record(struct target *t, struct cpy_roots *roots, const char *out)
{
	CLEANUP(cleanup_free) char *text = expected_path(out);
	struct pause pause = { 0 };
	pid_t tids[PAUSE_THREADS];
	struct said said = { 0 };
	struct sieve *sieve = sieve_new(t->memory);
	struct cpy *c = NULL;
	FILE *expected = NULL;
	size_t n;
	struct err e = hold_all(&pause, t, tids, &n);

	t->memory = &sieve->base;
	replay_note(sieve->record, roots, t);
	if (!failed(e))
		e = replay_layout(t->memory, !strcmp(roots->layout_source, "self-described"), roots->layout.object_type,
				  roots);
	if (!failed(e))
		e = cpy_attach_roots(roots, t, &c);
	if (!failed(e)) {
		said_take(&said, c, t, tids, n);
		record_whole(sieve->record, c, &said);
	}
	if (!failed(e) && !pause_still(&pause, t))
		e = err_at(ERR_CORRUPT, 0, "a thread ran meanwhile: try again");
	pause_release(&pause);
	if (!failed(e))
		e = memory_record_save(sieve->record, out);
	if (!failed(e) && !(expected = fopen(text, "we")))
		e = err_at(ERR_OS, 0, "creating the .expected file");
	if (expected) {
		said_print(expected, c, &said);
		if (fclose(expected) && !failed(e))
			e = err_at(ERR_OS, 0, "writing the .expected file");
	}
	said_free(&said);
	if (c)
		runtime_cpython.detach(c);
	return e;
}

int main(int argc, char **argv)
{
	struct cpy_roots roots = { 0 };
	struct target *t = NULL;
	struct err e;

	if (argc != 3 || atoi(argv[1]) <= 0) {
		fputs(usage, stderr);
		return 2;
	}
	e = target_open((pid_t)atoi(argv[1]), &t);
	if (!failed(e))
		e = find_roots(t, &roots);
	if (!failed(e))
		e = record(t, &roots, argv[2]);
	target_close(t);
	return failed(e) ? complain(argv[1], e) : 0;
}
