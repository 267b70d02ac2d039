/* test_symbols.c - names of addresses, and names as people write them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cspy/symbols.h"
#include "demangle.h"
#include "modules.h"
#include "symbol_table.h"

static void check_demangled(const char *name, const char *expected)
{
	char buf[256];

	demangle(name, buf, sizeof(buf));
	assert_string_equal(buf, expected);
}

static void names_are_demangled_without_parameters(void **state)
{
	(void)state;
	check_demangled("_ZN6shapes5LevelILi0EE4downEj", "shapes::Level<0>::down");
	check_demangled("_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE", "core::fmt::Write::write_fmt");
	check_demangled("_RNvC6_123foo3bar", "123foo::bar");
	check_demangled("main", "main");
	check_demangled("_start", "_start");
	check_demangled("_ZN", "_ZN");
	check_demangled("", "");
}

/* Each S_ stands for all that was before: written out, this has more letters than memory. */
static void name_that_explodes_is_cut(void **state)
{
	char name[1024] = "_Z1aI", buf[200];

	(void)state;
	strcat(name, "1b");
	for (int i = 0; i < 30; i++)
		strcat(name, "3xyzIS_S_E");
	strcat(name, "EvT_");
	demangle(name, buf, sizeof(buf));
	assert_int_equal(strlen(buf), sizeof(buf) - 1);
	assert_memory_equal(buf, "a<", 2);
}

static struct symbol_table table_of(const struct symbol *list, size_t n)
{
	struct symbol_table t = { 0 };

	for (size_t i = 0; i < n; i++) {
		xgrow(&t.list, &t.cap, t.count + 1, sizeof(*t.list));
		t.list[t.count++] = list[i];
	}
	symbol_table_sort(&t);
	return t;
}

static const char *name_at(const struct symbol_table *t, uint64_t at)
{
	const struct symbol *s = symbol_table_find(t, at);

	return s ? s->name : "";
}

static void address_is_named_by_the_function_that_holds_it(void **state)
{
	const struct symbol list[] = {
		{ 0x200, 0x10, "b", 6 }, { 0x100, 0x20, "a", 6 },    { 0x100, 0x20, "weak_a", 5 },
		{ 0x300, 0, "asm", 2 },	 { 0x340, 0x8, "inner", 4 }, { 0x320, 0x100, "outer", 4 },
	};
	struct symbol_table t = table_of(list, countof(list));

	(void)state;
	assert_string_equal(name_at(&t, 0xff), "");
	assert_string_equal(name_at(&t, 0x100), "a");
	assert_string_equal(name_at(&t, 0x11f), "a");
	assert_string_equal(name_at(&t, 0x120), "");
	assert_string_equal(name_at(&t, 0x20f), "b");
	assert_string_equal(name_at(&t, 0x210), "");
	assert_string_equal(name_at(&t, 0x31f), "asm");
	assert_string_equal(name_at(&t, 0x341), "inner");
	assert_string_equal(name_at(&t, 0x348), "outer");
	symbol_table_free(&t);
}

static void own_functions_are_named_and_their_module(void **state)
{
	struct strings *strings = strings_new();
	struct frame_info info;
	struct symbols *s;
	struct modules *m;
	struct target *t;

	(void)state;
	assert_false(failed(target_open(getpid(), &t)));
	m = modules_new(t);
	s = symbols_new(m);
	assert_false(failed(symbols_name(s, (uintptr_t)own_functions_are_named_and_their_module, 0, strings, &info)));
	assert_string_equal(strings_get(strings, info.function), "own_functions_are_named_and_their_module");
	assert_non_null(strstr(strings_get(strings, info.module), "test_symbols"));
	assert_int_equal(info.kind, FRAME_NATIVE);
	assert_int_equal(symbols_name(s, 16, 0, strings, &info).code, ERR_FAULT);
	symbols_free(s);
	modules_free(m);
	target_close(t);
	strings_free(strings);
}

/* An address within itself, and the line that is there. */
static inline __attribute__((always_inline)) uintptr_t here(uint32_t *line)
{
	uintptr_t at;

	*line = __LINE__ + 4;
#if defined(__aarch64__)
	__asm__ volatile("adr %0, ." : "=r"(at));
#else
	__asm__ volatile("lea 0(%%rip), %0" : "=r"(at));
#endif
	return at - 1; /* as a return address is looked up */
}

static __attribute__((noinline)) uintptr_t around(uint32_t *inner, uint32_t *outer)
{
	*outer = __LINE__ + 1;
	return here(inner);
}

static void check_frame(struct symbols *s, uintptr_t at, size_t inner, const char *name, uint32_t line)
{
	struct strings *strings = strings_new();
	struct frame_info info;

	assert_false(failed(symbols_name(s, at, inner, strings, &info)));
	assert_string_equal(strings_get(strings, info.function), name);
	assert_non_null(strstr(strings_get(strings, info.file), "test_symbols.c"));
	assert_in_range(info.line, line - 1, line + 1); /* an assembler statement has some lines */
	assert_in_range(info.first_line, 1, line - 1);
	strings_free(strings);
}

static void inlined_functions_come_before_the_one_that_they_are_in(void **state)
{
	struct symbols *s;
	struct modules *m;
	struct target *t;
	uint32_t inner, outer, module;
	uintptr_t at = around(&inner, &outer);

	(void)state;
	assert_false(failed(target_open(getpid(), &t)));
	m = modules_new(t);
	s = symbols_new(m);
	module = modules_map(m, at)->module + 1;
	assert_int_equal(symbols_inlined(s, at, module), 1);
	assert_int_equal(symbols_inlined(s, at, module), 1);
	assert_int_equal(symbols_inlined(s, at, 0), 0);
	check_frame(s, at, 0, "here [inlined]", inner);
	check_frame(s, at, 1, "around", outer);
	symbols_free(s);
	modules_free(m);
	target_close(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_are_demangled_without_parameters),
		cmocka_unit_test(name_that_explodes_is_cut),
		cmocka_unit_test(address_is_named_by_the_function_that_holds_it),
		cmocka_unit_test(inlined_functions_come_before_the_one_that_they_are_in),
		cmocka_unit_test(own_functions_are_named_and_their_module),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
