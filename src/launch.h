/* launch.h - start the program that is to be watched. */
#ifndef CSPY_LAUNCH_H
#define CSPY_LAUNCH_H

#include <signal.h>

#include "cspy/base.h"

struct launch_options {
	char **argv;		 /* NULL-terminated */
	const sigset_t *signals; /* the mask that the program starts with */
	bool as_root;		 /* under sudo: keep root instead of becoming the user who called sudo */
	bool quiet;		 /* the terminal is ours: what it would read from it or write to it is nothing */
};

/*
 * The program keeps cspy's input and output, and its terminal unless `quiet`. Returns once it runs; an error says why
 * it could not be executed. The caller owns the child: launch_status() collects it, and nothing ends it.
 */
MUST_CHECK struct err launch_start(const struct launch_options *o, pid_t *ret);
/*
 * Exit code as a shell has it: 128 + n when signal n ended it; -1 while it still runs. Collects the child. `ending`: it
 * is known to be on its way out, which takes a moment, so wait for it.
 */
int launch_status(pid_t child, bool ending);

#endif
