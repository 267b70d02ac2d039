/* test_cpython_find.c - CPython is found in running interpreters, in stripped copies, and never in garbage.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cpython/find_steps.h"
#include "cspy/target.h"
#include "interpreters.h"

enum { MAX_PYTHONS = 64, WHY = 256 };

#define IDLE_PROGRAM                                                                                                   \
	"import sys, time, threading\n"                                                                                \
	"def wait():\n"                                                                                                \
	"    time.sleep(120)\n"                                                                                        \
	"t = threading.Thread(target=wait)\n"                                                                          \
	"t.daemon = True\n"                                                                                            \
	"t.start()\n"                                                                                                  \
	"sys.stdout.write('r')\n"                                                                                      \
	"sys.stdout.flush()\n"                                                                                         \
	"wait()\n"

/* The interpreters of this machine, as fixtures/runtimes/list tells them. */
static struct interpreter pythons[MAX_PYTHONS];
static size_t python_count;

struct live {
	pid_t pid;
	struct target *t;
	struct image *img; /* of the file that holds CPython */
	const struct mapping *at;
	struct cpy_roots roots;
};

static int list_pythons(void **state)
{
	(void)state;
	python_count = interpreters_list("python", pythons, MAX_PYTHONS);
	return 0;
}

static const struct interpreter *python_starting(const char *version)
{
	for (size_t i = 0; i < python_count; i++)
		if (strncmp(pythons[i].version, version, strlen(version)) == 0 && !strstr(pythons[i].flags, "debug"))
			return &pythons[i];
	print_message("there is no Python %s here\n", version);
	skip();
	return NULL;
}

/* The file itself, also where it is seen under another name than the target's (chroot) or under none. */
static bool open_mapping(struct target *t, const struct mapping *m, struct image **ret)
{
	char path[96];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/map_files/%llx-%llx", (int)t->pid, (unsigned long long)m->start,
		 (unsigned long long)m->end);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 && failed(target_open_mapping(t, m, &fd)))
		return false;
	return !failed(image_open(fd, m->path, ret));
}

/* Start it, offer every mapped file, and expect exactly one to be CPython. */
static void live_open(const char *command, struct live *l)
{
	char why[WHY] = "";
	uint64_t before = 0;

	*l = (struct live){ .pid = interpreter_start(command, "-c", IDLE_PROGRAM) };
	assert_false(failed(target_open(l->pid, &l->t)));
	for (size_t i = 0; i < l->t->maps.count; i++) {
		const struct mapping *m = &l->t->maps.list[i];
		struct cpy_roots roots;
		struct image *img;

		if (!m->inode || m->inode == before)
			continue;
		before = m->inode;
		if (!open_mapping(l->t, m, &img))
			continue;
		struct err e = cpy_find(l->t, m, img, why, sizeof(why), &roots);
		if (failed(e)) {
			if (e.code != ERR_UNSUPPORTED)
				fail_msg("%s in %s: %s", command, m->path, why);
			image_close(img);
			continue;
		}
		if (l->img)
			fail_msg("%s: found in %s and in %s", command, l->at->path, m->path);
		l->img = img;
		l->at = m;
		l->roots = roots;
	}
	if (!l->img)
		fail_msg("%s: not found", command);
}

static void live_close(struct live *l)
{
	kill(l->pid, SIGKILL);
	waitpid(l->pid, NULL, 0);
	image_close(l->img);
	target_close(l->t);
}

static void every_interpreter_here_is_found_with_its_version(void **state)
{
	(void)state;
	if (python_count == 0)
		skip();
	for (size_t i = 0; i < python_count; i++) {
		struct live l;

		live_open(pythons[i].command, &l);
		print_message("%s: %s, %s, in %s\n", pythons[i].name, l.roots.version, l.roots.layout_source,
			      l.at->path);
		assert_string_equal(l.roots.version, pythons[i].version);
		assert_int_equal(l.roots.debug_build, strstr(pythons[i].flags, "debug") != NULL);
		assert_int_equal(l.roots.layout.free_threaded, strstr(pythons[i].flags, "nogil") != NULL);
		assert_true(l.roots.interp_head != 0);
		assert_int_equal(l.roots.gil_current != 0, l.roots.layout.gil != GIL_INTERPRETER);
		live_close(&l);
	}
}

/* The running thread's word is right when it holds a thread of the list at some time, and never anything
 * else. */
static void the_word_of_the_gil_holder_names_a_thread(void **state)
{
	(void)state;
	if (python_count == 0)
		skip();
	for (size_t i = 0; i < python_count; i++) {
		struct live l;

		live_open(pythons[i].command, &l);
		raddr_t word = 0;
		if (l.roots.gil_current) {
			assert_false(failed(memory_ptr(l.t->memory, l.roots.gil_current, &word)));
			if (word)
				assert_true(cpy_is_thread(l.t->memory, &l.roots.layout, l.roots.interp_head, word));
		}
		live_close(&l);
	}
}

static void replace(char *bytes, size_t len, const char *name, size_t name_len)
{
	for (char *at = bytes; (at = memmem(at, len - (size_t)(at - bytes), name, name_len)) != NULL; at++)
		at[name_len - 2] = '?';
}

/* An image of the same file that names nothing: no symbol table, no section and no dynamic symbol of that
 * name. */
static struct image *nameless(pid_t pid, const struct mapping *m)
{
	char command[512], copy[] = "/tmp/cspy-test-XXXXXX";
	int fd = mkstemp(copy);
	struct image *img;

	assert_true(fd >= 0);
	snprintf(command, sizeof(command), "strip -o %s /proc/%d/map_files/%llx-%llx", copy, (int)pid,
		 (unsigned long long)m->start, (unsigned long long)m->end);
	assert_int_equal(system(command), 0);
	close(fd);
	fd = open(copy, O_RDWR | O_CLOEXEC); /* strip replaces the file */
	off_t len = lseek(fd, 0, SEEK_END);
	char *bytes = malloc((size_t)len);
	assert_int_equal(pread(fd, bytes, (size_t)len, 0), len);
	replace(bytes, (size_t)len, "\0_PyRuntime", sizeof("\0_PyRuntime"));
	replace(bytes, (size_t)len, "\0.PyRuntime", sizeof("\0.PyRuntime"));
	replace(bytes, (size_t)len, "\0Py_Version", sizeof("\0Py_Version"));
	replace(bytes, (size_t)len, "\0_PyThreadState_Current", sizeof("\0_PyThreadState_Current"));
	assert_int_equal(pwrite(fd, bytes, (size_t)len, 0), len);
	free(bytes);
	unlink(copy);
	assert_false(failed(image_open(fd, "nameless", &img)));
	return img;
}

static void without_any_symbol_the_same_roots_are_found(void **state)
{
	(void)state;
	if (python_count == 0)
		skip();
	for (size_t i = 0; i < python_count; i++) {
		struct cpy_roots roots;
		struct live l;
		char why[WHY] = "";
		struct image_sym sym;

		live_open(pythons[i].command, &l);
		struct image *img = nameless(l.pid, l.at);
		assert_false(image_symbol(img, "_PyRuntime", &sym));
		struct err e = cpy_find(l.t, l.at, img, why, sizeof(why), &roots);
		print_message("%s without symbols: %s %s\n", pythons[i].name, roots.version, why);
		assert_int_equal(e.code, ERR_NONE);
		assert_string_equal(roots.version, pythons[i].version);
		assert_int_equal(roots.runtime, l.roots.runtime);
		assert_int_equal(roots.interp_head, l.roots.interp_head);
		assert_memory_equal(&roots.layout, &l.roots.layout, sizeof(roots.layout));
		image_close(img);
		live_close(&l);
	}
}

/* Two independent sources of the same numbers: the process, and the debug information of another build. */
static void what_a_process_says_of_itself_equals_the_row(void **state)
{
	size_t compared = 0;

	(void)state;
	for (size_t i = 0; i < python_count; i++) {
		struct live l;

		live_open(pythons[i].command, &l);
		struct cpy_layout row = *cpy_layout_find(l.roots.layout.major, l.roots.layout.minor, false);
		bool self_described = strcmp(l.roots.layout_source, "self-described") == 0;
		bool has_row = !l.roots.layout.free_threaded;
		for (size_t k = 0; self_described && has_row && k < cpy_layout_field_count; k++, compared++) {
			const struct cpy_layout_field *f = &cpy_layout_fields[k];
			if (*cpy_layout_field(&row, f) != *cpy_layout_field(&l.roots.layout, f))
				fail_msg("%s: %s is %d, the row says %d", pythons[i].name, f->name,
					 *cpy_layout_field(&l.roots.layout, f), *cpy_layout_field(&row, f));
		}
		live_close(&l);
	}
	if (!compared)
		skip();
}

/* A target's memory in which one word reads otherwise. */
struct patched {
	struct memory base;
	struct memory *inner;
	raddr_t at;
	uint64_t value;
};

static struct err patched_read(struct memory *m, const struct memory_range *ranges, size_t n, size_t *done)
{
	struct patched *p = (struct patched *)m;
	struct err e = memory_readv(p->inner, ranges, n, done);

	for (size_t i = 0; i < *done; i++)
		if (p->at >= ranges[i].at && p->at + sizeof(p->value) <= ranges[i].at + ranges[i].len)
			memcpy((char *)ranges[i].buf + (p->at - ranges[i].at), &p->value, sizeof(p->value));
	return e;
}

static const struct memory_ops patched_ops = { .name = "patched", .read = patched_read };

static struct err find_patched(struct live *l, raddr_t at, uint64_t value, char *why, struct cpy_roots *ret)
{
	struct patched p = { { &patched_ops, 0 }, l->t->memory, at, value };

	why[0] = 0;
	l->t->memory = &p.base;
	struct err e = cpy_find(l->t, l->at, l->img, why, WHY, ret);
	l->t->memory = p.inner;
	return e;
}

static void a_newer_version_that_describes_itself_is_read_like_the_newest(void **state)
{
	const struct cpy_layout *newest = cpy_layout_newest();
	char version[16], why[WHY];
	struct cpy_roots roots;
	struct live l;
	uint64_t hex;

	(void)state;
	snprintf(version, sizeof(version), "%u.%u.", newest->major, newest->minor);
	live_open(python_starting(version)->command, &l);
	assert_false(failed(memory_u64(l.t->memory, l.roots.runtime + 8, &hex)));
	struct err e = find_patched(&l, l.roots.runtime + 8, hex + (1 << 16), why, &roots);
	assert_int_equal(e.code, ERR_NONE);
	assert_int_equal(roots.layout.minor, newest->minor + 1);
	assert_int_equal(roots.layout.frame_back, l.roots.layout.frame_back);
	assert_string_equal(roots.layout_source, "self-described");
	live_close(&l);
}

static void an_offset_outside_its_structure_is_not_believed(void **state)
{
	char why[WHY];
	struct cpy_roots roots;
	struct live l;
	struct cpy_layout layout;
	uint32_t hex;

	(void)state;
	live_open(python_starting("3.13.")->command, &l);
	/* Word 8 behind the three of the header: interpreter_state.threads_head. */
	raddr_t at = l.roots.runtime + 24 + 6 * 8;
	struct patched p = { { &patched_ops, 0 }, l.t->memory, at, 1u << 30 };
	assert_int_equal(cpy_debug_offsets(&p.base, l.roots.runtime, &layout, &hex).code, ERR_CORRUPT);
	p.value = 300 * 1024; /* below every cap, but beyond the interpreter's size */
	assert_int_equal(cpy_debug_offsets(&p.base, l.roots.runtime, &layout, &hex).code, ERR_CORRUPT);
	/* The row for that version serves instead. */
	assert_int_equal(find_patched(&l, at, 1u << 30, why, &roots).code, ERR_NONE);
	assert_string_equal(roots.layout_source, "layout 3.13");
	live_close(&l);
}

static void without_interpreter_it_is_said_to_be_starting(void **state)
{
	(void)state;
	if (python_count == 0)
		skip();
	for (size_t i = 0; i < python_count; i++) {
		struct cpy_roots roots;
		char why[WHY];
		struct live l;

		live_open(pythons[i].command, &l);
		struct err e = find_patched(&l, l.roots.interp_head, 0, why, &roots);
		assert_int_equal(e.code, ERR_CORRUPT);
		assert_non_null(strstr(why, "starting"));
		live_close(&l);
	}
}

static void an_executable_of_another_name_is_found_also_when_deleted(void **state)
{
	char copy[] = "/tmp/cspy-test-mailer-XXXXXX", command[512];
	const struct interpreter *p = NULL;
	struct live l;
	int fd;

	(void)state;
	for (size_t i = 0; i < python_count && !p; i++)
		if (strstr(pythons[i].flags, "static") && !strchr(pythons[i].command, ' '))
			p = &pythons[i];
	if (!p)
		skip();
	fd = mkstemp(copy);
	assert_true(fd >= 0);
	close(fd);
	snprintf(command, sizeof(command), "cp %s %s && chmod 700 %s", p->command, copy, copy);
	assert_int_equal(system(command), 0);
	live_open(copy, &l);
	assert_string_equal(l.roots.version, p->version);
	unlink(copy);
	assert_false(failed(target_refresh_maps(l.t)));
	l.at = NULL;
	for (size_t i = 0; i < l.t->maps.count && !l.at; i++)
		if (strstr(l.t->maps.list[i].path, "cspy-test-mailer"))
			l.at = &l.t->maps.list[i];
	assert_non_null(l.at);
	struct image *img;
	struct cpy_roots roots;
	char why[WHY];
	assert_true(open_mapping(l.t, l.at, &img));
	assert_int_equal(cpy_find(l.t, l.at, img, why, sizeof(why), &roots).code, ERR_NONE);
	image_close(img);
	live_close(&l);
}

/* libffi maps a page of the executable once more, and that may come first. */
static void a_page_mapped_elsewhere_does_not_mislead(void **state)
{
	char why[WHY];
	struct cpy_roots roots;
	struct live l;

	(void)state;
	if (python_count == 0)
		skip();
	live_open(pythons[0].command, &l);
	struct maps old = l.t->maps, more = { calloc(old.count + 1, sizeof(*old.list)), old.count + 1, 0, NULL };
	memcpy(more.list + 1, old.list, old.count * sizeof(*old.list));
	more.list[0] = *l.at;
	more.list[0].start = 0x10000;
	more.list[0].end = 0x11000;
	more.list[0].offset = 0x1000;
	l.t->maps = more;
	struct err e = cpy_find(l.t, &more.list[0], l.img, why, sizeof(why), &roots);
	l.t->maps = old;
	free(more.list);
	assert_int_equal(e.code, ERR_NONE);
	assert_int_equal(roots.interp_head, l.roots.interp_head);
	live_close(&l);
}

/* Every word is the address of a readable page, so that every chain goes on for ever. */
static struct err endless_read(struct memory *m, const struct memory_range *ranges, size_t n, size_t *done)
{
	(void)m;
	for (*done = 0; *done < n; (*done)++)
		for (size_t i = 0; i < ranges[*done].len; i++)
			((char *)ranges[*done].buf)[i] = (char)(0x7f0000001000ull >> (i % 8 * 8));
	return OK;
}

static struct err random_read(struct memory *m, const struct memory_range *ranges, size_t n, size_t *done)
{
	(void)m;
	for (*done = 0; *done < n; (*done)++)
		for (size_t i = 0; i < ranges[*done].len; i++)
			((char *)ranges[*done].buf)[i] = (char)random();
	return OK;
}

static void find_in_garbage(struct live *l, const struct memory_ops *ops)
{
	struct memory *inner = l->t->memory, garbage = { ops, 0 };
	struct timespec from, to;
	struct cpy_roots roots;
	char why[WHY] = "";

	clock_gettime(CLOCK_MONOTONIC, &from);
	l->t->memory = &garbage;
	struct err e = cpy_find(l->t, l->at, l->img, why, sizeof(why), &roots);
	l->t->memory = inner;
	clock_gettime(CLOCK_MONOTONIC, &to);
	print_message("%s memory: %s (%ld s, %lu reads)\n", ops->name, why, (long)(to.tv_sec - from.tv_sec),
		      (unsigned long)garbage.calls);
	assert_true(failed(e));
	assert_true(to.tv_sec - from.tv_sec < 20);
}

static void garbage_in_memory_ends_with_an_error_in_time(void **state)
{
	static const struct memory_ops endless = { .name = "endless", .read = endless_read };
	static const struct memory_ops noise = { .name = "random", .read = random_read };

	(void)state;
	if (python_count == 0)
		skip();
	srandom(1);
	for (size_t i = 0; i < python_count; i += 3) {
		struct live l;

		live_open(pythons[i].command, &l);
		find_in_garbage(&l, &endless);
		find_in_garbage(&l, &noise);
		live_close(&l);
	}
}

/* The file shrinks, or its inner parts are overwritten: any answer will do, but there must be one. */
static void a_damaged_file_is_survived(void **state)
{
	(void)state;
	if (python_count == 0)
		skip();
	struct live l;
	live_open(pythons[python_count - 1].command, &l);
	char path[96], why[WHY] = "", copy[] = "/tmp/cspy-test-XXXXXX";
	snprintf(path, sizeof(path), "/proc/%d/map_files/%llx-%llx", (int)l.pid, (unsigned long long)l.at->start,
		 (unsigned long long)l.at->end);
	int from = open(path, O_RDONLY | O_CLOEXEC), to = mkstemp(copy);
	assert_true(from >= 0 && to >= 0);
	unlink(copy);
	off_t len = lseek(from, 0, SEEK_END);
	char *bytes = malloc((size_t)len);
	assert_int_equal(pread(from, bytes, (size_t)len, 0), len);
	close(from);
	srandom(2);
	for (int round = 0; round < 24; round++) {
		off_t keep = round % 2 ? len : len * round / 24;
		struct cpy_roots roots;
		struct image *img;

		assert_int_equal(ftruncate(to, 0), 0);
		assert_int_equal(pwrite(to, bytes, (size_t)keep, 0), keep);
		for (int i = 0; i < round * 200; i++) /* the last 64 KiB hold the section headers */
			(void)!pwrite(to, &(char){ (char)random() }, 1,
				      i % 2 ? random() % len : len - 1 - random() % 65536);
		if (!failed(image_open(dup(to), "damaged", &img))) {
			struct err e = cpy_find(l.t, l.at, img, why, sizeof(why), &roots);
			assert_true(e.code < ERR_CODES);
			image_close(img);
		}
	}
	close(to);
	free(bytes);
	live_close(&l);
}

static void versions_are_read_from_numbers_and_names(void **state)
{
	struct cpy_version v;

	(void)state;
	cpy_version_from_hex(0x030c01f0, &v);
	assert_string_equal(v.text, "3.12.1");
	cpy_version_from_hex(0x030f00b2, &v);
	assert_string_equal(v.text, "3.15.0b2");
	cpy_version_from_hex(0x030a0dc1, &v);
	assert_string_equal(v.text, "3.10.13rc1");
	assert_true(cpy_version_from_path("/usr/lib/libpython3.8.so.1.0", &v));
	assert_true(v.major == 3 && v.minor == 8);
	assert_true(cpy_version_from_path("/opt/python3.9/lib/libpython2.7.so", &v));
	assert_true(v.major == 2 && v.minor == 7);
	assert_false(cpy_version_from_path("/usr/lib/libc.so.6", &v));
	assert_false(cpy_version_from_path("/opt/python3.9/bin/mailer", &v));
	assert_false(cpy_version_from_path("", &v));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(versions_are_read_from_numbers_and_names),
		cmocka_unit_test(every_interpreter_here_is_found_with_its_version),
		cmocka_unit_test(the_word_of_the_gil_holder_names_a_thread),
		cmocka_unit_test(without_any_symbol_the_same_roots_are_found),
		cmocka_unit_test(what_a_process_says_of_itself_equals_the_row),
		cmocka_unit_test(a_newer_version_that_describes_itself_is_read_like_the_newest),
		cmocka_unit_test(an_offset_outside_its_structure_is_not_believed),
		cmocka_unit_test(without_interpreter_it_is_said_to_be_starting),
		cmocka_unit_test(an_executable_of_another_name_is_found_also_when_deleted),
		cmocka_unit_test(a_page_mapped_elsewhere_does_not_mislead),
		cmocka_unit_test(garbage_in_memory_ends_with_an_error_in_time),
		cmocka_unit_test(a_damaged_file_is_survived),
	};
	return cmocka_run_group_tests(tests, list_pythons, NULL);
}
