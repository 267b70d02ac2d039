/* codes.c - which code object lies at an address now? */
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "codes.h"

static const uint64_t YOUNG_NS = 250 * 1000 * 1000ull;
enum { LIST_FIRST = 1024, BATCH = 256 };

static void widen(const struct cpy_layout *l, uint32_t *low, uint32_t *high)
{
	const int32_t fields[] = { l->code_first_line, l->code_version,	 l->code_filename,
				   l->code_name,       l->code_qualname, l->code_lines };

	for (size_t i = 0; i < countof(fields); i++) {
		if (!cpy_has(fields[i]))
			continue;
		if ((uint32_t)fields[i] < *low)
			*low = (uint32_t)fields[i];
		if ((uint32_t)fields[i] + 8 > *high)
			*high = (uint32_t)fields[i] + 8;
	}
}

void codes_init(struct codes *c, const struct cpy_layout *l)
{
	uint32_t low = UINT32_MAX, high = 0;

	memset(c, 0, sizeof(*c));
	widen(l, &low, &high);
	c->low = low;
	c->len = high - low < HEADER_BYTES ? high - low : HEADER_BYTES;
	/* From 3.11 on every code object has a number of its own in its header. */
	c->by_name = l->frames == FRAMES_HEAP;
	c->cap = LIST_FIRST;
	c->list = xcalloc(c->cap, sizeof(*c->list));
	c->name_at = (uint32_t)l->code_name - low;
}

void codes_free(struct codes *c)
{
	free(c->list);
	free(c->trusted);
	free(c->ranges);
}

static struct code_entry *slot_of(struct code_entry *list, size_t cap, raddr_t code)
{
	size_t i = (code >> 4) * 0x9E3779B97F4A7C15ull >> 20 & (cap - 1);

	while (list[i].code && list[i].code != code)
		i = (i + 1) & (cap - 1);
	return &list[i];
}

static void grow(struct codes *c)
{
	size_t cap = c->cap * 2;
	struct code_entry *list = xcalloc(cap, sizeof(*list));

	for (size_t i = 0; i < c->cap; i++)
		if (c->list[i].code)
			*slot_of(list, cap, c->list[i].code) = c->list[i];
	free(c->list);
	c->list = list;
	c->cap = cap;
}

/* Makes room first, so that entries stay where they are between two calls of this. */
static void make_room(struct codes *c, size_t more)
{
	if (c->used + more > CODES_MAX) {
		memset(c->list, 0, c->cap * sizeof(*c->list));
		c->used = c->trusted_count = c->young_count = 0;
	}
	while ((c->used + more) * 4 > c->cap * 3)
		grow(c);
}

static struct code_entry *entry_of(struct codes *c, raddr_t code)
{
	struct code_entry *e = slot_of(c->list, c->cap, code);

	if (!e->code) {
		*e = (struct code_entry){ .code = code };
		c->used++;
	}
	return e;
}

static uint32_t stamp_of(const struct codes *c, const uint8_t *header, const uint8_t *text)
{
	uint64_t h = XXH3_64bits(header, c->len);

	if (c->by_name)
		h ^= XXH3_64bits(text, NAME_BYTES) * 3;
	return (uint32_t)(h ^ h >> 32) | 1;
}

static raddr_t name_in(const struct codes *c, const uint8_t *header)
{
	raddr_t at;

	memcpy(&at, header + c->name_at, sizeof(at));
	return at;
}

/* The first words of a name object are its count of references, which changes all the time, and its type. */
static raddr_t text_at(raddr_t name)
{
	return name + 16;
}

static void set_stamp(const struct codes *c, struct code_entry *e, const uint8_t *header, const uint8_t *text,
		      uint32_t tick, uint64_t now_ns)
{
	uint32_t stamp = stamp_of(c, header, text);

	if (stamp != e->stamp) {
		e->stamp = stamp;
		e->born_ns = now_ns;
	}
	e->name = name_in(c, header);
	e->checked = tick;
}

void codes_plan(struct codes *c, codes_range_fn *fn, void *arg)
{
	for (size_t i = 0; i < c->young_count; i++) {
		struct young *y = &c->young[i];

		fn(arg, y->code + c->low, y->header, c->len);
		if (c->by_name)
			fn(arg, text_at(y->name), y->text, NAME_BYTES);
	}
}

/* What came with this tick's read. */
static void take_young(struct codes *c, uint32_t tick, uint64_t now_ns, bool read)
{
	for (size_t i = 0; i < c->young_count; i++) {
		const struct young *y = &c->young[i];
		struct code_entry *e = entry_of(c, y->code);

		e->planned = false;
		if (read && (!c->by_name || name_in(c, y->header) == y->name))
			set_stamp(c, e, y->header, y->text, tick, now_ns);
	}
	c->young_count = 0;
}

static void plan_young(struct codes *c, struct code_entry *e)
{
	if (e->planned || c->young_count == YOUNG_MAX)
		return;
	e->planned = true;
	c->young[c->young_count].code = e->code;
	c->young[c->young_count++].name = e->name;
}

static void note_trusted(struct codes *c, struct code_entry *e)
{
	if (e->trusted)
		return;
	e->trusted = true;
	xgrow(&c->trusted, &c->trusted_cap, c->trusted_count + 1, sizeof(*c->trusted));
	c->trusted[c->trusted_count++] = e->code;
}

/* Read what can be read of n ranges; those that can't are skipped, and their buffers stay zero. */
static void read_each(struct memory *m, struct memory_range *ranges, size_t n)
{
	size_t at = 0;

	while (at < n) {
		size_t done;
		struct err e = memory_readv(m, ranges + at, n - at, &done);

		if (!failed(e))
			return;
		at += done;
		if (e.code != ERR_FAULT || at >= n)
			return;
		ranges[at].len = 0;
		at++;
	}
}

/* Headers and names of n code objects; `ok` tells which could be read. */
static void look(struct codes *c, struct memory *m, struct young *list, size_t n, bool *ok)
{
	xgrow(&c->ranges, &c->range_cap, n, sizeof(*c->ranges));
	for (size_t i = 0; i < n; i++)
		c->ranges[i] = (struct memory_range){ list[i].code + c->low, list[i].header, c->len };
	read_each(m, c->ranges, n);
	for (size_t i = 0; i < n; i++) {
		ok[i] = c->ranges[i].len != 0;
		list[i].name = ok[i] ? name_in(c, list[i].header) : 0;
	}
	if (!c->by_name)
		return;
	for (size_t i = 0; i < n; i++)
		c->ranges[i] = (struct memory_range){ text_at(list[i].name), list[i].text, ok[i] ? NAME_BYTES : 0 };
	read_each(m, c->ranges, n);
	for (size_t i = 0; i < n; i++)
		ok[i] = ok[i] && c->ranges[i].len != 0;
}

static void look_at_unknown(struct codes *c, struct memory *m, struct young *list, size_t n, uint32_t tick,
			    uint64_t now_ns)
{
	bool ok[BATCH];

	look(c, m, list, n, ok);
	for (size_t i = 0; i < n; i++) {
		struct code_entry *e = entry_of(c, list[i].code);

		if (ok[i])
			set_stamp(c, e, list[i].header, list[i].text, tick, now_ns);
		else
			e->stamp = 0;
	}
}

static bool is_known(struct codes *c, struct code_entry *e, uint32_t tick, uint64_t now_ns)
{
	if (e->stamp && e->checked == tick)
		return true;
	if (!e->stamp || now_ns - e->born_ns < YOUNG_NS)
		return false;
	note_trusted(c, e);
	return true;
}

/* First pass: look at every code object that is neither trusted nor came with the tick. */
static void find_unknown(struct codes *c, struct memory *m, const struct raw_stacks *s, uint32_t tick, uint64_t now_ns)
{
	struct young list[BATCH];
	size_t n = 0;

	for (size_t i = 0; i < s->used; i++) {
		struct code_entry *e = entry_of(c, s->frames[i].code);

		if (e->checked == tick || is_known(c, e, tick, now_ns))
			continue;
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

/* Of a code object that was met in a stack before; none is looked at for this. */
static void stamp_known(const struct codes *c, struct raw_frame *f)
{
	if (f->code)
		f->stamp = slot_of(c->list, c->cap, f->code)->stamp;
}

void codes_stamp(struct codes *c, struct memory *m, struct raw_stacks *s, uint32_t tick, uint64_t now_ns, bool read)
{
	make_room(c, s->used + c->young_count);
	take_young(c, tick, now_ns, read);
	find_unknown(c, m, s, tick, now_ns);
	for (size_t i = 0; i < s->count; i++) {
		struct raw_stack *stack = &s->list[i];

		stamp_known(c, &stack->top);
		stamp_known(c, &stack->top_before);
		for (uint32_t k = 0; k < stack->count; k++) {
			struct raw_frame *f = &s->frames[stack->first + k];
			struct code_entry *e = entry_of(c, f->code);

			f->stamp = e->stamp;
			stack->codes |= raw_code_bit(f->code);
			if (!e->stamp)
				stack->err = err_at(ERR_CORRUPT, f->code, "reading a code object");
			if (now_ns - e->born_ns < YOUNG_NS)
				plan_young(c, e);
		}
	}
}

static size_t verify_batch(struct codes *c, struct memory *m, const raddr_t *codes, size_t n, uint64_t now_ns,
			   struct raw_reuse *reused)
{
	struct young list[BATCH];
	bool ok[BATCH];
	size_t found = 0;

	for (size_t i = 0; i < n; i++)
		list[i].code = codes[i];
	look(c, m, list, n, ok);
	for (size_t i = 0; i < n; i++) {
		struct code_entry *e = entry_of(c, codes[i]);
		uint32_t stamp = ok[i] ? stamp_of(c, list[i].header, list[i].text) : 0;

		e->trusted = false;
		if (stamp == e->stamp)
			continue;
		e->stamp = stamp;
		e->born_ns = now_ns;
		reused[found++].code = codes[i];
	}
	return found;
}

struct err codes_verify(struct codes *c, struct memory *m, uint64_t now_ns, struct raw_reuse *reused, size_t cap,
			size_t *ret)
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

bool codes_is(struct codes *c, struct memory *m, raddr_t code, uint32_t stamp)
{
	struct young y = { .code = code };
	bool ok;

	look(c, m, &y, 1, &ok);
	return ok && stamp_of(c, y.header, y.text) == stamp;
}
