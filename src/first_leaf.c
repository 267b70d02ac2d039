/* first_leaf.c - which function a look found at the leaf. */
#include "first_leaf.h"

#include "random.h"

enum { CODES_MAX = 1 << 16 };

void first_leaf_init(struct first_leaf *f)
{
	map64_init(&f->clear, CODES_MAX);
	f->coin = 0x9E3779B97F4A7C15ull;
}

void first_leaf_free(struct first_leaf *f)
{
	map64_free(&f->clear);
}

static uint64_t key_of(const struct raw_frame *frame)
{
	return map64_key(hash_step(frame->code, frame->stamp));
}

static uint64_t times_clear(const struct first_leaf *f, const struct raw_frame *frame)
{
	const uint64_t *n = map64_find(&f->clear, key_of(frame));

	return n ? *n : 0;
}

/*
 * One function gave way to another between the two reads, and was on top at the moment between them, or had gone. It
 * is the more likely the more often it is met there; a coin weighted so keeps both from losing to the other.
 */
static const struct raw_frame *either(struct first_leaf *f, const struct raw_frame *a, const struct raw_frame *b)
{
	uint64_t n = times_clear(f, a) + 1, all = n + times_clear(f, b) + 1;

	return random_next(&f->coin) % all < n ? a : b;
}

struct raw_frame first_leaf_of(struct first_leaf *f, const struct raw_stack *stack, const struct raw_frame *frames)
{
	static const struct raw_frame unknown;
	const struct raw_frame *leaf = &stack->top;
	bool fresh;

	if (!leaf->at)
		return failed(stack->err) || !stack->count ? unknown : frames[0];
	if (!leaf->stamp)
		return unknown;
	if (stack->top_before.stamp && stack->top_before.code != leaf->code)
		leaf = either(f, leaf, &stack->top_before);
	else
		++*map64_put(&f->clear, key_of(leaf), &fresh);
	return *leaf;
}
