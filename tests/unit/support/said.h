/* said.h - everything that a plugin says of a process: over a few ticks, then with all names. */
#ifndef SAID_H
#define SAID_H

#include <stdio.h>

#include "cspy/runtime.h"

/* First look; lists read again; each stack read twice; code objects trusted and verified; all walked afresh. */
enum { SAID_TICKS = 5 };

struct said_local {
	char kind;
	char *name, *value;
};

struct said_frame {
	struct err err; /* why it has no name */
	char *function, *file;
	uint32_t line;
	struct err locals_err;
	size_t first, count; /* of its locals */
};

struct said_thread {
	raddr_t state_at;
	uint8_t state;
	bool gc, cut;
	struct err err;
	struct err name_err;
	char *name;
	size_t first, count; /* of its frames: as many as the last tick's stack has */
};

struct said {
	struct err err[SAID_TICKS]; /* of the tick as a whole */
	struct raw_stacks ticks[SAID_TICKS];
	struct err mutators_err, verify_err;
	pid_t mutators[64];
	size_t mutator_count, reused;
	struct said_thread *threads;
	size_t thread_count, thread_cap;
	struct said_frame *frames;
	size_t frame_count, frame_cap;
	struct said_local *locals;
	size_t local_count, local_cap;
};

/* Of an attached instance of `ops`. `still`: the threads (target's ids) that can't run. */
void said_take(struct said *s, const struct runtime_ops *ops, void *instance, struct target *t, const pid_t *still,
	       size_t still_count);
void said_free(struct said *s);
/* As it stands in a .expected file. */
void said_print(FILE *out, const struct runtime_ops *ops, void *instance, const struct said *s);

#endif
