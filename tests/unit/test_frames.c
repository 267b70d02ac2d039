/* test_frames.c - interned frames. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "cspy/frame.h"

static void equal_infos_share_an_id_whatever_their_padding_holds(void **state)
{
	struct strings *s = strings_new();
	struct frames *f = frames_new(s);
	struct frame_info a, b;

	(void)state;
	memset(&a, 0xAA, sizeof(a));
	memset(&b, 0x55, sizeof(b));
	a.function = b.function = 1;
	a.name = b.name = 2;
	a.file = b.file = 3;
	a.module = b.module = 4;
	a.line = b.line = 5;
	a.column = b.column = 6;
	a.first_line = b.first_line = 7;
	a.kind = b.kind = FRAME_RUBY;
	a.library = b.library = true;
	assert_int_equal(frames_add(f, a), frames_add(f, b));
	frames_free(f);
	strings_free(s);
}

static void every_field_tells_frames_apart(void **state)
{
	struct strings *s = strings_new();
	struct frames *f = frames_new(s);
	struct frame_info list[10] = {
		{ 0 },	       { .function = 1 }, { .name = 1 },       { .file = 1 }, { .module = 1 },
		{ .line = 1 }, { .column = 1 },	  { .first_line = 1 }, { .kind = 1 }, { .library = true },
	};

	(void)state;
	for (size_t i = 0; i < countof(list); i++)
		assert_int_equal(frames_add(f, list[i]), i + 1);
	for (size_t i = 0; i < countof(list); i++)
		assert_int_equal(frames_add(f, list[i]), i + 1);
	assert_int_equal(frames_count(f), countof(list) + 1);
	frames_free(f);
	strings_free(s);
}

static void id_zero_and_unknown_ids_are_no_frame(void **state)
{
	struct strings *s = strings_new();
	struct frames *f = frames_new(s);

	(void)state;
	assert_int_not_equal(frames_add(f, (struct frame_info){ 0 }), 0);
	assert_int_equal(frames_get(f, 0).function, 0);
	assert_int_equal(frames_get(f, 12345).line, 0);
	assert_ptr_equal(frames_strings(f), s);
	frames_free(f);
	strings_free(s);
	frames_free(NULL);
}

static void many_frames_are_all_found_again_without_allocation(void **state)
{
	struct strings *s = strings_new();
	struct frames *f = frames_new(s);
	uint64_t before;

	(void)state;
	for (uint32_t i = 0; i < 50000; i++)
		frames_add(f, (struct frame_info){ .function = i % 7, .line = i });
	before = xalloc_count();
	for (uint32_t i = 0; i < 50000; i++)
		assert_int_equal(frames_add(f, (struct frame_info){ .function = i % 7, .line = i }), i + 1);
	assert_int_equal(xalloc_count(), before);
	assert_int_equal(frames_get(f, 12346).line, 12345);
	frames_free(f);
	strings_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(equal_infos_share_an_id_whatever_their_padding_holds),
		cmocka_unit_test(every_field_tells_frames_apart),
		cmocka_unit_test(id_zero_and_unknown_ids_are_no_frame),
		cmocka_unit_test(many_frames_are_all_found_again_without_allocation),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
