/* leaf.c - where a frame is linked before it is filled: can the newest one of a thread that is held have been called by
 * the one below it, or did an earlier call leave it there? */
#include <sys/mman.h>

#include "ruby.h"

enum { CALLS_MAX = 1 << 20 }; /* of one iseq */

struct leaf {
	struct rby *r;
	struct target *t;
	struct memory *m; /* its */
	const struct rby_stack *stack;
	const struct raw_frame *frame;
	const uint8_t *caller; /* its control frame */
	uint64_t env[ENV_WORDS];
	uint32_t magic;
};

/* What an iseq says of its kind, of what is around it and of its calls, read once. */
static struct rby_code *code_with_calls(const struct leaf *f, raddr_t at)
{
	const struct rby_layout *l = f->r->l;
	struct rby_code *code = rby_codes_find(&f->r->codes, at);
	uint32_t count = 0;

	if (!code || !code->encoded)
		return NULL;
	if (!code->around_read) {
		struct memory_range ranges[] = {
			{ code->body, &code->type, 4 },
			{ code->body + (raddr_t)l->body_parent, &code->parent, 8 },
			{ code->body + (raddr_t)l->body_calls, &code->calls, 8 },
			{ code->body + (raddr_t)l->body_call_count, &count, 4 },
		};
		size_t n = rby_has(l->body_calls) ? countof(ranges) : 2;

		if (failed(memory_readv(f->m, ranges, n, NULL)) || count > CALLS_MAX)
			return NULL;
		code->calls_end = code->calls + count * (raddr_t)l->call_size;
		code->around_read = true;
	}
	return code;
}

enum answer { NO, YES, UNKNOWN };

/* The first word of an instruction is the address of what executes it. */
static bool is_instruction(const struct leaf *f, uint64_t word)
{
	const struct mapping *m = maps_find(&f->t->maps, word);

	return m && m->prot & PROT_EXEC;
}

/* Where is what the instruction knows that the caller executes? NO: that instruction calls nothing. It is the last word
 * of the instruction, or the one before that where a block may be given. */
static enum answer call_of(const struct leaf *f, raddr_t *ret)
{
	const struct rby_code *code = code_with_calls(f, rby_word(f->caller + FRAME_ISEQ));
	raddr_t pc = rby_word(f->caller + FRAME_PC);
	uint64_t words[2];

	if (!code || !rby_has(f->r->l->body_calls) || pc < code->encoded + sizeof(words) ||
	    failed(memory_read(f->m, pc - sizeof(words), words, sizeof(words))))
		return UNKNOWN;
	*ret = words[1] >= code->calls && words[1] < code->calls_end ? words[1] : words[0];
	if (*ret < code->calls || *ret >= code->calls_end || is_instruction(f, words[1]))
		return NO;
	return YES;
}

/* A method that is called as it is, and by which name; others (send, Method#call) put the frame of another one there.
 */
static bool is_direct(const struct leaf *f, raddr_t method, uint64_t *name)
{
	raddr_t definition;
	uint64_t type;

	if (failed(memory_u64(f->m, method + METHOD_CALLED_ID, name)) ||
	    failed(memory_ptr(f->m, method + METHOD_DEFINITION, &definition)) ||
	    failed(memory_u64(f->m, definition, &type)))
		return false;
	type &= METHOD_TYPE_MASK;
	return type == METHOD_ISEQ || type == METHOD_CFUNC;
}

/* The instruction's cache is set before the frame is pushed. One that calls the same name of another class may be
 * executed again further up: only the name counts. */
static bool is_what_is_called(const struct leaf *f, raddr_t call)
{
	const struct rby_layout *l = f->r->l;
	raddr_t cached;
	uint64_t wanted, name;

	if (rby_has(l->call_cache) && failed(memory_ptr(f->m, call + (raddr_t)l->call_cache, &call)))
		return true;
	if (failed(memory_ptr(f->m, call + (raddr_t)l->call_method, &cached)) || !cached || cached == f->env[0] ||
	    !is_direct(f, cached, &wanted) || !is_direct(f, f->env[0], &name))
		return true;
	return name == wanted;
}

/* A block, or a rescue clause, stands above the very method that it is in, unless that one's variables are in the heap.
 */
static bool stands_in_its_method(const struct leaf *f)
{
	const struct rby_stack *s = f->stack;
	const struct rby_code *code = code_with_calls(f, f->frame->code);
	raddr_t ep = f->env[1] & ~3ull, step = (raddr_t)f->r->l->frame_size;
	const uint8_t *frame;

	if (!code || (ep && (ep < s->start || ep >= s->end)))
		return true;
	for (raddr_t at = f->frame->at + step; (frame = rby_stack_frame(s, f->r->l, at)); at += step)
		if (rby_word(frame + FRAME_EP) == ep)
			return rby_word(frame + FRAME_ISEQ) == code->parent;
	return s->high < s->end;
}

/* Code and environment that belong to different kinds of frames: one is new, the other not. */
static bool is_of_one_kind(const struct leaf *f)
{
	static const uint32_t magics[] = {
		[ISEQ_METHOD] = MAGIC_METHOD,
		[ISEQ_BLOCK] = MAGIC_BLOCK,
		[ISEQ_RESCUE] = MAGIC_RESCUE,
		[ISEQ_ENSURE] = MAGIC_RESCUE,
	};
	const struct rby_code *code = code_with_calls(f, f->frame->code);

	return !code || code->type >= countof(magics) || !magics[code->type] ||
	       f->magic == (magics[code->type] & f->r->l->magic_mask);
}

/* The environment of a method is filled before its frame is linked, and over what the last one left there. */
static bool is_of_its_method(const struct leaf *f)
{
	const struct rby_code *code = rby_codes_find(&f->r->codes, f->frame->code);
	raddr_t method, iseq;

	if (code && code->method && code->method == f->env[0])
		return true;
	if (failed(rby_method_in(f->m, f->env[0], true, &method)))
		return true;
	return method && (failed(rby_method_iseq(f->m, method, &iseq)) || !iseq || iseq == f->frame->code);
}

static bool is_possible(const struct leaf *f)
{
	const struct rby_layout *l = f->r->l;
	bool above_ruby = rby_word(f->caller + FRAME_ISEQ) && rby_word(f->caller + FRAME_PC);
	enum answer behind_call;
	raddr_t call;

	if (!is_of_one_kind(f))
		return false;
	if (f->magic == (MAGIC_METHOD & l->magic_mask) && !is_of_its_method(f))
		return false;
	if (f->magic == (MAGIC_BLOCK & l->magic_mask) || f->magic == (MAGIC_RESCUE & l->magic_mask))
		return stands_in_its_method(f);
	if (!above_ruby || (f->magic != (MAGIC_METHOD & l->magic_mask) && f->magic != (MAGIC_CFUNC & l->magic_mask)))
		return true;
	behind_call = call_of(f, &call);
	if (behind_call == YES)
		return is_what_is_called(f, call);
	/* What other instructions call, they call from C: a method then says so, a function in C did not get this far.
	 */
	return behind_call == UNKNOWN || (f->magic == (MAGIC_METHOD & l->magic_mask) && f->env[2] & FRAME_FINISH);
}

static bool is_left_over(struct rby *r, struct target *t, const struct raw_frame *frame, struct rby_thread *th)
{
	struct leaf f = { .r = r, .t = t, .m = t->memory, .stack = &th->stack, .frame = frame };
	const uint8_t *control = rby_stack_frame(&th->stack, r->l, frame->at);

	f.caller = rby_stack_frame(&th->stack, r->l, frame->at + (raddr_t)r->l->frame_size);
	if (!control || !f.caller || !rby_stack_env(&th->stack, t->memory, rby_word(control + FRAME_EP), f.env))
		return false;
	f.magic = (uint32_t)f.env[2] & r->l->magic_mask;
	return !is_possible(&f);
}

void rby_leaves(struct rby *r, struct target *t, struct raw_stacks *out)
{
	if (r->l->push == PUSH_FILLED_FIRST)
		return;
	for (size_t i = 0; i < out->count; i++) {
		struct raw_stack *stack = &out->list[i];
		struct rby_thread *th = rby_thread_at(r, stack->state_at);

		/* Who does not have the lock pushes nothing; and what was not held still is proven elsewhere, but for
		 * compiled code, whose frames have no position. */
		bool asked = stack->sure || (stack->count && out->frames[stack->first].pos == RBY_POS_START);

		if (asked && stack->state == RT_RUNNING && !stack->gc && !failed(stack->err) && stack->count &&
		    is_left_over(r, t, &out->frames[stack->first], th))
			rby_drop_leaf(stack);
	}
}
