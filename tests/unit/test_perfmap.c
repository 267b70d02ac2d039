/* test_perfmap.c - this process's own perf map, in every state that one can be met in. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "cspy/perfmap.h"

enum { NOBODY = 65534 };

struct fixture {
	char path[64];
	struct target *target;
	struct strings *strings;
	struct perfmap *map;
};

static int setup(void **state)
{
	struct fixture *f = xcalloc(1, sizeof(*f));

	*state = f;
	if (failed(target_open(getpid(), &f->target)))
		return -1;
	snprintf(f->path, sizeof(f->path), "/tmp/perf-%d.map", (int)f->target->ns_pid);
	f->strings = strings_new();
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	perfmap_free(f->map);
	strings_free(f->strings);
	target_close(f->target);
	unlink(f->path);
	rmdir(f->path);
	free(f);
	return 0;
}

static void write_map(const struct fixture *f, int flags, const char *text)
{
	int fd = open(f->path, O_WRONLY | O_CREAT | flags, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

static void begin(struct fixture *f)
{
	f->map = perfmap_new(f->target);
}

static bool read_now(struct fixture *f)
{
	perfmap_mark(f->map);
	return perfmap_read(f->map);
}

/* "": no name. */
static const char *name_at(struct fixture *f, raddr_t at)
{
	struct perfmap_code code;
	struct frame_info info;

	if (!perfmap_find(f->map, at, &code))
		return "";
	assert_false(failed(perfmap_name(f->map, code.start, code.line, f->strings, &info)));
	return strings_get(f->strings, info.function);
}

static void check(struct fixture *f, raddr_t at, const char *name)
{
	assert_string_equal(name_at(f, at), name);
}

static void lines_name_their_addresses(void **state)
{
	struct fixture *f = *state;

	write_map(f, O_TRUNC, "1000 10 JS:*foo /x.js:1:2\n0x2000 0x0000000000000020 void A.b(int)\n 3000  8  $a b c\n");
	begin(f);
	assert_true(read_now(f));
	check(f, 0xfff, "");
	check(f, 0x1000, "foo");
	check(f, 0x100f, "foo");
	check(f, 0x1010, "");
	check(f, 0x201f, "A.b(int)");
	check(f, 0x3007, "$a b c");
}

static void there_may_be_no_map_and_then_one_that_grows(void **state)
{
	struct fixture *f = *state;

	begin(f);
	assert_false(read_now(f));
	perfmap_free(f->map);
	write_map(f, O_TRUNC, "1000 10 one\n");
	begin(f);
	assert_true(read_now(f));
	check(f, 0x1000, "one");
	write_map(f, O_APPEND, "2000 10 two\n");
	check(f, 0x2000, "");
	assert_true(read_now(f));
	check(f, 0x2000, "two");
	check(f, 0x1000, "one");
}

static void what_is_written_after_the_mark_waits(void **state)
{
	struct fixture *f = *state;

	write_map(f, O_TRUNC, "1000 10 old\n");
	begin(f);
	perfmap_mark(f->map);
	write_map(f, O_APPEND, "1000 10 new\n");
	assert_true(perfmap_read(f->map));
	check(f, 0x1000, "old");
	assert_true(read_now(f));
	check(f, 0x1000, "new");
}

static void a_line_without_its_end_waits(void **state)
{
	struct fixture *f = *state;

	write_map(f, O_TRUNC, "1000 10 one\n2000 10 tw");
	begin(f);
	read_now(f);
	check(f, 0x1000, "one");
	check(f, 0x2000, "");
	write_map(f, O_APPEND, "o\n");
	read_now(f);
	check(f, 0x2000, "two");
}

static void a_map_that_was_emptied_begins_anew(void **state)
{
	struct fixture *f = *state;

	write_map(f, O_TRUNC, "1000 10 one\n2000 10 two\n");
	begin(f);
	read_now(f);
	write_map(f, O_TRUNC, "3000 10 three\n");
	read_now(f);
	check(f, 0x1000, "");
	check(f, 0x3000, "three");
	/* To a length that is no shorter. */
	write_map(f, O_TRUNC, "4000 10 four\n5000 10 five\n6000 10 six\n");
	read_now(f);
	check(f, 0x3000, "");
	check(f, 0x6000, "six");
}

static void a_name_is_not_taken_from_a_line_that_was_written_over(void **state)
{
	struct fixture *f = *state;
	struct perfmap_code code;
	struct frame_info info;

	write_map(f, O_TRUNC, "1000 10 one\n");
	begin(f);
	read_now(f);
	assert_true(perfmap_find(f->map, 0x1000, &code));
	write_map(f, O_TRUNC, "2000 10 two\n");
	assert_int_equal(perfmap_name(f->map, code.start, code.line, f->strings, &info).code, ERR_CORRUPT);
	write_map(f, O_TRUNC, "");
	assert_int_equal(perfmap_name(f->map, code.start, code.line, f->strings, &info).code, ERR_CORRUPT);
}

static void garbage_and_absurd_lines_are_passed_over(void **state)
{
	struct fixture *f = *state;

	write_map(f, O_TRUNC,
		  "\n\n \nxyz\n1000\n1000 10\n1000 10 \n1000 0 empty\n1000 zz name\n-1 10 minus\n"
		  "ffffffffffffffff 10 wraps\n1000 ffffffffffffffff huge\n1000 40000001 large\n"
		  "11112222333344445 10 long\n0x 10 none\n1000 0x none\n\xff\xfe\x01\x02\n2000 10 good\n");
	begin(f);
	assert_true(read_now(f));
	check(f, 0x1000, "");
	check(f, 0x1001, "");
	check(f, UINT64_MAX - 1, "");
	check(f, 0x2000, "good");
}

static void a_line_without_end_costs_nothing(void **state)
{
	struct fixture *f = *state;
	size_t len = 300000;
	char *text = malloc(len + 64);

	assert_non_null(text);
	memset(text, 'x', len);
	memcpy(text, "1000 10 ", 8);
	strcpy(text + len, "\n2000 10 two\n");
	write_map(f, O_TRUNC, text);
	free(text);
	begin(f);
	read_now(f);
	assert_int_equal(strlen(name_at(f, 0x1000)), 1024);
	check(f, 0x2000, "two");
}

static void of_a_map_without_end_the_last_part_is_read(void **state)
{
	struct fixture *f = *state;
	int fd;

	write_map(f, O_TRUNC, "1000 10 first\n");
	fd = open(f->path, O_WRONLY);
	assert_int_equal(ftruncate(fd, 10ll << 30), 0); /* a hole: no disk is used */
	assert_int_equal(pwrite(fd, "\n2000 10 last\n", 14, 10ll << 30), 14);
	close(fd);
	begin(f);
	assert_true(read_now(f));
	check(f, 0x1000, "");
	check(f, 0x2000, "last");
}

static void a_link_is_not_followed(void **state)
{
	struct fixture *f = *state;
	char other[80];

	snprintf(other, sizeof(other), "%s.other", f->path);
	unlink(other);
	assert_int_equal(symlink(other, f->path), 0);
	write_map(f, O_TRUNC, "1000 10 one\n"); /* through the link */
	assert_false(perfmap_exists(f->target));
	begin(f);
	assert_false(read_now(f));
	unlink(other);
}

static void a_pipe_or_a_folder_is_no_map(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(mkfifo(f->path, 0600), 0);
	assert_false(perfmap_exists(f->target)); /* and does not wait for a writer */
	unlink(f->path);
	assert_int_equal(mkdir(f->path, 0700), 0);
	assert_false(perfmap_exists(f->target));
}

static void another_users_file_is_no_map(void **state)
{
	struct fixture *f = *state;

	write_map(f, O_TRUNC, "1000 10 one\n");
	assert_true(perfmap_exists(f->target));
	if (chown(f->path, NOBODY, NOBODY) != 0)
		skip();
	assert_false(perfmap_exists(f->target));
}

static void a_file_from_before_the_process_is_no_map(void **state)
{
	struct fixture *f = *state;
	struct timespec times[2] = { { .tv_sec = time(NULL) - 1000 }, { .tv_sec = time(NULL) - 1000 } };

	write_map(f, O_TRUNC, "1000 10 one\n");
	assert_int_equal(utimensat(AT_FDCWD, f->path, times, 0), 0);
	assert_false(perfmap_exists(f->target));
}

static void other_lines_have_other_stamps(void **state)
{
	struct fixture *f = *state;
	struct perfmap_code a, b;

	write_map(f, O_TRUNC, "1000 10 one\n");
	begin(f);
	read_now(f);
	assert_true(perfmap_find(f->map, 0x1000, &a));
	write_map(f, O_APPEND, "1000 10 Builtin:two\n");
	read_now(f);
	assert_true(perfmap_find(f->map, 0x1000, &b));
	assert_true(a.stamp != b.stamp && a.line != b.line && !a.glue && b.glue);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(lines_name_their_addresses, setup, teardown),
		cmocka_unit_test_setup_teardown(there_may_be_no_map_and_then_one_that_grows, setup, teardown),
		cmocka_unit_test_setup_teardown(what_is_written_after_the_mark_waits, setup, teardown),
		cmocka_unit_test_setup_teardown(a_line_without_its_end_waits, setup, teardown),
		cmocka_unit_test_setup_teardown(a_map_that_was_emptied_begins_anew, setup, teardown),
		cmocka_unit_test_setup_teardown(a_name_is_not_taken_from_a_line_that_was_written_over, setup, teardown),
		cmocka_unit_test_setup_teardown(garbage_and_absurd_lines_are_passed_over, setup, teardown),
		cmocka_unit_test_setup_teardown(a_line_without_end_costs_nothing, setup, teardown),
		cmocka_unit_test_setup_teardown(of_a_map_without_end_the_last_part_is_read, setup, teardown),
		cmocka_unit_test_setup_teardown(a_link_is_not_followed, setup, teardown),
		cmocka_unit_test_setup_teardown(a_pipe_or_a_folder_is_no_map, setup, teardown),
		cmocka_unit_test_setup_teardown(another_users_file_is_no_map, setup, teardown),
		cmocka_unit_test_setup_teardown(a_file_from_before_the_process_is_no_map, setup, teardown),
		cmocka_unit_test_setup_teardown(other_lines_have_other_stamps, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
