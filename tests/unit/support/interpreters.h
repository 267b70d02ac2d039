/* interpreters.h - the interpreters of this machine, for tests that need a running one. */
#ifndef TESTS_INTERPRETERS_H
#define TESTS_INTERPRETERS_H

#include <stddef.h>
#include <sys/types.h>

struct interpreter {
	char name[32], version[16], command[256], flags[64];
};

/* Those of a language ("python", "ruby"), as fixtures/runtimes/list tells them; how many. */
size_t interpreters_list(const char *language, struct interpreter *ret, size_t cap);
/* Starts `command FLAG PROGRAM`, which ends with this process, and waits until it has written something. */
pid_t interpreter_start(const char *command, const char *flag, const char *program);

#endif
