/* walks.c - what holds of the walks of every runtime: over recorded memory, whole and with reads that fail. */
#include <glob.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "walks.h"

enum {
	FAILURES = 400, /* failing reads that are tried per snapshot; CSPY_TEST_FAILURES changes it */
	RANGES_MIN = 100,
	COMPLAINTS = 5, /* that are printed, per snapshot */
	CUT_DEPTH = 10,
};

/* One snapshot, and what is said of it when nothing fails. */
struct recorded {
	const struct replay *how;
	const char *path;
	struct memory *snapshot;
	struct said good;
	uint64_t ranges; /* asked for from the attachment on */
	unsigned complaints;
};

struct run {
	struct target target;
	void *instance;
	struct memory *counted;
	struct err err; /* of the attachment */
};

/* `fail`: the number of the range that fails. */
static void run_begin(const struct recorded *rec, uint64_t fail, struct run *ret)
{
	*ret = (struct run){ 0 };
	ret->counted = replay_lend(rec->snapshot);
	replay_target(rec->snapshot, memory_faulty_new(ret->counted, fail), &ret->target);
	ret->err = rec->how->attach(rec->snapshot, &ret->target, &ret->instance);
}

static void run_end(struct run *r, const struct recorded *rec)
{
	if (r->instance)
		rec->how->ops->detach(r->instance);
	replay_target_free(&r->target);
}

static void complain(struct recorded *rec, const char *what)
{
	if (++rec->complaints <= COMPLAINTS)
		fprintf(stderr, "%s: %s\n", rec->path, what);
}

static void take(struct run *r, const struct recorded *rec, struct said *said)
{
	pid_t still[64];
	size_t n = 0;

	for (; n < r->target.thread_count && n < countof(still); n++)
		still[n] = r->target.threads[n].ns_tid;
	said_take(said, rec->how->ops, r->instance, &r->target, still, n);
}

static unsigned each_snapshot(const struct replay *how, void (*fn)(struct recorded *))
{
	unsigned complaints = 0;
	glob_t found = { 0 };

	if (glob(how->snapshots, 0, NULL, &found) != 0)
		complaints++;
	for (size_t i = 0; i < found.gl_pathc; i++) {
		struct recorded rec = { .how = how, .path = found.gl_pathv[i] };
		struct run r;

		if (failed(memory_snapshot_open(rec.path, &rec.snapshot))) {
			complain(&rec, "can't be opened");
			complaints++;
			continue;
		}
		run_begin(&rec, UINT64_MAX, &r);
		if (failed(r.err)) {
			complain(&rec, r.err.what);
		} else {
			take(&r, &rec, &rec.good);
			rec.ranges = replay_lent(r.counted);
			fn(&rec);
			said_free(&rec.good);
		}
		complaints += rec.complaints;
		run_end(&r, &rec);
		memory_close(rec.snapshot);
	}
	globfree(&found);
	return complaints;
}

static char *file_text(const char *path)
{
	FILE *f = fopen(path, "re");
	char *text;
	long len;

	if (!f)
		return xstrdup("");
	fseek(f, 0, SEEK_END);
	len = ftell(f);
	rewind(f);
	text = xcalloc((size_t)len + 1, 1);
	text[fread(text, 1, (size_t)len, f)] = 0;
	fclose(f);
	return text;
}

/* Where two texts part, from the start of the line. */
static void complain_of_texts(const char *path, const char *expected, const char *got)
{
	size_t i = 0, line = 0;

	for (; expected[i] && expected[i] == got[i]; i++)
		if (expected[i] == '\n')
			line = i + 1;
	fprintf(stderr, "%s\n  expected: %.*s\n  got:      %.*s\n", path, (int)strcspn(expected + line, "\n"),
		expected + line, (int)strcspn(got + line, "\n"), got + line);
}

static void compare_with_expected(struct recorded *rec)
{
	char *path = xasprintf("%.*s.expected", (int)(strlen(rec->path) - strlen(".snap")), rec->path);
	char *expected = file_text(path), *got = NULL;
	struct run r;
	size_t len;
	FILE *out = open_memstream(&got, &len);

	run_begin(rec, UINT64_MAX, &r);
	if (!failed(r.err))
		said_print(out, rec->how->ops, r.instance, &rec->good);
	fclose(out);
	run_end(&r, rec);
	if (strcmp(expected, got) != 0) {
		complain_of_texts(path, expected, got);
		++rec->complaints;
	}
	free(got);
	free(expected);
	free(path);
}

unsigned walks_say_what_is_expected(const struct replay *how)
{
	return each_snapshot(how, compare_with_expected);
}

/* ---- One read fails ---- */

static void complain_of(struct recorded *rec, uint64_t fail, size_t tick, raddr_t thread, const char *what)
{
	if (++rec->complaints <= COMPLAINTS)
		fprintf(stderr, "%s: read %" PRIu64 " fails, tick %zu, thread 0x%" PRIx64 ": %s\n", rec->path, fail,
			tick, thread, what);
}

/* Whether native code called it is told by memory of its own, which may be what failed. */
static bool same_frame(const struct raw_frame *a, const struct raw_frame *b)
{
	return a->code == b->code && a->pos == b->pos && a->at == b->at && !(a->flags & ~b->flags) &&
	       a->stamp == b->stamp;
}

/* The same frames; of one that says that it is cut, the root part of them. */
static bool same_stack(const struct raw_stacks *a, const struct raw_stack *x, const struct raw_stacks *b,
		       const struct raw_stack *y)
{
	uint32_t skip = y->count - x->count;

	if (x->count > y->count || (skip && !x->cut) || x->deep != y->deep)
		return false;
	for (uint32_t i = 0; i < x->count; i++)
		if (!same_frame(&a->frames[x->first + i], &b->frames[y->first + skip + i]))
			return false;
	return true;
}

/* A code object that can't be read is on every stack that runs it; everything else belongs to one thread. */
static bool is_of_code(struct err e)
{
	return e.what && !strcmp(e.what, "reading a code object");
}

static void compare_tick(struct recorded *rec, const struct said *said, uint64_t fail, size_t tick)
{
	const struct raw_stacks *good = &rec->good.ticks[tick], *all = &said->ticks[tick];
	size_t lost = 0;

	if (failed(said->err[tick]))
		return;
	if (all->count != good->count) {
		complain_of(rec, fail, tick, 0, "another number of threads");
		return;
	}
	for (size_t i = 0; i < all->count; i++) {
		const struct raw_stack *x = &all->list[i], *y = &good->list[i];

		if (x->state_at != y->state_at)
			complain_of(rec, fail, tick, x->state_at, "another thread");
		else if (failed(x->err))
			lost += !is_of_code(x->err);
		else if (!same_stack(all, x, good, y))
			complain_of(rec, fail, tick, x->state_at,
				    x->count ? "another stack" : "no stack, and no error");
	}
	if (lost > 1)
		complain_of(rec, fail, tick, 0, "more than one thread lost its stack");
}

static void compare_locals(struct recorded *rec, const struct said *said, uint64_t fail, const struct said_frame *f,
			   const struct said_frame *g, raddr_t thread)
{
	const struct said *good = &rec->good;
	size_t k = 0;

	for (size_t i = 0; i < f->count; i++) {
		const struct said_local *got = &said->locals[f->first + i], *want;

		while (k < g->count && strcmp(good->locals[g->first + k].name, got->name) != 0)
			k++;
		if (k == g->count) {
			complain_of(rec, fail, SAID_TICKS, thread, "a variable that is none");
			return;
		}
		want = &good->locals[g->first + k];
		if (want->kind != got->kind)
			complain_of(rec, fail, SAID_TICKS, thread, "another kind of variable");
		if (strcmp(want->value, got->value) != 0 && !strstr(got->value, "<unreadable") &&
		    !strstr(got->value, "<cell at")) {
			fprintf(stderr, "    %s = %s, not %s\n", got->name, got->value, want->value);
			complain_of(rec, fail, SAID_TICKS, thread, "another value");
		}
	}
}

static void compare_names(struct recorded *rec, const struct said *said, uint64_t fail)
{
	for (size_t i = 0; i < said->thread_count; i++) {
		const struct said_thread *th = &said->threads[i], *want = &rec->good.threads[i];
		size_t skip = th->cut && th->count < want->count ? want->count - th->count : 0;

		if (!failed(th->name_err) && strcmp(th->name, want->name) != 0)
			complain_of(rec, fail, SAID_TICKS, th->state_at, "another thread's name");
		for (size_t k = 0; k < th->count && skip + k < want->count && !failed(th->err); k++) {
			const struct said_frame *f = &said->frames[th->first + k];
			const struct said_frame *g = &rec->good.frames[want->first + skip + k];

			if (!failed(f->err) && (!rec->how->is_name(f->function, g->function) ||
						!rec->how->is_name(f->file, g->file) || f->line != g->line))
				complain_of(rec, fail, SAID_TICKS, th->state_at, "another name or line");
			compare_locals(rec, said, fail, f, g, th->state_at);
		}
	}
}

static void fail_one(struct recorded *rec, uint64_t fail)
{
	struct run r;
	struct said said;

	run_begin(rec, fail, &r);
	if (!failed(r.err)) {
		take(&r, rec, &said);
		for (size_t tick = 0; tick < SAID_TICKS; tick++)
			compare_tick(rec, &said, fail, tick);
		if (said.thread_count == rec->good.thread_count)
			compare_names(rec, &said, fail);
		said_free(&said);
	}
	if (!memory_faulty_fired(r.target.memory))
		complain_of(rec, fail, 0, 0, "it was not asked for");
	run_end(&r, rec);
}

static void fail_each(struct recorded *rec)
{
	const char *wanted = getenv("CSPY_TEST_FAILURES");
	uint64_t tries = wanted ? strtoull(wanted, NULL, 10) : FAILURES;

	if (rec->ranges < RANGES_MIN)
		complain(rec, "too little is read");
	if (tries > rec->ranges || !tries)
		tries = rec->ranges;
	for (uint64_t i = 0; i < tries; i++)
		fail_one(rec, i * rec->ranges / tries);
}

unsigned walks_survive_each_failure(const struct replay *how)
{
	return each_snapshot(how, fail_each);
}

/* ---- What a tick costs, and its bounds ---- */

static void count_reads(struct recorded *rec)
{
	struct raw_stacks stacks;
	struct run r;
	uint64_t now = 1000000000;

	run_begin(rec, UINT64_MAX, &r);
	raw_stacks_init(&stacks, 1000);
	for (int i = 0; i < 40; i++, now += 10000000) {
		struct rt_look look = { .now_ns = now };
		uint64_t before = r.target.memory->calls;

		raw_stacks_reset(&stacks);
		if (failed(rec->how->ops->sample(r.instance, &r.target, &look, &stacks)))
			complain(rec, "no look");
		if (i >= 2 && r.target.memory->calls - before != 1) {
			complain(rec, "a look takes more than one read");
		}
	}
	raw_stacks_free(&stacks);
	run_end(&r, rec);
}

unsigned walks_take_one_read(const struct replay *how)
{
	return each_snapshot(how, count_reads);
}

static void compare_second_read(struct recorded *rec, const struct raw_stacks *all, const struct raw_stack *x,
				size_t *told)
{
	if (failed(x->err) || !x->count)
		return;
	if (x->agreed != x->count && x->agreed != RAW_NOT_ASKED)
		complain_of(rec, 0, 0, x->state_at, "the second read does not show the first one's stack");
	if (!x->top.at || !x->top.stamp)
		return;
	++*told;
	if (x->top.code != all->frames[x->first].code)
		complain_of(rec, 0, 0, x->state_at, "what is on top is not the leaf");
}

static void read_twice(struct recorded *rec)
{
	struct raw_stacks stacks;
	struct run r;
	size_t told = 0;

	run_begin(rec, UINT64_MAX, &r);
	raw_stacks_init(&stacks, 1000);
	for (uint64_t i = 0; i < 4; i++) {
		struct rt_look look = { .now_ns = 1000000000 * (i + 1), .twice = true };

		raw_stacks_reset(&stacks);
		if (failed(rec->how->ops->sample(r.instance, &r.target, &look, &stacks)))
			complain(rec, "no look");
		/* The first learns what to read twice. */
		for (size_t k = 0; i && k < stacks.count; k++)
			compare_second_read(rec, &stacks, &stacks.list[k], &told);
	}
	if (!told)
		complain(rec, "no leaf is told by what is on top");
	raw_stacks_free(&stacks);
	run_end(&r, rec);
}

unsigned walks_agree_when_read_twice(const struct replay *how)
{
	return each_snapshot(how, read_twice);
}

static bool is_leaf_end(const struct raw_stacks *all, const struct raw_stack *x, const struct raw_stacks *good,
			const struct raw_stack *y)
{
	uint32_t wanted = y->count > CUT_DEPTH ? CUT_DEPTH : y->count;

	if (failed(x->err) || x->deep != (y->count > CUT_DEPTH) || x->count != wanted)
		return false;
	for (uint32_t k = 0; k < x->count; k++)
		if (!same_frame(&all->frames[x->first + k], &good->frames[y->first + k]))
			return false;
	return true;
}

static void cut_at_ten(struct recorded *rec)
{
	const struct raw_stacks *good = &rec->good.ticks[0];
	struct rt_look look = { .now_ns = 1000000000 };
	struct raw_stacks stacks;
	struct run r;
	size_t deep = 0;

	run_begin(rec, UINT64_MAX, &r);
	raw_stacks_init(&stacks, CUT_DEPTH);
	if (failed(rec->how->ops->sample(r.instance, &r.target, &look, &stacks)))
		complain(rec, "no look");
	for (size_t i = 0; i < stacks.count; i++) {
		if (!is_leaf_end(&stacks, &stacks.list[i], good, &good->list[i]))
			complain(rec, "not the leaf's end of a stack");
		deep += stacks.list[i].deep;
	}
	if (!deep)
		complain(rec, "no stack is deep");
	raw_stacks_free(&stacks);
	run_end(&r, rec);
}

unsigned walks_keep_the_leaf_of_a_deep_stack(const struct replay *how)
{
	return each_snapshot(how, cut_at_ten);
}
