/* replay.h - a process of recorded memory: its roots as notes in the snapshot, and an instance made of them. */
#ifndef REPLAY_H
#define REPLAY_H

#include "said.h"

/* A runtime whose processes can be recorded and replayed. */
struct replay {
	const struct runtime_ops *ops;
	const char *snapshots; /* which files are its, as a pattern */
	/* Write down what can't be found again without the interpreter's file: the roots. */
	void (*note)(struct memory *record, const void *instance);
	/* An instance with the roots that `instance` found, which reads through t->memory. */
	struct err (*again)(const void *instance, struct target *t, void **ret);
	/* An instance with the roots that the notes name. */
	struct err (*attach)(const struct memory *snapshot, struct target *t, void **ret);
	/* Read a little more than today's walk needs. */
	void (*more)(struct memory *record, const void *instance, const struct said *said);
	/* When a read failed: may a function or file be called so, whose name is `expected`? */
	bool (*is_name)(const char *got, const char *expected);
};

extern const struct replay replay_cpython, replay_ruby;

void replay_note_number(struct memory *record, const char *key, uint64_t value);
uint64_t replay_number(const struct memory *snapshot, const char *key); /* 0: no such note */
/* The process and its OS threads. */
void replay_note_target(struct memory *record, const struct target *t);
/* Read so much, or what is there of it. */
void replay_read_some(struct memory *record, raddr_t at, size_t len);

/* A target with nothing but memory (owned) and the threads that the notes of `snapshot` name. */
void replay_target(const struct memory *snapshot, struct memory *m, struct target *ret);
void replay_target_free(struct target *t);

/*
 * Reads go to `inner`, which stays the caller's: what owns its memory can be given one that is used again. What was not
 * recorded around something that was reads as zeros, so that a snapshot outlives a change of how much is read at once.
 */
struct memory *replay_lend(struct memory *inner);
/* Ranges that were asked for so far. */
uint64_t replay_lent(const struct memory *lent);

/* Memory (`inner` is its from now on) of which a range that which() names comes with another first byte. */
typedef bool replay_range_fn(void *arg, const struct memory_range *range);
struct memory *replay_change(struct memory *inner, replay_range_fn *which, void *arg);

#endif
