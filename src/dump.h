/* dump.h - one look at all threads of a process, with everything that is known of them. */
#ifndef CSPY_DUMP_H
#define CSPY_DUMP_H

#include <stdio.h>

#include "cspy/profile.h"
#include "cspy/runtime.h"

struct dump_options {
	bool locals;
	bool nonblocking;
	bool native;			   /* native frames, too */
	bool any;			   /* a process without an interpreter, by its native frames */
	struct debug_server *debug_server; /* for debug files; borrowed, or NULL */
	bool full_filenames;		   /* text only: JSON has both */
};

struct dump_local {
	char *name, *value; /* owned */
	char kind;	    /* as in struct rt_local */
};

struct dump_frame {
	struct raw_frame raw;
	frame_id id; /* 0: not resolved, see err */
	struct err err;
	size_t first_local, local_count;
	bool has_locals; /* they were asked for and read, be there any or not */
};

enum { WAITS_BYTES = 320 };

struct dump_thread {
	uint64_t thread;	     /* the language's own id; 0: not known */
	pid_t tid;		     /* 0: not known */
	pid_t ns_tid;		     /* in the target's own pid namespace; 0: not known */
	str_id name;		     /* 0: it has none */
	char state[32];		     /* "active+gil", "idle", "gil-wait", ... */
	char waits_for[WAITS_BYTES]; /* "read of 5 (pipe:[4711])"; "": nothing, or not known */
	bool active;		     /* on a CPU or waiting for one */
	bool owns_lock;
	bool gc;
	bool deep;	     /* the root side is missing */
	bool lost;	     /* the way to the root was lost, as native stacks may */
	bool native;	     /* native frames are in it */
	bool sure;	     /* the stack could not change while it was read */
	struct err err;	     /* why there is no stack */
	size_t first, count; /* frames, leaf first */
};

struct dump {
	struct dump_options options;
	pid_t pid, ns_pid;
	int signal; /* that ended the process whose core file this is; 0: none */
	char command[4096], exe[4096];
	struct rt_about about;
	struct strings *strings;
	struct frames *frames_known;
	struct profile *profile; /* empty: labels want one */
	struct dump_thread *threads;
	size_t thread_count, thread_cap;
	struct dump_frame *frames;
	size_t frame_count, frame_cap;
	struct dump_local *locals;
	size_t local_count, local_cap;
	uint64_t paused_ns;
	bool locals_cut; /* time was up before all of them were read */
};

/* `why` (cap bytes) has the runtimes' words on failure. */
MUST_CHECK struct err dump_take(struct target *t, struct dump_options o, char *why, size_t cap, struct dump **ret);
void dump_free(struct dump *d); /* accepts NULL */

/* dump_text.c, dump_json.c */
void dump_text(FILE *out, const struct dump *d);
void dump_text_frame(FILE *out, const struct dump *d, const struct dump_frame *f);
void dump_text_error(FILE *out, const char *lead, struct err e);
void dump_json(FILE *out, const struct dump *d);

#endif
