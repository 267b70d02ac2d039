/*
 * fuzz_elf.c - a hostile ELF file: its call frame information, the expressions in it, its symbols, its debug
 * information and what is packed inside. The first eight bytes choose the addresses that are asked for.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "debug_file.h"
#include "debug_info.h"
#include "demangle.h"
#include "go_file.h"
#include "symbol_table.h"
#include "unwind_cfi.h"

enum { HEAD = 8, ADDRESSES = 24, STACK_BYTES = 512 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
const char *__lsan_default_suppressions(void);
const char *__asan_default_options(void);

/* libdw is told that there is no memory when it asks for too much. */
const char *__asan_default_options(void)
{
	return "allocator_may_return_null=1";
}

/* What the libraries lose of a broken file is theirs, and little. */
const char *__lsan_default_suppressions(void)
{
	return "leak:libelf\nleak:libdw\n";
}

static void evaluate(const struct exprs *x)
{
	static const uint8_t bytes[STACK_BYTES];
	struct stack_copy stack = { 0x1000, bytes, sizeof(bytes) };
	struct regs regs = { .known = 0xffff, .pc = 1, .sp = 0x1000 };
	struct expr_context c = { &regs, &stack, 0x1080 };
	uint64_t v;

	for (unsigned i = 0; i < REGS; i++)
		regs.v[i] = 0x1000 + i * 8;
	for (size_t i = 0; i < x->count; i++)
		(void)expr_value(x, (int32_t)i, &c, &v);
}

static void ask(struct image *img, uint64_t seed)
{
	const struct image_segment *segments;
	size_t n = image_segments(img, &segments);
	struct cfi *c = cfi_new(img);
	struct exprs exprs = { 0 };

	for (unsigned i = 0; n && i < ADDRESSES; i++) {
		const struct image_segment *s = &segments[(seed >> i) % n];
		uint64_t at = s->svma + (seed * (i + 1) >> 7) % (s->mem_size ? s->mem_size : 1), end;
		struct rule rule;

		if (cfi_rule(c, &exprs, at, &rule, &end) && (end <= at || rule.count > RULE_SAVED))
			abort();
	}
	evaluate(&exprs);
	exprs_free(&exprs);
	cfi_free(c);
}

static void inform(struct image *img, uint64_t seed)
{
	struct debug_info *d = debug_info_new(img);
	const struct image_segment *segments;
	size_t n = d ? image_segments(img, &segments) : 0, len = 0;

	for (unsigned i = 0; n && i < ADDRESSES; i++) {
		const struct image_segment *s = &segments[(seed >> i) % n];
		uint64_t at = s->svma + (seed * (i + 1) >> 7) % (s->mem_size ? s->mem_size : 1);
		struct debug_place places[INLINED_MAX + 1];
		size_t count = debug_info_at(d, at, places);

		if (count > countof(places))
			abort();
		for (size_t k = 0; k < count; k++)
			len += (places[k].function ? strlen(places[k].function) : 0) +
			       (places[k].file ? strlen(places[k].file) : 0);
	}
	if (len == SIZE_MAX)
		abort();
	debug_info_free(d);
}

static void name_by_go(struct image *img, uint64_t seed)
{
	struct go_table *t = go_file_table(img);
	struct go_place p;

	for (unsigned i = 0; t && i < ADDRESSES; i++)
		if (go_table_at(t, seed * i >> 40, &p) && !*p.function)
			abort();
	go_table_free(t);
}

static void name(struct image *img, uint64_t seed)
{
	struct symbol_table t = { 0 };
	char text[128];

	symbol_table_add(&t, img);
	symbol_table_sort(&t);
	for (unsigned i = 0; i < ADDRESSES; i++) {
		const struct symbol *s = symbol_table_find(&t, seed * i >> 20);

		if (s)
			demangle(s->name, text, sizeof(text));
	}
	for (size_t i = 0; i < t.count && i < ADDRESSES; i++)
		demangle(t.list[i].name, text, sizeof(text));
	symbol_table_free(&t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct image *img = NULL;
	uint64_t seed;
	int fd;

	if (size < HEAD)
		return 0;
	memcpy(&seed, data, HEAD);
	fd = memfd_create("elf", MFD_CLOEXEC);
	if (fd < 0)
		return 0;
	if (write(fd, data + HEAD, size - HEAD) != (ssize_t)(size - HEAD)) {
		close(fd);
		return 0;
	}
	if (failed(image_open(fd, "elf", &img)))
		return 0;
	ask(img, seed);
	name(img, seed);
	name_by_go(img, seed);
	inform(img, seed);
	image_close(debug_file_inside(img));
	image_close(img);
	return 0;
}
