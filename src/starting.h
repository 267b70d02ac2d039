/* starting.h - is a process still on its way to running its interpreter? */
#ifndef CSPY_STARTING_H
#define CSPY_STARTING_H

#include "cspy/base.h"

/* How long a program may take, from its start, until its interpreter runs. */
static const uint64_t STARTING_NS = 5000000000;

/* What is left of that time for this process; 0 when it had it all, or there is no such process. */
uint64_t starting_left(pid_t pid);
/* Is this error what a process looks like whose interpreter is not there yet? */
bool starting_may_pass(struct err e);

#endif
