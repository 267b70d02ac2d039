/* ruby_replay.c - a Ruby of recorded memory. */
#include <stdio.h>
#include <string.h>

#include "replay.h"
#include "ruby/ruby.h"

extern const struct runtime_ops runtime_ruby;

enum {
	WHOLE_THREAD = 512, /* bytes of a thread, which hold all that was ever of interest */
	WHOLE_CONTEXT = 64,
	WHOLE_BODY = 256, /* of an iseq */
};

static void note(struct memory *record, const void *instance)
{
	const struct rby_roots *roots = &((const struct rby *)instance)->roots;

	memory_record_note(record, "runtime", runtime_ruby.name);
	memory_record_note(record, "version", roots->version);
	memory_record_note(record, "layout", roots->layout_source);
	replay_note_number(record, "at_vm", roots->vm);
	replay_note_number(record, "at_vm_at", roots->vm_at);
	replay_note_number(record, "at_gc_flags", roots->gc_flags);
	replay_note_number(record, "at_symbols", roots->symbols);
}

static struct err attach_with(const struct rby_roots *roots, struct target *t, void **ret)
{
	struct rby *r;
	struct err e = rby_attach_roots(roots, t, &r);

	if (!failed(e))
		*ret = r;
	return e;
}

static struct err again(const void *instance, struct target *t, void **ret)
{
	return attach_with(&((const struct rby *)instance)->roots, t, ret);
}

static struct err attach(const struct memory *snapshot, struct target *t, void **ret)
{
	const char *version = memory_snapshot_note(snapshot, "version");
	const char *source = memory_snapshot_note(snapshot, "layout");
	struct rby_roots roots = {
		.vm = replay_number(snapshot, "at_vm"),
		.vm_at = replay_number(snapshot, "at_vm_at"),
		.gc_flags = replay_number(snapshot, "at_gc_flags"),
		.symbols = replay_number(snapshot, "at_symbols"),
	};
	const struct rby_layout *row;
	unsigned major, minor, patch;

	if (!version || !source || sscanf(version, "%u.%u.%u", &major, &minor, &patch) != 3)
		return err_at(ERR_UNSUPPORTED, 0, "reading the version of recorded memory");
	row = rby_layout_find(major, minor, patch, &roots.exact);
	if (!row)
		return err_at(ERR_UNSUPPORTED, 0, "finding a row for recorded memory");
	roots.layout = *row;
	snprintf(roots.version, sizeof(roots.version), "%s", version);
	snprintf(roots.layout_source, sizeof(roots.layout_source), "%s", source);
	return attach_with(&roots, t, ret);
}

static void more(struct memory *record, const void *instance, const struct said *said)
{
	const struct rby *r = instance;
	const struct raw_stacks *all = &said->ticks[SAID_TICKS - 1];

	for (size_t i = 0; i < r->thread_count; i++) {
		replay_read_some(record, r->threads[i].at, WHOLE_THREAD);
		replay_read_some(record, r->threads[i].stack.context, WHOLE_CONTEXT);
	}
	for (size_t i = 0; i < all->used; i++) {
		raddr_t body;

		if (!failed(memory_ptr(record, all->frames[i].code + ISEQ_BODY, &body)))
			replay_read_some(record, body, WHOLE_BODY);
	}
}

/* A name that can't be read whole lacks its class; a C function's may be missing altogether. */
static bool is_name(const char *got, const char *expected)
{
	size_t len = strlen(got), expected_len = strlen(expected), same = 0;

	if (!len || !strcmp(got, expected))
		return true;
	while (got[same] && got[same] == expected[same])
		same++;
	if (!strcmp(got + same, "[C function]"))
		return true;
	for (size_t lead = 0; lead <= same && len < expected_len; lead++) {
		const char *rest = expected + expected_len - (len - lead);

		if (strchr("#.", rest[-1]) && !strcmp(got + lead, rest))
			return true;
	}
	return false;
}

const struct replay replay_ruby = {
	.ops = &runtime_ruby,
	.snapshots = "fixtures/snapshots/ruby/*/*.snap",
	.note = note,
	.again = again,
	.attach = attach,
	.more = more,
	.is_name = is_name,
};
