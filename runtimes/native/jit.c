/* jit.c - which frames of a native stack are functions that a JIT made. */
#include <string.h>

#include "jit.h"

/* No file has such a number: modules are counted from 1. */
static const uint32_t stamp_jit = 1u << 31, stamp_unnamed = UINT32_MAX;

/*
 * V8's interpreter runs a function's bytecode in a frame of this shape (the frame pointer's distance in words);
 * pointers are odd, and small integers lie in the upper half of a word. Upstream: src/execution/frame-constants.h, the
 * same from Node 18 to 26 at least.
 */
enum { SLOT_CONTEXT = 1, SLOT_FUNCTION = 2, SLOT_BYTECODE = 4, SLOT_OFFSET = 5, FP_BELOW_CFA = 16 };
/* A bytecode array's first bytes are its map, its length and some more, as the version has it. */
enum { ARRAY_LENGTH = 8, ARRAY_HEAD_MIN = 32, ARRAY_HEAD_MAX = 128, ARRAY_MAX = 1 << 30 };

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

/* The bytecode array of an interpreter's frame, and the address in it. */
static bool bytecode_of(const struct stack_copy *s, raddr_t cfa, raddr_t *array, raddr_t *at)
{
	raddr_t fp = cfa - FP_BELOW_CFA;
	uint64_t context, function, bytecode, offset;

	if (cfa < FP_BELOW_CFA || !word_at(s, fp - SLOT_CONTEXT * 8, &context) ||
	    !word_at(s, fp - SLOT_FUNCTION * 8, &function) || !word_at(s, fp - SLOT_BYTECODE * 8, &bytecode) ||
	    !word_at(s, fp - SLOT_OFFSET * 8, &offset))
		return false;
	if (!is_pointer(context) || !is_pointer(function) || !is_pointer(bytecode) || !is_small_integer(offset) ||
	    offset >> 32 > ARRAY_MAX)
		return false;
	*array = bytecode - 1;
	*at = bytecode + (offset >> 32);
	return true;
}

/* Bytecode is moved by the collector, and no map says so: its length has to be the line's. */
static bool is_whole(struct target *t, raddr_t array, const struct perfmap_code *code)
{
	uint64_t length;

	return code->start >= array + ARRAY_HEAD_MIN && code->start <= array + ARRAY_HEAD_MAX &&
	       !failed(memory_u64(t->memory, array + ARRAY_LENGTH, &length)) && is_small_integer(length) &&
	       length >> 32 == code->end - code->start;
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

/* What the interpreter runs in this frame; false when it is none of its frames. */
static bool interpreted(struct jit *j, struct target *t, const struct code_addr *c, const struct stack_copy *stack,
			struct raw_frame *ret)
{
	struct perfmap_code code;
	raddr_t array, at;

	if (!bytecode_of(stack, c->cfa, &array, &at))
		return false;
	if (perfmap_find(j->map, at, &code) && !code.glue && is_whole(t, array, &code)) {
		*ret = frame_of(&code);
		if (c->is_return)
			learn_trampoline(j, c->at);
		return true;
	}
	*ret = (struct raw_frame){ .stamp = stamp_unnamed };
	return is_trampoline(j, c);
}

enum what {
	OTHER,	  /* native code, and what a JIT has between functions */
	UNKNOWN,  /* code of a JIT that its map leaves out */
	FUNCTION, /* of a JIT */
	RUNS,	  /* interpreter's code, of which the function that it runs is not told apart by address */
};

static enum what what_is(struct jit *j, struct target *t, const struct code_addr *c, const struct stack_copy *stack,
			 struct raw_frame *ret)
{
	struct perfmap_code code;
	bool known = perfmap_find(j->map, code_addr_lookup(*c), &code);

	if (known && !c->module && !code.glue) {
		*ret = frame_of(&code);
		return FUNCTION;
	}
	if (interpreted(j, t, c, stack, ret))
		return c->is_return ? FUNCTION : RUNS;
	*ret = known && code.glue ? frame_of(&code) : native_frame(c);
	return c->module || known ? OTHER : UNKNOWN;
}

/* Leaf first, so that this is soon known where it is so. */
static bool has_function(struct jit *j, struct target *t, const struct code_addr *found, size_t count,
			 const struct stack_copy *stack)
{
	struct raw_frame f;

	for (size_t i = 0; j->there && i < count; i++)
		if (what_is(j, t, &found[i], stack, &f) >= FUNCTION)
			return true;
	return false;
}

void jit_push(struct jit *j, struct target *t, const struct code_addr *found, size_t count,
	      const struct stack_copy *stack, struct raw_stacks *out)
{
	bool others = !j->functions || !has_function(j, t, found, count, stack);

	for (size_t i = 0; i < count; i++) {
		struct raw_frame f = native_frame(&found[i]), native = f;
		enum what what = j->there ? what_is(j, t, &found[i], stack, &f) : OTHER;

		if (what == RUNS && others)
			raw_stacks_frame(out, &native);
		if (what != OTHER || others)
			raw_stacks_frame(out, &f);
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
