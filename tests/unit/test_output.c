/* test_output.c - an output file is there whole or not at all. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "output.h"

static char folder[64];

static int make_folder(void **state)
{
	(void)state;
	snprintf(folder, sizeof(folder), "/tmp/cspy-test-output.XXXXXX");
	return mkdtemp(folder) && !chdir(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
	char command[128];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf %s", folder);
	return chdir("/") || system(command);
}

static size_t files_here(void)
{
	DIR *dir = opendir(".");
	size_t n = 0;

	assert_non_null(dir);
	for (const struct dirent *d; (d = readdir(dir));)
		n += strcmp(d->d_name, ".") && strcmp(d->d_name, "..");
	closedir(dir);
	return n;
}

static struct err write_text(const char *path, const char *text)
{
	struct output o;
	struct err e = output_open(path, &o);

	assert_false(failed(e));
	fputs(text, o.stream);
	return output_commit(&o);
}

static void assert_text(const char *path, const char *text)
{
	char buf[256] = "";
	int fd = open(path, O_RDONLY);

	assert_true(fd >= 0);
	assert_true(read(fd, buf, sizeof(buf) - 1) >= 0);
	close(fd);
	assert_string_equal(buf, text);
}

static void nothing_is_there_before_the_commit(void **state)
{
	struct output o;

	(void)state;
	assert_false(failed(output_check("a.svg")));
	assert_int_equal(files_here(), 0);
	assert_false(failed(output_open("a.svg", &o)));
	fputs("half", o.stream);
	fflush(o.stream);
	assert_int_equal(files_here(), 0);
	output_abort(&o);
	assert_int_equal(files_here(), 0);
}

static void the_commit_leaves_the_file_alone_in_its_folder(void **state)
{
	(void)state;
	assert_false(failed(write_text("a.svg", "whole")));
	assert_text("a.svg", "whole");
	assert_int_equal(files_here(), 1);
	assert_false(failed(write_text("a.svg", "again")));
	assert_text("a.svg", "again");
	assert_int_equal(files_here(), 1);
}

static void the_mode_follows_the_umask(void **state)
{
	mode_t old = umask(0027);
	struct stat st;

	(void)state;
	assert_false(failed(write_text("mode", "x")));
	umask(old);
	assert_int_equal(stat("mode", &st), 0);
	assert_int_equal(st.st_mode & 0777, 0640);
}

static void a_link_stays_and_its_file_is_replaced(void **state)
{
	struct stat st;

	(void)state;
	assert_int_equal(mkdir("elsewhere", 0777), 0);
	assert_false(failed(write_text("elsewhere/file", "old")));
	assert_int_equal(symlink("elsewhere/file", "link"), 0);
	assert_false(failed(write_text("link", "new")));
	assert_int_equal(lstat("link", &st), 0);
	assert_true(S_ISLNK(st.st_mode));
	assert_text("elsewhere/file", "new");
}

static void a_long_name_still_works(void **state)
{
	char name[256];

	(void)state;
	memset(name, 'n', 255);
	name[255] = 0;
	assert_false(failed(output_check(name)));
	assert_false(failed(write_text(name, "x")));
	assert_text(name, "x");
}

static void a_pipe_is_written_to_directly(void **state)
{
	char buf[16] = "";
	struct stat st;
	int fd;

	(void)state;
	assert_int_equal(mkfifo("pipe", 0600), 0);
	assert_false(output_is_file("pipe"));
	fd = open("pipe", O_RDONLY | O_NONBLOCK);
	assert_false(failed(write_text("pipe", "text")));
	assert_int_equal(read(fd, buf, sizeof(buf)), 4);
	close(fd);
	assert_int_equal(stat("pipe", &st), 0);
	assert_true(S_ISFIFO(st.st_mode));
	assert_int_equal(files_here(), 1);
}

static void a_full_device_is_an_error(void **state)
{
	(void)state;
	assert_int_equal(write_text("/dev/full", "x").os, ENOSPC);
	assert_false(failed(write_text("/dev/null", "x")));
}

/* RLIMIT_FSIZE stands for a full disk: the write fails in the middle of the file. */
static void a_write_that_fails_leaves_the_old_file(void **state)
{
	struct rlimit old, small = { 100000, RLIM_INFINITY };
	struct output o;
	struct err e;

	(void)state;
	assert_false(failed(write_text("a.svg", "old")));
	assert_false(failed(output_open("a.svg", &o)));
	for (int i = 0; i < 1000000; i++)
		fputc('x', o.stream);
	fflush(o.stream);
	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &old);
	small.rlim_max = old.rlim_max;
	setrlimit(RLIMIT_FSIZE, &small);
	e = output_commit(&o);
	setrlimit(RLIMIT_FSIZE, &old);
	assert_int_equal(e.os, EFBIG);
	assert_text("a.svg", "old");
	assert_int_equal(files_here(), 1);
}

static void what_cannot_work_is_known_before(void **state)
{
	(void)state;
	assert_int_equal(output_check("no/such/folder.svg").os, ENOENT);
	assert_int_equal(output_check("/").os, EISDIR);
	assert_int_equal(output_check("/proc/no-such").os, ENOENT);
	assert_int_equal(mkdir("dir", 0777), 0);
	assert_int_equal(output_check("dir").os, EISDIR);
	assert_int_equal(output_check("dir/").os, EISDIR);
	assert_false(failed(output_check("-")));
	assert_int_equal(files_here(), 1);
}

static void a_folder_without_permission_is_known_before(void **state)
{
	pid_t child;
	int status;

	(void)state;
	if (geteuid() != 0)
		skip();
	assert_int_equal(chmod(".", 0755), 0);
	child = fork();
	if (!child) {
		struct err e;

		if (setuid(65534))
			_exit(2);
		e = output_check("a.svg");
		/* Not ERR_DENIED, which would give advice about the target. */
		_exit(e.code == ERR_OS && e.os == EACCES ? 0 : 1);
	}
	waitpid(child, &status, 0);
	assert_int_equal(status, 0);
}

/* Killed at any moment of a large write: the old file or the new one, and nothing beside it. */
static void a_signal_in_the_middle_leaves_no_part(void **state)
{
	struct stat st;

	(void)state;
	assert_false(failed(write_text("a.svg", "old")));
	for (int round = 0; round < 40; round++) {
		pid_t child = fork();
		int status;

		if (!child) {
			struct output o;
			static char block[1 << 16];

			if (failed(output_open("a.svg", &o)))
				_exit(2);
			for (int i = 0; i < 256; i++)
				fwrite(block, 1, sizeof(block), o.stream);
			_exit(failed(output_commit(&o)));
		}
		usleep((useconds_t)(round * 700));
		kill(child, SIGTERM);
		waitpid(child, &status, 0);
		assert_int_equal(files_here(), 1);
		assert_int_equal(stat("a.svg", &st), 0);
		assert_true(st.st_size == 3 || st.st_size == 1 << 24);
	}
}

static void names_are_filled_in(void **state)
{
	char *name;

	(void)state;
	setenv("TZ", "UTC", 1);
	tzset();
	name = output_name("cspy-%p-%t.svg", 4711, 1893455999000000000);
	assert_string_equal(name, "cspy-4711-20291231-235959.svg");
	free(name);
	name = output_name("100%%-%x%", 1, 0);
	assert_string_equal(name, "100%-%x%");
	free(name);
}

#define TEST_IN_FOLDER(f) cmocka_unit_test_setup_teardown(f, make_folder, remove_folder)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST_IN_FOLDER(nothing_is_there_before_the_commit),
		TEST_IN_FOLDER(the_commit_leaves_the_file_alone_in_its_folder),
		TEST_IN_FOLDER(the_mode_follows_the_umask),
		TEST_IN_FOLDER(a_link_stays_and_its_file_is_replaced),
		TEST_IN_FOLDER(a_long_name_still_works),
		TEST_IN_FOLDER(a_pipe_is_written_to_directly),
		TEST_IN_FOLDER(a_full_device_is_an_error),
		TEST_IN_FOLDER(a_write_that_fails_leaves_the_old_file),
		TEST_IN_FOLDER(what_cannot_work_is_known_before),
		TEST_IN_FOLDER(a_folder_without_permission_is_known_before),
		TEST_IN_FOLDER(a_signal_in_the_middle_leaves_no_part),
		cmocka_unit_test(names_are_filled_in),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
