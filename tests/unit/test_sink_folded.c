/* test_sink_folded.c - folded stacks that every reader reads the same. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "cspy/sink.h"
#include "utf8.h"

extern const struct sink_ops sink_folded;

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

static frame_id frame(struct profile *p, const char *function, const char *file, uint32_t line)
{
	return frames_add(p->frames,
			  (struct frame_info){ .function = text(p, function), .file = text(p, file), .line = line });
}

/* Root first, ended by NULL; the frames have no file. */
static void add(struct profile *p, uint64_t n, ...)
{
	const char *name;
	node_id node = 0;
	va_list names;

	va_start(names, n);
	while ((name = va_arg(names, const char *)))
		node = profile_child(p, node, frame(p, name, "", 0));
	va_end(names);
	profile_add(p, node, true, n);
}

static char *written(struct profile *p, struct sink_options o)
{
	char *s = NULL;
	size_t len;
	FILE *out = open_memstream(&s, &len);

	sink_folded.write(out, p, &o);
	fclose(out);
	assert_int_equal(strlen(s), len); /* no NUL */
	return s;
}

static void assert_written(struct profile *p, struct sink_options o, const char *expected)
{
	char *s = written(p, o);

	assert_string_equal(s, expected);
	free(s);
}

static void a_stack_is_a_line_from_root_to_leaf(void **state)
{
	struct profile *p = *state;
	node_id main = profile_child(p, 0, frame(p, "main", "/srv/app.py", 3));
	node_id leaf = profile_child(p, main, frame(p, "work", "/srv/lib.py", 0));

	profile_add(p, leaf, true, 41);
	profile_add(p, leaf, false, 1);
	assert_written(p, (struct sink_options){ 0 }, "main (app.py:3);work (lib.py) 42\n");
	assert_written(p, (struct sink_options){ .full_filenames = true },
		       "main (/srv/app.py:3);work (/srv/lib.py) 42\n");
	assert_written(p, (struct sink_options){ .no_lines = true }, "main (app.py);work (lib.py) 42\n");
}

static void lines_are_sorted_and_empty_ones_left_out(void **state)
{
	struct profile *p = *state;

	add(p, 1, "b", NULL);
	add(p, 2, "a", "z", NULL);
	add(p, 3, "a", "c", "d", NULL);
	add(p, 4, "a", NULL);
	add(p, 0, "nothing", NULL);
	assert_written(p, (struct sink_options){ 0 }, "a 4\na;c;d 3\na;z 2\nb 1\n");
}

static void stacks_that_print_the_same_are_one_line(void **state)
{
	struct profile *p = *state;
	node_id root = profile_child(p, 0, frame(p, "main", "/a.py", 1));

	for (uint32_t line = 10; line < 20; line++)
		profile_add(p,
			    profile_child(p, profile_child(p, root, frame(p, "f", "/a.py", line)),
					  frame(p, "g", "/a.py", 1)),
			    true, 1);
	assert_written(p, (struct sink_options){ .no_lines = true }, "main (a.py);f (a.py);g (a.py) 10\n");
}

static void self_is_what_counts(void **state)
{
	struct profile *p = *state;
	node_id n = profile_child(p, 0, frame(p, "f", "", 0));

	profile_add(p, n, true, 10);
	p->nodes[n].self = 7; /* balanced */
	assert_written(p, (struct sink_options){ 0 }, "f 7\n");
}

static void names_cannot_break_out_of_their_field(void **state)
{
	struct profile *p = *state;

	add(p, 1, "a;b", "c\nd 5\ne\r\x1b[31m\x7f\t", "x\xC2\x85y\xE2\x80\xA8z", NULL);
	assert_written(p, (struct sink_options){ 0 }, "a:b;c d 5 e  [31m  ;x y z 1\n");
}

static void a_file_name_cannot_either(void **state)
{
	struct profile *p = *state;

	profile_add(p, profile_child(p, 0, frame(p, "f", "/x;y\nz.py", 1)), true, 1);
	assert_written(p, (struct sink_options){ 0 }, "f (x:y z.py:1) 1\n");
}

static void bytes_that_are_not_utf8_are_replaced(void **state)
{
	struct profile *p = *state;

	add(p, 1, "caf\xC3\xA9 \xFF\xE2\x82", NULL);
	assert_written(p, (struct sink_options){ 0 }, "caf\xC3\xA9 \xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD 1\n");
}

static void a_leaf_that_ends_like_a_second_column_is_put_in_parentheses(void **state)
{
	struct profile *p = *state;

	add(p, 1, "thread 12", NULL);
	add(p, 2, "thread 12", "step 1.5", NULL);
	add(p, 3, "a", "7", NULL);
	add(p, 4, "a", "x86", NULL);
	assert_written(p, (struct sink_options){ 0 }, "a;(7) 3\na;x86 4\n(thread 12) 1\nthread 12;(step 1.5) 2\n");
}

static void no_line_looks_like_a_comment(void **state)
{
	struct profile *p = *state;

	add(p, 1, "#<Class:0x1>", NULL);
	add(p, 2, "#<Class:0x1>", "#<Class:0x2>", NULL);
	assert_written(p, (struct sink_options){ 0 }, "(#<Class:0x1>) 1\n(#<Class:0x1>);#<Class:0x2> 2\n");
}

static void samples_without_frames_are_not_lost(void **state)
{
	struct profile *p = *state;

	profile_add(p, 0, true, 3);
	assert_written(p, (struct sink_options){ 0 }, "[no frames] 3\n");
}

static void an_empty_profile_writes_nothing(void **state)
{
	assert_written(*state, (struct sink_options){ 0 }, "");
}

/* As a reader does it: the number after the last space, the frames by semicolons. */
static uint64_t sum_of_lines(const char *s, size_t depth)
{
	uint64_t sum = 0;

	while (*s) {
		const char *end = strchr(s, '\n'), *number = end;
		size_t frames = 1;

		assert_non_null(end);
		while (number > s && number[-1] != ' ')
			number--;
		assert_true(number < end && number > s + 1);
		for (const char *c = s; c < number; c++)
			frames += *c == ';';
		assert_int_equal(frames, depth);
		sum += strtoull(number, NULL, 10);
		s = end + 1;
	}
	return sum;
}

static void any_name_leaves_as_many_lines_fields_and_samples(void **state)
{
	struct profile *p = *state;
	unsigned seed = 1;
	const char *rest;
	uint32_t c;
	size_t len;
	char *s;

	for (int i = 0; i < 2000; i++) {
		char names[3][16];

		for (size_t j = 0; j < 3; j++) {
			for (size_t k = 0; k < 15; k++)
				names[j][k] = (char)(rand_r(&seed) % 3 ? "; \n#1.)("[rand_r(&seed) % 8]
								       : rand_r(&seed) % 255 + 1);
			names[j][15] = 0;
		}
		add(p, 1, names[0], names[1], names[2], NULL);
	}
	s = written(p, (struct sink_options){ 0 });
	assert_int_equal(sum_of_lines(s, 3), 2000);
	for (rest = s; (len = utf8_next(rest, &c)); rest += len)
		assert_true(c == '\n' || !utf8_is_control(c));
	free(s);
}

static void a_stack_deeper_than_any_recursion_is_written(void **state)
{
	struct profile *p = *state;
	frame_id f = frame(p, "f", "", 0);
	node_id n = 0;
	char *s;

	for (int i = 0; i < 200000; i++)
		n = profile_child(p, n, f);
	profile_add(p, n, true, 1);
	s = written(p, (struct sink_options){ 0 });
	assert_int_equal(strlen(s), 200000 * 2 - 1 + 3);
	free(s);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(a_stack_is_a_line_from_root_to_leaf),
		TEST(lines_are_sorted_and_empty_ones_left_out),
		TEST(stacks_that_print_the_same_are_one_line),
		TEST(self_is_what_counts),
		TEST(names_cannot_break_out_of_their_field),
		TEST(a_file_name_cannot_either),
		TEST(bytes_that_are_not_utf8_are_replaced),
		TEST(a_leaf_that_ends_like_a_second_column_is_put_in_parentheses),
		TEST(no_line_looks_like_a_comment),
		TEST(samples_without_frames_are_not_lost),
		TEST(an_empty_profile_writes_nothing),
		TEST(any_name_leaves_as_many_lines_fields_and_samples),
		TEST(a_stack_deeper_than_any_recursion_is_written),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
