/* container.h - in which container does a process live? */
#ifndef CSPY_CONTAINER_H
#define CSPY_CONTAINER_H

#include "cspy/base.h"

/*
 * "docker 0123456789ab", as control groups name it; "namespace 4026532281" where only the pid namespace tells; "" for a
 * process that lives where cspy does. `proc` is /proc/PID.
 */
void container_of_process(int proc, char *buf, size_t cap);
/* Do both live in the same namespace of this kind ("pid", "user", ...)? True where that can't be told. */
bool container_shares(int proc, const char *kind);

#endif
