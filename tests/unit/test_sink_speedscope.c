/* test_sink_speedscope.c - files that speedscope reads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "cspy/sink.h"

extern const struct sink_ops sink_speedscope;

enum { MS = 1000000 };

static int setup(void **state)
{
	struct profile *p = profile_new(frames_new(strings_new()));

	p->keep_runs = true;
	p->interval_ns = 10 * MS;
	*state = p;
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

static node_id child(struct profile *p, node_id parent, const char *function, const char *file, uint32_t line)
{
	struct frame_info info = { .function = text(p, function), .file = text(p, file), .line = line };

	return profile_child(p, parent, frames_add(p->frames, info));
}

/* Read back by a strict reader: jansson refuses what is not JSON or not UTF-8. */
static json_t *written(struct profile *p, struct sink_options o)
{
	char *s = NULL;
	size_t len;
	FILE *out = open_memstream(&s, &len);
	json_error_t error = { 0 };
	json_t *file;

	sink_speedscope.write(out, p, &o);
	fclose(out);
	file = json_loads(s, JSON_REJECT_DUPLICATES, &error);
	if (!file)
		print_error("%s at %d\n%s\n", error.text, error.position, s);
	assert_non_null(file);
	free(s);
	return file;
}

static const char *string_in(const json_t *o, const char *key)
{
	const char *s = json_string_value(json_object_get(o, key));

	assert_non_null(s);
	return s;
}

static json_t *profile_in(const json_t *file, size_t i)
{
	json_t *p = json_array_get(json_object_get(file, "profiles"), i);

	assert_non_null(p);
	assert_int_equal(json_array_size(json_object_get(p, "samples")),
			 json_array_size(json_object_get(p, "weights")));
	return p;
}

static json_int_t weight_in(const json_t *profile, size_t i)
{
	return json_integer_value(json_array_get(json_object_get(profile, "weights"), i));
}

/* Name of a frame of a sample; NULL when the sample is not that deep. */
static const char *name_in(const json_t *file, size_t profile, size_t sample, size_t depth)
{
	json_t *stack = json_array_get(json_object_get(profile_in(file, profile), "samples"), sample);
	json_t *index = json_array_get(stack, depth);
	json_t *frames = json_object_get(json_object_get(file, "shared"), "frames");

	assert_true(json_is_array(stack));
	return index ? string_in(json_array_get(frames, (size_t)json_integer_value(index)), "name") : NULL;
}

static void the_file_says_what_it_is(void **state)
{
	struct profile *p = *state;
	json_t *file;

	free(p->command);
	p->command = strdup("python3 \"x\".py");
	file = written(p, (struct sink_options){ 0 });
	assert_string_equal(string_in(file, "$schema"), "https://www.speedscope.app/file-format-schema.json");
	assert_string_equal(string_in(file, "exporter"), "cspy " CSPY_VERSION);
	assert_string_equal(string_in(file, "name"), "python3 \"x\".py");
	json_decref(file);
	file = written(p, (struct sink_options){ .title = "mine" });
	assert_string_equal(string_in(file, "name"), "mine");
	json_decref(file);
}

static void stacks_run_from_root_to_leaf_with_the_weight_of_their_runs(void **state)
{
	struct profile *p = *state;
	node_id a = child(p, 0, "a", "/x.py", 1), b = child(p, a, "b", "/x.py", 2);
	uint32_t t = profile_thread(p, 1, 1, text(p, "Main"));
	json_t *file, *profile;

	profile_run(p, t, b, 0);
	profile_run(p, t, b, 10 * MS);
	profile_run(p, t, a, 20 * MS);
	file = written(p, (struct sink_options){ 0 });
	profile = profile_in(file, 0);
	assert_string_equal(string_in(profile, "type"), "sampled");
	assert_string_equal(string_in(profile, "unit"), "nanoseconds");
	assert_string_equal(string_in(profile, "name"), "Main (tid 1)");
	assert_int_equal(json_array_size(json_object_get(profile, "samples")), 2);
	assert_string_equal(name_in(file, 0, 0, 0), "a");
	assert_string_equal(name_in(file, 0, 0, 1), "b");
	assert_null(name_in(file, 0, 0, 2));
	assert_string_equal(name_in(file, 0, 1, 0), "a");
	assert_null(name_in(file, 0, 1, 1));
	assert_int_equal(weight_in(profile, 0), 20 * MS);
	assert_int_equal(weight_in(profile, 1), 10 * MS);
	json_decref(file);
}

static void idle_time_stays_visible_and_all_threads_share_one_clock(void **state)
{
	struct profile *p = *state;
	node_id a = child(p, 0, "a", "", 0);
	uint32_t one = profile_thread(p, 1, 1, 0), two = profile_thread(p, 1, 2, 0);
	json_t *file;

	profile_run(p, one, a, 5 * MS);
	profile_run(p, one, a, 100 * MS);
	profile_run(p, two, a, 190 * MS);
	file = written(p, (struct sink_options){ 0 });
	for (size_t i = 0; i < 2; i++) {
		json_t *profile = profile_in(file, i);
		json_int_t sum = 0;

		for (size_t j = 0; j < json_array_size(json_object_get(profile, "weights")); j++) {
			assert_true(weight_in(profile, j) > 0);
			sum += weight_in(profile, j);
		}
		assert_int_equal(json_integer_value(json_object_get(profile, "startValue")), 0);
		assert_int_equal(json_integer_value(json_object_get(profile, "endValue")), 200 * MS);
		assert_int_equal(sum, 200 * MS);
	}
	assert_null(name_in(file, 0, 0, 0)); /* 5 ms before the first look */
	assert_string_equal(name_in(file, 0, 1, 0), "a");
	assert_null(name_in(file, 0, 2, 0));
	assert_int_equal(weight_in(profile_in(file, 0), 2), 85 * MS);
	json_decref(file);
}

static void the_busiest_thread_is_shown_first(void **state)
{
	struct profile *p = *state;
	node_id a = child(p, 0, "a", "", 0);
	uint32_t silent = profile_thread(p, 1, 1, 0), one = profile_thread(p, 1, 2, 0),
		 two = profile_thread(p, 9, 3, 0);
	json_t *file;

	(void)silent;
	profile_run(p, one, a, 0);
	profile_run(p, two, a, 0);
	profile_run(p, two, a, 10 * MS);
	file = written(p, (struct sink_options){ 0 });
	assert_int_equal(json_array_size(json_object_get(file, "profiles")), 2);
	assert_int_equal(json_integer_value(json_object_get(file, "activeProfileIndex")), 1);
	assert_string_equal(string_in(profile_in(file, 1), "name"), "thread (pid 9, tid 3)");
	json_decref(file);
}

static void frames_that_print_the_same_are_one(void **state)
{
	struct profile *p = *state;
	uint32_t t = profile_thread(p, 1, 1, 0);
	json_t *file;

	for (uint32_t line = 1; line < 50; line++)
		profile_run(p, t, child(p, 0, "f", "/x.py", line), (uint64_t)line * 10 * MS);
	frames_add(p->frames, (struct frame_info){ .line = 77 }); /* in no stack */
	file = written(p, (struct sink_options){ .no_lines = true });
	assert_int_equal(json_array_size(json_object_get(json_object_get(file, "shared"), "frames")), 1);
	json_decref(file);
	file = written(p, (struct sink_options){ 0 });
	assert_int_equal(json_array_size(json_object_get(json_object_get(file, "shared"), "frames")), 49);
	json_decref(file);
}

static void what_is_not_known_is_left_out(void **state)
{
	struct profile *p = *state;
	json_t *file, *frames;

	child(p, 0, "bare", "", 0);
	child(p, 0, "whole", "/x.js", 3);
	file = written(p, (struct sink_options){ 0 });
	frames = json_object_get(json_object_get(file, "shared"), "frames");
	assert_int_equal(json_object_size(json_array_get(frames, 0)), 1);
	assert_int_equal(json_object_size(json_array_get(frames, 1)), 3);
	assert_string_equal(string_in(json_array_get(frames, 1), "file"), "x.js");
	assert_int_equal(json_integer_value(json_object_get(json_array_get(frames, 1), "line")), 3);
	json_decref(file);
}

static void a_profile_without_runs_is_still_one(void **state)
{
	struct profile *p = *state;
	json_t *file;

	profile_add(p, child(p, 0, "a", "", 0), true, 3);
	profile_add(p, child(p, 0, "b", "", 0), true, 4);
	file = written(p, (struct sink_options){ 0 });
	assert_int_equal(weight_in(profile_in(file, 0), 0), 30 * MS);
	assert_int_equal(weight_in(profile_in(file, 0), 1), 40 * MS);
	assert_int_equal(json_integer_value(json_object_get(profile_in(file, 0), "endValue")), 70 * MS);
	json_decref(file);
}

static void hostile_names_are_valid_json(void **state)
{
	struct profile *p = *state;
	char name[2] = "x";
	node_id n = 0;
	json_t *file;

	for (int c = 1; c < 256; c++) {
		name[0] = (char)c;
		n = child(p, n, name, name, 1);
	}
	n = child(p, n, "\"},{\"name\":\"x", "</script>\xE2\x82", 1);
	profile_run(p, profile_thread(p, 1, 1, text(p, "\"\n\xFF")), n, 0);
	file = written(p, (struct sink_options){ 0 });
	assert_string_equal(name_in(file, 0, 0, 255), "\"},{\"name\":\"x");
	assert_string_equal(string_in(profile_in(file, 0), "name"), "\"\n\xEF\xBF\xBD (tid 1)");
	json_decref(file);
}

static void an_empty_profile_is_a_valid_file(void **state)
{
	json_t *file = written(*state, (struct sink_options){ 0 });

	assert_int_equal(json_array_size(json_object_get(file, "profiles")), 1);
	json_decref(file);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(the_file_says_what_it_is),
		TEST(stacks_run_from_root_to_leaf_with_the_weight_of_their_runs),
		TEST(idle_time_stays_visible_and_all_threads_share_one_clock),
		TEST(the_busiest_thread_is_shown_first),
		TEST(frames_that_print_the_same_are_one),
		TEST(what_is_not_known_is_left_out),
		TEST(a_profile_without_runs_is_still_one),
		TEST(hostile_names_are_valid_json),
		TEST(an_empty_profile_is_a_valid_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
