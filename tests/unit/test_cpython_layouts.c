/* test_cpython_layouts.c - the rows of runtimes/cpython/layouts are whole and consistent. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "cpython/layout.h"

enum { HIGHEST_OFFSET = 1 << 20 };

/* These may be at the start of their struct; 0 anywhere else is a field that the row forgot. */
static const char *const may_be_zero[] = {
	"interp_next", "thread_prev", "thread_next",	"cframe_frame",
	"frame_code",  "frame_back",  "chunk_previous", "dictvalues_values",
};

/* What every version has. */
static const char *const everywhere[] = {
	"interp_next",	"interp_threads_head", "interp_modules",  "thread_next",    "thread_interp",
	"thread_frame", "thread_id",	       "frame_back",	  "frame_code",	    "frame_pos",
	"frame_locals", "code_size",	       "code_first_line", "code_filename",  "code_name",
	"code_lines",	"code_argcount",       "code_flags",	  "object_type",    "var_size",
	"type_name",	"type_flags",	       "type_dictoffset", "bytes_data",	    "tuple_items",
	"list_items",	"float_value",	       "long_digits",	  "unicode_length", "dict_used",
	"set_table",	"module_dict",	       "cell_ref",
};

static bool is_among(const char *name, const char *const *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(list[i], name) == 0)
			return true;
	return false;
}

static int32_t value(const struct cpy_layout *row, const struct cpy_layout_field *f)
{
	struct cpy_layout copy = *row;

	return *cpy_layout_field(&copy, f);
}

static void no_row_forgets_a_field(void **state)
{
	(void)state;
	for (size_t r = 0; cpy_layout_at(r); r++) {
		const struct cpy_layout *row = cpy_layout_at(r);
		assert_non_null(row->source);
		for (size_t i = 0; i < cpy_layout_field_count; i++) {
			const struct cpy_layout_field *f = &cpy_layout_fields[i];
			int32_t v = value(row, f);

			if (v < NO_FIELD || v > HIGHEST_OFFSET ||
			    (v == 0 && !is_among(f->name, may_be_zero, countof(may_be_zero))))
				fail_msg("%u.%u: %s = %d", row->major, row->minor, f->name, v);
			if (v == NO_FIELD && is_among(f->name, everywhere, countof(everywhere)))
				fail_msg("%u.%u has no %s", row->major, row->minor, f->name);
		}
	}
}

static void rows_are_in_version_order_and_found(void **state)
{
	unsigned before = 0;
	size_t n = 0;

	(void)state;
	for (; cpy_layout_at(n); n++) {
		const struct cpy_layout *row = cpy_layout_at(n);
		unsigned version = row->major * 100u + row->minor;

		assert_true(version > before);
		before = version;
		assert_ptr_equal(cpy_layout_find(row->major, row->minor, row->free_threaded), row);
	}
	assert_true(n >= 11);
	assert_ptr_equal(cpy_layout_newest(), cpy_layout_at(n - 1));
}

static void a_version_without_row_is_not_found(void **state)
{
	(void)state;
	assert_null(cpy_layout_find(3, 5, false));
	assert_null(cpy_layout_find(2, 6, false));
	assert_null(cpy_layout_find(4, 0, false));
	assert_null(cpy_layout_find(3, cpy_layout_newest()->minor + 1u, false));
}

/* What a behaviour reads must be there. */
static void behaviours_have_the_fields_they_need(void **state)
{
	(void)state;
	for (size_t r = 0; cpy_layout_at(r); r++) {
		const struct cpy_layout *l = cpy_layout_at(r);
		bool heap = l->frames == FRAMES_HEAP, py2 = l->strings == STRINGS_PY2;

		print_message("%u.%u\n", l->major, l->minor);
		assert_int_equal(heap, l->position != POS_POINTER);
		assert_int_equal(heap, l->lines != LINES_LOCATIONS);
		assert_int_equal(heap, cpy_has(l->code_bytes));
		assert_int_equal(heap, !cpy_has(l->code_adaptive));
		assert_int_equal(heap, !cpy_has(l->frame_owner));
		assert_int_equal(heap || cpy_has(l->frame_is_entry), l->owner_skip == 0);
		assert_int_equal(heap, !cpy_has(l->code_qualname));
		assert_int_equal(heap, cpy_has(l->code_varnames));
		assert_int_equal(heap, !cpy_has(l->code_localsplusnames));
		assert_int_equal(heap, !cpy_has(l->thread_chunk) || !cpy_has(l->thread_stack_top));
		assert_int_equal(heap, !cpy_has(l->thread_native_id));
		assert_int_equal(l->frames == FRAMES_CFRAME, cpy_has(l->cframe_frame) && !heap);
		assert_int_equal(l->gil == GIL_CURRENT, !cpy_has(l->runtime_interp_head));
		assert_int_equal(l->gil == GIL_RUNTIME,
				 cpy_has(l->runtime_gil_current) && cpy_has(l->runtime_gil_interp));
		assert_int_equal(l->gil == GIL_INTERPRETER, cpy_has(l->interp_gil));
		assert_int_equal(py2, !cpy_has(l->unicode_state) || !cpy_has(l->unicode_compact));
		assert_int_equal(py2, l->ints == INTS_PY2 && cpy_has(l->int_py2));
		assert_int_equal(l->ints == INTS_LV_TAG, cpy_has(l->long_tag));
		assert_int_equal(l->dict == DICT_PY2, cpy_has(l->dict_table) && cpy_has(l->dict_mask));
		assert_int_equal(l->dict == DICT_KEYS36, cpy_has(l->keys_size) && cpy_has(l->keys_indices));
		assert_int_equal(l->dict == DICT_KEYS311, cpy_has(l->keys_log2_size) && cpy_has(l->keys_kind));
		assert_int_equal(l->attrs != ATTRS_DICTOFFSET, cpy_has(l->dictvalues_values));
	}
}

/* Facts about these versions that are known from elsewhere: headers, and other tools. */
static void known_offsets_are_as_known(void **state)
{
	(void)state;
	assert_int_equal(cpy_layout_find(2, 7, false)->frame_back, 24);
	assert_int_equal(cpy_layout_find(3, 7, false)->runtime_gil_current, 1480);
	assert_int_equal(cpy_layout_find(3, 8, false)->runtime_gil_current, 1368);
	assert_int_equal(cpy_layout_find(3, 9, false)->runtime_gil_current, 568);
	assert_int_equal(cpy_layout_find(3, 10, false)->runtime_gil_current, 568);
	assert_int_equal(cpy_layout_find(3, 10, false)->thread_frame, 24);
	assert_int_equal(cpy_layout_find(3, 11, false)->runtime_gil_current, 576);
	assert_int_equal(cpy_layout_find(3, 10, false)->lines, LINES_310);
	assert_int_equal(cpy_layout_find(3, 13, false)->attrs, ATTRS_INLINE);
	assert_int_equal(cpy_layout_find(3, 13, false)->code_tag_mask, 0);
	assert_int_equal(cpy_layout_find(3, 14, false)->code_tag_mask, 3);
}

static void a_longer_header_moves_objects_and_nothing_else(void **state)
{
	const struct cpy_layout *old = cpy_layout_find(3, 7, false), *new = cpy_layout_find(3, 12, false);
	struct cpy_layout l = *old, n = *new;

	(void)state;
	cpy_layout_lengthen(&l, 16);
	assert_int_equal(l.object_type, old->object_type + 16);
	assert_int_equal(l.code_name, old->code_name + 16);
	assert_int_equal(l.frame_back, old->frame_back + 16);
	assert_int_equal(l.unicode_ascii, old->unicode_ascii + 16);
	assert_int_equal(l.dict_keys, old->dict_keys + 16);
	assert_int_equal(l.keys_size, old->keys_size);
	assert_int_equal(l.thread_frame, old->thread_frame);
	assert_int_equal(l.interp_modules, old->interp_modules);
	assert_int_equal(l.runtime_interp_head, old->runtime_interp_head);
	assert_int_equal(l.code_qualname, NO_FIELD);
	cpy_layout_lengthen(&n, 16);
	assert_int_equal(n.frame_back, new->frame_back);
	assert_int_equal(n.frame_size, new->frame_size);
	assert_int_equal(n.code_size, new->code_size + 16);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_row_forgets_a_field),
		cmocka_unit_test(rows_are_in_version_order_and_found),
		cmocka_unit_test(a_version_without_row_is_not_found),
		cmocka_unit_test(behaviours_have_the_fields_they_need),
		cmocka_unit_test(known_offsets_are_as_known),
		cmocka_unit_test(a_longer_header_moves_objects_and_nothing_else),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
