/* profile.h - what was seen, counted: a trie of stacks, and optionally the samples in order. */
#ifndef CSPY_PROFILE_H
#define CSPY_PROFILE_H

#include "cspy/frame.h"

struct profile_node {
	node_id parent; /* smaller than the node's own id */
	frame_id frame;
	uint64_t fair; /* samples ending here that were taken paused: a fair coin chose them */
	uint64_t free; /* samples ending here that were read while the target ran */
	uint64_t self; /* weight in samples, after profile_balance(); until then fair + free */
};

/* How often what was so, of all looks. A look's share of the time is the same whatever was seen. */
struct profile_looks {
	uint64_t seen;	 /* looks at which it was there */
	uint64_t held;	 /* it had the interpreter's lock, or needed none */
	uint64_t wanted; /* it waited for the lock, as far as the runtime's memory tells */
	uint64_t gc;	 /* it collected garbage */
};

struct profile_thread {
	pid_t pid, tid;
	str_id name;
	node_id last; /* the stack seen last; of threads that are not counted: only with sampler_options.last */
	struct profile_looks looks;
};

/* Consecutive looks at one thread that saw the same stack. */
struct profile_run {
	uint64_t start_ns, end_ns; /* since profile start */
	uint32_t thread;	   /* index in threads */
	node_id stack;
	uint32_t samples;
};

/* How the recording went; every number is shown to the user, and written as JSON by --stats. */
struct profile_stats {
	uint64_t ticks;		    /* looks taken, each at all processes */
	uint64_t processes;	    /* whose stacks were read */
	uint64_t late;		    /* deadlines missed: skipped, never made up */
	uint64_t held_back;	    /* ticks not taken to keep a budget: the target's loss, or cspy's own CPU time */
	uint64_t held_back_own;	    /* of these, for the own CPU time */
	uint64_t samples;	    /* stacks counted: whole, cut and deep ones */
	uint64_t idle;		    /* stacks seen and left out because their thread did nothing */
	uint64_t paused;	    /* ticks for which threads were stopped */
	uint64_t paused_ns;	    /* target time from interrupt to continue, summed */
	uint64_t pause_failed;	    /* wanted, but the thread could not be stopped in time */
	uint64_t torn;		    /* read unpaused and not proven: cut, or failed */
	uint64_t cut;		    /* samples kept as far as they are true, which end in [cut] */
	uint64_t deep;		    /* root side beyond the depth cap */
	uint64_t lost;		    /* native stacks whose way to the root was lost */
	uint64_t merged;	    /* interpreter's stacks that native frames were put into */
	uint64_t unmerged;	    /* native frames did not fit: the interpreter's alone were kept */
	uint64_t reused;	    /* of cut: a code object turned out to be another one */
	uint64_t failed[ERR_CODES]; /* stacks lost, by cause */
	uint64_t reads;		    /* scatter reads */
	uint64_t trie_full;	    /* frames left out since the profile holds as many different stacks as it may */
	uint64_t runs_full;	    /* looks not kept in order, for the same reason */
	uint64_t cpu_ns;	    /* cspy's own CPU time */
	uint64_t wall_ns;
	bool native;	    /* every look pauses */
	double rate_wanted; /* a second */
	double lean; /* largest share, 0..1 of the unpaused samples, that balance gave to a function or took from it */
	str_id lean_function;
};

struct profile {
	struct frames *frames;	    /* borrowed */
	struct profile_node *nodes; /* [0] is the root */
	size_t node_count, node_cap;
	struct profile_thread *threads;
	size_t thread_count, thread_cap;
	struct profile_run *runs; /* NULL unless kept */
	size_t run_count, run_cap;
	bool keep_runs;
	/* By function: how many more samples had it at their leaf when they were first read than were kept with it
	 * there (profile_moved()). Without pauses that is what says how short functions are to be weighed. */
	int64_t *moved;
	size_t moved_cap; /* 0: nothing moved */
	struct profile_stats stats;
	struct profile_looks looks; /* at which at least one thread was, did or had that */
	uint64_t interval_ns;	    /* time that one sample stands for */
	uint64_t start_unix_ns;
	uint64_t start_ns; /* the same moment as CLOCK_MONOTONIC has it: runs count from here */
	/* For titles and metadata: all "" until set; owned by the profile. */
	char *command, *runtime, *mode;
	pid_t pid;
	void *index;  /* private to profile.c */
	void *labels; /* private to label.c */
};

struct profile *profile_new(struct frames *frames);
void profile_free(struct profile *p); /* accepts NULL */
/* The node for this child, made when it is new; bounded: a full trie (4 M nodes) answers with the parent. */
node_id profile_child(struct profile *p, node_id parent, frame_id frame);
/* Index in threads. A name other than "" replaces the one that the thread had. */
uint32_t profile_thread(struct profile *p, pid_t pid, pid_t tid, str_id name);
/* Raises self as well. stats.samples is the caller's to count. */
void profile_add(struct profile *p, node_id stack, bool fair, uint64_t n);
/* A sample kept at `stack` had the function `leaf` at its leaf when it was first read: it was cut, or read again later.
 * It stands for `n` of which that is not known. */
void profile_moved(struct profile *p, str_id leaf, node_id stack, unsigned n);
/*
 * Only when keep_runs; when_ns is CLOCK_MONOTONIC, as start_ns, and a look stands for interval_ns from then on. It
 * extends the thread's last run when that is the same stack, looked at no more than 1.5 intervals ago; another stack
 * within that time ends it now, so that a thread's runs never overlap and a hole between two means that the thread
 * did nothing. Bounded (16 M): beyond, new runs are not kept.
 */
void profile_run(struct profile *p, uint32_t thread, node_id stack, uint64_t when_ns);
/* Correct `self` of unpaused samples by the paused ones, or by what moved (balance.c); without either, self = fair +
 * free. */
void profile_balance(struct profile *p);
uint64_t profile_total(const struct profile *p); /* sum of self */

#endif
