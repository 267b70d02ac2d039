/* replay.c - a process of recorded memory: what is the same for every runtime. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "replay.h"

enum { THREADS_MAX = 64, NOTE_BYTES = 1024 };

void replay_note_number(struct memory *record, const char *key, uint64_t value)
{
	char text[32];

	snprintf(text, sizeof(text), "0x%" PRIx64, value);
	memory_record_note(record, key, text);
}

uint64_t replay_number(const struct memory *snapshot, const char *key)
{
	const char *text = memory_snapshot_note(snapshot, key);

	return text ? strtoull(text, NULL, 16) : 0;
}

void replay_note_target(struct memory *record, const struct target *t)
{
	char threads[NOTE_BYTES] = "";

	replay_note_number(record, "pid", (uint64_t)t->ns_pid);
	for (size_t i = 0; i < t->thread_count && i < THREADS_MAX; i++) {
		size_t len = strlen(threads);

		snprintf(threads + len, sizeof(threads) - len, "%s%d", i ? " " : "", (int)t->threads[i].ns_tid);
	}
	memory_record_note(record, "threads", threads);
}

void replay_read_some(struct memory *record, raddr_t at, size_t len)
{
	CLEANUP(cleanup_free) char *buf = xcalloc(len, 1);

	while (len >= 8 && failed(memory_read(record, at, buf, len)))
		len /= 2;
}

void replay_target(const struct memory *snapshot, struct memory *m, struct target *ret)
{
	const char *at = memory_snapshot_note(snapshot, "threads");

	*ret = (struct target){ .pidfd = -1, .proc = -1, .memory = m };
	ret->pid = ret->ns_pid = (pid_t)replay_number(snapshot, "pid");
	while (at && *at && ret->thread_count < THREADS_MAX) {
		pid_t tid = (pid_t)strtol(at, NULL, 10);

		xgrow(&ret->threads, &ret->thread_cap, ret->thread_count + 1, sizeof(*ret->threads));
		ret->threads[ret->thread_count++] =
			(struct thread){ .tid = tid, .ns_tid = tid, .stat_fd = -1, .runs_fd = -1 };
		at = strchr(at, ' ');
		at = at ? at + 1 : NULL;
	}
}

void replay_target_free(struct target *t)
{
	free(t->threads);
	memory_close(t->memory);
	*t = (struct target){ .pidfd = -1, .proc = -1 };
}

struct lent {
	struct memory base;
	struct memory *inner;
	uint64_t ranges;
};

/* As much of it as is there; false: nothing is. */
static bool fill(struct memory *inner, raddr_t at, char *buf, size_t len)
{
	size_t half = len < 16 && len > 8 ? 8 : len / 2 & ~(size_t)7;
	bool low, high;

	if (!failed(memory_read(inner, at, buf, len)))
		return true;
	memset(buf, 0, len);
	if (!half)
		return false;
	low = fill(inner, at, buf, half);
	high = fill(inner, at + half, buf + half, len - half);
	return low || high;
}

static struct err lent_read(struct memory *m, const struct memory_range *ranges, size_t n, size_t *done)
{
	struct lent *l = (struct lent *)m;

	for (*done = 0; *done < n; ++*done) {
		const struct memory_range *r = &ranges[*done];

		l->ranges++;
		if (!fill(l->inner, r->at, r->buf, r->len))
			return err_at(ERR_FAULT, r->at, "reading recorded memory");
	}
	return OK;
}

uint64_t replay_lent(const struct memory *lent)
{
	return ((const struct lent *)lent)->ranges;
}

static void lent_close(struct memory *m)
{
	free(m);
}

struct memory *replay_lend(struct memory *inner)
{
	static const struct memory_ops ops = { "lent", lent_read, lent_close };
	struct lent *l = xcalloc(1, sizeof(*l));

	l->base.ops = &ops;
	l->inner = inner;
	return &l->base;
}

struct changing {
	struct memory base;
	struct memory *inner;
	replay_range_fn *which;
	void *arg;
};

static struct err changing_read(struct memory *m, const struct memory_range *ranges, size_t n, size_t *done)
{
	struct changing *c = (struct changing *)m;
	struct err e = memory_readv(c->inner, ranges, n, done);

	for (size_t i = 0; i < *done; i++)
		if (c->which(c->arg, &ranges[i]))
			*(uint8_t *)ranges[i].buf ^= 0xff;
	return e;
}

static void changing_close(struct memory *m)
{
	memory_close(((struct changing *)m)->inner);
	free(m);
}

struct memory *replay_change(struct memory *inner, replay_range_fn *which, void *arg)
{
	static const struct memory_ops ops = { "changing", changing_read, changing_close };
	struct changing *c = xcalloc(1, sizeof(*c));

	c->base.ops = &ops;
	c->inner = inner;
	c->which = which;
	c->arg = arg;
	return &c->base;
}
