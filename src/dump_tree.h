/* dump_tree.h - one look at each process of a tree, with equal stacks put together. */
#ifndef CSPY_DUMP_TREE_H
#define CSPY_DUMP_TREE_H

#include "dump.h"

struct tree_process {
	pid_t pid, parent;
	char command[256];
	struct dump *dump; /* owned; NULL: see err */
	struct err err;	   /* UNSUPPORTED: it runs no interpreter that cspy knows */
	char why[256];
};

/* A thread of one of the dumps. */
struct tree_thread {
	uint64_t hash; /* of its stack, by names and lines */
	size_t process, thread;
};

/* Threads with equal stacks: a range of .threads. */
struct tree_group {
	size_t first, count;
};

struct tree {
	struct dump_options options;
	struct tree_process *processes; /* the root first, then by id */
	size_t process_count, process_cap;
	struct tree_thread *threads;
	size_t thread_count, thread_cap;
	struct tree_group *groups; /* the rarest first */
	size_t group_count, group_cap;
	size_t left_out; /* processes beyond the cap */
};

/* Processes are looked at one after the other; each is paused for its own read only. */
MUST_CHECK struct err tree_take(pid_t root, struct dump_options o, struct tree **ret);
void tree_free(struct tree *t); /* accepts NULL */

/* dump_tree_text.c, dump_tree_json.c */
void tree_text(FILE *out, const struct tree *t);
void tree_json(FILE *out, const struct tree *t);

#endif
