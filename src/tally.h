/* tally.h - what each thread did lately: its state by cause, its CPU time, how long it held the lock and waited for it.
 */
#ifndef CSPY_TALLY_H
#define CSPY_TALLY_H

#include "cspy/profile.h"

enum {
	TALLY_MARKS = 11, /* between which the window slides: ten steps */
	TALLY_KINDS = 24, /* answers of the kernel that are told apart, at most */
	TALLY_STATE = 16, /* bytes of a state's name */
};

/* Sums so far: what lies between two marks is their difference. */
struct tally_mark {
	uint64_t at_ns, cpu_ns;
	struct profile_looks looks;
	uint64_t asked, asked_lock; /* times that the kernel was asked, and said that it waits for the lock */
};

/* Shares from 0 on; a process may use more than one CPU. */
struct tally_shares {
	double cpu, held, wanted, gc;
};

struct tally {
	struct tally_mark now, marks[TALLY_MARKS]; /* a ring; the oldest is where the window begins */
	size_t first, used;
	struct tally_shares shares;
};

enum tally_class { TALLY_RUNS, TALLY_WANTS_LOCK, TALLY_WAITS, TALLY_CLASSES };

struct tally_thread {
	bool alive;    /* there at a look since the last update */
	uint8_t class; /* enum tally_class */
	char state[TALLY_STATE];
	struct tally tally;
	struct profile_looks before;	   /* at the last update */
	uint32_t lock, kinds[TALLY_KINDS]; /* answers of the kernel since then */
	/* The last answer, and what was so then: while that lasts, it is still true. */
	uint64_t asked_ns, asked_held, asked_seen;
	node_id asked_last;
	unsigned kind;
	bool is_lock;
};

struct tallies {
	const struct profile *profile; /* borrowed */
	const char *const *names;      /* of the kinds: [0] not known, [1] it runs; borrowed */
	char lock_wait[TALLY_STATE];   /* the state of who waits for the lock: "gil-wait" */
	uint64_t window_ns;
	struct tally process;
	struct tally_thread *threads; /* by index in the profile */
	size_t count, cap;
	size_t alive, class[TALLY_CLASSES]; /* how many threads */
	uint32_t holder;		    /* who held the lock longest; UINT32_MAX: nobody */
	const char *off;		    /* what most of those wait for that wait; NULL: nobody does */
	double off_share;
};

void tallies_init(struct tallies *t, const struct profile *p, const char *const *names, uint64_t window_ns);
void tallies_free(struct tallies *t);
/* As the runtime calls it: "GIL"; "" when there is none. */
void tallies_lock(struct tallies *t, const char *lock);
void tallies_reset(struct tallies *t);
/* Make room for the threads that the profile has by now; the first new one, to begin their tallies. */
size_t tallies_grow(struct tallies *t);
/* Count from here on: so much CPU time was used before. */
void tallies_begin(struct tally *t, uint64_t now_ns, uint64_t cpu_ns);
/* Could the kernel's answer about a thread be another one than the last? */
bool tallies_curious(const struct tallies *t, size_t thread, uint64_t now_ns);
/* The last answer once more. */
void tallies_repeat(struct tallies *t, size_t thread);
/* An answer of the kernel about a thread. */
void tallies_answer(struct tallies *t, size_t thread, uint64_t now_ns, unsigned kind, bool is_lock);
void tallies_cpu(struct tally *t, uint64_t cpu_ns);
/* The window of one tally ends now, with these sums. */
void tallies_slide(struct tally *t, const struct profile_looks *looks, uint64_t now_ns, uint64_t window_ns);
/* States since the last update, and shares of the window that ends now. */
void tallies_update(struct tallies *t, uint64_t now_ns);

#endif
