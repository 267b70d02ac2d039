/* test_cpython_walk.c - the walks of every CPython version over recorded memory, whole and with reads that fail. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <glob.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cpython_replay.h"
#include "cpython_said.h"

#define SNAPSHOTS "fixtures/snapshots/cpython/*/*.snap"

enum {
	FAILURES = 400,	   /* failing reads that are tried per snapshot; CSPY_TEST_FAILURES changes it */
	COMPLAINTS = 5,	   /* that are printed, per snapshot */
	VERSIONS_MIN = 10, /* of CPython, that have snapshots */
};

/* One snapshot, and what is said of it when nothing fails. */
struct recorded {
	const char *path;
	struct memory *snapshot;
	struct said good;
	uint64_t ranges; /* asked for from the attachment on */
	unsigned complaints;
};

struct replay {
	struct target target;
	struct cpy *cpy;
	struct memory *counted;
	struct err err; /* of the attachment */
};

/* `fail`: the number of the range that fails. */
static void replay_begin(const struct memory *snapshot, uint64_t fail, struct replay *ret)
{
	struct cpy_roots roots;
	struct err e;

	*ret = (struct replay){ 0 };
	ret->counted = replay_lend((struct memory *)snapshot);
	replay_target(snapshot, memory_faulty_new(ret->counted, fail), &ret->target);
	e = replay_roots(snapshot, ret->target.memory, &roots);
	if (!failed(e))
		e = cpy_attach_roots(&roots, &ret->target, &ret->cpy);
	ret->err = e;
}

static void replay_end(struct replay *r)
{
	if (r->cpy)
		runtime_cpython.detach(r->cpy);
	replay_target_free(&r->target);
}

static void take(struct replay *r, struct said *said)
{
	pid_t still[64];
	size_t n = 0;

	for (; n < r->target.thread_count && n < countof(still); n++)
		still[n] = r->target.threads[n].ns_tid;
	said_take(said, r->cpy, &r->target, still, n);
}

static void each_snapshot(void (*fn)(struct recorded *))
{
	unsigned complaints = 0;
	glob_t found;

	assert_int_equal(glob(SNAPSHOTS, 0, NULL, &found), 0);
	for (size_t i = 0; i < found.gl_pathc; i++) {
		struct recorded rec = { .path = found.gl_pathv[i] };
		struct replay r;

		assert_false(failed(memory_snapshot_open(rec.path, &rec.snapshot)));
		replay_begin(rec.snapshot, UINT64_MAX, &r);
		if (failed(r.err))
			fail_msg("%s: %s", rec.path, r.err.what);
		take(&r, &rec.good);
		rec.ranges = replay_lent(r.counted);
		fn(&rec);
		complaints += rec.complaints;
		said_free(&rec.good);
		replay_end(&r);
		memory_close(rec.snapshot);
	}
	globfree(&found);
	assert_int_equal(complaints, 0);
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
	assert_int_equal(fread(text, 1, (size_t)len, f), len);
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
	print_error("%s\n  expected: %.*s\n  got:      %.*s\n", path, (int)strcspn(expected + line, "\n"),
		    expected + line, (int)strcspn(got + line, "\n"), got + line);
}

static void compare_with_expected(struct recorded *rec)
{
	char *path = xasprintf("%.*s.expected", (int)(strlen(rec->path) - strlen(".snap")), rec->path);
	char *expected = file_text(path), *got = NULL;
	struct replay r;
	size_t len;
	FILE *out = open_memstream(&got, &len);

	replay_begin(rec->snapshot, UINT64_MAX, &r);
	assert_false(failed(r.err));
	said_print(out, r.cpy, &rec->good);
	fclose(out);
	replay_end(&r);
	if (strcmp(expected, got) != 0) {
		complain_of_texts(path, expected, got);
		++rec->complaints;
	}
	free(got);
	free(expected);
	free(path);
}

static void every_snapshot_says_what_was_written_down_beside_it(void **state)
{
	(void)state;
	each_snapshot(compare_with_expected);
}

static void there_is_a_snapshot_of_every_version_that_has_a_row(void **state)
{
	unsigned rows = 0;

	(void)state;
	for (const struct cpy_layout *l; (l = cpy_layout_at(rows)) != NULL; rows++) {
		CLEANUP(cleanup_free)
		char *pattern = xasprintf("fixtures/snapshots/cpython/%u.%u.*/*.snap", l->major, l->minor);
		glob_t found = { 0 };

		if (glob(pattern, 0, NULL, &found) != 0)
			fail_msg("none of %u.%u", l->major, l->minor);
		globfree(&found);
	}
	assert_true(rows >= VERSIONS_MIN);
}

/* ---- One read fails ---- */

static void complain(struct recorded *rec, uint64_t fail, size_t tick, raddr_t thread, const char *what)
{
	if (++rec->complaints <= COMPLAINTS)
		print_error("%s: read %" PRIu64 " fails, tick %zu, thread 0x%" PRIx64 ": %s\n", rec->path, fail, tick,
			    thread, what);
}

static bool same_frame(const struct raw_frame *a, const struct raw_frame *b)
{
	return a->code == b->code && a->pos == b->pos && a->at == b->at && a->flags == b->flags && a->stamp == b->stamp;
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
		complain(rec, fail, tick, 0, "another number of threads");
		return;
	}
	for (size_t i = 0; i < all->count; i++) {
		const struct raw_stack *x = &all->list[i], *y = &good->list[i];

		if (x->state_at != y->state_at)
			complain(rec, fail, tick, x->state_at, "another thread");
		else if (failed(x->err))
			lost += !is_of_code(x->err);
		else if (!same_stack(all, x, good, y))
			complain(rec, fail, tick, x->state_at, x->count ? "another stack" : "no stack, and no error");
	}
	if (lost > 1)
		complain(rec, fail, tick, 0, "more than one thread lost its stack");
}

/* A name is the right one, or missing; a qualified one may have lost its qualification. */
static bool is_name(const char *got, const char *expected)
{
	const char *dot = strrchr(expected, '.');

	return !strcmp(got, expected) || !got[0] || (dot && !strcmp(got, dot + 1));
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
			complain(rec, fail, SAID_TICKS, thread, "a variable that is none");
			return;
		}
		want = &good->locals[g->first + k];
		if (want->kind != got->kind)
			complain(rec, fail, SAID_TICKS, thread, "another kind of variable");
		if (strcmp(want->value, got->value) != 0 && !strstr(got->value, "<unreadable") &&
		    !strstr(got->value, "<cell at")) {
			print_error("    %s = %s, not %s\n", got->name, got->value, want->value);
			complain(rec, fail, SAID_TICKS, thread, "another value");
		}
	}
}

static void compare_names(struct recorded *rec, const struct said *said, uint64_t fail)
{
	for (size_t i = 0; i < said->thread_count; i++) {
		const struct said_thread *th = &said->threads[i], *want = &rec->good.threads[i];
		size_t skip = th->cut && th->count < want->count ? want->count - th->count : 0;

		if (!failed(th->name_err) && strcmp(th->name, want->name) != 0)
			complain(rec, fail, SAID_TICKS, th->state_at, "another thread's name");
		for (size_t k = 0; k < th->count && skip + k < want->count && !failed(th->err); k++) {
			const struct said_frame *f = &said->frames[th->first + k];
			const struct said_frame *g = &rec->good.frames[want->first + skip + k];

			if (!failed(f->err) &&
			    (!is_name(f->function, g->function) || !is_name(f->file, g->file) || f->line != g->line))
				complain(rec, fail, SAID_TICKS, th->state_at, "another name or line");
			compare_locals(rec, said, fail, f, g, th->state_at);
		}
	}
}

static void fail_one(struct recorded *rec, uint64_t fail)
{
	struct replay r;
	struct said said;

	replay_begin(rec->snapshot, fail, &r);
	if (!failed(r.err)) {
		take(&r, &said);
		for (size_t tick = 0; tick < SAID_TICKS; tick++)
			compare_tick(rec, &said, fail, tick);
		if (said.thread_count == rec->good.thread_count)
			compare_names(rec, &said, fail);
		said_free(&said);
	}
	assert_true(memory_faulty_fired(r.target.memory));
	replay_end(&r);
}

static void fail_each(struct recorded *rec)
{
	const char *wanted = getenv("CSPY_TEST_FAILURES");
	uint64_t tries = wanted ? strtoull(wanted, NULL, 10) : FAILURES;

	assert_true(rec->ranges > 100);
	if (tries > rec->ranges || !tries)
		tries = rec->ranges;
	for (uint64_t i = 0; i < tries; i++)
		fail_one(rec, i * rec->ranges / tries);
}

static void a_read_that_fails_costs_one_stack_and_never_makes_a_wrong_one(void **state)
{
	(void)state;
	each_snapshot(fail_each);
}

/* ---- What a tick costs, and its bounds ---- */

static void count_reads(struct recorded *rec)
{
	struct raw_stacks stacks;
	struct replay r;
	uint64_t now = 1000000000;

	replay_begin(rec->snapshot, UINT64_MAX, &r);
	raw_stacks_init(&stacks, 1000);
	for (int i = 0; i < 40; i++, now += 10000000) {
		struct rt_look look = { .now_ns = now };
		uint64_t before = r.target.memory->calls;

		raw_stacks_reset(&stacks);
		assert_false(failed(runtime_cpython.sample(r.cpy, &r.target, &look, &stacks)));
		if (i >= 2 && r.target.memory->calls - before != 1) {
			print_error("%s: look %d takes %" PRIu64 " reads\n", rec->path, i,
				    r.target.memory->calls - before);
			++rec->complaints;
		}
	}
	raw_stacks_free(&stacks);
	replay_end(&r);
}

static void one_look_at_threads_that_stand_still_is_one_read(void **state)
{
	(void)state;
	each_snapshot(count_reads);
}

static void cut_at_ten(struct recorded *rec)
{
	const struct raw_stacks *good = &rec->good.ticks[0];
	struct rt_look look = { .now_ns = 1000000000 };
	struct raw_stacks stacks;
	struct replay r;
	size_t deep = 0;

	replay_begin(rec->snapshot, UINT64_MAX, &r);
	raw_stacks_init(&stacks, 10);
	assert_false(failed(runtime_cpython.sample(r.cpy, &r.target, &look, &stacks)));
	for (size_t i = 0; i < stacks.count; i++) {
		const struct raw_stack *x = &stacks.list[i], *y = &good->list[i];

		assert_false(failed(x->err));
		assert_int_equal(x->deep, y->count > 10);
		assert_int_equal(x->count, y->count > 10 ? 10 : y->count);
		for (uint32_t k = 0; k < x->count; k++)
			assert_true(same_frame(&stacks.frames[x->first + k], &good->frames[y->first + k]));
		deep += x->deep;
	}
	assert_true(deep >= 1);
	raw_stacks_free(&stacks);
	replay_end(&r);
}

static void a_stack_deeper_than_wanted_keeps_its_leaf_and_is_marked(void **state)
{
	(void)state;
	each_snapshot(cut_at_ten);
}

static void move_roots(struct recorded *rec)
{
	struct cpy_roots roots;
	struct target t;
	struct cpy *c;

	replay_target(rec->snapshot, replay_lend(rec->snapshot), &t);
	assert_false(failed(replay_roots(rec->snapshot, t.memory, &roots)));
	/* A word that holds something, but no interpreter: a thread state. */
	roots.interp_head = rec->good.threads[0].state_at + (raddr_t)roots.layout.thread_interp - 8;
	for (int i = 0; i < 32; i++, roots.interp_head += 8) {
		struct err e;

		if (i == 1)
			continue; /* this one is the interpreter */
		e = cpy_attach_roots(&roots, &t, &c);
		if (!failed(e)) {
			struct said said;

			said_take(&said, c, &t, NULL, 0);
			said_free(&said);
			runtime_cpython.detach(c);
		}
	}
	replay_target_free(&t);
}

static void roots_in_the_wrong_place_do_no_harm(void **state)
{
	(void)state;
	each_snapshot(move_roots);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(there_is_a_snapshot_of_every_version_that_has_a_row),
		cmocka_unit_test(every_snapshot_says_what_was_written_down_beside_it),
		cmocka_unit_test(one_look_at_threads_that_stand_still_is_one_read),
		cmocka_unit_test(a_stack_deeper_than_wanted_keeps_its_leaf_and_is_marked),
		cmocka_unit_test(roots_in_the_wrong_place_do_no_harm),
		cmocka_unit_test(a_read_that_fails_costs_one_stack_and_never_makes_a_wrong_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
