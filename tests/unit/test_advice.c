/* test_advice.c - what failed, why, and the one thing to do: for each way in which a kernel can say no. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "advice.h"

/* Somebody else's ordinary process, looked at by an ordinary user, where everything else would allow it. */
static struct advice_facts plain(void)
{
	return (struct advice_facts){
		.pid = 4711,
		.exists = true,
		.process = 4711,
		.uid = 1000,
		.own_uid = 1000,
		.user = "ann",
		.dumpable = true,
		.exe = "/usr/bin/python3",
	};
}

static void assert_denied(const struct advice_facts *f, const char *why, const char *hint)
{
	struct advice a = { 0 };

	advice_attach(f, err_errno(EPERM, "reading"), "", &a);
	assert_int_equal(a.exit_code, EXIT_DENIED);
	if (!strstr(a.text, why))
		fail_msg("'%s' lacks '%s'", a.text, why);
	if (!strstr(a.hint, hint))
		fail_msg("'%s' lacks '%s'", a.hint, hint);
	assert_non_null(strstr(a.text, "4711"));
}

static void another_users_process_needs_sudo(void **state)
{
	struct advice_facts f = plain();

	(void)state;
	f.uid = 0;
	strcpy(f.user, "root");
	f.yama = 1;
	assert_denied(&f, "belongs to root", "sudo");
}

static void a_capability_of_another_user_namespace_does_not_count(void **state)
{
	struct advice_facts f = plain();

	(void)state;
	f.own_uid = 0;
	f.can_trace = true;
	f.foreign_users = true;
	assert_denied(&f, "another user namespace", "on the host");
}

static void what_can_be_read_but_not_paused_is_told_apart(void **state)
{
	struct advice_facts f = plain();

	(void)state;
	f.readable = true;
	assert_denied(&f, "no permission to pause it", "--nonblocking");
}

static void yama_is_named_with_its_level(void **state)
{
	struct advice_facts f = plain();

	(void)state;
	f.yama = 1;
	assert_denied(&f, "ptrace_scope is 1", "sudo");
	f.yama = 2;
	assert_denied(&f, "ptrace_scope is 2", "sudo");
	f.yama = 3;
	f.own_uid = 0;
	f.can_trace = true;
	assert_denied(&f, "ptrace_scope is 3", "boot");
}

static void root_without_the_capability_is_in_a_container(void **state)
{
	struct advice_facts f = plain();

	(void)state;
	f.own_uid = f.uid = 0;
	assert_denied(&f, "CAP_SYS_PTRACE", "--cap-add SYS_PTRACE");
	assert_denied(&f, "CAP_SYS_PTRACE", "kubectl debug --profile=general --target=");
}

static void a_protected_process_is_said_to_be_so(void **state)
{
	struct advice_facts f = plain();

	(void)state;
	f.dumpable = false;
	assert_denied(&f, "not dumpable", "sudo");
}

static void another_tracer_is_named(void **state)
{
	struct advice_facts f = plain();

	(void)state;
	f.tracer = 12;
	strcpy(f.tracer_name, "gdb");
	assert_denied(&f, "process 12 (gdb)", "--nonblocking");
}

static void what_is_not_understood_is_not_guessed(void **state)
{
	struct advice_facts f = plain();

	(void)state;
	assert_denied(&f, "seccomp", "--cap-add");
}

static void hopeless_ones_are_told_apart(void **state)
{
	struct advice_facts f = plain();
	struct advice a = { 0 };

	(void)state;
	assert_false(advice_hopeless(&f, &a));
	f.zombie = true;
	assert_true(advice_hopeless(&f, &a));
	assert_int_equal(a.exit_code, EXIT_GONE);
	assert_non_null(strstr(a.text, "zombie"));
	f = plain();
	f.kernel_thread = true;
	assert_true(advice_hopeless(&f, &a));
	assert_int_equal(a.exit_code, EXIT_UNSUPPORTED);
	assert_non_null(strstr(a.text, "kernel"));
	f = plain();
	f.process = 12;
	assert_true(advice_hopeless(&f, &a));
	assert_int_equal(a.exit_code, EXIT_USAGE);
	assert_string_equal(a.hint, "use -p 12");
	f = plain();
	f.exists = false;
	assert_true(advice_hopeless(&f, &a));
	assert_int_equal(a.exit_code, EXIT_GONE);
}

static void each_error_has_its_exit_code(void **state)
{
	static const struct {
		enum err_code code;
		enum exit_code exit_code;
	} codes[] = { { ERR_GONE, EXIT_GONE },
		      { ERR_UNSUPPORTED, EXIT_UNSUPPORTED },
		      { ERR_CORRUPT, EXIT_UNSUPPORTED },
		      { ERR_OS, EXIT_FAILED },
		      { ERR_DENIED, EXIT_DENIED } };
	struct advice_facts f = plain();

	(void)state;
	for (size_t i = 0; i < countof(codes); i++) {
		struct advice a = { 0 };

		advice_attach(&f, err_at(codes[i].code, 0, "trying"), "", &a);
		assert_int_equal(a.exit_code, codes[i].exit_code);
		assert_true(strlen(a.text) > 10);
	}
}

static void the_targets_words_cannot_start_a_line(void **state)
{
	struct advice a = { .text = "process 1 (a\nb\033[2J)", .hint = "do\rthis" };
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	(void)state;
	advice_print(out, &a);
	fclose(out);
	assert_string_equal(text, "cspy: process 1 (a?b?[2J)\ncspy: do?this\n");
	free(text);
}

static void the_facts_of_a_real_process_are_found(void **state)
{
	struct advice_facts f;
	pid_t child = fork();

	(void)state;
	if (!child)
		_exit(0);
	usleep(20000);
	advice_find_facts(child, &f);
	assert_true(f.exists);
	assert_true(f.zombie);
	waitpid(child, NULL, 0);
	advice_find_facts(child, &f);
	assert_false(f.exists);
	advice_find_facts(getpid(), &f);
	assert_true(f.exists && !f.zombie && !f.kernel_thread);
	assert_int_equal(f.process, getpid());
	assert_int_equal(f.uid, geteuid());
	assert_non_null(strstr(f.exe, "test_advice"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(another_users_process_needs_sudo),
		cmocka_unit_test(a_capability_of_another_user_namespace_does_not_count),
		cmocka_unit_test(what_can_be_read_but_not_paused_is_told_apart),
		cmocka_unit_test(yama_is_named_with_its_level),
		cmocka_unit_test(root_without_the_capability_is_in_a_container),
		cmocka_unit_test(a_protected_process_is_said_to_be_so),
		cmocka_unit_test(another_tracer_is_named),
		cmocka_unit_test(what_is_not_understood_is_not_guessed),
		cmocka_unit_test(hopeless_ones_are_told_apart),
		cmocka_unit_test(each_error_has_its_exit_code),
		cmocka_unit_test(the_targets_words_cannot_start_a_line),
		cmocka_unit_test(the_facts_of_a_real_process_are_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
