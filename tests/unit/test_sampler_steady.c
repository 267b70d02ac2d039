/* test_sampler_steady.c - once warm, a look at a live program allocates nothing and is one read. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cspy/sampler.h"

enum { WARM = 3000, LOOKS = 2000, THREADS = 8 };

/* Waits in eight threads beside the main one. */
#define IDLE                                                                                                           \
	"import threading, sys, time\n"                                                                                \
	"def wait(n):\n"                                                                                               \
	"    if n: return wait(n - 1)\n"                                                                               \
	"    threading.Event().wait()\n"                                                                               \
	"for i in range(8):\n"                                                                                         \
	"    t = threading.Thread(target=wait, args=(i,))\n"                                                           \
	"    t.daemon = True\n"                                                                                        \
	"    t.start()\n"                                                                                              \
	"time.sleep(.3)\n"                                                                                             \
	"sys.stdout.write('r')\n"                                                                                      \
	"sys.stdout.flush()\n"                                                                                         \
	"wait(3)\n"

/* A few stacks, over and over. */
#define BUSY                                                                                                           \
	"import sys\n"                                                                                                 \
	"def a(n):\n"                                                                                                  \
	"    for i in range(n): n += i\n"                                                                              \
	"    return n\n"                                                                                               \
	"def b(n):\n"                                                                                                  \
	"    return a(n)\n"                                                                                            \
	"sys.stdout.write('r')\n"                                                                                      \
	"sys.stdout.flush()\n"                                                                                         \
	"while True:\n"                                                                                                \
	"    b(2000)\n"                                                                                                \
	"    a(3000)\n"

struct live {
	char version[16];
	pid_t pid;
	struct target *t;
	struct strings *strings;
	struct frames *frames;
	struct profile *profile;
	struct sampler *sampler;
};

/* The first interpreter of pyenv that fixtures/runtimes/list tells, the newest with a number of code objects. */
static bool find_python(char *version, size_t version_cap, char *command, size_t cap)
{
	FILE *list = popen(
		"fixtures/runtimes/list 2>/dev/null | grep -- -pyenv | sort -t. -k2n | tail -n 2 | head -n 1", "re");
	char line[512] = "", *save = NULL;
	const char *field[5] = { "" };
	size_t n = 0;

	if (!list)
		return false;
	if (!fgets(line, sizeof(line), list))
		line[0] = 0;
	pclose(list);
	for (char *f = strtok_r(line, "\t\n", &save); f && n < countof(field); f = strtok_r(NULL, "\t\n", &save))
		field[n++] = f;
	if (n < 4)
		return false;
	snprintf(version, version_cap, "%s", field[2]);
	snprintf(command, cap, "%s", field[3]);
	return true;
}

static pid_t launch(const char *command, const char *program)
{
	int fds[2];
	char byte;
	pid_t pid;

	assert_int_equal(pipe(fds), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(fds[1], 1);
		execl(command, command, "-c", program, (char *)NULL);
		_exit(127);
	}
	close(fds[1]);
	assert_int_equal(read(fds[0], &byte, 1), 1);
	close(fds[0]);
	return pid;
}

static void begin(struct live *l, const char *program, enum pause_mode pause)
{
	struct sampler_options o = { .pause = pause, .max_pause = 0.01, .depth = 200, .idle = true };
	char command[256], why[256] = "";
	struct err e;

	*l = (struct live){ 0 };
	if (!find_python(l->version, sizeof(l->version), command, sizeof(command))) {
		print_message("no interpreter of pyenv here\n");
		skip();
	}
	l->pid = launch(command, program);
	struct timespec settle = { 0, 100000000 };
	nanosleep(&settle, NULL);
	assert_false(failed(target_open(l->pid, &l->t)));
	l->strings = strings_new();
	l->frames = frames_new(l->strings);
	l->profile = profile_new(l->frames);
	e = sampler_new(l->t, l->profile, o, why, sizeof(why), &l->sampler);
	if (failed(e))
		fail_msg("%s", why);
}

static void finish(struct live *l)
{
	sampler_free(l->sampler);
	profile_free(l->profile);
	frames_free(l->frames);
	strings_free(l->strings);
	target_close(l->t);
	kill(l->pid, SIGKILL);
	waitpid(l->pid, NULL, 0);
}

static void look(struct live *l, unsigned times, long gap_ns)
{
	struct timespec gap = { 0, gap_ns };

	for (unsigned i = 0; i < times; i++) {
		assert_false(failed(sampler_step(l->sampler, clock_now())));
		nanosleep(&gap, NULL);
	}
}

static void looks_allocate_nothing_once_warm(enum pause_mode pause, const char *what)
{
	struct live l;
	uint64_t before, allocations;

	begin(&l, BUSY, pause);
	look(&l, WARM, 200000);
	before = xalloc_count();
	look(&l, LOOKS, 200000);
	allocations = xalloc_count() - before;
	print_message("CPython %s, %s: %" PRIu64 " allocations in %d looks\n", l.version, what, allocations, LOOKS);
	assert_true(l.profile->stats.samples > LOOKS);
	finish(&l);
	assert_int_equal(allocations, 0);
}

static void a_warm_look_allocates_nothing(void **state)
{
	(void)state;
	looks_allocate_nothing_once_warm(PAUSE_BUDGET, "paused now and then");
}

static void a_warm_look_that_always_pauses_allocates_nothing(void **state)
{
	(void)state;
	looks_allocate_nothing_once_warm(PAUSE_ALWAYS, "always paused");
}

static void a_warm_look_that_never_pauses_allocates_nothing(void **state)
{
	(void)state;
	looks_allocate_nothing_once_warm(PAUSE_NEVER, "never paused");
}

/* What a second brings beside the looks: the lists are walked afresh, and pieces age. */
static void an_idle_program_is_one_read_a_look_however_many_threads_it_has(void **state)
{
	struct live l;
	uint64_t more = 0, most = 0, reads = 0;

	(void)state;
	begin(&l, IDLE, PAUSE_NEVER);
	look(&l, WARM, 200000);
	for (unsigned i = 0; i < LOOKS; i++) {
		uint64_t before = l.t->memory->calls, took;

		look(&l, 1, 200000);
		took = l.t->memory->calls - before;
		reads += took;
		more += took != 1;
		most = took > most ? took : most;
	}
	print_message("CPython %s, idle, %d threads: %" PRIu64 " reads in %d looks; %" PRIu64
		      " looks took more than one, up to %" PRIu64 "\n",
		      l.version, THREADS + 1, reads, LOOKS, more, most);
	assert_true(l.profile->thread_count >= THREADS + 1);
	finish(&l);
	/* once a second all lists are walked, every 10 ms code objects are verified */
	assert_true(more <= LOOKS / 20);
}

static void a_busy_program_costs_few_reads_a_look(void **state)
{
	struct live l;
	uint64_t before, reads;

	(void)state;
	begin(&l, BUSY, PAUSE_NEVER);
	look(&l, WARM, 200000);
	before = l.t->memory->calls;
	look(&l, LOOKS, 200000);
	reads = l.t->memory->calls - before;
	print_message("CPython %s, busy: %.3f reads a look\n", l.version, (double)reads / LOOKS);
	finish(&l);
	assert_true(reads < 3 * LOOKS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_warm_look_allocates_nothing),
		cmocka_unit_test(a_warm_look_that_always_pauses_allocates_nothing),
		cmocka_unit_test(a_warm_look_that_never_pauses_allocates_nothing),
		cmocka_unit_test(an_idle_program_is_one_read_a_look_however_many_threads_it_has),
		cmocka_unit_test(a_busy_program_costs_few_reads_a_look),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
