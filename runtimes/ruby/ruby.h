/* ruby.h - one attached Ruby: what is known of its ractors and threads, and the
 * copies of a tick. */
#ifndef RUBY_RUBY_H
#define RUBY_RUBY_H

#include "codes.h"
#include "cspy/runtime.h"
#include "find.h"
#include "resolve.h"
#include "stack.h"

enum {
	RACTORS_MAX = 256,
	RBY_THREADS_MAX = 8192,
	STATE_BYTES = 320, /* of a thread, from its place in the list to its last
			      field of interest */
	SEARCHES_MAX = 16, /* for the table of names */
	HOLDERS = 2,	   /* lately seen lock holders that are remembered */
};

/* A ractor; to 2.7 the VM, which has the only list of threads. */
struct rby_ractor {
	raddr_t at;
	raddr_t list;	  /* head of the list of its threads */
	raddr_t lock_at;  /* the word that holds the lock's owner; 0: not known */
	raddr_t owner[2]; /* that word, first and last in the tick */
	raddr_t first;	  /* the first thread, as known */
	raddr_t first_now;
	raddr_t next; /* in the list of ractors, as known */
	raddr_t next_now;
	raddr_t holders[HOLDERS]; /* threads, newest first */
};

struct rby_thread {
	raddr_t at;
	uint32_t ractor;
	raddr_t native;	     /* rb_native_thread, as known */
	raddr_t native_last; /* the word that points to it, as it was last in the tick */
	uint64_t pthread;
	pid_t ns_tid;
	bool left_out; /* of this tick, as rt_look.leave_out wants it */
	bool valid;    /* its state was read in this tick */
	uint8_t state[STATE_BYTES];
	struct rby_stack stack;
};

struct rby {
	struct rby_roots roots;
	const struct rby_layout *l; /* = &roots.layout */
	uint32_t state_len;
	struct rby_ractor *ractors;
	size_t ractor_count, ractor_cap;
	raddr_t first_ractor, first_ractor_now;
	raddr_t vm_now;
	struct rby_thread *threads;
	size_t thread_count, thread_cap;
	uint32_t gc_flags;
	struct rby_codes codes;
	struct rby_resolver resolver;
	uint32_t symbol_searches;    /* since the first one found none */
	struct memory_range *ranges; /* of this tick's read */
	bool **valid;		     /* where to note, for each, that it came; entries may be NULL */
	size_t range_count, range_cap, valid_cap;
	const struct rt_look *look; /* this tick's; borrowed */
	uint32_t tick;
	uint64_t slow_ns;	/* when what seldom changes was read last */
	uint64_t discovered_ns; /* when the lists were walked last */
	int32_t pthread_tid_at; /* where the C library keeps the OS id in its struct
				   pthread; NO_FIELD: not known */
};

/* ruby.c: an instance whose roots are known already, with the threads that are there. Ended by runtime_ruby.detach. */
MUST_CHECK struct err rby_attach_roots(const struct rby_roots *roots, struct target *t, struct rby **ret);

/* threads.c: walk the lists of ractors and threads afresh. */
MUST_CHECK struct err rby_threads_discover(struct rby *r, struct target *t);
void rby_threads_free(struct rby *r);
struct rby_thread *rby_thread_at(struct rby *r, raddr_t at);
/* Do the lists, as read in this tick, still say what is known? */
bool rby_threads_current(const struct rby *r);
/* The OS thread that runs it now, if that changes from time to time. */
void rby_thread_native(struct rby *r, struct target *t, struct rby_thread *th);

/* sample.c */
void rby_sample_init(struct rby *r);
struct err rby_sample(void *instance, struct target *t, const struct rt_look *look, struct raw_stacks *out);
struct err rby_mutators(void *instance, struct target *t, pid_t *ns_tids, size_t cap, size_t *ret);
/* One more range for this tick's read; *valid (may be NULL) becomes true when
 * it came. */
void rby_range(struct rby *r, raddr_t at, void *buf, size_t len, bool *valid);

/* plan.c: what of this thread's stack the next read should bring. */
void rby_plan_thread(struct rby *r, struct rby_thread *th);
/* How many frames of the stack pushed last, from the root on, the second read
 * showed again. */
uint32_t rby_agreed(const struct rby *r, struct rby_thread *th, const struct raw_stacks *out);
/* The leaf at one moment: on top as the second read found it, with the code that lay there a moment later and a moment
 * before; see raw_stack.top. */
void rby_find_top(struct rby *r, struct rby_thread *th, struct raw_stack *stack);

/* walk.c: from the copies of this tick to the frames of the stack pushed last.
 */
struct err rby_walk(struct rby *r, struct rby_thread *th, struct target *t, struct raw_stacks *out);

/* methods.c: of code that is new, the method that it belongs to, as its frames
 * tell. Stacks that don't get an error. */
void rby_methods(struct rby *r, struct target *t, struct raw_stacks *out);

/* The method entry at this address, or (may_lead) that to which what is there leads. 0: neither. */
MUST_CHECK struct err rby_method_in(struct memory *m, raddr_t at, bool may_lead, raddr_t *ret);
/* The iseq of a method entry; 0: it is not written in Ruby, or is another one by another name. */
MUST_CHECK struct err rby_method_iseq(struct memory *m, raddr_t method, raddr_t *ret);

/* leaf.c: take off, of threads that are held, a newest frame that an earlier call left. */
void rby_leaves(struct rby *r, struct target *t, struct raw_stacks *out);

static inline uint64_t rby_word(const uint8_t *p)
{
	uint64_t v;

	__builtin_memcpy(&v, p, sizeof(v));
	return v;
}

/* A field of the thread as read in this tick; 0 where the version has none. */
static inline uint64_t rby_state_word(const struct rby_thread *th, int32_t field)
{
	return rby_has(field) ? rby_word(th->state + field) : 0;
}

#endif
