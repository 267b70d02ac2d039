/* progress.h - one line on the terminal that says how a recording goes. */
#ifndef CSPY_PROGRESS_H
#define CSPY_PROGRESS_H

#include "cspy/base.h"

struct progress {
	bool shown; /* standard error is a terminal, and it is ours alone */
	bool drawn; /* the line is there now */
};

/* `shared`: another program writes to the same terminal, whose output a line that is drawn again would spoil.
 */
void progress_init(struct progress *p, bool quiet, bool shared);
/* Replaces the line; cut to the terminal's width. */
void progress_draw(struct progress *p, const char *text);
/* For debug_server_open(): `arg` is the progress. */
void progress_fetch(void *arg, const char *name, uint64_t done, uint64_t all);
/* Before anything else is printed. */
void progress_clear(struct progress *p);

#endif
