/* native.c - any process by its native stacks: the plugin's table, and one look. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "cspy/runtime.h"
#include "cspy/symbols.h"
#include "jit.h"
#include "stacks.h"

enum {
	CAPTURES_MAX = 64,   /* threads of one look */
	THREADS_MAX = 65536, /* that are remembered */
	DEPTH_MAX = 65536,
};
static const uint64_t LIST_NS = 100 * 1000 * 1000; /* between listings of the threads */

/* A thread as it stood; its frames are found after it runs on. */
struct capture {
	pid_t ns_tid;
	struct regs regs;
	struct stack_copy stack;
	uint8_t *bytes; /* what `stack` points into */
	size_t cap;
};

struct native {
	struct modules *modules;
	struct unwinder *unwinder;
	struct symbols *symbols;
	struct stack_sizes sizes;
	struct jit jit;
	struct capture captures[CAPTURES_MAX];
	size_t count;
	struct code_addr *found;
	size_t found_cap;
	uint64_t now_ns, listed_ns;
	bool sleepers;	/* are wanted in this look */
	pid_t *running; /* threads, at the last look */
	size_t running_count, running_cap, turn;
};

static void detach(void *instance)
{
	struct native *n = instance;

	unwinder_free(n->unwinder);
	symbols_free(n->symbols);
	modules_free(n->modules);
	perfmap_free(n->jit.map);
	stacks_free(&n->sizes);
	for (size_t i = 0; i < CAPTURES_MAX; i++)
		free(n->captures[i].bytes);
	free(n->found);
	free(n->running);
	free(n);
}

static struct err attach(struct target *t, const struct mapping *at, struct image *img, char *why, size_t cap,
			 void **ret)
{
	struct native *n = xcalloc(1, sizeof(*n));

	(void)at;
	(void)img;
	(void)why;
	(void)cap;
	n->modules = modules_new(t);
	n->unwinder = unwinder_new(t, n->modules);
	n->symbols = symbols_new(n->modules);
	n->jit.map = perfmap_new(t);
	n->jit.symbols = n->symbols;
	*ret = n;
	return OK;
}

static void about(void *instance, struct rt_about *ret)
{
	(void)instance;
	*ret = (struct rt_about){ .name = "native code", .layout = "call frame information and frame pointers" };
}

/*
 * One of the threads that run, in turn: where there are more of them than CPUs, those that were stopped first would
 * wait for the others to get one, for seconds perhaps. Its stack stands for all of them.
 */
static struct err mutators(void *instance, struct target *t, pid_t *ns_tids, size_t cap, size_t *ret)
{
	struct native *n = instance;

	*ret = 0;
	n->running_count = 0;
	if (n->now_ns - n->listed_ns >= LIST_NS) {
		struct err e = target_refresh_threads(t);

		if (failed(e))
			return e;
		n->listed_ns = n->now_ns;
	}
	xgrow(&n->running, &n->running_cap, t->thread_count, sizeof(*n->running));
	for (size_t i = 0; i < t->thread_count; i++)
		if (target_thread_state(t, &t->threads[i]) == THREAD_RUNNING)
			n->running[n->running_count++] = t->threads[i].ns_tid;
	if (n->running_count && cap)
		ns_tids[(*ret)++] = n->running[n->turn++ % n->running_count];
	return OK;
}

/* Threads that sleep are not stopped, and can't be asked for their registers: the kernel tells the most important. */
static bool registers(const struct native *n, struct target *t, pid_t tid, struct regs *ret)
{
	raddr_t pc, sp;

	if (!failed(regs_get(tid, ret)))
		return true;
	if (!n->sleepers || !target_thread_asleep_at(t, tid, &pc, &sp))
		return false;
	regs_of_sleeper(pc, sp, ret);
	return true;
}

static void capture(struct native *n, struct target *t, pid_t ns_tid)
{
	struct capture *c = &n->captures[n->count];
	const struct thread *th = target_thread(t, ns_tid);
	size_t len;

	if (!th || !registers(n, t, th->tid, &c->regs))
		return;
	c->ns_tid = ns_tid;
	len = stacks_size(&n->sizes, ns_tid, &t->maps, c->regs.sp, &c->stack.at);
	xgrow(&c->bytes, &c->cap, len, 1);
	c->stack.bytes = c->bytes;
	c->stack.len = stacks_copy(t->memory, c->stack.at, c->bytes, len);
	n->count++;
}

static struct err sample(void *instance, struct target *t, const struct rt_look *look, struct raw_stacks *out)
{
	struct native *n = instance;

	(void)out;
	n->now_ns = look->now_ns;
	n->count = 0;
	n->jit.functions = look->functions;
	n->sleepers = look->sleepers;
	perfmap_mark(n->jit.map);
	for (size_t i = 0; i < look->still_count && n->count < CAPTURES_MAX; i++)
		capture(n, t, look->still[i]);
	return n->count ? OK : target_alive(t);
}

static void push(struct native *n, struct target *t, const struct capture *c, struct raw_stacks *out)
{
	struct raw_stack *stack = raw_stacks_push(out);
	enum unwind_end end;
	size_t used, count;

	xgrow(&n->found, &n->found_cap, out->depth < DEPTH_MAX ? out->depth : DEPTH_MAX, sizeof(*n->found));
	count = unwind(n->unwinder, &c->regs, &c->stack, n->found, n->found_cap, &end, &used);
	stacks_learn(&n->sizes, c->ns_tid, used, end == UNWIND_SHORT);
	stack->ns_tid = c->ns_tid;
	stack->state_at = (raddr_t)c->ns_tid;
	stack->state = RT_RUNNING;
	stack->sure = true;
	stack->weight = (uint32_t)n->running_count;
	stack->deep = end == UNWIND_DEEP;
	stack->lost = end == UNWIND_LOST || end == UNWIND_SHORT;
	jit_push(&n->jit, t, n->found, count, &c->stack, out);
}

/* A look that finds nobody running has found the process all the same: a stack without frames says so. */
static void push_idle(const struct target *t, struct raw_stacks *out)
{
	struct raw_stack *stack = raw_stacks_push(out);

	stack->ns_tid = t->ns_pid;
	stack->state_at = (raddr_t)t->ns_pid;
	stack->state = RT_SLEEPING;
}

static struct err complete(void *instance, struct target *t, struct raw_stacks *out)
{
	struct native *n = instance;

	n->jit.there = perfmap_read(n->jit.map);
	for (size_t i = 0; i < n->count; i++)
		push(n, t, &n->captures[i], out);
	if (!n->count)
		push_idle(t, out);
	n->count = 0;
	return OK;
}

static struct err resolve(void *instance, struct target *t, const struct raw_frame *frame, struct strings *strings,
			  struct frame_info *ret)
{
	struct native *n = instance;

	(void)t;
	if (jit_is_frame(frame))
		return jit_name(&n->jit, frame, strings, ret);
	return symbols_name(n->symbols, frame->code, frame->pos, strings, ret);
}

/* Files don't change under a process, and of other code nothing is remembered by address. */
static struct err verify(void *instance, struct target *t, uint64_t now_ns, struct raw_reuse *reused, size_t cap,
			 size_t *ret)
{
	(void)instance;
	(void)t;
	(void)now_ns;
	(void)reused;
	(void)cap;
	*ret = 0;
	return OK;
}

const struct runtime_ops runtime_native = {
	.name = "native",
	.fallback = true,
	.attach = attach,
	.detach = detach,
	.about = about,
	.sample = sample,
	.mutators = mutators,
	.complete = complete,
	.resolve = resolve,
	.verify = verify,
};
