/* test_family.c - descendants of a process, on real processes. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "cspy/sampler.h"
#include "family.h"

/* A child that waits, or one whose own child does. */
static pid_t start(bool nested, int *ret_told)
{
	int ends[2];
	pid_t pid;

	assert_int_equal(pipe(ends), 0);
	pid = fork();
	if (pid == 0) {
		pid_t inner = nested ? fork() : getpid();

		if (inner && write(ends[1], &inner, sizeof(inner)) != sizeof(inner))
			_exit(1);
		for (;;)
			pause();
	}
	assert_true(pid > 0);
	assert_int_equal(read(ends[0], ret_told, sizeof(*ret_told)), sizeof(*ret_told));
	close(ends[0]);
	close(ends[1]);
	return pid;
}

static void end(pid_t pid, pid_t inner)
{
	kill(inner, SIGKILL);
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static bool joined(const struct family *f, pid_t pid)
{
	for (size_t i = 0; i < f->joined_count; i++)
		if (f->joined[i] == pid)
			return true;
	return false;
}

static void those_there_and_those_who_come_join_once(void **state)
{
	struct family f;
	int first, inner, late;
	pid_t child = start(false, &first), parent = start(true, &inner), other;

	(void)state;
	assert_false(failed(family_open(&f, getpid())));
	assert_false(failed(family_update(&f, clock_now())));
	assert_true(joined(&f, child) && joined(&f, parent) && joined(&f, inner));
	assert_false(joined(&f, getpid()));
	assert_false(joined(&f, getppid()));
	other = start(false, &late);
	assert_false(failed(family_update(&f, clock_now())));
	assert_int_equal(f.joined_count, 1);
	assert_true(joined(&f, other));
	end(child, first);
	end(other, late);
	assert_false(failed(family_update(&f, clock_now() + 2000000000)));
	assert_int_equal(f.joined_count, 0);
	end(parent, inner);
	family_close(&f);
}

static void an_orphan_is_still_a_descendant(void **state)
{
	struct family f;
	int inner, late;
	pid_t parent = start(true, &inner), other;

	(void)state;
	assert_false(failed(family_open(&f, parent)));
	assert_false(failed(family_update(&f, clock_now())));
	assert_true(joined(&f, inner));
	other = start(false, &late);
	assert_int_equal(kill(parent, SIGKILL), 0);
	assert_int_equal(waitpid(parent, NULL, 0), parent);
	assert_false(failed(family_update(&f, clock_now())));
	assert_int_equal(f.joined_count, 0); /* ours is no child of theirs */
	assert_int_equal(f.list[0].member, 0);
	for (size_t i = 0; i < f.count; i++)
		assert_int_equal(f.list[i].member, f.list[i].pid == inner);
	kill(inner, SIGKILL);
	end(other, late);
	family_close(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(those_there_and_those_who_come_join_once),
		cmocka_unit_test(an_orphan_is_still_a_descendant),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
