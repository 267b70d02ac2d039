/* test_maps.c - /proc/PID/maps as the kernel writes it, and as nobody should. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sysmacros.h>

#include "cspy/target.h"

static struct maps parse(const char *text)
{
	struct maps m;

	assert_false(failed(maps_parse(xstrdup(text), &m)));
	return m;
}

static void a_line_becomes_a_mapping(void **state)
{
	struct maps m = parse("7f00a000-7f00c000 r-xp 00003000 fd:01 1234567                    /usr/lib/x.so\n");
	const struct mapping *x = m.list;

	(void)state;
	assert_int_equal(m.count, 1);
	assert_int_equal(x->start, 0x7f00a000);
	assert_int_equal(x->end, 0x7f00c000);
	assert_int_equal(x->offset, 0x3000);
	assert_int_equal(x->dev, makedev(0xfd, 1));
	assert_int_equal(x->inode, 1234567);
	assert_int_equal(x->prot, PROT_READ | PROT_EXEC);
	assert_false(x->deleted);
	assert_string_equal(x->path, "/usr/lib/x.so");
	maps_free(&m);
}

static void a_deleted_file_keeps_its_path(void **state)
{
	struct maps m = parse("1000-2000 rw-p 0 08:01 5    /opt/a (deleted)\n"
			      "3000-4000 rw-p 0 08:01 6    /opt/b (deleted) (deleted)\n"
			      "5000-6000 rw-p 0 08:01 7     (deleted)\n");

	(void)state;
	assert_int_equal(m.count, 3);
	assert_true(m.list[0].deleted);
	assert_string_equal(m.list[0].path, "/opt/a");
	assert_true(m.list[1].deleted);
	assert_string_equal(m.list[1].path, "/opt/b (deleted)");
	maps_free(&m);
}

static void anonymous_and_special_mappings_are_no_files(void **state)
{
	struct maps m = parse("1000-2000 rw-p 00000000 00:00 0 \n"
			      "3000-4000 rw-p 00000000 00:00 0                          [heap]\n"
			      "5000-6000 rw-s 00000000 00:01 99                         /memfd:x (deleted)\n"
			      "7000-8000 ---p 00000000 00:00 0\n");

	(void)state;
	assert_int_equal(m.count, 4);
	assert_string_equal(m.list[0].path, "");
	assert_string_equal(m.list[1].path, "[heap]");
	assert_int_equal(m.list[1].inode, 0);
	assert_string_equal(m.list[2].path, "/memfd:x");
	assert_true(m.list[2].deleted);
	assert_int_equal(m.list[3].prot, 0);
	assert_string_equal(m.list[3].path, "");
	maps_free(&m);
}

static void blanks_and_line_breaks_in_a_path_are_part_of_it(void **state)
{
	struct maps m = parse("1000-2000 r--p 0 08:01 5    /a dir/with  two blanks\n"
			      "3000-4000 r--p 0 08:01 5    /a\\012b\\134c\n");

	(void)state;
	assert_string_equal(m.list[0].path, "/a dir/with  two blanks");
	assert_string_equal(m.list[1].path, "/a\nb\\134c"); /* the kernel escapes line breaks and nothing else */
	maps_free(&m);
}

static void odd_lines_are_left_out_and_the_others_stay(void **state)
{
	struct maps m = parse("\n"
			      "garbage\n"
			      "2000-1000 r--p 0 08:01 5    /ends before it starts\n"
			      "1000-1000 r--p 0 08:01 5    /empty\n"
			      "1000-2000 r--p\n"
			      "zzzz-2000 r--p 0 08:01 5    /x\n"
			      "3000-4000 r--p 0 08:01 5    /good\n"
			      "-\n"
			      "5000-6000 r--p 0 08:01 5    /without a line break");

	(void)state;
	assert_int_equal(m.count, 2);
	assert_string_equal(m.list[0].path, "/good");
	assert_string_equal(m.list[1].path, "/without a line break");
	maps_free(&m);
}

static void no_mapping_at_all_means_that_the_process_is_gone(void **state)
{
	struct maps m;

	(void)state;
	assert_int_equal(maps_parse(xstrdup(""), &m).code, ERR_GONE);
	maps_free(&m);
	assert_int_equal(maps_parse(xstrdup("what is this\n"), &m).code, ERR_GONE);
	maps_free(&m);
}

static void an_address_is_found_in_its_mapping_and_in_no_hole(void **state)
{
	struct maps m = parse("1000-2000 r--p 0 08:01 5    /a\n"
			      "2000-3000 r--p 0 08:01 5    /b\n"
			      "5000-6000 r--p 0 08:01 5    /c\n"
			      "ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0  [vsyscall]\n");

	(void)state;
	assert_null(maps_find(&m, 0));
	assert_null(maps_find(&m, 0xfff));
	assert_string_equal(maps_find(&m, 0x1000)->path, "/a");
	assert_string_equal(maps_find(&m, 0x1fff)->path, "/a");
	assert_string_equal(maps_find(&m, 0x2000)->path, "/b");
	assert_null(maps_find(&m, 0x3000));
	assert_null(maps_find(&m, 0x4fff));
	assert_string_equal(maps_find(&m, 0x5fff)->path, "/c");
	assert_null(maps_find(&m, 0x6000));
	assert_string_equal(maps_find(&m, 0xffffffffff600fff)->path, "[vsyscall]");
	assert_null(maps_find(&m, UINT64_MAX));
	maps_free(&m);
	assert_null(maps_find(&m, 0x1000));
}

static void ten_thousand_mappings_are_all_found(void **state)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);
	struct maps m;

	(void)state;
	for (unsigned i = 1; i <= 10000; i++)
		fprintf(out, "%x000-%x800 r--p 0 08:01 %u    /file %u\n", i, i, i, i);
	fclose(out);
	assert_false(failed(maps_parse(text, &m)));
	assert_int_equal(m.count, 10000);
	for (unsigned i = 1; i <= 10000; i++) {
		assert_int_equal(maps_find(&m, (raddr_t)i << 12)->inode, i);
		assert_null(maps_find(&m, ((raddr_t)i << 12) + 0x900));
	}
	maps_free(&m);
}

static void this_process_has_this_function_in_a_file(void **state)
{
	raddr_t here = (raddr_t)(uintptr_t)this_process_has_this_function_in_a_file;
	char text[1 << 16] = "";
	FILE *f = fopen("/proc/self/maps", "re");
	const struct mapping *x;
	struct maps m;

	(void)state;
	assert_non_null(f);
	assert_true(fread(text, 1, sizeof(text) - 1, f) > 0);
	fclose(f);
	m = parse(text);
	x = maps_find(&m, here);
	assert_non_null(x);
	assert_true(x->prot & PROT_EXEC);
	assert_non_null(strstr(x->path, "test_maps"));
	maps_free(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_line_becomes_a_mapping),
		cmocka_unit_test(a_deleted_file_keeps_its_path),
		cmocka_unit_test(anonymous_and_special_mappings_are_no_files),
		cmocka_unit_test(blanks_and_line_breaks_in_a_path_are_part_of_it),
		cmocka_unit_test(odd_lines_are_left_out_and_the_others_stay),
		cmocka_unit_test(no_mapping_at_all_means_that_the_process_is_gone),
		cmocka_unit_test(an_address_is_found_in_its_mapping_and_in_no_hole),
		cmocka_unit_test(ten_thousand_mappings_are_all_found),
		cmocka_unit_test(this_process_has_this_function_in_a_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
