/* test_label.c - what a frame is called, and how much of its file's path is shown. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "cspy/sink.h"

static int setup(void **state)
{
	*state = profile_new(frames_new(strings_new()));
	return 0;
}

static int teardown(void **state)
{
	struct profile *p = *state;
	struct frames *f = p->frames;
	struct strings *s = frames_strings(f);

	profile_free(p);
	frames_free(f);
	strings_free(s);
	return 0;
}

static str_id text(struct profile *p, const char *s)
{
	return strings_add(frames_strings(p->frames), s, strlen(s));
}

static frame_id in_file(struct profile *p, const char *path)
{
	return frames_add(p->frames, (struct frame_info){ .function = text(p, "f"), .file = text(p, path), .line = 1 });
}

static const char *shown(struct profile *p, frame_id f)
{
	return label_of(p, f, &(struct sink_options){ 0 }).file;
}

static void assert_shown_as(struct profile *p, const char *path, const char *expected)
{
	assert_string_equal(shown(p, in_file(p, path)), expected);
}

static void a_lone_file_is_shown_by_its_base_name(void **state)
{
	assert_shown_as(*state, "/srv/app/main.py", "main.py");
	assert_shown_as(*state, "relative.py", "relative.py");
	assert_shown_as(*state, "file:///home/u/x/index.js", "index.js");
}

static void a_file_of_a_package_is_shown_from_the_package_on(void **state)
{
	static const char *const cases[][2] = {
		{ "/v/lib/python3.11/site-packages/numpy/core/numeric.py", "numpy/core/numeric.py" },
		{ "/usr/lib/python3/dist-packages/yaml/loader.py", "yaml/loader.py" },
		{ "/usr/lib/python3.11/json/decoder.py", "json/decoder.py" },
		{ "/opt/py/lib/python3.13t/threading.py", "threading.py" },
		{ "/usr/lib64/python2.7/Queue.py", "Queue.py" },
		{ "/usr/lib/pypy3.9/os.py", "os.py" },
		{ "/g/ruby/3.2.0/gems/rack-2.2.3/lib/rack/builder.rb", "rack/builder.rb" },
		{ "/g/ruby/gems/3.2.0/gems/puma-6.4.0/bin/puma", "puma-6.4.0/bin/puma" },
		{ "/usr/lib/ruby/3.2.0/net/http.rb", "net/http.rb" },
		{ "/a/node_modules/x/node_modules/y/lib/z.js", "y/lib/z.js" },
	};

	for (size_t i = 0; i < countof(cases); i++)
		assert_shown_as(*state, cases[i][0], cases[i][1]);
}

static void names_that_are_no_paths_are_left_alone(void **state)
{
	static const char *const names[] = {
		"<string>",
		"<frozen importlib._bootstrap>",
		"<internal:kernel/x>",
		"(eval at /a/b.rb:3)",
		"[eval]",
		"node:internal/process/task_queues",
		"/",
		"//",
		"a/",
	};

	for (size_t i = 0; i < countof(names); i++)
		assert_shown_as(*state, names[i], names[i]);
}

static void files_with_one_base_name_get_the_folders_that_tell_them_apart(void **state)
{
	struct profile *p = *state;
	frame_id a = in_file(p, "/srv/one/views/util.py"), b = in_file(p, "/srv/two/views/util.py");
	frame_id c = in_file(p, "/srv/two/models/util.py"), alone = in_file(p, "/srv/two/models/main.py");

	assert_string_equal(shown(p, a), "one/views/util.py");
	assert_string_equal(shown(p, b), "two/views/util.py");
	assert_string_equal(shown(p, c), "models/util.py");
	assert_string_equal(shown(p, alone), "main.py");
}

static void a_path_that_ends_another_is_told_apart_as_well(void **state)
{
	struct profile *p = *state;
	frame_id a = in_file(p, "/x.py"), b = in_file(p, "x.py"), c = in_file(p, "a/x.py"), d = in_file(p, "/a/x.py");
	frame_id e = in_file(p, "/v/site-packages/a/x.py");
	const char *names[] = { shown(p, a), shown(p, b), shown(p, c), shown(p, d), shown(p, e) };

	for (size_t i = 0; i < countof(names); i++) {
		for (size_t j = 0; j < i; j++)
			assert_string_not_equal(names[i], names[j]);
	}
}

static void a_file_seen_later_changes_how_the_first_is_shown(void **state)
{
	struct profile *p = *state;
	frame_id a = in_file(p, "/srv/one/util.py");

	assert_string_equal(shown(p, a), "util.py");
	in_file(p, "/srv/two/util.py");
	assert_string_equal(shown(p, a), "one/util.py");
}

static void the_same_file_in_many_frames_is_one_file(void **state)
{
	struct profile *p = *state;
	struct frame_info info = { .function = text(p, "f"), .file = text(p, "/a/b.py") };

	for (info.line = 1; info.line < 100; info.line++)
		frames_add(p->frames, info);
	assert_string_equal(shown(p, 1), "b.py");
	assert_string_equal(shown(p, 99), "b.py");
}

static void paths_made_to_collide_end_in_time(void **state)
{
	struct profile *p = *state;
	char path[4096];

	/* Each is the end of all later ones: every round moves one more of them. */
	path[sizeof(path) - 1] = 0;
	for (size_t len = 1; len < sizeof(path); len += 2) {
		char *s = path + sizeof(path) - 1 - len;

		for (size_t i = 0; i < len; i++)
			s[i] = i % 2 ? '/' : 'a';
		in_file(p, s);
	}
	assert_true(*shown(p, 1) != 0);
	assert_true(*shown(p, 2000) != 0);
}

static void full_file_names_are_as_the_runtime_has_them(void **state)
{
	struct profile *p = *state;
	struct sink_options full = { .full_filenames = true };
	const char *path = "/v/lib/python3.11/site-packages/numpy/core/numeric.py";

	assert_string_equal(label_of(p, in_file(p, path), &full).file, path);
}

static void lines_are_shown_as_asked(void **state)
{
	struct profile *p = *state;
	frame_id f = frames_add(
		p->frames, (struct frame_info){
				   .function = text(p, "f"), .file = text(p, "/a.py"), .line = 17, .first_line = 10 });

	assert_int_equal(label_of(p, f, &(struct sink_options){ 0 }).line, 17);
	assert_int_equal(label_of(p, f, &(struct sink_options){ .function_only = true }).line, 10);
	assert_int_equal(label_of(p, f, &(struct sink_options){ .no_lines = true }).line, 0);
	assert_string_equal(label_of(p, f, &(struct sink_options){ .no_lines = true }).file, "a.py");
}

static void statements_about_the_stack_have_no_file(void **state)
{
	static const uint8_t kinds[] = { FRAME_MARK, FRAME_THREAD, FRAME_PROCESS };
	struct profile *p = *state;

	for (size_t i = 0; i < countof(kinds); i++) {
		frame_id f = frames_add(p->frames, (struct frame_info){ .function = text(p, "[cut]"),
									.file = text(p, "/a.py"),
									.line = 1,
									.kind = kinds[i] });
		struct label l = label_of(p, f, &(struct sink_options){ .full_filenames = true });

		assert_string_equal(l.function, "[cut]");
		assert_string_equal(l.file, "");
		assert_int_equal(l.line, 0);
	}
}

static void native_frames_show_their_module(void **state)
{
	struct profile *p = *state;
	frame_id f = frames_add(p->frames, (struct frame_info){ .function = text(p, "memcpy"),
								.module = text(p, "/lib/x/libc.so.6"),
								.kind = FRAME_NATIVE });

	assert_string_equal(label_of(p, f, &(struct sink_options){ 0 }).file, "libc.so.6");
	assert_string_equal(label_of(p, f, &(struct sink_options){ .full_filenames = true }).file, "/lib/x/libc.so.6");
	assert_int_equal(label_of(p, f, &(struct sink_options){ 0 }).line, 0);
}

static void every_frame_has_some_name(void **state)
{
	struct profile *p = *state;
	struct sink_options o = { 0 };
	frame_id js = frames_add(p->frames, (struct frame_info){ .kind = FRAME_JS });
	frame_id bare = frames_add(p->frames, (struct frame_info){ .name = text(p, "bare") });

	assert_string_equal(label_of(p, js, &o).function, "(anonymous)");
	assert_string_equal(label_of(p, bare, &o).function, "bare");
	assert_string_equal(label_of(p, 0, &o).function, "[unknown]");
	assert_string_equal(label_of(p, 999, &o).function, "[unknown]");
	assert_string_equal(label_of(p, 999, &o).file, "");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(a_lone_file_is_shown_by_its_base_name),
		TEST(a_file_of_a_package_is_shown_from_the_package_on),
		TEST(names_that_are_no_paths_are_left_alone),
		TEST(files_with_one_base_name_get_the_folders_that_tell_them_apart),
		TEST(a_path_that_ends_another_is_told_apart_as_well),
		TEST(a_file_seen_later_changes_how_the_first_is_shown),
		TEST(the_same_file_in_many_frames_is_one_file),
		TEST(paths_made_to_collide_end_in_time),
		TEST(full_file_names_are_as_the_runtime_has_them),
		TEST(lines_are_shown_as_asked),
		TEST(statements_about_the_stack_have_no_file),
		TEST(native_frames_show_their_module),
		TEST(every_frame_has_some_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
