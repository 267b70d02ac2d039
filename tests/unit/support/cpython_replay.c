/* cpython_replay.c - a CPython of recorded memory. */
#include <stdio.h>
#include <string.h>

#include "cpython_replay.h"

enum {
	WHOLE_STATE = 640, /* bytes of a thread state, which hold all that was ever of interest */
	CFRAMES_MAX = 256, /* of one thread */
};

static void note(struct memory *record, const void *instance)
{
	const struct cpy_roots *roots = &((const struct cpy *)instance)->roots;

	memory_record_note(record, "runtime", runtime_cpython.name);
	memory_record_note(record, "version", roots->version);
	memory_record_note(record, "layout", roots->layout_source);
	replay_note_number(record, "major", roots->layout.major);
	replay_note_number(record, "minor", roots->layout.minor);
	replay_note_number(record, "debug_build", roots->debug_build);
	/* Longer object headers show in the first field of them all. */
	replay_note_number(record, "object_type", (uint64_t)roots->layout.object_type);
	replay_note_number(record, "at_runtime", roots->runtime);
	replay_note_number(record, "at_interp_head", roots->interp_head);
	replay_note_number(record, "at_gil_current", roots->gil_current);
	replay_note_number(record, "at_gc_collecting", roots->gc_collecting);
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
		.debug_build = replay_number(snapshot, "debug_build"),
		.runtime = replay_number(snapshot, "at_runtime"),
		.interp_head = replay_number(snapshot, "at_interp_head"),
		.gil_current = replay_number(snapshot, "at_gil_current"),
		.gc_collecting = replay_number(snapshot, "at_gc_collecting"),
	};
	ret->layout.major = (uint8_t)replay_number(snapshot, "major");
	ret->layout.minor = (uint8_t)replay_number(snapshot, "minor");
	snprintf(ret->version, sizeof(ret->version), "%s", version ? version : "");
	snprintf(ret->layout_source, sizeof(ret->layout_source), "%s", source ? source : "");
	return replay_layout(m, source && !strcmp(source, "self-described"),
			     (int32_t)replay_number(snapshot, "object_type"), ret);
}

static struct err attach_with(struct cpy_roots *roots, struct target *t, void **ret)
{
	struct cpy *c;
	struct err e = cpy_attach_roots(roots, t, &c);

	if (!failed(e))
		*ret = c;
	return e;
}

static struct err again(const void *instance, struct target *t, void **ret)
{
	struct cpy_roots roots = ((const struct cpy *)instance)->roots;
	struct err e = replay_layout(t->memory, !strcmp(roots.layout_source, "self-described"),
				     roots.layout.object_type, &roots);

	return failed(e) ? e : attach_with(&roots, t, ret);
}

static struct err attach(const struct memory *snapshot, struct target *t, void **ret)
{
	struct cpy_roots roots;
	struct err e = replay_roots(snapshot, t->memory, &roots);

	return failed(e) ? e : attach_with(&roots, t, ret);
}

/* 3.11 and 3.12: the records of evaluation loops. The walk goes to an outer one only when the inner one leads nowhere.
 */
static void record_cframes(struct memory *record, const struct cpy_layout *l, raddr_t thread)
{
	raddr_t at;
	struct err e = memory_ptr(record, thread + (raddr_t)l->thread_frame, &at);

	for (int i = 0; i < CFRAMES_MAX && !failed(e) && at; i++) {
		replay_read_some(record, at, PIECE_BYTES);
		e = memory_ptr(record, at + (raddr_t)l->cframe_previous, &at);
	}
}

/* The frames that came by the page; and of everything a little more than today's walk needs. */
static void more(struct memory *record, const void *instance, const struct said *said)
{
	const struct cpy *c = instance;
	const struct cpy_layout *l = c->l;

	for (size_t i = 0; i < c->thread_count; i++) {
		const struct copies *k = &c->threads[i].copies;

		replay_read_some(record, c->threads[i].at, WHOLE_STATE);
		if (l->frames == FRAMES_CFRAME)
			record_cframes(record, l, c->threads[i].at);
		for (size_t p = 0; p < k->piece_count; p++)
			replay_read_some(record, k->pieces[p].at, PIECE_BYTES);
	}
	for (size_t tick = 0; tick < SAID_TICKS; tick++) {
		const struct raw_stacks *all = &said->ticks[tick];

		for (size_t i = 0; i < all->used; i++)
			replay_read_some(record, all->frames[i].code, (size_t)l->code_size);
	}
}

/* A name is the right one, or missing; a qualified one may have lost its qualification. */
static bool is_name(const char *got, const char *expected)
{
	const char *dot = strrchr(expected, '.');

	return !strcmp(got, expected) || !got[0] || (dot && !strcmp(got, dot + 1));
}

const struct replay replay_cpython = {
	.ops = &runtime_cpython,
	.snapshots = "fixtures/snapshots/cpython/*/*.snap",
	.note = note,
	.again = again,
	.attach = attach,
	.more = more,
	.is_name = is_name,
};
