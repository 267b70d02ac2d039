/* go_table.c - functions, files and lines of a Go program, out of the table that its runtime keeps (pclntab). */
#include <stdlib.h>
#include <string.h>

#include "go_table.h"

/*
 * Upstream: src/debug/gosym/pclntab.go, and of the records of functions src/runtime/runtime2.go (type _func), 1.2 to
 * 1.26.
 */
enum {
	FUNCTIONS_MAX = 1 << 24,
	TEXT_MAX = 1 << 12,  /* of a name or path */
	STEPS_MAX = 1 << 20, /* in the lines of one function */
	HEAD = 8,
	WORD = 8,
	NUMBER_BYTES_MAX = 5,
};

enum format { GO_1_2, GO_1_16, GO_1_18, GO_1_20, FORMATS };
static const uint32_t magics[FORMATS] = { 0xfffffffb, 0xfffffffa, 0xfffffff0, 0xfffffff1 };

static const uint32_t no_file = UINT32_MAX;

/* A part of the table: as far as its end, since no part says how long it is. */
struct part {
	const uint8_t *bytes;
	size_t len;
};

struct go_table {
	enum format format;
	uint8_t quantum;
	uint64_t text;
	size_t count; /* of functions */
	size_t field; /* bytes of a number in `list` */
	struct part whole, names, units, files, values, functions;
	struct part list; /* of pairs (start, record in `functions`), and a last end */
};

/* Of a function's record, in bytes; 0: the format has none. */
struct record {
	size_t name, file, line, tables, unit, first_line, end; /* `tables`: how many follow at the end */
	uint32_t inlined;					/* number of the one that says what is inlined */
};

static const struct record records[FORMATS] = {
	[GO_1_2] = { .name = 8, .file = 24, .line = 28 },
	[GO_1_16] = { .name = 8, .file = 24, .line = 28, .tables = 32, .unit = 36, .end = 44, .inlined = 2 },
	[GO_1_18] = { .name = 4, .file = 20, .line = 24, .tables = 28, .unit = 32, .end = 40, .inlined = 2 },
	[GO_1_20] = { .name = 4,
		      .file = 20,
		      .line = 24,
		      .tables = 28,
		      .unit = 32,
		      .first_line = 36,
		      .end = 44,
		      .inlined = 2 },
};

static bool get32(struct part p, uint64_t at, uint32_t *ret)
{
	if (at > p.len || p.len - at < sizeof(*ret))
		return false;
	memcpy(ret, p.bytes + at, sizeof(*ret));
	return true;
}

static bool get64(struct part p, uint64_t at, uint64_t *ret)
{
	if (at > p.len || p.len - at < sizeof(*ret))
		return false;
	memcpy(ret, p.bytes + at, sizeof(*ret));
	return true;
}

static bool from(struct part p, uint64_t at, struct part *ret)
{
	if (at >= p.len)
		return false;
	*ret = (struct part){ p.bytes + at, p.len - at };
	return true;
}

static const char *text_at(struct part p, uint64_t at)
{
	struct part text;
	size_t most;

	if (!from(p, at, &text))
		return NULL;
	most = text.len < TEXT_MAX ? text.len : TEXT_MAX;
	return memchr(text.bytes, 0, most) && *text.bytes ? (const char *)text.bytes : NULL;
}

/* ---- The header ---- */

bool go_table_begins(const uint8_t *bytes)
{
	uint32_t magic;

	memcpy(&magic, bytes, sizeof(magic));
	for (size_t i = 0; i < FORMATS; i++)
		if (magic == magics[i])
			return !bytes[4] && !bytes[5] && (bytes[6] == 1 || bytes[6] == 2 || bytes[6] == 4) &&
			       bytes[7] == WORD;
	return false;
}

/* The part whose place is the n-th word of the header. */
static bool part_of(struct go_table *t, size_t n, struct part *ret)
{
	uint64_t at;

	return get64(t->whole, HEAD + n * WORD, &at) && from(t->whole, at, ret);
}

static bool read_oldest(struct go_table *t)
{
	uint32_t at;

	t->names = t->values = t->functions = t->whole;
	return from(t->whole, HEAD + WORD, &t->list) && get32(t->list, (t->count * 2 + 1) * t->field, &at) &&
	       from(t->whole, at, &t->files);
}

static bool read_parts(struct go_table *t)
{
	size_t first = t->format == GO_1_16 ? 2 : 3;

	if (first == 3 && !get64(t->whole, HEAD + 2 * WORD, &t->text))
		return false;
	if (!part_of(t, first, &t->names) || !part_of(t, first + 1, &t->units) || !part_of(t, first + 2, &t->files) ||
	    !part_of(t, first + 3, &t->values) || !part_of(t, first + 4, &t->functions))
		return false;
	t->list = t->functions;
	return true;
}

static bool read_header(struct go_table *t)
{
	uint32_t magic;
	uint64_t count;

	if (t->whole.len < HEAD + WORD || !go_table_begins(t->whole.bytes))
		return false;
	memcpy(&magic, t->whole.bytes, sizeof(magic));
	while (magics[t->format] != magic)
		t->format++;
	t->quantum = t->whole.bytes[6];
	t->field = t->format >= GO_1_18 ? sizeof(uint32_t) : WORD;
	if (!get64(t->whole, HEAD, &count) || !count || count > FUNCTIONS_MAX)
		return false;
	t->count = (size_t)count;
	if (!(t->format == GO_1_2 ? read_oldest(t) : read_parts(t)))
		return false;
	return t->list.len / t->field >= t->count * 2 + 1;
}

struct go_table *go_table_new(const uint8_t *bytes, size_t len)
{
	struct go_table *t = xcalloc(1, sizeof(*t));

	t->whole = (struct part){ bytes, len };
	if (read_header(t))
		return t;
	go_table_free(t);
	return NULL;
}

void go_table_free(struct go_table *t)
{
	free(t);
}

bool go_table_needs_text(const struct go_table *t)
{
	return t->format >= GO_1_18;
}

uint64_t go_table_text(const struct go_table *t)
{
	return t->text;
}

void go_table_set_text(struct go_table *t, uint64_t text)
{
	t->text = text;
}

/* ---- Functions ---- */

/* A number of the list, which was found to be there. */
static uint64_t listed(const struct go_table *t, size_t n)
{
	uint32_t small = 0;
	uint64_t large = 0;

	if (t->field == WORD && get64(t->list, n * WORD, &large))
		return large;
	return get32(t->list, n * sizeof(small), &small) ? small : 0;
}

static uint64_t start_of(const struct go_table *t, size_t i)
{
	return listed(t, i * 2) + t->text;
}

static const char *name_of(const struct go_table *t, size_t i)
{
	struct part f;
	uint32_t at;

	return from(t->functions, listed(t, i * 2 + 1), &f) && get32(f, records[t->format].name, &at)
		       ? text_at(t->names, at)
		       : NULL;
}

static bool find(const struct go_table *t, uint64_t svma, size_t *ret)
{
	size_t low = 0, high = t->count;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (start_of(t, mid) <= svma)
			low = mid + 1;
		else
			high = mid;
	}
	*ret = low - 1;
	return low && svma < start_of(t, low);
}

bool go_table_entry(const struct go_table *t, uint64_t *ret_off)
{
	static const char first[] = "_rt0_", last[] = "_linux";

	for (size_t i = 0; i < t->count; i++) {
		const char *name = name_of(t, i);
		size_t len = name && !strncmp(name, first, strlen(first)) ? strlen(name) : 0;

		if (len < strlen(last) || strcmp(name + len - strlen(last), last) != 0)
			continue;
		*ret_off = listed(t, i * 2);
		return true;
	}
	return false;
}

/* ---- Values of addresses ---- */

/* 7 bits a byte, the lowest first. */
static bool take_number(struct part *p, uint32_t *ret)
{
	*ret = 0;
	for (unsigned i = 0; i < NUMBER_BYTES_MAX && i < p->len; i++) {
		*ret |= (uint32_t)(p->bytes[i] & 0x7f) << (7 * i);
		if (p->bytes[i] & 0x80)
			continue;
		*p = (struct part){ p->bytes + i + 1, p->len - i - 1 };
		return true;
	}
	return false;
}

/* What the table of values says of an address that lies so far behind the function's start; -1: nothing. */
static int32_t value_at(const struct go_table *t, uint32_t table, uint64_t off)
{
	uint32_t value = UINT32_MAX;
	uint64_t end = 0;
	struct part p;

	if (!table || !from(t->values, table, &p))
		return -1;
	for (size_t i = 0; i < STEPS_MAX; i++) {
		uint32_t change, bytes;

		/* Signs are in the lowest bit. No change ends the table, but for the first. */
		if (!take_number(&p, &change) || (!change && i) || !take_number(&p, &bytes))
			break;
		value += change & 1 ? ~(change >> 1) : change >> 1;
		end += (uint64_t)bytes * t->quantum;
		if (off < end)
			return (int32_t)value;
	}
	return -1;
}

static const char *file_of(const struct go_table *t, struct part f, uint64_t off)
{
	const struct record *r = &records[t->format];
	uint32_t table, unit, at;
	int32_t number;

	if (!get32(f, r->file, &table) || (number = value_at(t, table, off)) < 0)
		return NULL;
	if (t->format == GO_1_2)
		return number && get32(t->files, (uint64_t)number * sizeof(at), &at) ? text_at(t->whole, at) : NULL;
	if (!get32(f, r->unit, &unit) || !get32(t->units, ((uint64_t)unit + (uint64_t)number) * sizeof(at), &at) ||
	    at == no_file)
		return NULL;
	return text_at(t->files, at);
}

/* Is the code there another function's, put into this one? */
static bool is_inlined(const struct go_table *t, struct part f, uint64_t off)
{
	const struct record *r = &records[t->format];
	uint32_t count, table;

	return r->tables && get32(f, r->tables, &count) && r->inlined < count &&
	       get32(f, r->end + r->inlined * sizeof(table), &table) && value_at(t, table, off) >= 0;
}

bool go_table_at(const struct go_table *t, uint64_t svma, struct go_place *ret)
{
	const struct record *r = &records[t->format];
	const char *file;
	uint32_t table;
	struct part f;
	uint64_t off;
	size_t i;

	*ret = (struct go_place){ 0 };
	if (!find(t, svma, &i) || !from(t->functions, listed(t, i * 2 + 1), &f))
		return false;
	ret->function = name_of(t, i);
	if (!ret->function)
		return false;
	off = svma - start_of(t, i);
	ret->file = file_of(t, f, 0);
	if (r->first_line && !get32(f, r->first_line, &ret->first_line))
		ret->first_line = 0;
	file = file_of(t, f, off);
	/* The line of what was inlined is none of this function. */
	if (is_inlined(t, f, off) || !file || !ret->file || strcmp(file, ret->file) != 0)
		return true;
	if (get32(f, r->line, &table)) {
		int32_t line = value_at(t, table, off);

		ret->line = line > 0 ? (uint32_t)line : 0;
	}
	return true;
}
