/* sampling.h - what the commands that sample a process have in common: its profile, who it is, and why it can't be
 * read.
 */
#ifndef CSPY_SAMPLING_H
#define CSPY_SAMPLING_H

#include "advice.h"
#include "recorder.h"

/* With frames and strings of its own, which sampling_profile_free() ends with it. It begins now. */
struct profile *sampling_profile_new(pid_t pid, double rate, const char *mode);
void sampling_profile_free(struct profile *p); /* accepts NULL */
/* Its command line and runtimes, for titles and metadata; while there is a process that has them. */
void sampling_describe(struct profile *p, const struct recorder *r);
/* Why nothing was ever read of the process. `child`: it was started, as `name`; else 0. */
void sampling_explain(const struct recorder *r, struct err e, pid_t child, const char *name, struct advice *ret);
/* A process that can't be a target, whatever is tried: false when it may be one. */
bool sampling_hopeless(pid_t pid, struct advice *ret);

#endif
