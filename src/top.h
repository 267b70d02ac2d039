/* top.h - one run of `cspy top`: what it samples, and what it shows of that. */
#ifndef CSPY_TOP_H
#define CSPY_TOP_H

#include "page.h"
#include "recorder.h"

struct top_options {
	pid_t pid;
	char **argv; /* NULL-terminated; started when there is no pid */
	double rate, max_pause, max_overhead;
	uint64_t delay_ns, duration_ns;
	size_t count, depth; /* tables printed; 0: until something else ends it */
	const char *filter;
	bool lines, idle, gil, native, blocking, nonblocking, as_root, subprocesses;
	bool batch, once, json;
};

struct top {
	struct top_options o;
	pid_t child; /* 0: none was started */
	struct profile *profile;
	struct session session;
	struct recorder recorder;
	struct page page;
	bool ended;			    /* nothing is sampled any more; what was seen stays */
	uint64_t delay_ns;		    /* between two updates */
	uint64_t update_ns;		    /* the next one */
	uint64_t ask_ns;		    /* when the kernel is asked next what threads wait for */
	size_t turn;			    /* whom it is asked about */
	size_t updates;			    /* since begun */
	uint64_t children;		    /* that had joined when last asked */
	uint64_t begun_ns;		    /* the first look; 0: not yet */
	uint64_t updated_ns, ticks, cpu_ns; /* at the last update */
	uint64_t active_ns;		    /* time that was sampled since the start, pauses left out */
};

/* top.c: everything but the screen. */
MUST_CHECK struct err top_begin(struct top *t);
/* The next event, with what has to be done meanwhile done. Never sleeps past .update_ns. */
enum recorder_event top_next(struct top *t);
bool top_is_due(const struct top *t); /* for an update */
void top_update(struct top *t);
void top_pause(struct top *t, bool paused);
/* Which threads count; what was counted by other rules is forgotten. */
void top_count(struct top *t, bool idle, bool lock_only);
/* The source file that the page wants, if it wants one. */
void top_read_source(struct top *t);
/* A flame graph of all that was seen, in the working folder; says so in the page's message. */
void top_snapshot(struct top *t);

/* top_kernel.c: who is there by now, and the CPU time of each; before each update of the page. */
void top_meet(struct top *t);
void top_read_cpu(struct top *t); /* of threads */
/* What threads wait for that do not run: a few threads at a time, all of them in turn. */
void top_ask(struct top *t, uint64_t now);

/* top_json.c: one object, on one line. */
void top_json(FILE *out, struct top *t);
/* top_live.c: on the terminal, until the user has enough. */
MUST_CHECK struct err top_live(struct top *t);

#endif
