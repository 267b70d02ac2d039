/* watch.h - one process that is recorded: attach, try again while it starts, and again after exec. */
#ifndef CSPY_WATCH_H
#define CSPY_WATCH_H

#include "cspy/sampler.h"

/* What all processes of a recording share. */
struct watch_options {
	struct sampler_options sampler;
	bool process_frames; /* each process has a frame of its own at the root */
};

struct watch {
	const struct watch_options *options; /* borrowed, as the profile */
	struct profile *profile;
	pid_t pid;
	struct target *target;	 /* NULL while there is no process to look at */
	struct sampler *sampler; /* NULL until attached, and again after exec */
	uint64_t program;	 /* names the program that the process runs: changes with exec */
	uint64_t since_ns;	 /* attached, or trying to */
	uint64_t check_ns;	 /* when to ask for another program */
	uint64_t try_ns;	 /* the next try to attach; UINT64_MAX: none until it runs another program */
	uint64_t give_up_ns;
	uint64_t any_ns;  /* one that shows no interpreter until then has none */
	uint64_t files;	  /* that it had mapped when an interpreter was looked for last */
	unsigned execs;	  /* programs seen after the first that was attached */
	uint64_t exec_ns; /* the last of them */
	struct err error; /* why it is not attached */
	char why[256];
	struct rt_about about; /* of the runtime attached last */
};

void watch_init(struct watch *w, const struct watch_options *o, struct profile *p, pid_t pid, uint64_t now);
void watch_close(struct watch *w);
/* One try. `.why` has the runtimes' words when it fails. */
MUST_CHECK struct err watch_attach(struct watch *w);
/* Nothing is attached any more; tries begin, and end at `until`. */
void watch_start_trying(struct watch *w, uint64_t now, uint64_t until);
/* The try that was due. An error: it was the last one. */
MUST_CHECK struct err watch_try(struct watch *w, uint64_t now);
/* One look. An error: there is nothing more to see, by .code GONE, DENIED or another; a process that seems to run
 * another program is tried again instead. */
MUST_CHECK struct err watch_look(struct watch *w, uint64_t now);
/* Does it run another program by now? What was sampled stays, and the new program gets its time to start. False: it has
 * ended. */
bool watch_check(struct watch *w, uint64_t now);
bool watch_exited(const struct watch *w);

#endif
