/* runtime.h - what a runtime plugin must provide. See docs/HOWTO-add-runtime.md. */
#ifndef CSPY_RUNTIME_H
#define CSPY_RUNTIME_H

#include <stdio.h>

#include "cspy/frame.h"
#include "cspy/target.h"

/* What an interpreter thread was doing, as far as the runtime's own memory says. */
enum rt_state {
	RT_UNKNOWN,
	RT_RUNNING,   /* holds the interpreter lock, or needs none */
	RT_WANT_LOCK, /* waits for the GIL / GVL */
	RT_OUTSIDE,   /* does not hold the lock: native code, a system call, or waiting for the lock */
	RT_SLEEPING,
};

/* raw_stack.agreed: the second read did not cover this stack's leaf, and says nothing. */
#define RAW_NOT_ASKED UINT32_MAX

/* One interpreter thread at one tick. Its frames lie in the arena, leaf first. */
struct raw_stack {
	raddr_t state_at; /* PyThreadState, rb_thread_t, Isolate: identity across ticks */
	uint64_t thread;  /* the language's own thread id (pthread_t, ...); 0 when unknown */
	pid_t ns_tid;	  /* in the target's own pid namespace; 0 when unknown */
	uint8_t state;	  /* enum rt_state */
	bool gc;	  /* collecting garbage */
	bool deep;	  /* the root side was cut off by the depth cap */
	bool cut;	  /* frames at the leaf's end are missing: they were in the middle of a change */
	bool lost;	  /* the way to the root was lost: frames at that end are missing */
	bool sure;	  /* nothing could change it while it was read, as far as the runtime's memory says */
	bool lock_free;	  /* nobody had the lock, before and after it was read */
	uint32_t first;	  /* index of the leaf in raw_stacks.frames */
	uint32_t count;
	uint32_t weight; /* of that many running threads only this one was looked at; 0: it stands for itself */
	uint32_t
		agreed; /* rt_look.twice: frames from the root on that the second read showed again; or RAW_NOT_ASKED */
	/*
	 * What was on top at one moment of the read, as near as can be told, whatever became of the stack while it was
	 * read: its address, code and stamp. No address: nothing better than the stack's own leaf is known. An address
	 * alone: what was there is not known. `before`: another function's, when it lay there a moment earlier.
	 */
	struct raw_frame top, top_before;
	uint64_t codes; /* one bit per code object (raw_code_bit), to find stacks that hold a given one */
	struct err err; /* why this thread has no stack; others are unaffected */
};

/* Arena: reset each tick, grows to the high-water mark, then never allocates. */
struct raw_stacks {
	struct raw_stack *list;
	size_t count, cap;
	struct raw_frame *frames;
	size_t used, frame_cap;
	size_t depth; /* cap on the frames of one stack */
};

void raw_stacks_init(struct raw_stacks *s, size_t depth);
void raw_stacks_free(struct raw_stacks *s);
void raw_stacks_reset(struct raw_stacks *s);
/* Valid until the next push. */
struct raw_stack *raw_stacks_push(struct raw_stacks *s);
/* Appends to the stack pushed last; false when it is at the depth cap (the stack is marked deep). */
bool raw_stacks_frame(struct raw_stacks *s, const struct raw_frame *f);

static inline uint64_t raw_code_bit(raddr_t code)
{
	return 1ull << ((code * 0x9E3779B97F4A7C15ull) >> 58);
}

/* One look, as the sampler wants it. */
struct rt_look {
	uint64_t now_ns;    /* CLOCK_MONOTONIC */
	const pid_t *still; /* OS threads (target's ids) that are held and can't run */
	size_t still_count;
	bool certain;	/* sure and lock_free are wanted; else they may be left false, which is cheaper */
	bool functions; /* native stacks: of one that holds functions of a JIT with a map of its code, those alone */
	bool sleepers;	/* native stacks: those of held threads that sleep, too, as far as the kernel tells their
			   registers */
	/*
	 * Optional: of this thread (raw_stack.state_at) nothing is wanted in this look. Whoever has the interpreter's
	 * lock is read all the same.
	 */
	bool (*leave_out)(void *arg, raddr_t state_at);
	void *arg;
	bool twice; /* read the leaf's end of every stack a second time right after the first; see agreed */
};

/* A code object that was found to be another one than before at the same address. */
struct raw_reuse {
	raddr_t code;
};

/* A local variable, printed. `kind` is 'a' argument, 'l' local, 'c' cell, 'f' free. */
struct rt_local {
	const char *name;
	const char *value; /* UTF-8, bounded */
	char kind;
};
typedef void rt_local_fn(void *arg, const struct rt_local *local);

struct rt_about {
	char name[32];	    /* "CPython" */
	char version[32];   /* "3.12.1" */
	char flavour[64];   /* "free-threaded", "debug", "sub-interpreters: 2", "" */
	char lock[16];	    /* "GIL", "GVL", "" */
	const char *layout; /* where the offsets came from, in words; lives as long as the instance */
};

/*
 * Calls go in this order: probe, attach, then sample at every tick, resolve for frames not seen before, verify now
 * and then, and detach at the end.
 */
struct runtime_ops {
	const char *name;
	/* Takes every process: asked for when no other plugin knows it, and only where native stacks are wanted. */
	bool fallback;
	/*
	 * Optional: symbols of the native functions that run the interpreter's frames, one call for the frames from
	 * one RAW_FRAME_ENTRY to the next; NULL-terminated. A '*' at the end stands for anything.
	 */
	const char *const *loops;

	/*
	 * Is this mapped ELF file ours, and can its version be read? ERR_UNSUPPORTED: not ours. Anything else ends
	 * the search with that error. On success *ret is an attached instance: roots found, layout chosen, and proven
	 * on the stacks that are there. `why` (cap bytes) receives words for the user when it fails.
	 */
	struct err (*attach)(struct target *t, const struct mapping *at, struct image *img, char *why, size_t cap,
			     void **ret);
	void (*detach)(void *instance);
	void (*about)(void *instance, struct rt_about *ret);

	/* HOT, once per tick: push one raw stack per interpreter thread, all fetched with as few reads as the layout
	 * allows (one, when nothing moved). No allocation once warm, no strings. */
	struct err (*sample)(void *instance, struct target *t, const struct rt_look *look, struct raw_stacks *out);

	/*
	 * HOT, before a pause: ids (target's namespace) of the OS threads that could change an interpreter stack now:
	 * the lock's holder, or all where there is no lock. sample() then tells per stack whether it was sure.
	 */
	struct err (*mutators)(void *instance, struct target *t, pid_t *ns_tids, size_t cap, size_t *ret);
	/* Optional, right after the threads of a look run on: what can be done without them. May push stacks. */
	struct err (*complete)(void *instance, struct target *t, struct raw_stacks *out);
	/* COLD, once per new frame. ERR_CORRUPT when the code object is not what the frame's stamp says. */
	struct err (*resolve)(void *instance, struct target *t, const struct raw_frame *frame, struct strings *strings,
			      struct frame_info *ret);

	/* Every few milliseconds: re-read the identity of each code object that sample() trusted without looking since
	 * the last call. Those that changed go to `reused`; what was sampled with them since then is not true. */
	struct err (*verify)(void *instance, struct target *t, uint64_t now_ns, struct raw_reuse *reused, size_t cap,
			     size_t *ret);

	/* COLD, optional: a thread's name as the program knows it. ERR_UNSUPPORTED: it has none. */
	struct err (*thread_name)(void *instance, struct target *t, const struct raw_stack *stack,
				  struct strings *strings, str_id *ret);

	/* COLD, optional, for dump on a paused target: the frame's local variables. */
	struct err (*locals)(void *instance, struct target *t, const struct raw_frame *frame, rt_local_fn *fn,
			     void *arg);

	/* Optional: is this address, which a thread waits at, part of the interpreter's lock? For runtimes whose
	 * memory does not tell RT_WANT_LOCK. */
	bool (*lock_at)(void *instance, raddr_t at);
};

/* Generated from the folders in runtimes/; NULL-terminated. */
extern const struct runtime_ops *const runtime_table[];

#endif
