/* test_jit_name.c - what JITs call their code, split into function, file and line. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "jit_name.h"

static void check(const char *text, const char *function, const char *file, uint32_t line, uint32_t column)
{
	struct jit_name n;

	jit_name_split(text, strlen(text), &n);
	assert_int_equal(n.function.len, strlen(function));
	assert_memory_equal(n.function.at, function, n.function.len);
	assert_int_equal(n.file.len, strlen(file));
	assert_memory_equal(n.file.at, file, n.file.len);
	assert_int_equal(n.line, line);
	assert_int_equal(n.column, column);
}

static struct jit_name split(const char *text)
{
	struct jit_name n;

	jit_name_split(text, strlen(text), &n);
	return n;
}

static void functions_of_v8_have_file_line_and_column(void **state)
{
	(void)state;
	check("LazyCompile:*foo /app/x.js:12:3", "foo", "/app/x.js", 12, 3);
	check("LazyCompile:~foo /app/x.js:12", "foo", "/app/x.js", 12, 0);
	check("Function:^get price /app/x.js:2:56", "get price", "/app/x.js", 2, 56);
	check("JS:+'total /app/x.js:2:19", "total", "/app/x.js", 2, 19);
	check("JS:o*main /app/x.js:4:14", "main", "/app/x.js", 4, 14);
	check("JS:~ /app/x.js:4:154", "(anonymous)", "/app/x.js", 4, 154);
	check("Eval:~ /app/x.js:1:1", "(anonymous)", "/app/x.js", 1, 1);
	check("JS:*foo", "foo", "", 0, 0);
	check("JS:~", "(anonymous)", "", 0, 0);
	check("JS:", "(anonymous)", "", 0, 0);
}

static void the_tier_is_kept(void **state)
{
	(void)state;
	assert_int_equal(split("JS:~a /x.js:1:1").tier, '~');
	assert_int_equal(split("JS:o+a /x.js:1:1").tier, '+');
	assert_int_equal(split("JS:*'a /x.js:1:1").tier, '*');
	assert_int_equal(split("JS:o /x.js:1:1").tier, 0);
	check("JS:o /x.js:1:1", "o", "/x.js", 1, 1);
}

static void paths_may_be_urls_and_have_spaces(void **state)
{
	(void)state;
	check("JS:*a file:///app/my%20x.mjs:1:2", "a", "/app/my%20x.mjs", 1, 2);
	check("JS:*a b c /my app/x y.js:1:2", "a b c", "/my app/x y.js", 1, 2);
	check("JS:*emit node:events:340:9", "emit", "node:events", 340, 9);
	check("JS:*f evalmachine.<anonymous>:1:2", "f", "evalmachine.<anonymous>", 1, 2);
	check("JS:*a;b \"c\" /x.js:1:2", "a;b \"c\"", "/x.js", 1, 2);
}

static void what_is_no_place_belongs_to_the_name(void **state)
{
	(void)state;
	check("JS:*a:1:2", "a:1:2", "", 0, 0);
	check("JS:*a /x.js:", "a /x.js:", "", 0, 0);
	check("JS:*a /x.js:12345678901", "a /x.js:12345678901", "", 0, 0);
	check("JS:*:1:1", ":1:1", "", 0, 0);
}

static void installed_code_is_told_from_the_programs_own(void **state)
{
	(void)state;
	assert_true(split("JS:*emit node:events:340:9").library);
	assert_true(split("JS:*get /app/node_modules/x/y.js:3:9").library);
	assert_false(split("JS:*get /app/x.js:3:9").library);
	assert_int_equal(split("JS:*get /app/x.js:3:9").kind, FRAME_JS);
}

static void glue_is_between_functions(void **state)
{
	(void)state;
	assert_true(jit_name_is_glue("Builtin:ArrayMap", 16));
	assert_true(jit_name_is_glue("BytecodeHandler:Add", 19));
	assert_false(jit_name_is_glue("JS:*Builtin:x /x.js:1:1", 23));
	assert_false(jit_name_is_glue("Builtins", 8));
	assert_false(jit_name_is_glue("", 0));
	check("Builtin:ArrayMap", "ArrayMap", "", 0, 0);
	check("BytecodeHandler:Add.Wide", "Add.Wide", "", 0, 0);
	check("RegExp:^a.*:1:2", "RegExp:^a.*:1:2", "", 0, 0);
}

static void python_has_function_and_file(void **state)
{
	(void)state;
	check("py::main.<locals>.<lambda>:/app/x.py", "main.<locals>.<lambda>", "/app/x.py", 0, 0);
	check("py::<module>:<string>", "<module>", "<string>", 0, 0);
	check("py::", "[jit]", "", 0, 0);
	assert_int_equal(split("py::f:/x.py").kind, FRAME_PYTHON);
}

static void types_that_are_given_back_are_left_out(void **state)
{
	(void)state;
	check("double Truth.leaf(int)", "Truth.leaf(int)", "", 0, 0);
	check("void Truth.main(java.lang.String[])", "Truth.main(java.lang.String[])", "", 0, 0);
	check("java.lang.Object a.B.c(java.lang.Object, long)", "a.B.c(java.lang.Object, long)", "", 0, 0);
	check("int32 [App] Shop::Total(int32)[OptimizedTier1]", "Shop::Total(int32)", "", 0, 0);
	check("I2C/C2I adapters", "I2C/C2I adapters", "", 0, 0);
	check("$lists:map/2", "$lists:map/2", "", 0, 0);
	check("(", "(", "", 0, 0);
	check(")", ")", "", 0, 0);
	check("a ()", "a ()", "", 0, 0);
	check("]", "]", "", 0, 0);
	check("", "[jit]", "", 0, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(functions_of_v8_have_file_line_and_column),
		cmocka_unit_test(the_tier_is_kept),
		cmocka_unit_test(paths_may_be_urls_and_have_spaces),
		cmocka_unit_test(what_is_no_place_belongs_to_the_name),
		cmocka_unit_test(installed_code_is_told_from_the_programs_own),
		cmocka_unit_test(glue_is_between_functions),
		cmocka_unit_test(python_has_function_and_file),
		cmocka_unit_test(types_that_are_given_back_are_left_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
