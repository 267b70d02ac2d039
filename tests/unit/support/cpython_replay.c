/* cpython_replay.c - a CPython of recorded memory. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cpython_replay.h"

enum { THREADS_MAX = 64, NOTE_BYTES = 1024 };

static void note_number(struct memory *record, const char *key, uint64_t value)
{
	char text[32];

	snprintf(text, sizeof(text), "0x%" PRIx64, value);
	memory_record_note(record, key, text);
}

void replay_note(struct memory *record, const struct cpy_roots *roots, const struct target *t)
{
	char threads[NOTE_BYTES] = "";

	memory_record_note(record, "runtime", "cpython");
	memory_record_note(record, "version", roots->version);
	memory_record_note(record, "layout", roots->layout_source);
	note_number(record, "major", roots->layout.major);
	note_number(record, "minor", roots->layout.minor);
	note_number(record, "debug_build", roots->debug_build);
	/* Longer object headers show in the first field of them all. */
	note_number(record, "object_type", (uint64_t)roots->layout.object_type);
	note_number(record, "at_runtime", roots->runtime);
	note_number(record, "at_interp_head", roots->interp_head);
	note_number(record, "at_gil_current", roots->gil_current);
	note_number(record, "at_gc_collecting", roots->gc_collecting);
	note_number(record, "pid", (uint64_t)t->ns_pid);
	for (size_t i = 0; i < t->thread_count && i < THREADS_MAX; i++) {
		size_t len = strlen(threads);

		snprintf(threads + len, sizeof(threads) - len, "%s%d", i ? " " : "", (int)t->threads[i].ns_tid);
	}
	memory_record_note(record, "threads", threads);
}

static uint64_t number(const struct memory *snapshot, const char *key)
{
	const char *text = memory_snapshot_note(snapshot, key);

	return text ? strtoull(text, NULL, 16) : 0;
}

struct err replay_layout(struct memory *m, bool self_described, int32_t object_type, struct cpy_roots *roots)
{
	unsigned major = roots->layout.major, minor = roots->layout.minor;
	const struct cpy_layout *row = cpy_layout_find(major, minor, false);
	uint32_t hex;

	if (self_described) {
		struct err e = cpy_debug_offsets(m, roots->runtime, &roots->layout, &hex);

		if (failed(e))
			return e;
	} else if (row) {
		roots->layout = *row;
	} else {
		return err_at(ERR_UNSUPPORTED, 0, "finding a row for recorded memory");
	}
	if (object_type != roots->layout.object_type)
		cpy_layout_lengthen(&roots->layout, object_type - roots->layout.object_type);
	return OK;
}

struct err replay_roots(const struct memory *snapshot, struct memory *m, struct cpy_roots *ret)
{
	const char *version = memory_snapshot_note(snapshot, "version");
	const char *source = memory_snapshot_note(snapshot, "layout");

	*ret = (struct cpy_roots){
		.debug_build = number(snapshot, "debug_build"),
		.runtime = number(snapshot, "at_runtime"),
		.interp_head = number(snapshot, "at_interp_head"),
		.gil_current = number(snapshot, "at_gil_current"),
		.gc_collecting = number(snapshot, "at_gc_collecting"),
	};
	ret->layout.major = (uint8_t)number(snapshot, "major");
	ret->layout.minor = (uint8_t)number(snapshot, "minor");
	snprintf(ret->version, sizeof(ret->version), "%s", version ? version : "");
	snprintf(ret->layout_source, sizeof(ret->layout_source), "%s", source ? source : "");
	return replay_layout(m, source && !strcmp(source, "self-described"), (int32_t)number(snapshot, "object_type"),
			     ret);
}

void replay_target(const struct memory *snapshot, struct memory *m, struct target *ret)
{
	const char *at = memory_snapshot_note(snapshot, "threads");

	*ret = (struct target){ .pidfd = -1, .proc = -1, .memory = m };
	ret->pid = ret->ns_pid = (pid_t)number(snapshot, "pid");
	while (at && *at && ret->thread_count < THREADS_MAX) {
		pid_t tid = (pid_t)strtol(at, NULL, 10);

		xgrow(&ret->threads, &ret->thread_cap, ret->thread_count + 1, sizeof(*ret->threads));
		ret->threads[ret->thread_count++] = (struct thread){ .tid = tid, .ns_tid = tid, .stat_fd = -1 };
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
	size_t half = len / 2 & ~(size_t)7;
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
