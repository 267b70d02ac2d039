/* wait.h - what a sleeping thread waits for, as the kernel tells it. */
#ifndef CSPY_WAIT_H
#define CSPY_WAIT_H

#include "cspy/target.h"

/* "read of 5 (pipe:[4711])", "futex", "wait4 for process 17"; "" when it does not wait or that can't be told. */
void wait_describe(struct target *t, pid_t tid, char *buf, size_t cap);

#endif
