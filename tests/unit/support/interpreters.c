/* interpreters.c - the interpreters of this machine, for tests that need a running one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "interpreters.h"

size_t interpreters_list(const char *language, struct interpreter *ret, size_t cap)
{
	char line[512], of[16];
	FILE *list = popen("fixtures/runtimes/list 2>/dev/null", "r");
	size_t n = 0;

	while (list && n < cap && fgets(line, sizeof(line), list)) {
		struct interpreter *i = &ret[n];

		n += sscanf(line, "%31[^\t]\t%15[^\t]\t%15[^\t]\t%255[^\t]\t%63[^\n]", i->name, of, i->version,
			    i->command, i->flags) == 5 &&
		     !strcmp(of, language);
	}
	if (list)
		pclose(list);
	return n;
}

pid_t interpreter_start(const char *command, const char *flag, const char *program)
{
	int ready[2];
	char c = 0, shell[512];
	pid_t pid;

	assert_int_equal(pipe(ready), 0);
	snprintf(shell, sizeof(shell), "exec %s %s \"$0\"", command, flag);
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(ready[1], STDOUT_FILENO);
		close(ready[0]);
		close(ready[1]);
		execl("/bin/sh", "sh", "-c", shell, program, (char *)NULL);
		_exit(127);
	}
	close(ready[1]);
	assert_int_equal(read(ready[0], &c, 1), 1);
	close(ready[0]);
	return pid;
}
