/* record-snapshot.c - record what cspy reads of a process, and write down what it says of it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pause.h"
#include "replay.h"
#include "runtimes.h"

enum { PAGE_BYTES = 4096 };

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
static struct err find_roots(struct target *t, const struct replay **ret, void **instance)
{
	static const struct replay *const known[] = { &replay_cpython, &replay_ruby };
	const struct runtime_ops *ops;
	char why[256] = "";
	struct err e = runtimes_attach(t, false, why, sizeof(why), &ops, instance);

	if (failed(e)) {
		fprintf(stderr, "record-snapshot: %s\n", why);
		return e;
	}
	for (size_t i = 0; i < countof(known); i++) {
		*ret = known[i];
		if (known[i]->ops == ops)
			return OK;
	}
	ops->detach(*instance);
	return err_at(ERR_UNSUPPORTED, 0, "this runtime can't be recorded");
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

static struct err hold_all(struct pause *p, struct target *t, pid_t *tids, size_t *n)
{
	for (*n = 0; *n < t->thread_count && *n < PAUSE_THREADS; ++*n)
		tids[*n] = t->threads[*n].ns_tid;
	return pause_hold(p, t, PAUSE_READY, tids, *n);
}

static struct err record(struct target *t, const struct replay *how, const void *found, const char *out)
{
	CLEANUP(cleanup_free) char *text = expected_path(out);
	struct pause pause = { 0 };
	pid_t tids[PAUSE_THREADS];
	struct said said = { 0 };
	struct sieve *sieve = sieve_new(t->memory);
	void *instance = NULL;
	FILE *expected = NULL;
	size_t n;
	struct err e = hold_all(&pause, t, tids, &n);

	t->memory = &sieve->base;
	how->note(sieve->record, found);
	replay_note_target(sieve->record, t);
	if (!failed(e))
		e = how->again(found, t, &instance);
	if (!failed(e)) {
		said_take(&said, how->ops, instance, t, tids, n);
		how->more(sieve->record, instance, &said);
	}
	if (!failed(e) && !pause_still(&pause, t))
		e = err_at(ERR_CORRUPT, 0, "a thread ran meanwhile: try again");
	pause_release(&pause);
	if (!failed(e))
		e = memory_record_save(sieve->record, out);
	if (!failed(e) && !(expected = fopen(text, "we")))
		e = err_at(ERR_OS, 0, "creating the .expected file");
	if (expected) {
		said_print(expected, how->ops, instance, &said);
		if (fclose(expected) && !failed(e))
			e = err_at(ERR_OS, 0, "writing the .expected file");
	}
	said_free(&said);
	if (instance)
		how->ops->detach(instance);
	return e;
}

int main(int argc, char **argv)
{
	const struct replay *how;
	struct target *t = NULL;
	void *found = NULL;
	struct err e;

	if (argc != 3 || atoi(argv[1]) <= 0) {
		fputs(usage, stderr);
		return 2;
	}
	e = target_open((pid_t)atoi(argv[1]), &t);
	if (!failed(e))
		e = find_roots(t, &how, &found);
	if (!failed(e)) {
		e = record(t, how, found, argv[2]);
		how->ops->detach(found);
	}
	target_close(t);
	return failed(e) ? complain(argv[1], e) : 0;
}
