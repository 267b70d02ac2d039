/* jit.c - which frames of a native stack are functions that a JIT made. */
#include <string.h>

#include "jit.h"

/* No file has such a number: modules are counted from 1. */
static const uint32_t stamp_jit = 1u << 31, stamp_unnamed = UINT32_MAX;

/*
 * V8 keeps a frame of this shape for a function that its interpreter runs (the frame pointer's distance in words), and
 * for one that its baseline compiler made, which has no offset. Pointers are odd, small integers lie in the upper half
 * of a word. Upstream: src/execution/frame-constants.h, the same from Node 18 to 26 at least.
 */
enum { SLOT_CONTEXT = 1, SLOT_FUNCTION = 2, SLOT_BYTECODE = 4, SLOT_OFFSET = 5, FP_BELOW_CFA = 16 };
/* A bytecode array's first bytes are its map, its length and some more, as the version has it. */
enum { ARRAY_LENGTH = 8, ARRAY_HEAD_MIN = 32, ARRAY_HEAD_MAX = 128, ARRAY_HEAD_STEP = 2 };

/* That what runs one bytecode may have on the stack. */
enum { HANDLER_WORDS = 16 };

static bool word_at(const struct stack_copy *s, raddr_t at, uint64_t *ret)
{
	if (at < s->at || at - s->at > s->len || s->len - (at - s->at) < sizeof(*ret))
		return false;
	memcpy(ret, s->bytes + (at - s->at), sizeof(*ret));
	return true;
}

static bool is_pointer(uint64_t word)
{
	return word & 1;
}

static bool is_small_integer(uint64_t word)
{
	return !(word & UINT32_MAX) && word;
}

/* The bytecode array of a frame; does the interpreter run it there? */
static bool bytecode_of(const struct stack_copy *s, raddr_t cfa, raddr_t *array, bool *runs)
{
	raddr_t fp = cfa - FP_BELOW_CFA;
	uint64_t context, function, bytecode, offset;

	if (cfa < FP_BELOW_CFA || !word_at(s, fp - SLOT_CONTEXT * 8, &context) ||
	    !word_at(s, fp - SLOT_FUNCTION * 8, &function) || !word_at(s, fp - SLOT_BYTECODE * 8, &bytecode) ||
	    !word_at(s, fp - SLOT_OFFSET * 8, &offset))
		return false;
	if (!is_pointer(context) || !is_pointer(function) || !is_pointer(bytecode))
		return false;
	*array = bytecode - 1;
	*runs = is_small_integer(offset);
	return true;
}

/* Bytecode is moved by the collector, and no map says so: its length has to be the line's. */
static bool is_line_of(const struct jit *j, struct target *t, raddr_t array, raddr_t head, struct perfmap_code *ret)
{
	uint64_t length;

	return perfmap_find(j->map, array + head, ret) && ret->start == array + head && !ret->glue &&
	       !failed(memory_u64(t->memory, array + ARRAY_LENGTH, &length)) && is_small_integer(length) &&
	       length >> 32 == ret->end - ret->start;
}

static bool line_of(struct jit *j, struct target *t, raddr_t array, struct perfmap_code *ret)
{
	if (j->array_head)
		return is_line_of(j, t, array, j->array_head, ret);
	for (raddr_t head = ARRAY_HEAD_MIN; head <= ARRAY_HEAD_MAX; head += ARRAY_HEAD_STEP) {
		if (!is_line_of(j, t, array, head, ret))
			continue;
		j->array_head = head;
		return true;
	}
	return false;
}

static void learn_trampoline(struct jit *j, raddr_t at)
{
	for (size_t i = 0; i < j->trampoline_count; i++)
		if (j->trampolines[i] == at)
			return;
	if (j->trampoline_count < TRAMPOLINES_MAX)
		j->trampolines[j->trampoline_count++] = at;
}

static bool is_trampoline(const struct jit *j, const struct code_addr *c)
{
	for (size_t i = 0; c->is_return && i < j->trampoline_count; i++)
		if (j->trampolines[i] == c->at)
			return true;
	return false;
}

static struct raw_frame native_frame(const struct code_addr *c)
{
	return (struct raw_frame){ .code = code_addr_lookup(*c), .stamp = c->module };
}

static struct raw_frame frame_of(const struct perfmap_code *code)
{
	return (struct raw_frame){ .code = code->start, .pos = code->line, .stamp = stamp_jit | code->stamp };
}

/* A frame each for the functions that were inlined there, then that of the function itself. */
static void push_native(const struct jit *j, const struct code_addr *c, struct raw_stacks *out)
{
	struct raw_frame f = native_frame(c);
	size_t inlined = symbols_inlined(j->symbols, f.code, c->module);

	for (size_t i = 0; i <= inlined; i++) {
		f.pos = i;
		raw_stacks_frame(out, &f);
	}
}

enum what {
	OTHER,	  /* native code, and what a JIT has between functions */
	UNKNOWN,  /* code of a JIT that its map leaves out */
	FUNCTION, /* of a JIT */
	WITHIN,	  /* what it says of itself, without a frame of its own in that of a function */
};

/*
 * What V8's interpreter runs for one bytecode has no frame: where it returns to lies below the function's registers,
 * which hold no addresses of code. With a dump that is in code of the function's own.
 */
static bool caller_of(const struct jit *j, const struct stack_copy *stack, raddr_t cfa, struct perfmap_code *ret)
{
	raddr_t sp = stack->at + STACK_BELOW;
	uint64_t word;

	for (unsigned i = 0; i < HANDLER_WORDS && sp < cfa && word_at(stack, sp, &word); i++, sp += sizeof(word))
		if (word && perfmap_find(j->map, word - 1, ret) && !ret->glue)
			return true;
	return false;
}

/* Code that is not named itself may work in a frame that tells its function by the bytecode. */
static enum what by_bytecode(struct jit *j, struct target *t, const struct code_addr *c, const struct stack_copy *stack,
			     struct raw_frame *ret)
{
	struct perfmap_code code;
	raddr_t array;
	bool runs;

	if (!bytecode_of(stack, c->cfa, &array, &runs))
		return OTHER;
	if (line_of(j, t, array, &code)) {
		*ret = frame_of(&code);
		if (!c->is_return || !runs)
			return WITHIN;
		learn_trampoline(j, c->at);
		return FUNCTION;
	}
	if (runs && !c->is_return && caller_of(j, stack, c->cfa - FP_BELOW_CFA, &code)) {
		*ret = frame_of(&code);
		return WITHIN;
	}
	*ret = (struct raw_frame){ .stamp = stamp_unnamed };
	return runs && is_trampoline(j, c) ? FUNCTION : OTHER;
}

static enum what what_is(struct jit *j, struct target *t, const struct code_addr *c, const struct stack_copy *stack,
			 struct raw_frame *ret)
{
	struct perfmap_code code;
	bool known = perfmap_find(j->map, code_addr_lookup(*c), &code);
	enum what what;

	if (known && !c->module && !code.glue) {
		*ret = frame_of(&code);
		return FUNCTION;
	}
	what = by_bytecode(j, t, c, stack, ret);
	if (what != OTHER)
		return what;
	*ret = known && code.glue ? frame_of(&code) : native_frame(c);
	return c->module || known ? OTHER : UNKNOWN;
}

/* Leaf first, so that this is soon known where it is so; but the interpreter's own address has to be known for it. */
static bool has_function(struct jit *j, struct target *t, const struct code_addr *found, size_t count,
			 const struct stack_copy *stack)
{
	struct raw_frame f;
	bool has = false;

	for (size_t i = 0; j->there && i < count && (!has || !j->trampoline_count); i++)
		has = what_is(j, t, &found[i], stack, &f) >= FUNCTION || has;
	return has;
}

static void push_itself(const struct jit *j, const struct code_addr *c, struct raw_stacks *out)
{
	struct perfmap_code code;
	struct raw_frame f;

	if (!perfmap_find(j->map, code_addr_lookup(*c), &code) || !code.glue) {
		push_native(j, c, out);
		return;
	}
	f = frame_of(&code);
	raw_stacks_frame(out, &f);
}

void jit_push(struct jit *j, struct target *t, const struct code_addr *found, size_t count,
	      const struct stack_copy *stack, struct raw_stacks *out)
{
	bool has = has_function(j, t, found, count, stack), others = !j->functions || !has;

	for (size_t i = 0; i < count; i++) {
		struct raw_frame f = native_frame(&found[i]);
		enum what what = j->there ? what_is(j, t, &found[i], stack, &f) : OTHER;

		if (what == WITHIN && others)
			push_itself(j, &found[i], out);
		if (what == OTHER && !others)
			continue;
		if (jit_is_frame(&f))
			raw_stacks_frame(out, &f);
		else
			push_native(j, &found[i], out);
	}
}

bool jit_is_frame(const struct raw_frame *f)
{
	return f->stamp & stamp_jit;
}

static struct frame_info unnamed(struct strings *strings, const char *text, uint8_t kind)
{
	str_id id = strings_add(strings, text, strlen(text));

	return (struct frame_info){ .function = id, .name = id, .kind = kind };
}

struct err jit_name(struct jit *j, const struct raw_frame *f, struct strings *strings, struct frame_info *ret)
{
	if (f->stamp == stamp_unnamed)
		*ret = unnamed(strings, "[interpreted]", FRAME_JS);
	else if (failed(perfmap_name(j->map, f->code, f->pos, strings, ret)))
		*ret = unnamed(strings, "[jit]", FRAME_NATIVE);
	return OK;
}
