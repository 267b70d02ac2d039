/* test_ruby_layouts.c - every Ruby gets the layout that was made for it, or is told that there is none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "ruby/layout.h"

static const struct rby_layout *of(unsigned major, unsigned minor, unsigned patch, bool *exact)
{
	return rby_layout_find(major, minor, patch, exact);
}

static void each_minor_version_has_a_row(void **state)
{
	static const unsigned versions[][2] = { { 2, 5 }, { 2, 6 }, { 2, 7 }, { 3, 0 }, { 3, 1 },
						{ 3, 2 }, { 3, 3 }, { 3, 4 }, { 4, 0 } };

	(void)state;
	for (size_t i = 0; i < countof(versions); i++) {
		bool exact = false;
		const struct rby_layout *l = of(versions[i][0], versions[i][1], 0, &exact);

		assert_non_null(l);
		assert_true(exact);
		assert_int_equal(l->major, versions[i][0]);
		assert_int_equal(l->minor, versions[i][1]);
		assert_int_equal(l->patch, 0);
	}
}

static void a_patch_level_takes_the_newest_row_that_is_not_newer(void **state)
{
	bool exact;

	(void)state;
	assert_int_equal(of(2, 5, 3, &exact)->vm_threads, 312);
	assert_int_equal(of(2, 5, 4, &exact)->vm_threads, 320);
	assert_int_equal(of(2, 5, 9, &exact)->vm_threads, 320);
	assert_int_equal(of(3, 2, 2, &exact)->vm_objspace, 1128);
	assert_int_equal(of(3, 2, 3, &exact)->vm_objspace, 1136);
	assert_int_equal(of(3, 2, 9, &exact)->vm_objspace, 1144);
	assert_true(exact);
	assert_int_equal(of(4, 0, 99, &exact)->patch, 6);
	assert_false(exact);
}

static void an_unknown_version_is_not_taken_for_a_known_one(void **state)
{
	bool exact = true;

	(void)state;
	assert_null(of(2, 4, 10, &exact));
	assert_false(exact);
	assert_null(of(1, 9, 3, &exact));
	assert_int_equal(of(4, 1, 0, &exact)->major, 4);
	assert_false(exact);
	assert_int_equal(of(9, 0, 0, &exact)->major, 4);
	assert_false(exact);
}

/* A number that one row lacks, or has twice, is a slip of whoever wrote it. */
static void rows_are_complete(void **state)
{
	const struct rby_layout *l;

	(void)state;
	for (size_t i = 0; (l = rby_layout_at(i)); i++) {
		assert_int_equal(rby_has(l->vm_threads), l->thread_list == LIST_VM);
		assert_int_equal(rby_has(l->vm_ractors), l->thread_list == LIST_RACTORS);
		assert_int_equal(rby_has(l->vm_lock_owner), l->lock == LOCK_VM);
		assert_int_equal(rby_has(l->ractor_lock_owner), l->lock == LOCK_RACTOR);
		assert_int_equal(rby_has(l->thread_pthread), l->tid == TID_PTHREAD || l->tid == TID_THREAD);
		assert_int_equal(rby_has(l->thread_tid), l->tid == TID_THREAD);
		assert_int_equal(rby_has(l->native_tid), l->tid == TID_NATIVE);
		assert_int_equal(rby_has(l->body_succinct), l->lines == LINES_SUCCINCT);
		assert_int_equal(rby_has(l->class_path_at), l->class_path == CLASS_PATH_EXT);
		assert_int_equal(rby_has(l->vm_shapes), l->class_path == CLASS_PATH_SHAPES);
		assert_int_equal(rby_has(l->class_ext), l->class_path != CLASS_PATH_IVARS);
		assert_int_equal(rby_has(l->body_calls), rby_has(l->call_method));
		assert_true(l->frame_size % 8 == 0 && l->frame_size <= 64);
		assert_true(l->frame_jit_return + 8 <= l->frame_size && l->line_at + 4 <= l->line_size);
		assert_true(rby_has(l->thread_ec) && rby_has(l->thread_vm) && rby_has(l->thread_name));
		assert_true(l->thread_region > 0 && l->thread_region < 300);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_minor_version_has_a_row),
		cmocka_unit_test(a_patch_level_takes_the_newest_row_that_is_not_newer),
		cmocka_unit_test(an_unknown_version_is_not_taken_for_a_known_one),
		cmocka_unit_test(rows_are_complete),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
