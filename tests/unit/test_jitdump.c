/* test_jitdump.c - this process's own dump of JIT code, in every state that one can be met in. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "cspy/perfmap.h"
#include "jit_dumps.h"

enum { PAGE = 4096, DUMP_BYTES = 1 << 16, MANY = 700 };

struct fixture {
	char folder[32], path[64];
	uint8_t bytes[DUMP_BYTES];
	void *marker; /* how a process says that it writes one */
	struct target *target;
	struct strings *strings;
	struct perfmap *map;
};

static int setup(void **state)
{
	struct fixture *f = xcalloc(1, sizeof(*f));

	*state = f;
	snprintf(f->folder, sizeof(f->folder), "/tmp/cspy-dump-XXXXXX");
	f->marker = MAP_FAILED;
	f->strings = strings_new();
	if (!mkdtemp(f->folder) || failed(target_open(getpid(), &f->target)))
		return -1;
	snprintf(f->path, sizeof(f->path), "%s/jit-%d.dump", f->folder, (int)f->target->ns_pid);
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	perfmap_free(f->map);
	if (f->marker != MAP_FAILED)
		munmap(f->marker, PAGE);
	strings_free(f->strings);
	target_close(f->target);
	unlink(f->path);
	rmdir(f->folder);
	free(f);
	return 0;
}

static void write_dump(const struct fixture *f, int flags, const uint8_t *bytes, size_t len)
{
	int fd = open(f->path, O_WRONLY | O_CREAT | flags, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, len), len);
	close(fd);
}

static void map_it(struct fixture *f, int protection)
{
	int fd = open(f->path, O_RDONLY);

	assert_true(fd >= 0);
	f->marker = mmap(NULL, PAGE, protection, MAP_PRIVATE, fd, 0);
	assert_true(f->marker != MAP_FAILED);
	close(fd);
	assert_false(failed(target_refresh_maps(f->target)));
}

static bool read_now(struct fixture *f)
{
	perfmap_mark(f->map);
	return perfmap_read(f->map);
}

static void begin(struct fixture *f, size_t len)
{
	write_dump(f, O_TRUNC, f->bytes, len);
	map_it(f, PROT_READ | PROT_EXEC);
	f->map = perfmap_new(f->target);
	read_now(f);
}

static void append(struct fixture *f, const uint8_t *end)
{
	write_dump(f, O_APPEND, f->bytes, (size_t)(end - f->bytes));
	read_now(f);
}

static struct frame_info info_at(struct fixture *f, raddr_t at)
{
	struct frame_info info = { 0 };
	struct perfmap_code code;

	if (perfmap_find(f->map, at, &code))
		assert_false(failed(perfmap_name(f->map, code.start, code.line, f->strings, &info)));
	return info;
}

static void check(struct fixture *f, raddr_t at, const char *name, const char *file, uint32_t line)
{
	struct frame_info info = info_at(f, at);

	assert_string_equal(strings_get(f->strings, info.function), name);
	assert_string_equal(strings_get(f->strings, info.file), file);
	assert_int_equal(info.line, line);
}

static void records_name_their_addresses(void **state)
{
	struct fixture *f = *state;
	uint8_t *at = dump_load(dump_header(f->bytes), 0x1000, 0x10, "JS:*foo /x.js:1:2", 0x10);

	begin(f, (size_t)(dump_load(at, 0x2000, 0x20, "plain", 0) - f->bytes));
	check(f, 0xfff, "", "", 0);
	check(f, 0x1000, "foo", "/x.js", 1);
	check(f, 0x100f, "foo", "/x.js", 1);
	check(f, 0x1010, "", "", 0);
	check(f, 0x201f, "plain", "", 0);
}

static void lines_are_those_of_the_code_that_is_loaded_next(void **state)
{
	static const struct dump_line lines[] = { { 0x1000, 7, "/a.c" }, { 0x1008, 9, "\xff" } },
				      other[] = { { 0x5000, 3, "/b.c" } };
	struct fixture *f = *state;
	uint8_t *at = dump_lines(dump_header(f->bytes), 0x1000, lines, 2);

	at = dump_load(at, 0x1000, 0x10, "one", 4);
	at = dump_lines(at, 0x5000, other, 1);
	begin(f, (size_t)(dump_load(at, 0x6000, 0x10, "two", 4) - f->bytes));
	check(f, 0x1000, "one", "/a.c", 7);
	check(f, 0x1007, "one", "/a.c", 7);
	check(f, 0x1008, "one", "/a.c", 9);
	check(f, 0x6000, "two", "", 0);
}

/* They count from before a header that perf may put there; where they are of another function, its own line is kept. */
static void lines_of_v8_are_moved(void **state)
{
	static const struct dump_line lines[] = {
		{ 0x1040, 5, "/x.js" }, { 0x1048, 6, "/x.js" }, { 0x1050, 99, "/y.js" }, { 0x1058, 2, "/x.js" }
	};
	struct fixture *f = *state;
	uint8_t *at = dump_lines(dump_header(f->bytes), 0x1000, lines, 4);

	begin(f, (size_t)(dump_load(at, 0x1000, 0x20, "JS:*foo file:///x.js:4:2", 0) - f->bytes));
	check(f, 0x1000, "foo", "/x.js", 5);
	check(f, 0x1008, "foo", "/x.js", 6);
	check(f, 0x1010, "foo", "/x.js", 4);
	check(f, 0x1018, "foo", "/x.js", 4);
	assert_int_equal(info_at(f, 0x1008).first_line, 4);
}

static void later_code_wins_and_moved_code_keeps_its_name(void **state)
{
	struct fixture *f = *state;
	uint8_t *at = dump_load(dump_header(f->bytes), 0x1000, 0x100, "one", 4);

	begin(f, (size_t)(dump_load(at, 0x3000, 0x10, "three", 0) - f->bytes));
	at = dump_load(f->bytes, 0x1000, 0x10, "two", 0);
	append(f, dump_move(at, 0x3000, 0x4000, 0x10));
	check(f, 0x1000, "two", "", 0);
	check(f, 0x1020, "", "", 0);
	check(f, 0x4005, "three", "", 0);
	append(f, dump_move(f->bytes, 0x4000, 0x4000, 0x10));
	check(f, 0x4005, "three", "", 0);
}

static void what_is_written_after_the_mark_waits(void **state)
{
	struct fixture *f = *state;

	begin(f, (size_t)(dump_load(dump_header(f->bytes), 0x1000, 0x10, "one", 0) - f->bytes));
	perfmap_mark(f->map);
	write_dump(f, O_APPEND, f->bytes, (size_t)(dump_load(f->bytes, 0x1000, 0x10, "two", 0) - f->bytes));
	assert_true(perfmap_read(f->map));
	check(f, 0x1000, "one", "", 0);
	read_now(f);
	check(f, 0x1000, "two", "", 0);
}

static void a_record_without_its_end_waits(void **state)
{
	struct fixture *f = *state;
	size_t whole = (size_t)(dump_load(dump_header(f->bytes), 0x1000, 0x10, "one", 50) - f->bytes);

	for (size_t n = 0; n < whole; n++) {
		write_dump(f, O_APPEND, f->bytes + n, 1);
		if (!n) {
			map_it(f, PROT_READ | PROT_EXEC);
			f->map = perfmap_new(f->target);
		}
		assert_int_equal(read_now(f), n + 1 == whole);
	}
	check(f, 0x1000, "one", "", 0);
}

static void many_records_are_read_across_the_pieces_of_a_read(void **state)
{
	struct fixture *f = *state;
	uint8_t *at = dump_header(f->bytes);

	begin(f, (size_t)(at - f->bytes));
	for (unsigned i = 0; i < MANY; i += 10) {
		char name[16];

		at = f->bytes;
		for (unsigned k = i; k < i + 10; k++) {
			snprintf(name, sizeof(name), "f%u", k);
			at = dump_load(at, 0x10000 + k * 0x100, 0x100, name, k * 5 % 3000);
		}
		write_dump(f, O_APPEND, f->bytes, (size_t)(at - f->bytes));
	}
	read_now(f);
	check(f, 0x10000, "f0", "", 0);
	check(f, 0x10000 + (MANY - 1) * 0x100, "f699", "", 0);
	check(f, 0x10000 + 333 * 0x100, "f333", "", 0);
}

static void nonsense_ends_the_reading_and_absurd_records_are_passed_over(void **state)
{
	struct fixture *f = *state;
	uint8_t *at = dump_load(dump_header(f->bytes), 0x1000, 0x10, "one", 0);
	uint32_t small = 15, giant = UINT32_MAX;

	at = dump_load(at, UINT64_MAX - 4, 0x10, "wraps", 0);
	at = dump_load(at, 0x2000, UINT64_MAX, "endless", 0);
	at = dump_load(at, 0x2000, 0, "empty", 0);
	at = dump_move(at, 0x9999, 0x2000, 8);
	begin(f, (size_t)(at - f->bytes));
	check(f, 0x1000, "one", "", 0);
	check(f, 0x2000, "", "", 0);
	check(f, UINT64_MAX - 2, "", "", 0);
	at = dump_load(f->bytes, 0x3000, 0x10, "three", 0);
	memcpy(f->bytes + 4, &giant, sizeof(giant));
	append(f, at); /* will never be whole */
	check(f, 0x3000, "", "", 0);
	assert_int_equal(truncate(f->path, 0), 0);
	read_now(f);
	at = dump_load(dump_header(f->bytes), 0x4000, 0x10, "four", 0);
	dump_load(at, 0x5000, 0x10, "five", 0);
	memcpy(at + 4, &small, sizeof(small));
	append(f, at + 80);
	check(f, 0x1000, "", "", 0);
	check(f, 0x4000, "four", "", 0);
	check(f, 0x5000, "", "", 0);
}

static void what_is_no_dump_names_nothing(void **state)
{
	struct fixture *f = *state;

	memset(f->bytes, 'x', 200);
	begin(f, 200);
	assert_false(read_now(f));
	check(f, 0x7878787878787878, "", "", 0);
}

static void only_the_file_that_the_process_has_mapped_is_a_dump(void **state)
{
	struct fixture *f = *state;
	size_t len = (size_t)(dump_load(dump_header(f->bytes), 0x1000, 0x10, "one", 0) - f->bytes);

	write_dump(f, O_TRUNC, f->bytes, len);
	assert_false(perfmap_exists(f->target));
	map_it(f, PROT_READ);
	assert_false(perfmap_exists(f->target));
	munmap(f->marker, PAGE);
	map_it(f, PROT_READ | PROT_EXEC);
	assert_true(perfmap_exists(f->target));
}

/* Whatever comes to lie at its path. */
static void a_pipe_or_link_in_its_place_is_not_opened(void **state)
{
	struct fixture *f = *state;

	if (getuid() != 0)
		skip(); /* who may not use map_files goes by the path */
	begin(f, (size_t)(dump_load(dump_header(f->bytes), 0x1000, 0x10, "one", 0) - f->bytes));
	for (unsigned i = 0; i < 2; i++) {
		perfmap_free(f->map);
		unlink(f->path);
		assert_int_equal(i ? symlink("/etc/passwd", f->path) : mkfifo(f->path, 0600), 0);
		assert_false(failed(target_refresh_maps(f->target)));
		f->map = perfmap_new(f->target); /* and does not wait for a writer */
		read_now(f);
		if (perfmap_exists(f->target))
			check(f, 0x1000, "one", "", 0);
		else
			check(f, 0x1000, "", "", 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(records_name_their_addresses, setup, teardown),
		cmocka_unit_test_setup_teardown(lines_are_those_of_the_code_that_is_loaded_next, setup, teardown),
		cmocka_unit_test_setup_teardown(lines_of_v8_are_moved, setup, teardown),
		cmocka_unit_test_setup_teardown(later_code_wins_and_moved_code_keeps_its_name, setup, teardown),
		cmocka_unit_test_setup_teardown(what_is_written_after_the_mark_waits, setup, teardown),
		cmocka_unit_test_setup_teardown(a_record_without_its_end_waits, setup, teardown),
		cmocka_unit_test_setup_teardown(many_records_are_read_across_the_pieces_of_a_read, setup, teardown),
		cmocka_unit_test_setup_teardown(nonsense_ends_the_reading_and_absurd_records_are_passed_over, setup,
						teardown),
		cmocka_unit_test_setup_teardown(what_is_no_dump_names_nothing, setup, teardown),
		cmocka_unit_test_setup_teardown(only_the_file_that_the_process_has_mapped_is_a_dump, setup, teardown),
		cmocka_unit_test_setup_teardown(a_pipe_or_link_in_its_place_is_not_opened, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
