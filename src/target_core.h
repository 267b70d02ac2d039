/* target_core.h - a process that is no more, as a target: what its core file has kept. */
#ifndef CSPY_TARGET_CORE_H
#define CSPY_TARGET_CORE_H

#include "cspy/target.h"

/* `exe` stands for the program's own file where that is not at its path; or NULL. Both must outlive the target. */
MUST_CHECK struct err target_open_core(const char *path, const char *exe, struct target **ret);
/* What ended it; 0: not known. */
int target_core_signal(const struct target *t);

#endif
