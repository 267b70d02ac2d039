/* test_memory_snapshot.c - memory recorded, written, read again, and damaged. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cspy/memory.h"

/* A file of its own for each test. */
struct place {
	char path[64];
};

static int setup(void **state)
{
	struct place *p = xcalloc(1, sizeof(*p));
	int fd;

	strcpy(p->path, "/tmp/cspy-snapshot-XXXXXX");
	fd = mkstemp(p->path);
	if (fd < 0)
		return -1;
	close(fd);
	*state = p;
	return 0;
}

static int teardown(void **state)
{
	struct place *p = *state;

	unlink(p->path);
	free(p);
	return 0;
}

/* Memory that holds at every address below 1 MiB a byte made from the address, and from `turn`. */
struct made {
	struct memory base;
	int turn;
};

static struct err made_read(struct memory *m, const struct memory_range *ranges, size_t n, size_t *done)
{
	for (*done = 0; *done < n; ++*done) {
		const struct memory_range *r = &ranges[*done];

		if (r->at + r->len > 1 << 20)
			return err_at(ERR_FAULT, r->at, "made");
		for (size_t i = 0; i < r->len; i++)
			((char *)r->buf)[i] = (char)((r->at + i) * 7 + (uint64_t)((struct made *)m)->turn);
	}
	return OK;
}

static void made_close(struct memory *m)
{
	free(m);
}

static struct memory *made_new(void)
{
	static const struct memory_ops ops = { "made", made_read, made_close };
	struct made *m = xcalloc(1, sizeof(*m));

	m->base.ops = &ops;
	return &m->base;
}

static void read_ok(struct memory *m, raddr_t at, size_t len)
{
	char *buf = malloc(len);

	assert_false(failed(memory_read(m, at, buf, len)));
	free(buf);
}

static void assert_made(struct memory *m, raddr_t at, size_t len)
{
	char *buf = malloc(len);

	assert_false(failed(memory_read(m, at, buf, len)));
	for (size_t i = 0; i < len; i++)
		assert_int_equal((char)((at + i) * 7), buf[i]);
	free(buf);
}

static void assert_fault(struct memory *m, raddr_t at, size_t len)
{
	char buf[64];
	struct err e = memory_read(m, at, buf, len);

	assert_int_equal(e.code, ERR_FAULT);
	assert_int_equal(e.at, at);
}

/* Saves and closes the recorder and opens what it wrote. */
static struct memory *reopen(struct memory *record, const char *path)
{
	struct memory *snapshot = NULL;

	assert_false(failed(memory_record_save(record, path)));
	memory_close(record);
	assert_false(failed(memory_snapshot_open(path, &snapshot)));
	return snapshot;
}

static void what_was_read_is_read_again_and_nothing_else(void **state)
{
	const struct place *p = *state;
	struct memory *m = memory_record_new(made_new());

	read_ok(m, 0x1000, 32);
	read_ok(m, 0x5000, 100);
	read_ok(m, 0x100, 1);
	m = reopen(m, p->path);
	assert_made(m, 0x1000, 32);
	assert_made(m, 0x1008, 8);
	assert_made(m, 0x5000, 100);
	assert_made(m, 0x100, 1);
	assert_fault(m, 0xfff, 2);
	assert_fault(m, 0x1000, 33);
	assert_fault(m, 0x1020, 1);
	assert_fault(m, 0, 1);
	assert_fault(m, UINT64_MAX, 1);
	assert_fault(m, UINT64_MAX - 3, 8);
	memory_close(m);
}

static void adjacent_and_overlapping_reads_are_one_range(void **state)
{
	const struct place *p = *state;
	struct memory *m = memory_record_new(made_new());

	read_ok(m, 0x2000, 16);
	read_ok(m, 0x2010, 16); /* after it */
	read_ok(m, 0x1ff0, 16); /* before it */
	read_ok(m, 0x3000, 64);
	read_ok(m, 0x2fe0, 64); /* over its start */
	read_ok(m, 0x3030, 64); /* over its end */
	read_ok(m, 0x4000, 8);
	read_ok(m, 0x4010, 8);
	read_ok(m, 0x4020, 8);
	read_ok(m, 0x3ff0, 0x100); /* around and between all three */
	m = reopen(m, p->path);
	assert_made(m, 0x1ff0, 48);
	assert_made(m, 0x2fe0, 0x3070 - 0x2fe0);
	assert_made(m, 0x3ff0, 0x100);
	assert_fault(m, 0x1ff0, 49);
	memory_close(m);
}

static void random_reads_are_all_found_again(void **state)
{
	const struct place *p = *state;
	struct memory *m = memory_record_new(made_new());
	unsigned seed = 42;
	raddr_t at[2000];
	size_t len[2000];

	for (size_t i = 0; i < countof(at); i++) {
		at[i] = (raddr_t)(rand_r(&seed) % 60000);
		len[i] = (size_t)(rand_r(&seed) % 64);
		read_ok(m, at[i], len[i]);
	}
	m = reopen(m, p->path);
	for (size_t i = 0; i < countof(at); i++)
		assert_made(m, at[i], len[i]);
	memory_close(m);
}

static void of_bytes_read_again_the_first_reading_is_kept(void **state)
{
	const struct place *p = *state;
	struct memory *inner = made_new();
	struct memory *m = memory_record_new(inner);

	read_ok(m, 0x1000, 16);
	((struct made *)inner)->turn = 1;
	read_ok(m, 0xff8, 32);
	m = reopen(m, p->path);
	assert_made(m, 0x1000, 16);
	memory_close(m);
}

static void a_scatter_read_that_stops_is_kept_as_far_as_it_came(void **state)
{
	const struct place *p = *state;
	struct memory *m = memory_record_new(made_new());
	char a[8], b[8], c[8];
	struct memory_range ranges[] = { { 0x10, a, 8 }, { 1 << 20, b, 8 }, { 0x30, c, 8 } };
	size_t done = 99;

	assert_int_equal(memory_readv(m, ranges, 3, &done).code, ERR_FAULT);
	assert_int_equal(done, 1);
	m = reopen(m, p->path);
	assert_int_equal(memory_readv(m, ranges, 3, &done).code, ERR_FAULT);
	assert_int_equal(done, 1);
	assert_made(m, 0x10, 8);
	assert_fault(m, 0x30, 8);
	memory_close(m);
}

static void notes_are_kept_beside_the_memory(void **state)
{
	const struct place *p = *state;
	struct memory *m = memory_record_new(made_new());

	memory_record_note(m, "version", "3.11");
	memory_record_note(m, "version", "3.12.1");
	memory_record_note(m, "ver", "x=y");
	memory_record_note(m, "text", "one\ntwo=three\r");
	memory_record_note(m, "empty", "");
	read_ok(m, 3, 5);
	assert_null(memory_snapshot_note(m, "version"));
	m = reopen(m, p->path);
	assert_string_equal(memory_snapshot_note(m, "version"), "3.12.1");
	assert_string_equal(memory_snapshot_note(m, "ver"), "x=y");
	assert_string_equal(memory_snapshot_note(m, "text"), "one two=three ");
	assert_string_equal(memory_snapshot_note(m, "empty"), "");
	assert_null(memory_snapshot_note(m, "two"));
	assert_null(memory_snapshot_note(m, "versio"));
	assert_made(m, 3, 5);
	memory_close(m);
}

static void an_empty_snapshot_knows_nothing(void **state)
{
	const struct place *p = *state;
	struct memory *m = reopen(memory_record_new(made_new()), p->path);

	assert_fault(m, 0, 1);
	assert_null(memory_snapshot_note(m, "x"));
	assert_false(failed(memory_read(m, 0x1234, NULL, 0))); /* as with a live process */
	memory_close(m);
}

static void this_process_recorded_reads_as_it_was(void **state)
{
	const struct place *p = *state;
	static char words[] = "words in this process";
	struct memory *m = NULL;
	char buf[64];

	assert_false(failed(memory_process_open(getpid(), &m)));
	m = memory_record_new(m);
	assert_false(failed(memory_read(m, (raddr_t)(uintptr_t)words, buf, sizeof(words))));
	m = reopen(m, p->path);
	words[0] = 'W';
	assert_false(failed(memory_read(m, (raddr_t)(uintptr_t)words, buf, sizeof(words))));
	assert_string_equal(buf, "words in this process");
	memory_close(m);
}

static size_t load(const char *path, unsigned char *buf, size_t cap)
{
	FILE *f = fopen(path, "rbe");
	size_t len;

	assert_non_null(f);
	len = fread(buf, 1, cap, f);
	fclose(f);
	assert_true(len < cap);
	return len;
}

static void store(const char *path, const unsigned char *buf, size_t len)
{
	FILE *f = fopen(path, "wbe");

	assert_non_null(f);
	assert_int_equal(fwrite(buf, 1, len, f), len);
	fclose(f);
}

/* Whatever the file holds: an error, or memory that answers within it. */
static bool survives(const char *path)
{
	struct memory *m = NULL;
	struct err e = memory_snapshot_open(path, &m);
	char buf[64];

	if (failed(e)) {
		assert_null(m);
		assert_true(e.code == ERR_CORRUPT || e.code == ERR_UNSUPPORTED);
		assert_non_null(e.what);
		return false;
	}
	for (raddr_t at = 0; at < 0x200; at++) {
		struct err ignored = memory_read(m, at, buf, 1 + at % sizeof(buf));
		(void)ignored;
	}
	memory_snapshot_note(m, "key");
	memory_close(m);
	return true;
}

static size_t small_snapshot(const char *path, unsigned char *buf, size_t cap)
{
	struct memory *m = memory_record_new(made_new());

	memory_record_note(m, "key", "value");
	read_ok(m, 0x10, 8);
	read_ok(m, 0x40, 24);
	read_ok(m, 0x100, 3);
	memory_close(reopen(m, path));
	return load(path, buf, cap);
}

static void every_bit_flipped_never_crashes(void **state)
{
	const struct place *p = *state;
	unsigned char file[512];
	size_t len = small_snapshot(p->path, file, sizeof(file));
	int accepted = 0;

	for (size_t i = 0; i < len; i++) {
		for (int bit = 0; bit < 8; bit++) {
			file[i] ^= (unsigned char)(1 << bit);
			store(p->path, file, len);
			accepted += survives(p->path);
			file[i] ^= (unsigned char)(1 << bit);
		}
	}
	assert_true(accepted >= 8 * 35); /* flips in the 35 bytes of memory are no damage that can be seen */
	assert_true(accepted < (int)len * 8);
}

static void every_byte_set_to_its_extremes_never_crashes(void **state)
{
	const struct place *p = *state;
	unsigned char file[512];
	size_t len = small_snapshot(p->path, file, sizeof(file));

	for (size_t i = 0; i < len; i++) {
		unsigned char kept = file[i];

		for (int v = 0; v < 3; v++) {
			file[i] = (unsigned char[]){ 0, 0x7f, 0xff }[v];
			store(p->path, file, len);
			survives(p->path);
		}
		file[i] = kept;
	}
}

static void a_snapshot_cut_anywhere_is_refused(void **state)
{
	const struct place *p = *state;
	unsigned char file[512];
	size_t len = small_snapshot(p->path, file, sizeof(file));

	for (size_t cut = 0; cut < len; cut++) {
		store(p->path, file, cut);
		assert_false(survives(p->path));
	}
	file[len] = 0;
	store(p->path, file, len + 1); /* nor with something behind it */
	assert_false(survives(p->path));
}

/* A file of two ranges and `len` bytes of memory. */
static bool survives_ranges(const char *path, const uint64_t ranges[4], size_t len)
{
	unsigned char file[512] = "CSPYSNAP\1\0\0\0\0\0\0\0\2";

	memcpy(file + 24, ranges, 32);
	store(path, file, 24 + 32 + len);
	return survives(path);
}

static void ranges_that_cannot_be_are_refused(void **state)
{
	const struct place *p = *state;

	assert_true(survives_ranges(p->path, (uint64_t[]){ 0x10, 8, 0x40, 8 }, 16));
	assert_true(survives_ranges(p->path, (uint64_t[]){ 0x10, 8, 0x18, 8 }, 16));
	/* out of order, overlapping, twice the same */
	assert_false(survives_ranges(p->path, (uint64_t[]){ 0x40, 8, 0x10, 8 }, 16));
	assert_false(survives_ranges(p->path, (uint64_t[]){ 0x10, 8, 0x17, 8 }, 16));
	assert_false(survives_ranges(p->path, (uint64_t[]){ 0x10, 8, 0x10, 8 }, 16));
	/* empty, over the end of all addresses, beyond the file, and wrapping round to its right size */
	assert_false(survives_ranges(p->path, (uint64_t[]){ 0x10, 0, 0x40, 16 }, 16));
	assert_false(survives_ranges(p->path, (uint64_t[]){ 0x10, 8, UINT64_MAX - 3, 8 }, 16));
	assert_false(survives_ranges(p->path, (uint64_t[]){ 0x10, 8, 0x40, 9 }, 16));
	assert_false(survives_ranges(
		p->path, (uint64_t[]){ 1, 0x7000000000000000, 0x7000000000000002, 0x9000000000000010 }, 16));
	assert_false(survives_ranges(p->path, (uint64_t[]){ 1, 1000000, 2000000, 0xfffffffffff0bdd0 }, 16));
}

static void what_is_no_regular_file_is_refused_without_waiting(void **state)
{
	const struct place *p = *state;
	struct memory *m = NULL;
	struct err e;

	unlink(p->path);
	e = memory_snapshot_open(p->path, &m);
	assert_int_equal(e.code, ERR_OS);
	assert_int_equal(mkfifo(p->path, 0600), 0);
	assert_false(survives(p->path));
	assert_false(survives("/dev/zero"));
	assert_null(m);
}

static void saving_where_nothing_can_be_written_is_an_error(void **state)
{
	struct memory *m = memory_record_new(made_new());

	(void)state;
	read_ok(m, 0, 100);
	assert_true(failed(memory_record_save(m, "/nonexistent/x.snap")));
	assert_true(failed(memory_record_save(m, "/dev/full")));
	assert_int_equal(access("/dev/full", F_OK), 0); /* not removed as a file of ours would be */
	memory_close(m);
}

static void the_range_with_the_number_fails_and_no_other(void **state)
{
	char a[4], b[4], c[4];
	struct memory_range ranges[] = { { 0x10, a, 4 }, { 0x20, b, 4 }, { 0x30, c, 4 } };

	(void)state;
	for (uint64_t fail = 0; fail < 8; fail++) {
		struct memory *m = memory_faulty_new(made_new(), fail);
		size_t done = 99;
		struct err e = memory_readv(m, ranges, 3, &done);

		assert_int_equal(failed(e), fail < 3);
		assert_int_equal(done, fail < 3 ? fail : 3);
		assert_int_equal(memory_faulty_fired(m), fail < 3);
		if (fail < 3) {
			assert_int_equal(e.code, ERR_FAULT);
			assert_int_equal(e.at, ranges[fail].at);
			assert_made(m, 0x10, 4); /* the next ones are served */
			assert_made(m, 0x10, 4);
		} else {
			for (uint64_t i = 3; i < 8; i++)
				assert_int_equal(failed(memory_read(m, 0x40, a, 4)), i == fail);
			assert_true(memory_faulty_fired(m));
		}
		memory_close(m);
	}
}

static void failing_each_read_in_turn_ends(void **state)
{
	uint64_t fail = 0;
	bool fired = true;

	(void)state;
	for (; fired; fail++) {
		struct memory *m = memory_faulty_new(made_new(), fail);
		uint64_t v;

		for (raddr_t at = 0; at < 10 * 8; at += 8) {
			if (failed(memory_u64(m, at, &v)))
				break;
		}
		fired = memory_faulty_fired(m);
		memory_close(m);
	}
	assert_int_equal(fail, 11);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(what_was_read_is_read_again_and_nothing_else),
		TEST(adjacent_and_overlapping_reads_are_one_range),
		TEST(random_reads_are_all_found_again),
		TEST(of_bytes_read_again_the_first_reading_is_kept),
		TEST(a_scatter_read_that_stops_is_kept_as_far_as_it_came),
		TEST(notes_are_kept_beside_the_memory),
		TEST(an_empty_snapshot_knows_nothing),
		TEST(this_process_recorded_reads_as_it_was),
		TEST(every_bit_flipped_never_crashes),
		TEST(every_byte_set_to_its_extremes_never_crashes),
		TEST(a_snapshot_cut_anywhere_is_refused),
		TEST(ranges_that_cannot_be_are_refused),
		TEST(what_is_no_regular_file_is_refused_without_waiting),
		TEST(saving_where_nothing_can_be_written_is_an_error),
		TEST(the_range_with_the_number_fails_and_no_other),
		TEST(failing_each_read_in_turn_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
