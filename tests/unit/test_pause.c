/* test_pause.c - threads of real children are held and let go, asleep ones not even woken. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cspy/sampler.h"
#include "pause.h"

/* What a child and its test both see. */
struct shared {
	volatile uint64_t turns; /* of a busy child */
	volatile int result, os; /* of a system call that it slept in, and errno */
	volatile uint64_t slept_ns;
	volatile int signals;
	volatile int held; /* by a helper that is to be killed */
};

struct child {
	pid_t pid;
	struct shared *shared;
	struct target *t;
};

static void nap(long ms)
{
	struct timespec t = { ms / 1000, ms % 1000 * 1000000 };

	while (nanosleep(&t, &t) != 0)
		;
}

static void *share(void)
{
	void *p = mmap(NULL, sizeof(struct shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	assert_ptr_not_equal(p, MAP_FAILED);
	return p;
}

static pid_t fork_child(struct shared *s, void (*fn)(struct shared *))
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		fn(s);
		_exit(0);
	}
	return pid;
}

static struct child start(void (*fn)(struct shared *))
{
	struct child c = { .shared = share() };

	c.pid = fork_child(c.shared, fn);
	nap(50);
	assert_false(failed(target_open(c.pid, &c.t)));
	return c;
}

static void end(struct child *c)
{
	kill(c->pid, SIGKILL);
	waitpid(c->pid, NULL, 0);
	target_close(c->t);
	munmap(c->shared, sizeof(*c->shared));
}

static void spin(struct shared *s)
{
	for (;;)
		s->turns++;
}

static bool runs(const struct child *c)
{
	uint64_t before = c->shared->turns;

	for (int i = 0; i < 200; i++) {
		nap(10);
		if (c->shared->turns != before)
			return true;
	}
	return false;
}

static void a_busy_thread_stands_still_until_it_is_let_go(void **state)
{
	struct child c = start(spin);
	struct pause p = { 0 };
	uint64_t before, held;

	(void)state;
	assert_true(runs(&c));
	assert_false(failed(pause_hold(&p, c.t, PAUSE_READY, &c.t->ns_pid, 1)));
	assert_int_equal(p.count, 1);
	assert_int_equal(p.stopped, 1);
	assert_true(pause_holds(&p, c.t->ns_pid));
	before = c.shared->turns;
	nap(30);
	assert_int_equal(c.shared->turns, before);
	assert_true(pause_still(&p, c.t));
	held = pause_release(&p);
	assert_in_range(held, 25000000, 5000000000);
	assert_int_equal(p.count, 0);
	assert_false(pause_holds(&p, c.t->ns_pid));
	assert_true(runs(&c));
	end(&c);
}

static void holding_and_letting_go_many_times_leaves_it_running(void **state)
{
	struct child c = start(spin);
	struct pause p = { 0 };
	int stopped = 0;

	(void)state;
	for (int i = 0; i < 500; i++) {
		struct err e = pause_hold(&p, c.t, PAUSE_READY, &c.t->ns_pid, 1);

		stopped += !failed(e) && p.stopped == 1;
		pause_release(&p);
	}
	assert_true(stopped > 450);
	assert_true(runs(&c));
	/* Nobody traces it: another debugger could. */
	nap(5);
	assert_int_equal(waitpid(c.pid, NULL, WNOHANG), 0);
	end(&c);
}

static void holding_twice_is_holding_once(void **state)
{
	struct child c = start(spin);
	pid_t twice[] = { c.t->ns_pid, c.t->ns_pid };
	struct pause p = { 0 };

	(void)state;
	assert_false(failed(pause_hold(&p, c.t, PAUSE_READY, twice, 2)));
	assert_false(failed(pause_hold(&p, c.t, PAUSE_READY, twice, 1)));
	assert_int_equal(p.count, 1);
	pause_release(&p);
	assert_true(runs(&c));
	end(&c);
}

enum { SLEEP_MS = 2000 };

static void sleep_long(struct shared *s)
{
	struct timespec t = { SLEEP_MS / 1000, 0 };
	uint64_t start = clock_now();

	s->result = nanosleep(&t, NULL);
	s->os = errno;
	s->slept_ns = clock_now() - start;
	nap(10000);
}

static void wait_in_epoll(struct shared *s)
{
	struct epoll_event event;
	int fd = epoll_create1(0);
	uint64_t start = clock_now();

	s->result = epoll_wait(fd, &event, 1, SLEEP_MS);
	s->os = errno;
	s->slept_ns = clock_now() - start;
	nap(10000);
}

static void wait_until_asleep(pid_t pid)
{
	CLEANUP(cleanup_free)
	char *path = xasprintf("/proc/%d/stat", (int)pid);
	char state = 0;

	for (int i = 0; i < 200 && state != 'S'; i++) {
		FILE *f = fopen(path, "r");

		nap(10);
		assert_non_null(f);
		assert_int_equal(fscanf(f, "%*d (%*[^)]) %c", &state), 1);
		fclose(f);
	}
	assert_int_equal(state, 'S');
}

static void hold_a_sleeper(void (*fn)(struct shared *))
{
	struct child c = start(fn);
	struct pause p = { 0 };

	c.shared->result = -2;
	wait_until_asleep(c.pid);
	for (int i = 0; i < 20; i++) {
		assert_false(failed(pause_hold(&p, c.t, PAUSE_READY, &c.t->ns_pid, 1)));
		assert_int_equal(p.count, 1);
		assert_int_equal(p.stopped, 0);
		assert_true(pause_still(&p, c.t));
		assert_int_equal(pause_release(&p), 0);
		nap(5);
	}
	for (int i = 0; i < 1000 && c.shared->slept_ns == 0; i++)
		nap(10);
	assert_int_equal(c.shared->result, 0); /* not -1 with EINTR */
	assert_true(c.shared->slept_ns >= (SLEEP_MS - 10) * 1000000ull);
	end(&c);
}

static void a_thread_in_nanosleep_is_not_woken(void **state)
{
	(void)state;
	hold_a_sleeper(sleep_long);
}

static void a_thread_in_epoll_wait_is_not_woken(void **state)
{
	(void)state;
	hold_a_sleeper(wait_in_epoll);
}

static void sleep_a_little(struct shared *s)
{
	for (;;) {
		nap(2);
		s->turns++;
	}
}

static void a_sleeper_that_ran_meanwhile_is_told(void **state)
{
	struct child c = start(sleep_a_little);
	struct pause p = { 0 };

	(void)state;
	for (int i = 0; i < 100 && !(p.count == 1 && p.stopped == 0); i++) {
		pause_release(&p);
		assert_false(failed(pause_hold(&p, c.t, PAUSE_READY, &c.t->ns_pid, 1)));
	}
	assert_int_equal(p.stopped, 0);
	nap(50);
	assert_false(pause_still(&p, c.t));
	pause_release(&p);
	end(&c);
}

static struct shared *volatile caught; /* signal() is declared as if it never called back */

static void count_signal(int sig)
{
	(void)sig;
	caught->signals++;
}

static void spin_and_count_signals(struct shared *s)
{
	caught = s;
	signal(SIGUSR1, count_signal);
	spin(s);
}

static void a_signal_that_comes_meanwhile_is_delivered(void **state)
{
	struct child c = start(spin_and_count_signals);
	struct pause p = { 0 };
	int sent = 0;

	(void)state;
	for (int i = 0; i < 100; i++) {
		if (i % 2) {
			kill(c.pid, SIGUSR1); /* before the stop */
			sent++;
		}
		assert_false(failed(pause_hold(&p, c.t, PAUSE_READY, &c.t->ns_pid, 1)));
		if (i % 2 == 0) {
			kill(c.pid, SIGUSR1); /* while it is held */
			sent++;
		}
		pause_release(&p);
		for (int k = 0; k < 500 && c.shared->signals < sent; k++)
			nap(1);
		assert_int_equal(c.shared->signals, sent);
	}
	assert_true(runs(&c));
	end(&c);
}

static void a_thread_that_is_no_more_is_no_error(void **state)
{
	struct child c = start(spin);
	struct pause p = { 0 };
	pid_t nobody = c.t->ns_pid + 1;

	(void)state;
	assert_false(failed(pause_hold(&p, c.t, PAUSE_READY, &nobody, 1)));
	assert_int_equal(p.count, 0);
	kill(c.pid, SIGKILL);
	siginfo_t info;
	assert_int_equal(waitid(P_PID, (id_t)c.pid, &info, WEXITED | WNOWAIT), 0);
	assert_false(failed(pause_hold(&p, c.t, PAUSE_READY, &c.t->ns_pid, 1)));
	assert_int_equal(p.stopped, 0);
	assert_int_equal(pause_release(&p), 0);
	end(&c);
}

static void a_process_stopped_by_the_user_stays_stopped(void **state)
{
	struct child c = start(spin);
	struct pause p = { 0 };

	(void)state;
	kill(c.pid, SIGSTOP);
	nap(50);
	assert_false(failed(pause_hold(&p, c.t, PAUSE_READY, &c.t->ns_pid, 1)));
	pause_release(&p);
	uint64_t before = c.shared->turns;
	nap(50);
	assert_int_equal(c.shared->turns, before);
	kill(c.pid, SIGCONT);
	assert_true(runs(&c));
	end(&c);
}

static void a_stopper_that_is_killed_leaves_the_target_running(void **state)
{
	struct child c = start(spin);
	pid_t stopper = fork();

	(void)state;
	assert_true(stopper >= 0);
	if (stopper == 0) {
		struct pause p = { 0 };

		c.shared->held = !failed(pause_hold(&p, c.t, PAUSE_READY, &c.t->ns_pid, 1)) && p.stopped == 1 ? 1 : -1;
		for (;;)
			pause();
	}
	for (int i = 0; i < 300 && !c.shared->held; i++)
		nap(10);
	assert_int_equal(c.shared->held, 1);
	uint64_t before = c.shared->turns;
	nap(50);
	assert_int_equal(c.shared->turns, before);
	kill(stopper, SIGKILL);
	waitpid(stopper, NULL, 0);
	assert_true(runs(&c));
	end(&c);
}

/* CPUs that a process may use, and its own one. */
struct place {
	cpu_set_t all, one, rest;
};

static struct place find_place(void)
{
	struct place p;
	int cpu = 0;

	assert_int_equal(sched_getaffinity(0, sizeof(p.all), &p.all), 0);
	while (!CPU_ISSET(cpu, &p.all))
		cpu++;
	CPU_ZERO(&p.one);
	CPU_SET(cpu, &p.one);
	CPU_XOR(&p.rest, &p.all, &p.one);
	return p;
}

static void put(pid_t pid, const cpu_set_t *where)
{
	assert_int_equal(sched_setaffinity(pid, sizeof(*where), where), 0);
}

enum { HOLDS = 300 };

static void a_thread_whose_cpu_we_have_stands_still_without_a_stop(void **state)
{
	struct place place = find_place();
	struct child c = start(spin);
	struct pause p = { 0 };
	int still = 0, told = 0;

	(void)state;
	put(c.pid, &place.one);
	put(0, &place.one);
	for (int i = 0; i < HOLDS; i++) {
		assert_false(failed(pause_hold(&p, c.t, PAUSE_BUSY, &c.t->ns_pid, 1)));
		/* It is stopped when we were taken off our CPU in the middle of holding it. */
		bool waits = p.waiting == 1 && p.stopped == 0;
		uint64_t before = c.shared->turns;
		if (i % 2)
			nap(1);
		uint64_t after = c.shared->turns;
		if (pause_still(&p, c.t)) {
			assert_int_equal(before, after);
			still += waits;
			assert_true(!waits || i % 2 == 0); /* whoever sleeps gives its CPU away */
		} else {
			told += waits;
		}
		pause_release(&p);
	}
	put(0, &place.all);
	assert_true(still > 10);
	assert_true(told > 10);
	end(&c);
}

static void who_wants_registers_stops_those_that_wait_too(void **state)
{
	struct place place = find_place();
	struct child c = start(spin);
	struct pause p = { 0 };

	(void)state;
	put(c.pid, &place.one);
	put(0, &place.one);
	for (int i = 0; i < 50; i++) {
		assert_false(failed(pause_hold(&p, c.t, PAUSE_READY, &c.t->ns_pid, 1)));
		assert_int_equal(p.stopped, 1);
		pause_release(&p);
		nap(2);
	}
	put(0, &place.all);
	end(&c);
}

static void the_wait_for_a_cpu_after_a_pause_is_told(void **state)
{
	struct place place = find_place();
	struct child c = start(spin), competitor = start(spin);
	struct pause p = { 0 };
	uint64_t most = 0;

	(void)state;
	put(c.pid, &place.one);
	put(competitor.pid, &place.one);
	if (CPU_COUNT(&place.rest))
		put(0, &place.rest);
	for (int i = 0; i < 100; i++) {
		assert_false(failed(pause_hold(&p, c.t, PAUSE_READY, &c.t->ns_pid, 1)));
		assert_int_equal(pause_waited(&p, c.t), 0); /* it stands */
		pause_release(&p);
		nap(20);
		uint64_t waited = pause_waited(&p, c.t);
		most = waited > most ? waited : most;
		assert_int_equal(pause_waited(&p, c.t), 0); /* told once */
	}
	put(0, &place.all);
	/* A competitor gets some milliseconds at a time. */
	assert_in_range(most, 100000, 10000000000);
	end(&c);
	end(&competitor);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_busy_thread_stands_still_until_it_is_let_go),
		cmocka_unit_test(holding_and_letting_go_many_times_leaves_it_running),
		cmocka_unit_test(holding_twice_is_holding_once),
		cmocka_unit_test(a_thread_in_nanosleep_is_not_woken),
		cmocka_unit_test(a_thread_in_epoll_wait_is_not_woken),
		cmocka_unit_test(a_sleeper_that_ran_meanwhile_is_told),
		cmocka_unit_test(a_signal_that_comes_meanwhile_is_delivered),
		cmocka_unit_test(a_thread_that_is_no_more_is_no_error),
		cmocka_unit_test(a_process_stopped_by_the_user_stays_stopped),
		cmocka_unit_test(a_stopper_that_is_killed_leaves_the_target_running),
		cmocka_unit_test(a_thread_whose_cpu_we_have_stands_still_without_a_stop),
		cmocka_unit_test(who_wants_registers_stops_those_that_wait_too),
		cmocka_unit_test(the_wait_for_a_cpu_after_a_pause_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
