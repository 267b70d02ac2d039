/* threads.h - what a target keeps of its threads. */
#ifndef CSPY_THREADS_H
#define CSPY_THREADS_H

#include "cspy/target.h"

void threads_free(struct target *t);

#endif
