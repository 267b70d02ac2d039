/* processes.h - which processes of this machine can be profiled. */
#ifndef CSPY_PROCESSES_H
#define CSPY_PROCESSES_H

#include "cspy/runtime.h"

struct process {
	pid_t pid, ns_pid;
	struct rt_about about; /* .name is "" when it could not be attached to: see why */
	char why[256];
	char user[64], container[96], command[512];
};

struct processes {
	struct process *list; /* by id; those without an interpreter are not in it */
	size_t count, cap;
	size_t denied; /* that may not be read */
};

MUST_CHECK struct err processes_find(struct processes *ret);
void processes_free(struct processes *p);

#endif
