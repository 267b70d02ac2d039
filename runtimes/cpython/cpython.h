/* cpython.h - one attached CPython: what is known of its interpreters and threads, and the copies of a tick. */
#ifndef CPYTHON_H
#define CPYTHON_H

#include "codes.h"
#include "copies.h"
#include "cspy/runtime.h"
#include "find.h"
#include "resolve.h"

enum {
	INTERPS_MAX = 64,
	CPY_THREADS_MAX = 8192,
	STATE_BYTES = 1024, /* of a thread state, from its first to its last field of interest */
	GIL_BYTES = 64,
	HOLDERS = 2, /* lately seen lock holders that are remembered */
};

/* What a tick reads of an interpreter; the lock first and last of all. */
struct cpy_interp {
	raddr_t at;
	raddr_t gil;	      /* _gil_runtime_state, 3.12+; else 0 */
	raddr_t threads_head; /* as known */
	raddr_t head_now;     /* as read lately */
	uint8_t lock[2][GIL_BYTES];
	bool lock_valid[2];
	uint32_t collecting;
};

enum { CFRAMES = 4 }; /* evaluation loops within one another, of those that change fast */

struct cpy_thread {
	raddr_t at;
	uint32_t interp; /* index */
	raddr_t next;	 /* in the list, as known */
	uint64_t ident;	 /* pthread_t */
	pid_t ns_tid;
	bool left_out;		    /* of this tick, as rt_look.leave_out wants it */
	bool valid;		    /* its state was read in this tick */
	uint8_t state[STATE_BYTES]; /* the fields from state_low on */
	struct copies copies;	    /* of its stack */
	uint32_t walked;	    /* the tick of the last walk */
	raddr_t top_again;	    /* the second read's top of the stack, see rt_look.twice */
	raddr_t last_chunk;	    /* the newest chunk of its data stack when all else had been read */
	raddr_t cframes[CFRAMES];   /* where tops were found lately, the newest first */
};

struct cpy {
	struct cpy_roots roots;
	const struct cpy_layout *l; /* = &roots.layout */
	uint32_t state_low, state_len;
	uint32_t gil_low, gil_len;
	uint32_t frame_bytes; /* of a frame, that a walk needs */
	struct cpy_interp interps[INTERPS_MAX];
	size_t interp_count;
	raddr_t interp_head, interp_head_now;
	struct cpy_thread *threads;
	size_t thread_count, thread_cap;
	struct cpy_thread *spare; /* the list before this one: its room is used for the next */
	size_t spare_cap;
	raddr_t current[2]; /* the word at roots.gil_current, first and last in the tick */
	bool current_valid[2];
	uint32_t collecting; /* the process-wide flag */
	struct pages pages;
	struct codes codes;
	struct resolver resolver;
	struct memory_range *ranges; /* of this tick's read */
	bool **valid;		     /* where to note, for each, that it came; entries may be NULL */
	size_t range_count, range_cap, valid_cap;
	raddr_t holders[HOLDERS];    /* thread states, newest first */
	const struct rt_look *look;  /* this tick's; borrowed */
	uint32_t tick, plans;	     /* a tick is planned anew when its threads turn out to be others */
	raddr_t names, names_interp; /* where the interpreter asked for last keeps its threads' names */
	uint32_t names_tick;	     /* that was found out in */
	uint64_t slow_ns;	     /* when what seldom changes was read last */
	uint64_t discovered_ns;	     /* when the lists were walked last */
	int32_t pthread_tid_at; /* where the C library keeps the OS id in its struct pthread; NO_FIELD: not known */
};

/* cpython.c: an instance whose roots are known already, with the threads that are there. Ended by
 * runtime_cpython.detach. */
MUST_CHECK struct err cpy_attach_roots(const struct cpy_roots *roots, struct target *t, struct cpy **ret);

/* threads.c: walk the lists of interpreters and thread states afresh. */
MUST_CHECK struct err cpy_threads_discover(struct cpy *c, struct target *t);
void cpy_threads_free(struct cpy *c);
struct cpy_thread *cpy_thread_at(struct cpy *c, raddr_t state);
/* Do the lists, as read in this tick, still say what is known? */
bool cpy_threads_current(const struct cpy *c);

/* sample.c */
void cpy_sample_init(struct cpy *c);
struct err cpy_sample(void *instance, struct target *t, const struct rt_look *look, struct raw_stacks *out);
struct err cpy_mutators(void *instance, struct target *t, pid_t *ns_tids, size_t cap, size_t *ret);

/* walk.c: from the copies of this tick (and single reads of what was not foreseen) to the frames of the stack pushed
 * last. */
struct err cpy_walk(struct cpy *c, struct cpy_thread *th, struct target *t, struct raw_stacks *out);
/* The position that this frame's bytes say, as an offset into the code; false: there is none such. */
bool cpy_position(const struct cpy_layout *l, raddr_t code, const uint8_t *frame, uint64_t *ret);

/* plan.c: which ranges of this thread's state and stack the next read should bring. */
void cpy_plan_thread(struct cpy *c, struct cpy_thread *th);
/* What was read goes to where the walk looks for it. */
void cpy_plan_done(struct cpy *c, struct cpy_thread *th);
/* How many frames of the stack pushed last, from the root on, the second read showed again. */
uint32_t cpy_agreed(struct cpy *c, struct cpy_thread *th, const struct raw_stacks *out);
/* The leaf when the second read was made, if it can be told. */
void cpy_find_top(struct cpy *c, struct cpy_thread *th, struct raw_stack *stack);

/* sample.c: one more range for this tick's read; *valid (may be NULL) becomes true when it came. */
void cpy_range(struct cpy *c, raddr_t at, void *buf, size_t len, bool *valid);

static inline uint64_t cpy_word(const uint8_t *p)
{
	uint64_t v;

	__builtin_memcpy(&v, p, sizeof(v));
	return v;
}

/* A field of the thread state as read in this tick; 0 where the version has none. */
static inline uint64_t cpy_state_word(const struct cpy *c, const struct cpy_thread *th, int32_t field)
{
	return cpy_has(field) ? cpy_word(th->state + field - c->state_low) : 0;
}

#endif
