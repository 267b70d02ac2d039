/* test_roles.c - processes of one role stand under one frame. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>
#include <string.h>

#include "roles.h"

struct made {
	struct strings *strings;
	struct frames *frames;
	struct profile *profile;
};

static int setup(void **state)
{
	struct made *m = xcalloc(1, sizeof(*m));

	m->strings = strings_new();
	m->frames = frames_new(m->strings);
	m->profile = profile_new(m->frames);
	m->profile->keep_runs = true;
	m->profile->interval_ns = 10;
	*state = m;
	return 0;
}

static int teardown(void **state)
{
	struct made *m = *state;

	profile_free(m->profile);
	frames_free(m->frames);
	strings_free(m->strings);
	cleanup_free(&m);
	return 0;
}

static node_id node(struct made *m, node_id parent, const char *text, enum frame_kind kind)
{
	str_id name = strings_add(m->strings, text, strlen(text));
	struct frame_info info = { .function = name, .name = name, .kind = (uint8_t)kind };

	return profile_child(m->profile, parent, frames_add(m->frames, info));
}

/* A process with `n` samples in work(), each a run of its one thread. */
static void process(struct made *m, pid_t pid, const char *text, uint64_t n)
{
	node_id work = node(m, node(m, 0, text, FRAME_PROCESS), "work", FRAME_PYTHON);
	uint32_t thread = profile_thread(m->profile, pid, pid, 0);

	profile_add(m->profile, work, false, n);
	profile_run(m->profile, thread, work, (uint64_t)pid * 100);
	m->profile->threads[thread].last = work;
}

/* "root/.../leaf" of a node. */
static void path(const struct profile *p, node_id n, char *buf, size_t cap)
{
	struct frame_info info = frames_get(p->frames, p->nodes[n].frame);
	size_t len;

	if (p->nodes[n].parent)
		path(p, p->nodes[n].parent, buf, cap);
	else
		*buf = 0;
	len = strlen(buf);
	snprintf(buf + len, cap - len, "/%s", strings_get(frames_strings(p->frames), info.function));
}

static void assert_path(const struct profile *p, node_id n, const char *want)
{
	char got[256];

	path(p, n, got, sizeof(got));
	assert_string_equal(got, want);
}

static void processes_without_an_equal_stay_as_they_are(void **state)
{
	struct made *m = *state;

	process(m, 1, "process 1: python app.py", 3);
	process(m, 2, "process 2: ruby app.rb", 4);
	assert_null(profile_by_role(m->profile));
}

static void workers_that_count_themselves_are_of_one_role(void **state)
{
	struct made *m = *state;
	struct profile *p;

	process(m, 10, "process 10: puma master", 1);
	process(m, 11, "process 11: puma: cluster worker 0: 10 [app]", 3);
	process(m, 12, "process 12: puma: cluster worker 17: 10 [app]", 4);
	p = profile_by_role(m->profile);
	assert_non_null(p);
	assert_int_equal(profile_total(p), 8);
	assert_int_equal(p->thread_count, 3);
	assert_int_equal(p->run_count, 3);
	assert_path(p, p->threads[0].last, "/process 10: puma master/work");
	assert_path(p, p->threads[1].last,
		    "/2 processes: puma: cluster worker *: * [app]/process 11: puma: cluster worker 0: 10 [app]/work");
	assert_path(p, p->runs[2].stack,
		    "/2 processes: puma: cluster worker *: * [app]/process 12: puma: cluster worker 17: 10 [app]/work");
	assert_int_equal(p->nodes[p->threads[2].last].self, 4);
	profile_free(p);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(processes_without_an_equal_stay_as_they_are),
		TEST(workers_that_count_themselves_are_of_one_role),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
