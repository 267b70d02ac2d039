/* codes.c - which iseq or method entry lies at an address now? */
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "codes.h"

static const uint64_t YOUNG_NS = 250 * 1000 * 1000ull;
enum {
	LIST_FIRST = 1024,
	BATCH = 128,
	PARAMETERS = 24, /* in a body: flags among them change when a method is refined */
	PARAMETERS_END = 64,
};

void rby_codes_init(struct rby_codes *c, const struct rby_layout *l)
{
	memset(c, 0, sizeof(*c));
	c->l = l;
	c->cap = LIST_FIRST;
	c->list = xcalloc(c->cap, sizeof(*c->list));
}

static void forget_all(struct rby_codes *c)
{
	for (size_t i = 0; i < c->cap; i++)
		free(c->list[i].ends);
	memset(c->list, 0, c->cap * sizeof(*c->list));
	c->used = c->trusted_count = c->young_count = 0;
}

void rby_codes_free(struct rby_codes *c)
{
	if (c->list)
		forget_all(c);
	free(c->list);
	free(c->trusted);
	free(c->ranges);
}

static struct rby_code *slot_of(struct rby_code *list, size_t cap, raddr_t code)
{
	size_t i = (code >> 3) * 0x9E3779B97F4A7C15ull >> 20 & (cap - 1);

	while (list[i].code && list[i].code != code)
		i = (i + 1) & (cap - 1);
	return &list[i];
}

static void grow(struct rby_codes *c)
{
	size_t cap = c->cap * 2;
	struct rby_code *list = xcalloc(cap, sizeof(*list));

	for (size_t i = 0; i < c->cap; i++)
		if (c->list[i].code)
			*slot_of(list, cap, c->list[i].code) = c->list[i];
	free(c->list);
	c->list = list;
	c->cap = cap;
}

/* Makes room first, so that entries stay where they are between two calls of
 * this. */
static void make_room(struct rby_codes *c, size_t more)
{
	if (c->used + more > CODES_MAX)
		forget_all(c);
	while ((c->used + more) * 4 > c->cap * 3)
		grow(c);
}

static struct rby_code *entry_of(struct rby_codes *c, raddr_t code)
{
	struct rby_code *e = slot_of(c->list, c->cap, code);

	if (!e->code) {
		*e = (struct rby_code){ .code = code };
		c->used++;
	}
	return e;
}

struct rby_code *rby_codes_find(struct rby_codes *c, raddr_t code)
{
	struct rby_code *e = slot_of(c->list, c->cap, code);

	return e->code ? e : NULL;
}

static uint64_t word_at(const uint8_t *bytes, size_t at)
{
	uint64_t v;

	memcpy(&v, bytes + at, sizeof(v));
	return v;
}

static unsigned imemo_of(const struct rby_parts *p)
{
	uint64_t flags = word_at(p->head, 0);

	return (flags & TYPE_MASK) == TYPE_IMEMO ? (unsigned)(flags >> IMEMO_SHIFT) & IMEMO_MASK : 0;
}

static raddr_t body_in(const struct rby_parts *p)
{
	return word_at(p->head, imemo_of(p) == IMEMO_ISEQ ? ISEQ_BODY : METHOD_DEFINITION);
}

static raddr_t label_in(const struct rby_parts *p)
{
	return imemo_of(p) == IMEMO_ISEQ ? word_at(p->body_bytes, BODY_LABEL) : 0;
}

static uint32_t stamp_of(const struct rby_parts *p)
{
	uint64_t h;

	if (imemo_of(p) == IMEMO_METHOD) {
		/* A definition's first word has a count in it. */
		h = XXH3_64bits(p->head + METHOD_DEFINITION, HEAD_BYTES - METHOD_DEFINITION);
		h = h * 3 ^ XXH3_64bits(p->body_bytes + DEFINITION_BODY, HEAD_BYTES - DEFINITION_BODY);
		return (uint32_t)(h ^ h >> 32) | 1;
	}
	if (imemo_of(p) != IMEMO_ISEQ || (word_at(p->label_bytes, 0) & TYPE_MASK) != TYPE_STRING)
		return 0;
	h = word_at(p->head, ISEQ_BODY) * 0x9E3779B97F4A7C15ull;
	h ^= XXH3_64bits(p->body_bytes, PARAMETERS);
	h = h * 3 ^ XXH3_64bits(p->body_bytes + PARAMETERS_END, BODY_FIRST_LINE + 4 - PARAMETERS_END);
	/* Without the flags, of which the collector uses some. */
	h = h * 3 ^ XXH3_64bits(p->label_bytes + STRING_LEN, HEAD_BYTES - STRING_LEN);
	return (uint32_t)(h ^ h >> 32) | 1;
}

/* A thing of another kind, or of the same kind but another one. */
static void set_stamp(struct rby_code *e, const struct rby_parts *p, uint32_t tick, uint64_t now_ns)
{
	uint32_t stamp = stamp_of(p), words;

	e->checked = tick;
	if (stamp == e->stamp)
		return;
	free(e->ends);
	e->ends = NULL;
	e->stamp = stamp;
	e->born_ns = now_ns;
	e->method = 0;
	e->around_read = false;
	e->asked = 0;
	e->body = body_in(p);
	e->label = label_in(p);
	e->encoded = 0;
	e->words = 0;
	if (imemo_of(p) != IMEMO_ISEQ)
		return;
	memcpy(&words, p->body_bytes + BODY_SIZE, sizeof(words));
	e->encoded = word_at(p->body_bytes, BODY_ENCODED);
	e->words = words;
	if (!e->encoded || words > ISEQ_WORDS_MAX)
		e->stamp = 0;
}

void rby_codes_plan(struct rby_codes *c, rby_range_fn *fn, void *arg)
{
	for (size_t i = 0; i < c->young_count; i++) {
		struct rby_parts *y = &c->young[i];

		fn(arg, y->code, y->head, HEAD_BYTES);
		fn(arg, y->body, y->body_bytes, y->label ? BODY_BYTES : HEAD_BYTES);
		if (y->label)
			fn(arg, y->label, y->label_bytes, HEAD_BYTES);
	}
}

/* What came with this tick's read, if it was read from where it is. */
static void take_young(struct rby_codes *c, uint32_t tick, uint64_t now_ns, bool read)
{
	for (size_t i = 0; i < c->young_count; i++) {
		const struct rby_parts *y = &c->young[i];
		struct rby_code *e = entry_of(c, y->code);

		e->planned = false;
		if (read && body_in(y) == y->body && label_in(y) == y->label)
			set_stamp(e, y, tick, now_ns);
	}
	c->young_count = 0;
}

static void plan_young(struct rby_codes *c, struct rby_code *e)
{
	struct rby_parts *y = &c->young[c->young_count];

	if (e->planned || !e->stamp || c->young_count == YOUNG_MAX)
		return;
	e->planned = true;
	y->code = e->code;
	y->body = e->body;
	y->label = e->label;
	c->young_count++;
}

static void note_trusted(struct rby_codes *c, struct rby_code *e)
{
	if (e->trusted)
		return;
	e->trusted = true;
	xgrow(&c->trusted, &c->trusted_cap, c->trusted_count + 1, sizeof(*c->trusted));
	c->trusted[c->trusted_count++] = e->code;
}

/* Read what can be read of n ranges; of those that can't, the length becomes 0.
 */
static void read_each(struct memory *m, struct memory_range *ranges, size_t n)
{
	size_t at = 0;

	while (at < n) {
		size_t done;
		struct err e = memory_readv(m, ranges + at, n - at, &done);

		if (!failed(e))
			return;
		at += done;
		if (at >= n)
			return;
		ranges[at].len = 0;
		if (e.code != ERR_FAULT)
			for (size_t i = at; i < n; i++)
				ranges[i].len = 0;
		at++;
	}
}

/* All parts of n code objects, one step after the other; `ok` tells which could
 * be read. */
static void look(struct memory *m, struct rby_parts *list, size_t n, bool *ok)
{
	struct memory_range ranges[BATCH];

	for (size_t i = 0; i < n; i++)
		ranges[i] = (struct memory_range){ list[i].code, list[i].head, HEAD_BYTES };
	read_each(m, ranges, n);
	for (size_t i = 0; i < n; i++) {
		ok[i] = ranges[i].len && imemo_of(&list[i]);
		list[i].body = ok[i] ? body_in(&list[i]) : 0;
		ranges[i] = (struct memory_range){ list[i].body, list[i].body_bytes, 0 };
		if (ok[i])
			ranges[i].len = imemo_of(&list[i]) == IMEMO_ISEQ ? BODY_BYTES : HEAD_BYTES;
	}
	read_each(m, ranges, n);
	for (size_t i = 0; i < n; i++) {
		ok[i] = ok[i] && ranges[i].len;
		list[i].label = ok[i] ? label_in(&list[i]) : 0;
		ranges[i] = (struct memory_range){ list[i].label, list[i].label_bytes, list[i].label ? HEAD_BYTES : 0 };
	}
	read_each(m, ranges, n);
	for (size_t i = 0; i < n; i++)
		ok[i] = ok[i] && (!list[i].label || ranges[i].len);
}

/* The parts of n code objects that were met before are likely where they were: one step. False: one of them is not. */
static bool look_again(struct rby_codes *c, struct memory *m, struct rby_parts *list, size_t n)
{
	struct memory_range *ranges;
	size_t count = 0;

	xgrow(&c->ranges, &c->range_cap, n * 3, sizeof(*c->ranges));
	ranges = c->ranges;
	for (size_t i = 0; i < n; i++) {
		const struct rby_code *e = entry_of(c, list[i].code);

		if (!e->stamp)
			return false;
		list[i].body = e->body;
		list[i].label = e->label;
		ranges[count++] = (struct memory_range){ e->code, list[i].head, HEAD_BYTES };
		ranges[count++] =
			(struct memory_range){ e->body, list[i].body_bytes, e->label ? BODY_BYTES : HEAD_BYTES };
		if (e->label)
			ranges[count++] = (struct memory_range){ e->label, list[i].label_bytes, HEAD_BYTES };
	}
	if (failed(memory_readv(m, ranges, count, NULL)))
		return false;
	for (size_t i = 0; i < n; i++)
		if (body_in(&list[i]) != list[i].body || label_in(&list[i]) != list[i].label)
			return false;
	return true;
}

static void look_at_unknown(struct rby_codes *c, struct memory *m, struct rby_parts *list, size_t n, uint32_t tick,
			    uint64_t now_ns)
{
	bool ok[BATCH], again = look_again(c, m, list, n);

	if (!again)
		look(m, list, n, ok);
	for (size_t i = 0; i < n; i++) {
		struct rby_code *e = entry_of(c, list[i].code);

		if (again || ok[i])
			set_stamp(e, &list[i], tick, now_ns);
		else
			e->stamp = 0;
	}
}

/* Look at every code object that is neither trusted nor came with the tick. */
static void find_unknown(struct rby_codes *c, struct memory *m, const struct raw_stacks *s, uint32_t tick,
			 uint64_t now_ns)
{
	struct rby_parts list[BATCH];
	size_t n = 0;

	for (size_t i = 0; i < s->used; i++) {
		struct rby_code *e;

		if (s->frames[i].pos == RBY_POS_GC)
			continue;
		e = entry_of(c, s->frames[i].code);
		if (e->checked == tick)
			continue;
		if (e->stamp && now_ns - e->born_ns >= YOUNG_NS) {
			note_trusted(c, e);
			continue;
		}
		e->checked = tick; /* so that it is asked for once */
		list[n++].code = e->code;
		if (n == BATCH) {
			look_at_unknown(c, m, list, n, tick, now_ns);
			n = 0;
		}
	}
	if (n)
		look_at_unknown(c, m, list, n, tick, now_ns);
}

/*
 * Where an iseq leaves its frame: its last instruction does, being one word,
 * and every other one like it. A leaf that stands behind one was popped, if
 * nothing can be between that and the next push.
 */
static void find_ends(struct memory *m, struct rby_code *e)
{
	CLEANUP(cleanup_free) uint64_t *words = NULL;

	if (!e->words || e->words > ENDS_WORDS_MAX)
		return;
	words = xcalloc(e->words, sizeof(*words));
	if (failed(memory_read(m, e->encoded, words, e->words * sizeof(*words))))
		return;
	e->ends = xcalloc(e->words / 64 + 1, sizeof(*e->ends));
	for (uint32_t i = 0; i < e->words; i++)
		if (words[i] == words[e->words - 1])
			e->ends[(i + 1) / 64] |= 1ull << (i + 1) % 64;
}

static bool is_end(struct memory *m, struct rby_code *e, uint64_t pos)
{
	if (!e->ends)
		find_ends(m, e);
	return e->ends && pos <= e->words && e->ends[pos / 64] >> pos % 64 & 1;
}

static bool set_position(struct rby_code *e, struct raw_frame *f)
{
	uint64_t offset = f->pos - e->encoded;

	if (!e->encoded || f->pos == RBY_POS_C)
		return !e->encoded && f->pos == RBY_POS_C;
	if (f->pos == RBY_POS_START)
		return true;
	if (f->pos < e->encoded || offset % 8 || offset / 8 > e->words)
		return false;
	f->pos = offset / 8;
	return true;
}

bool rby_may_be_unfinished(const struct rby_layout *l, const struct raw_stack *stack)
{
	return l->push == PUSH_LINKED_FIRST || (l->push == PUSH_JIT_LINKED && stack->sure);
}

void rby_drop_leaf(struct raw_stack *stack)
{
	stack->first++;
	stack->count--;
	if (stack->agreed != RAW_NOT_ASKED && stack->agreed > stack->count)
		stack->agreed = stack->count;
}

static void stamp_stack(struct rby_codes *c, struct memory *m, struct raw_stacks *s, struct raw_stack *stack,
			uint64_t now_ns)
{
	bool linked_first = c->l->push == PUSH_LINKED_FIRST, may_drop = rby_may_be_unfinished(c->l, stack);

	for (uint32_t k = 0; k < stack->count; k++) {
		struct raw_frame *f = &s->frames[stack->first + k];
		struct rby_code *e;
		bool fits;

		if (f->pos == RBY_POS_GC)
			continue;
		e = entry_of(c, f->code);
		fits = e->stamp && set_position(e, f);
		/* A leaf that is linked before it is filled holds what an earlier one left,
		 * or some of that. */
		if (may_drop && k == 0 && (!fits || (linked_first && f->pos < RBY_POS_START && is_end(m, e, f->pos)))) {
			rby_drop_leaf(stack);
			stack->cut |= !e->stamp; /* who knows what it was? */
			may_drop = false;
			k--;
			continue;
		}
		if (!fits) {
			stack->err = err_at(ERR_CORRUPT, f->code, "reading a code object");
			return;
		}
		f->stamp = e->stamp;
		c->unasked |= e->encoded && e->asked < METHOD_ASKS;
		stack->codes |= raw_code_bit(f->code);
		if (now_ns - e->born_ns < YOUNG_NS)
			plan_young(c, e);
	}
}

/* Its code is known already, by its name, too, or it is not told: looking costs a read. */
static void stamp_known(struct rby_codes *c, struct raw_frame *f)
{
	const struct rby_code *e = rby_codes_find(c, f->code);

	if (f->pos == RBY_POS_GC || f->code == RBY_CODE_UNKNOWN)
		f->stamp = 1;
	else if (e && (e->encoded ? f->pos != RBY_POS_C && e->asked >= METHOD_ASKS : f->pos == RBY_POS_C))
		f->stamp = e->stamp;
}

void rby_codes_stamp(struct rby_codes *c, struct memory *m, struct raw_stacks *s, uint32_t tick, uint64_t now_ns,
		     bool read)
{
	make_room(c, s->used + c->young_count);
	take_young(c, tick, now_ns, read);
	find_unknown(c, m, s, tick, now_ns);
	c->unasked = false;
	for (size_t i = 0; i < s->count; i++) {
		stamp_known(c, &s->list[i].top);
		stamp_known(c, &s->list[i].top_before);
		stamp_stack(c, m, s, &s->list[i], now_ns);
	}
}

static size_t verify_batch(struct rby_codes *c, struct memory *m, const raddr_t *codes, size_t n, uint64_t now_ns,
			   struct raw_reuse *reused)
{
	struct rby_parts list[BATCH];
	bool ok[BATCH];
	size_t found = 0;

	for (size_t i = 0; i < n; i++)
		list[i].code = codes[i];
	look(m, list, n, ok);
	for (size_t i = 0; i < n; i++) {
		struct rby_code *e = entry_of(c, codes[i]);
		uint32_t before = e->stamp;

		e->trusted = false;
		if (ok[i])
			set_stamp(e, &list[i], e->checked, now_ns);
		else
			e->stamp = 0;
		if (e->stamp != before)
			reused[found++].code = codes[i];
	}
	return found;
}

struct err rby_codes_verify(struct rby_codes *c, struct memory *m, uint64_t now_ns, struct raw_reuse *reused,
			    size_t cap, size_t *ret)
{
	size_t left = c->trusted_count;

	*ret = 0;
	while (left > 0 && *ret + BATCH <= cap) {
		size_t n = left < BATCH ? left : BATCH;

		*ret += verify_batch(c, m, c->trusted + left - n, n, now_ns, reused + *ret);
		left -= n;
	}
	c->trusted_count = left;
	return OK;
}

bool rby_codes_is(struct rby_codes *c, struct memory *m, raddr_t code, uint32_t stamp)
{
	struct rby_parts p = { .code = code };
	bool ok;

	(void)c;
	look(m, &p, 1, &ok);
	return ok && stamp_of(&p) == stamp;
}
