/* sampler.c - one look at all threads of a target. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "activity.h"
#include "budget.h"
#include "first_leaf.h"
#include "identify.h"
#include "looks.h"
#include "merge.h"
#include "pause.h"
#include "pending.h"
#include "proof.h"
#include "runtimes.h"

enum {
	PRIORITY = -10, /* of cspy, as nice values go */
	ROUNDS = 3,	/* reads in one look, at most */
	TWICE_EACH = 8, /* looks that follow one another without a wait: of so many one reads twice */
	REUSED_MAX = 1024,
	LEARN_LOOKS = 32,
	LEARN_PATIENCE = 16,
	DOUBT_LOOKS = 64, /* after an unproven stack, in which there is something to learn */
};
/* A look with what is learnt right after it takes no longer than this. */
static const uint64_t LEARN_NS = 200 * 1000;
/* At such an interval the next look follows at once: reading again within one would only take its place. */
static const uint64_t AT_ONCE_NS = 10 * 1000;
/* No stack at all for so long: the process does not run what it ran. */
static const uint64_t LOST_NS = 300 * 1000 * 1000;
/* Between two notes of what threads do that are not counted. */
static const uint64_t NOTE_NS = 100 * 1000 * 1000;

struct sampler {
	struct target *target;
	struct profile *profile;
	struct sampler_options options;
	const struct runtime_ops *ops;
	void *instance;
	struct raw_stacks stacks;
	struct pause pause;
	enum pause_way way; /* that of looks which may pause */
	pid_t still[PAUSE_THREADS];
	struct budget budget;
	struct proof proof;
	struct identifier names;
	struct merger merger;
	struct activity activity;
	struct pending pending;
	struct first_leaf first;
	uint64_t reads_told;	   /* scatter reads that are in the statistics already */
	uint64_t good_ns;	   /* the last look that had a stack */
	uint64_t noted_ns;	   /* the last look for which sampler_options.last held */
	clockid_t cpu_clock;	   /* of the target */
	bool fair;		   /* the coin's word for this look */
	int learn_wait, fruitless; /* looks until learn() does something again, and times that it led to nothing */
	unsigned doubt;		   /* looks for which something unproven is to be expected, and learnt from */
	bool twice;		   /* nothing may be stopped: belief comes from reading twice */
	bool at_once;		   /* as fast as can be: each read is a look of its own */
	bool reads_twice;	   /* this look does */
	bool left_out;		   /* this look does without somebody */
	unsigned turn;		   /* counts such looks */
};

struct err sampler_new(struct target *t, struct profile *p, struct sampler_options o, char *why, size_t cap,
		       struct sampler **ret)
{
	const struct runtime_ops *ops;
	void *instance;
	struct err e = runtimes_attach_sampled(t, &o, why, cap, &ops, &instance);
	struct sampler *s;
	uint64_t now = clock_now();

	if (failed(e))
		return e;
	s = xcalloc(1, sizeof(*s));
	s->target = t;
	s->profile = p;
	s->options = o;
	s->ops = ops;
	s->instance = instance;
	raw_stacks_init(&s->stacks, o.depth);
	budget_init(&s->budget, o.pause, o.max_pause, now);
	proof_init(&s->proof, o.pause == PAUSE_NEVER ? PROOF_BY_CALLERS : PROOF_BY_PATH);
	identifier_init(&s->names, p, ops, instance, t, o.function_only);
	if (o.native && !ops->fallback &&
	    !failed(merger_init(&s->merger, t, ops->loops, frames_strings(p->frames), o.depth)))
		identifier_add_native(&s->names, s->merger.ops, s->merger.instance);
	s->way = o.native || ops->fallback ? PAUSE_READY : PAUSE_BUSY;
	s->twice = o.pause == PAUSE_NEVER;
	s->at_once = s->twice && p->interval_ns <= AT_ONCE_NS;
	s->doubt = DOUBT_LOOKS;
	s->activity.rest = o.rest;
	pending_init(&s->pending, now);
	first_leaf_init(&s->first);
	s->good_ns = now;
	p->stats.native = o.native || ops->fallback;
	/* Refused without privilege, which is no harm. A process that keeps others waiting should not have to wait. */
	setpriority(PRIO_PROCESS, 0, PRIORITY);
	if (clock_getcpuclockid(t->pid, &s->cpu_clock) != 0)
		s->cpu_clock = (clockid_t)-1;
	*ret = s;
	return OK;
}

void sampler_free(struct sampler *s)
{
	if (!s)
		return;
	pause_release(&s->pause);
	raw_stacks_free(&s->stacks);
	proof_free(&s->proof);
	identifier_free(&s->names);
	merger_free(&s->merger);
	activity_free(&s->activity);
	first_leaf_free(&s->first);
	s->ops->detach(s->instance);
	free(s);
}

bool sampler_is_fallback(const struct sampler *s)
{
	return s->ops->fallback;
}

void sampler_about(struct sampler *s, struct rt_about *ret)
{
	s->ops->about(s->instance, ret);
}

void sampler_count(struct sampler *s, bool idle, bool lock_only)
{
	s->options.idle = idle;
	s->options.lock_only = lock_only;
}

bool sampler_lock_at(const struct sampler *s, raddr_t at)
{
	return s->ops->lock_at && s->ops->lock_at(s->instance, at);
}

uint64_t sampler_min_interval(const struct sampler *s)
{
	return budget_min_interval(&s->budget);
}

/* CPU time of the whole target; UINT64_MAX when it can't be read. Unmoved, nobody ran. */
static uint64_t cpu_time(const struct sampler *s)
{
	struct timespec t;

	if (s->cpu_clock == (clockid_t)-1 || clock_gettime(s->cpu_clock, &t) != 0)
		return UINT64_MAX;
	return (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
}

/* Hold those that could change a stack now. What can't be held is read as it runs. */
static struct err hold(struct sampler *s)
{
	pid_t ns_tids[PAUSE_THREADS];
	size_t first = merger_wants(&s->merger, s->target, &s->stacks, ns_tids), n = 0;
	struct err e = s->ops->mutators(s->instance, s->target, &ns_tids[first], PAUSE_THREADS - first, &n);

	n += first;
	if (!failed(e))
		e = pause_hold(&s->pause, s->target, s->way, ns_tids, n);
	if (failed(e)) {
		budget_spent(&s->budget, pause_release(&s->pause));
		s->profile->stats.pause_failed++;
	}
	if (e.code == ERR_DENIED && s->ops->fallback)
		return e;
	if (e.code == ERR_DENIED) { /* a debugger's, perhaps: the rest has to be believed by reading twice */
		s->budget.mode = PAUSE_NEVER;
		s->twice = true;
		s->proof.by = PROOF_BY_CALLERS;
	}
	return OK;
}

static void none_sure(struct raw_stacks *all)
{
	for (size_t i = 0; i < all->count; i++)
		all->list[i].sure = false;
}

static bool leave_out(void *arg, raddr_t state_at)
{
	struct sampler *s = arg;
	bool left = activity_leave_out(&s->activity, state_at);

	s->left_out = s->left_out || left;
	return left;
}

static struct err read_once(struct sampler *s, uint64_t now_ns)
{
	/* Nobody had to be stopped: perhaps nobody runs. A thread that ran in between has gone to sleep again, which
	 * moves the clock, or had the lock, which the runtime saw. */
	bool quiet = s->fair && !s->pause.stopped;
	uint64_t before = quiet ? cpu_time(s) : 0;
	struct rt_look look = {
		.now_ns = now_ns,
		.still = s->still,
		.still_count = s->pause.count,
		.certain = s->fair,
		.functions = !s->options.native,
		.leave_out = s->options.rest ? leave_out : NULL,
		.arg = s,
		.twice = s->reads_twice,
	};
	struct err e;

	for (size_t i = 0; i < s->pause.count; i++)
		s->still[i] = s->pause.list[i].ns_tid;
	raw_stacks_reset(&s->stacks);
	s->left_out = false;
	e = s->ops->sample(s->instance, s->target, &look, &s->stacks);
	if (!failed(e))
		e = merger_sample(&s->merger, s->target, &look);
	quiet = quiet && before != UINT64_MAX && cpu_time(s) == before;
	for (size_t i = 0; i < s->stacks.count; i++)
		s->stacks.list[i].sure |= quiet && s->stacks.list[i].lock_free;
	if (s->pause.count > s->pause.stopped && !pause_still(&s->pause, s->target))
		none_sure(&s->stacks);
	return e;
}

/* The walk lost its way: in a stack that changed under it, or that is in the middle of a change. */
static bool is_torn(struct err e)
{
	return e.code == ERR_CORRUPT || e.code == ERR_FAULT;
}

static void witness(struct sampler *s, const struct raw_stack *stack)
{
	if (stack->agreed != RAW_NOT_ASKED)
		proof_witness(&s->proof, &s->stacks.frames[stack->first], stack->count, stack->deep, stack->agreed);
}

/*
 * Where nothing may be stopped, a stack that is not proven is read again: a moment later it may be. Entering a function
 * and leaving it are equally often in the way, so what lasts longer than a read keeps its share.
 */
static bool is_doubtful(struct sampler *s, size_t i)
{
	const struct raw_stack *stack = &s->stacks.list[i];
	const struct raw_frame *frames = &s->stacks.frames[stack->first];
	const struct seen_thread *seen;
	node_id node;

	if (!s->twice || stack->state == RT_OUTSIDE || !stack->count)
		return false;
	seen = activity_thread(&s->activity, stack);
	if (identify_known(&s->names, &s->stacks, stack, seen->root, &node) ||
	    !proof_unproven(&s->proof, frames, stack->count, stack->deep))
		return false;
	if (s->doubt)
		witness(s, stack);
	return true;
}

/* Is there a stack that another read could do better? The lock may have changed hands, or a walk lost its way. */
static bool wants_again(struct sampler *s)
{
	for (size_t i = 0; i < s->stacks.count; i++) {
		const struct raw_stack *stack = &s->stacks.list[i];

		if (stack->sure)
			continue;
		if ((s->fair && stack->state == RT_RUNNING) || is_torn(stack->err) || is_doubtful(s, i))
			return true;
	}
	return false;
}

/* What is read again is read at another moment. The first one was chosen by nothing. */
static void note_leaves(struct sampler *s)
{
	for (size_t i = 0; i < s->stacks.count; i++) {
		const struct raw_stack *stack = &s->stacks.list[i];

		activity_thread(&s->activity, stack)->first_leaf =
			first_leaf_of(&s->first, stack, &s->stacks.frames[stack->first]);
	}
}

static struct err look(struct sampler *s, uint64_t now_ns)
{
	bool held = false;
	struct err e;

	budget_waited(&s->budget, pause_waited(&s->pause, s->target));
	s->fair = budget_coin(&s->budget, now_ns);
	s->reads_twice = s->twice && (!s->at_once || s->turn++ % TWICE_EACH == 0);
	for (int round = 0;; round++) {
		e = s->fair ? hold(s) : OK;
		if (failed(e))
			break;
		held = held || s->pause.stopped;
		e = read_once(s, now_ns);
		if (!failed(e) && round == 0 && !s->fair)
			note_leaves(s);
		if (failed(e) || round + 1 == ROUNDS || s->at_once || !wants_again(s))
			break;
	}
	s->profile->stats.paused += held;
	return e;
}

static void resume(struct sampler *s)
{
	uint64_t held;

	if (!s->pause.count)
		return;
	if (!s->pause.stopped && s->pause.waiting)
		budget_free(&s->budget);
	held = pause_release(&s->pause);
	if (held)
		budget_spent(&s->budget, held);
	s->profile->stats.paused_ns += held;
}

static struct seen_thread *seen_thread(struct sampler *s, const struct raw_stack *stack)
{
	struct seen_thread *seen = activity_thread(&s->activity, stack);

	if (seen->thread == UINT32_MAX)
		identify_thread(&s->names, stack, s->options.root, s->options.threads, seen);
	return seen;
}

/* The node of a stack that is not known yet; *skip frames of its leaf's end are not true for certain. */
static struct err name_stack(struct sampler *s, const struct raw_stack *stack, node_id root, size_t *skip,
			     node_id *node)
{
	const struct raw_frame *frames = &s->stacks.frames[stack->first];
	struct err e;

	*skip = 0;
	if (stack->sure)
		proof_learn(&s->proof, frames, stack->count, stack->deep);
	else
		*skip = proof_unproven(&s->proof, frames, stack->count, stack->deep);
	if (*skip && s->twice && s->doubt)
		witness(s, stack);
	e = identify(&s->names, &s->stacks, stack, *skip, root, node);
	/* A leaf's position is free, but has to lie in its code: when it does not, the leaf is not true. */
	if (failed(e) && !stack->sure && *skip < stack->count)
		e = identify(&s->names, &s->stacks, stack, ++*skip, root, node);
	return e;
}

static void count_stack(struct sampler *s, const struct raw_stack *stack, const struct seen_thread *seen, size_t skip,
			node_id node, uint64_t now_ns)
{
	struct profile_stats *stats = &s->profile->stats;

	if (skip)
		s->doubt = DOUBT_LOOKS;
	stats->samples++;
	stats->deep += stack->deep;
	stats->lost += stack->lost;
	stats->torn += skip > 0;
	pending_add(&s->pending, (struct pending_sample){
					 .when_ns = now_ns,
					 .codes = stack->codes,
					 .thread = seen->thread,
					 .node = node,
					 .root = seen->root,
					 .weight = seen->weight,
					 .fair = s->fair,
					 .cut = skip || stack->cut,
				 });
}

static void count_moved(struct sampler *s, const struct raw_stack *stack, const struct seen_thread *seen, size_t skip,
			node_id node)
{
	const struct raw_frame *first = &seen->first_leaf;
	str_id leaf;

	/* Where some looks read twice, those stand for all. */
	if (s->fair || (s->at_once && !s->reads_twice))
		return;
	if (first->stamp && !skip && stack->count && s->stacks.frames[stack->first].code == first->code)
		return;
	if (!first->stamp && !s->twice)
		return;
	/* Whose the moment was is not known then, but not who was met later. */
	if (!first->stamp || failed(identify_function(&s->names, first, &leaf)))
		leaf = frames_get(s->profile->frames, s->names.cut).function;
	profile_moved(s->profile, leaf, node, seen->weight * (s->at_once ? TWICE_EACH : 1));
}

static void settle(struct sampler *s, uint64_t now_ns)
{
	struct raw_reuse reused[REUSED_MAX];
	uint64_t bits = 0;
	size_t n;

	if (!failed(s->ops->verify(s->instance, s->target, now_ns, reused, REUSED_MAX, &n)))
		for (size_t i = 0; i < n; i++)
			bits |= raw_code_bit(reused[i].code);
	pending_settle(&s->pending, &s->names, bits, now_ns);
}

static bool is_wanted(struct sampler *s, const struct raw_stack *stack, struct seen_thread *seen)
{
	if (s->options.lock_only && stack->state != RT_RUNNING && stack->state != RT_UNKNOWN)
		return false;
	if (activity_active(&s->activity, s->target, &s->stacks, stack, seen) || s->options.idle)
		return true;
	s->profile->stats.idle++;
	return false;
}

static void count_all(struct sampler *s, uint64_t now_ns)
{
	struct profile_looks any = { 0 };
	bool note = s->options.last && now_ns - s->noted_ns >= NOTE_NS;

	if (note)
		s->noted_ns = now_ns;
	activity_begin(&s->activity, now_ns, s->stacks.count);
	for (size_t i = 0; i < s->stacks.count; i++) {
		const struct raw_stack *stack = &s->stacks.list[i];
		struct seen_thread *seen;
		node_id node = 0;
		bool wanted;
		size_t skip = 0;
		struct err e = stack->err;

		if (!failed(e) && !stack->count)
			continue;
		seen = seen_thread(s, stack);
		wanted = is_wanted(s, stack, seen);
		activity_looked(&s->activity, stack, seen);
		looks_note(&s->profile->threads[seen->thread].looks, &any, stack, seen->weight);
		if (!wanted && !note)
			continue;
		if (!failed(e) && !identify_known(&s->names, &s->stacks, stack, seen->root, &node)) {
			e = name_stack(s, stack, seen->root, &skip, &node);
		}
		if (is_torn(e)) {
			node = identify_lost(&s->names, seen->root);
			skip = 1;
			e = OK;
		}
		if (!failed(e))
			s->profile->threads[seen->thread].last = node;
		if (!wanted)
			continue;
		if (failed(e))
			s->profile->stats.failed[e.code]++;
		else
			count_stack(s, stack, seen, skip, node, now_ns);
		if (!failed(e))
			count_moved(s, stack, seen, skip, node);
		if (pending_is_full(&s->pending))
			settle(s, now_ns);
	}
	activity_end(&s->activity, s->profile);
	looks_add(&s->profile->looks, &any);
}

/* Frames that were not seen before are named while their thread is still: later their code may be gone. False: a code
 * object is not the one that it was taken for. */
static bool name_while_held(struct sampler *s)
{
	bool ok = true;

	for (size_t i = 0; s->pause.stopped && i < s->stacks.count; i++) {
		const struct raw_stack *stack = &s->stacks.list[i];
		struct seen_thread *seen;
		node_id node;
		size_t skip;

		if (!stack->sure || failed(stack->err) || !stack->count || stack->state == RT_OUTSIDE)
			continue;
		seen = activity_thread(&s->activity, stack);
		if (pause_stopped(&s->pause, stack->ns_tid))
			activity_stopped(&s->activity, seen);
		if (seen->thread != UINT32_MAX && !identify_known(&s->names, &s->stacks, stack, seen->root, &node))
			ok = !failed(name_stack(s, stack, seen->root, &skip, &node)) && ok;
	}
	return ok;
}

/* What is found to be wrong now was trusted until now. */
static struct err name_or_look_again(struct sampler *s, uint64_t now_ns)
{
	struct err e;

	if (name_while_held(s))
		return OK;
	settle(s, now_ns);
	e = read_once(s, now_ns);
	if (!failed(e))
		name_while_held(s); /* what fails now fails again, and is counted, when it is counted */
	return e;
}

/*
 * Where nothing may be stopped, contexts become believed by being seen again and again. So that a slow rate does not
 * take minutes for that, some looks more are taken that count for nothing else, as long as they lead to something.
 */
static void learn(struct sampler *s, uint64_t now_ns)
{
	uint64_t believed = s->proof.believed;
	struct rt_look look = { .now_ns = now_ns, .twice = true };

	if (!s->twice || s->at_once || !s->doubt || s->learn_wait-- > 0)
		return;
	for (int i = 0; i < LEARN_LOOKS && clock_now() - now_ns < LEARN_NS; i++) {
		raw_stacks_reset(&s->stacks);
		if (failed(s->ops->sample(s->instance, s->target, &look, &s->stacks)))
			return;
		for (size_t k = 0; k < s->stacks.count; k++) {
			const struct raw_stack *stack = &s->stacks.list[k];

			if (!failed(stack->err) && stack->count)
				witness(s, stack);
		}
	}
	s->fruitless = s->proof.believed != believed ? 0 : s->fruitless + 1;
	s->learn_wait = s->fruitless / LEARN_PATIENCE;
}

static bool has_stack(const struct sampler *s)
{
	for (size_t i = 0; i < s->stacks.count; i++)
		if (!failed(s->stacks.list[i].err))
			return true;
	return !s->stacks.count && s->left_out;
}

/* Native stacks were copied while their threads stood still; their frames are found now. */
static struct err complete(struct sampler *s)
{
	merger_merge(&s->merger, s->target, &s->stacks, &s->profile->stats);
	return s->ops->complete ? s->ops->complete(s->instance, s->target, &s->stacks) : OK;
}

struct err sampler_step(struct sampler *s, uint64_t now_ns)
{
	struct err e = look(s, now_ns);

	s->doubt -= s->doubt > 0;
	if (!failed(e))
		e = name_or_look_again(s, now_ns);
	resume(s);
	if (!failed(e))
		e = complete(s);
	if (e.code == ERR_GONE || e.code == ERR_DENIED)
		return e;
	if (!failed(e) && has_stack(s))
		s->good_ns = now_ns;
	if (failed(e)) {
		s->profile->stats.failed[e.code]++;
		return now_ns - s->good_ns > LOST_NS ? e : OK;
	}
	count_all(s, now_ns);
	learn(s, now_ns);
	if (pending_is_due(&s->pending, now_ns))
		settle(s, now_ns);
	if (now_ns - s->good_ns > LOST_NS)
		return err_at(ERR_UNSUPPORTED, 0, "finding the interpreter again");
	return OK;
}

void sampler_settle(struct sampler *s)
{
	settle(s, clock_now());
	s->profile->stats.reads += s->target->memory->calls - s->reads_told;
	s->reads_told = s->target->memory->calls;
}
