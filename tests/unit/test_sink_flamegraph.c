/* test_sink_flamegraph.c - the SVG flame graph is well formed whatever the names are, and says what the
 * profile says. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "flamegraph.h"
#include "utf8.h"

extern const struct sink_ops sink_flamegraph;

static const struct sink_options no_options;

struct fixture {
	struct strings *strings;
	struct frames *frames;
	struct profile *p;
	char *svg;
};

static int setup(void **state)
{
	struct fixture *f = xcalloc(1, sizeof(*f));

	f->strings = strings_new();
	f->frames = frames_new(f->strings);
	f->p = profile_new(f->frames);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	free(f->svg);
	profile_free(f->p);
	frames_free(f->frames);
	strings_free(f->strings);
	free(f);
	return 0;
}

static str_id intern(struct fixture *f, const char *s)
{
	return strings_add(f->strings, s, strlen(s));
}

static frame_id frame(struct fixture *f, const char *name, const char *file, uint32_t line, uint8_t kind)
{
	str_id id = intern(f, name);

	return frames_add(
		f->frames,
		(struct frame_info){ .function = id, .name = id, .file = intern(f, file), .line = line, .kind = kind });
}

static node_id python(struct fixture *f, node_id parent, const char *name)
{
	return profile_child(f->p, parent, frame(f, name, "app.py", 7, FRAME_PYTHON));
}

static void set_text(char **text, const char *value)
{
	free(*text);
	*text = xstrdup(value);
}

static const char *written(struct fixture *f, const struct sink_options *o)
{
	size_t len;

	free(f->svg);
	FILE *out = open_memstream(&f->svg, &len);
	sink_flamegraph.write(out, f->p, o);
	assert_int_equal(ferror(out), 0);
	fclose(out);
	assert_int_equal(strlen(f->svg), len);
	return f->svg;
}

/* ---- a reader of just the XML that matters: it fails at what any XML parser must refuse ---- */

static const char *name_end(const char *s)
{
	while (isalnum((unsigned char)*s) || *s == '-' || *s == ':' || *s == '_')
		s++;
	return s;
}

static const char *after_entity(const char *s)
{
	static const char *const known[] = { "&lt;", "&gt;", "&amp;", "&quot;", "&#39;" };

	for (size_t i = 0; i < countof(known); i++)
		if (!strncmp(s, known[i], strlen(known[i])))
			return s + strlen(known[i]);
	fail_msg("a bare &: %.40s", s);
	return NULL;
}

static const char *after_text(const char *s)
{
	while (*s && *s != '<') {
		assert_true(strncmp(s, "]]>", 3) != 0);
		s = *s == '&' ? after_entity(s) : s + 1;
	}
	return s;
}

static const char *after_attributes(const char *s)
{
	while (*s == ' ') {
		s = name_end(s + 1);
		assert_int_equal(s[0], '=');
		assert_int_equal(s[1], '"');
		for (s += 2; *s != '"'; s = *s == '&' ? after_entity(s) : s + 1)
			assert_true(*s && *s != '<');
		s++;
	}
	return s;
}

/* What XML 1.0 allows, without the replacement character's look-alike: bytes that are no UTF-8. */
static void assert_characters(const char *s)
{
	size_t len;
	uint32_t c;

	for (; (len = utf8_next(s, &c)); s += len) {
		assert_true(c >= 0x20 || c == '\t' || c == '\n');
		assert_true(c != 0xFFFE && c != 0xFFFF);
		assert_true(c != 0xFFFD || len == 3);
	}
}

/* Returns how many elements there are. */
static size_t assert_well_formed(const char *s)
{
	enum { DEEPEST = 16 };
	struct {
		const char *at;
		size_t len;
	} open[DEEPEST];
	size_t depth = 0, elements = 0;

	assert_characters(s);
	assert_int_equal(strncmp(s, "<?xml ", 6), 0);
	s = strstr(s, "?>\n") + 3;
	while (*s) {
		if (!strncmp(s, "<![CDATA[", 9)) {
			s = strstr(s, "]]>");
			assert_non_null(s);
			s += 3;
		} else if (s[0] == '<' && s[1] == '/') {
			const char *end = name_end(s + 2);
			assert_true(depth > 0);
			depth--;
			assert_int_equal(open[depth].len, end - s - 2);
			assert_memory_equal(open[depth].at, s + 2, open[depth].len);
			assert_int_equal(*end, '>');
			s = end + 1;
		} else if (s[0] == '<') {
			const char *end = name_end(s + 1);
			assert_true(end > s + 1 && depth < DEEPEST);
			elements++;
			open[depth].at = s + 1;
			open[depth++].len = (size_t)(end - s - 1);
			s = after_attributes(end);
			if (*s == '/') {
				depth--;
				s++;
			}
			assert_int_equal(*s, '>');
			s++;
		} else {
			assert_true(depth > 0 || *s == '\n');
			s = after_text(s);
		}
	}
	assert_int_equal(depth, 0);
	return elements;
}

static size_t occurrences(const char *s, const char *what)
{
	size_t n = 0;

	for (; (s = strstr(s, what)); s++)
		n++;
	return n;
}

#define assert_has(svg, what)	  assert_non_null(strstr(svg, what))
#define assert_has_not(svg, what) assert_null(strstr(svg, what))

/* ---- tests ---- */

static void frames_have_titles_with_samples_and_percent(void **state)
{
	struct fixture *f = *state;
	node_id outer = python(f, 0, "outer");

	profile_add(f->p, outer, true, 1);
	profile_add(f->p, python(f, outer, "inner"), true, 1499);
	profile_add(f->p, profile_child(f->p, 0, frame(f, "read", "", 0, FRAME_KERNEL)), true, 500);
	const char *svg = written(f, &no_options);
	assert_well_formed(svg);
	assert_has(svg, "<title>all \xE2\x80\x94 2,000 samples, 100.00%</title>");
	assert_has(svg, "<title>outer (app.py:7) \xE2\x80\x94 1,500 samples, 75.00%</title>");
	assert_has(svg, "<title>read_[k] \xE2\x80\x94 500 samples, 25.00%</title>");
	assert_has(svg, "<svg x=\"1%\" y=\"20\" width=\"73.5000%\" height=\"20\"><title>outer");
	assert_has(svg, "<svg x=\"74.5000%\" y=\"20\" width=\"24.5000%\" height=\"20\"><title>read_[k]");
}

static void the_tree_for_the_script_holds_every_frame(void **state)
{
	struct fixture *f = *state;
	node_id a = python(f, 0, "a"), b = python(f, a, "b");

	profile_add(f->p, b, true, 5);
	profile_add(f->p, python(f, b, "c"), true, 7);
	profile_add(f->p, python(f, 0, "d"), true, 9);
	const char *svg = written(f, &no_options);
	/* Labels a, b, c, d are 1 to 4; d is three levels above a child of c. */
	assert_has(svg, "\"nodes\":[\n0,0,0,1,0,0,2,5,0,3,7,0,4,9,3]}</metadata>");
	assert_has(svg, "[\"a\",\"app.py:7\",1,");
}

static void frames_under_a_thousandth_are_left_to_the_script(void **state)
{
	struct fixture *f = *state;

	profile_add(f->p, python(f, 0, "large"), true, 9989);
	profile_add(f->p, python(f, 0, "at_the_limit"), true, 10);
	profile_add(f->p, python(f, 0, "small"), true, 1);
	const char *svg = written(f, &no_options);
	assert_has(svg, "<title>at_the_limit");
	assert_has_not(svg, "<title>small");
	assert_has(svg, "[\"small\",");
}

static void siblings_that_read_the_same_are_one(void **state)
{
	struct fixture *f = *state;

	for (uint32_t line = 1; line <= 3; line++) {
		node_id n = profile_child(f->p, 0, frame(f, "loop", "app.py", line, FRAME_PYTHON));
		profile_add(f->p, n, true, 1);
		profile_add(f->p, python(f, n, "leaf"), true, line);
	}
	struct sink_options o = { .no_lines = true };
	const char *svg = written(f, &o);
	assert_has(svg, "<title>loop (app.py) \xE2\x80\x94 9 samples, 100.00%</title>");
	assert_has(svg, "<title>leaf (app.py) \xE2\x80\x94 6 samples, 66.67%</title>");
	assert_int_equal(occurrences(svg, "<title>loop"), 1);
	assert_int_equal(occurrences(written(f, &no_options), "<title>loop"), 3);
}

static void kinds_and_libraries_have_their_own_colours(void **state)
{
	struct fixture *f = *state;
	struct frame_info info = { .function = intern(f, "loads"), .kind = FRAME_PYTHON, .library = true };

	profile_add(f->p, profile_child(f->p, 0, frames_add(f->frames, info)), true, 5);
	info.library = false;
	profile_add(f->p, profile_child(f->p, 0, frames_add(f->frames, info)), true, 5);
	profile_add(f->p, profile_child(f->p, 0, frame(f, "poll", "", 0, FRAME_NATIVE)), true, 5);
	const char *svg = written(f, &no_options);
	assert_int_equal(occurrences(svg, "<title>loads"), 2);
	assert_has(svg, "font-size=\"12\">Python library</text>");
	assert_has(svg, "font-size=\"12\">native</text>");
	assert_has_not(svg, "font-size=\"12\">kernel</text>");
}

static void hostile_names_stay_text(void **state)
{
	static const char *const names[] = {
		"<script>alert(1)</script>",
		"</metadata><script>alert(1)</script>",
		"]]></script><x>",
		"a&b \"c\" 'd'",
		"line\none\ttwo\r",
		"\x1B[31m\x01\x7F",
		"\xC2\x85\xE2\x80\xAE\xE2\x80\xA8\xEF\xBB\xBF",
		"\xED\xA0\x80\xFF\xC0\x80\xF8",
		"\xEF\xBF\xBF\xF0\x9F\xBF\xBE",
		"\xF0\x9F\x94\xA5 \xE6\x97\xA5\xE6\x9C\xAC",
		"\xE6\x97",
		"\\\"\\u003c\\",
		"",
	};
	struct fixture *f = *state;

	for (size_t i = 0; i < countof(names); i++)
		profile_add(f->p, profile_child(f->p, 0, frame(f, names[i], names[i], 3, (uint8_t)(i % FRAME_KINDS))),
			    true, 10 + i);
	set_text(&f->p->command, names[2]);
	set_text(&f->p->runtime, names[1]);
	set_text(&f->p->mode, names[7]);
	f->p->stats.lean_function = intern(f, names[0]);
	const char *svg = written(f, &no_options);
	assert_well_formed(svg);
	assert_int_equal(occurrences(svg, "<script"), 1);
	assert_has(svg, "&lt;script&gt;alert(1)&lt;/script&gt;");
	assert_has(svg, "\"\\u003cscript\\u003ealert(1)\\u003c/script\\u003e\"");
	assert_has(svg, "a&amp;b &quot;c&quot; &#39;d&#39;");
	assert_has(svg, "line one two ");
	assert_has(svg, "\"\\\\\\\"\\\\u003c\\\\\"");
}

static void a_long_name_is_cut(void **state)
{
	struct fixture *f = *state;
	char *name = xcalloc(65537, 1);

	memset(name, 'n', 65536);
	profile_add(f->p, python(f, 0, name), true, 1);
	set_text(&f->p->command, name);
	const char *svg = written(f, &no_options);
	assert_well_formed(svg);
	assert_true(occurrences(svg, "nnnnnnnnnn") < 6000);
	assert_has(svg, "nnn.. (app.py:7) ");
	free(name);
}

static void text_is_cut_to_columns(void **state)
{
	static const struct {
		const char *in;
		size_t columns;
		const char *out;
	} cases[] = {
		{ "function", 8, "function" },
		{ "function", 7, "funct.." },
		{ "function", 3, "f.." },
		{ "", 3, "" },
		{ "\xE6\x97\xA5\xE6\x9C\xAC\xE8\xAA\x9E", 6, "\xE6\x97\xA5\xE6\x9C\xAC\xE8\xAA\x9E" },
		{ "\xE6\x97\xA5\xE6\x9C\xAC\xE8\xAA\x9E", 5, "\xE6\x97\xA5.." },
		{ "\xFF\xFF", 9, "\xEF\xBF\xBD\xEF\xBF\xBD" },
		{ "a\x01\xE2\x80\xAE"
		  "b",
		  9, "ab" },
	};

	(void)state;
	for (size_t i = 0; i < countof(cases); i++) {
		char *text = flame_clean(cases[i].in, cases[i].columns);
		assert_string_equal(text, cases[i].out);
		assert_true(flame_columns(text) <= cases[i].columns);
		free(text);
	}
}

static void numbers_do_not_depend_on_the_locale(void **state)
{
	char text[32];

	(void)state;
	flame_count(text, sizeof(text), 999);
	assert_string_equal(text, "999");
	flame_count(text, sizeof(text), 1234567);
	assert_string_equal(text, "1,234,567");
	flame_count(text, sizeof(text), UINT64_MAX);
	assert_string_equal(text, "18,446,744,073,709,551,615");
	flame_percent(text, sizeof(text), 2, 3);
	assert_string_equal(text, "66.67%");
	flame_percent(text, sizeof(text), 1, 0);
	assert_string_equal(text, "0.00%");
}

static void the_head_says_what_was_recorded_and_how_well(void **state)
{
	struct fixture *f = *state;
	struct profile_stats *s = &f->p->stats;

	profile_add(f->p, python(f, 0, "work"), true, 2981);
	set_text(&f->p->command, "python app.py");
	set_text(&f->p->runtime, "CPython 3.12.3");
	f->p->pid = 4711;
	*s = (struct profile_stats){ .ticks = 3000,
				     .paused = 40,
				     .cut = 12,
				     .late = 5,
				     .rate_wanted = 100,
				     .lean = 0.0042,
				     .wall_ns = 30040000000 };
	s->failed[ERR_FAULT] = 3;
	s->lean_function = intern(f, "json_loads");
	const char *svg = written(f, &no_options);
	assert_has(svg, "font-weight=\"600\">python app.py</text>");
	assert_has(svg, ">pid 4711 \xC2\xB7 CPython 3.12.3 \xC2\xB7 30 s at 100 samples/s \xC2\xB7 2,981 "
			"samples</text>");
	assert_has(svg, ">paused for 40 of 3,000 looks \xC2\xB7 12 cut \xC2\xB7 3 failed \xC2\xB7 5 looks "
			"late \xC2\xB7 "
			"lean 0.4% (json_loads)</text>");
	assert_has(svg, "\"weight\":2981,\"stats\":{\"unit\":\"samples\",\"ticks\":3000,\"late\":5,");
	assert_has(svg, "\"lean\":0.0042,\"lean_function\":\"json_loads\",\"failed\":{\"all\":3,\"fault\":3,");
	struct sink_options o = { .title = "before the fix" };
	assert_has(written(f, &o), "font-weight=\"600\">before the fix</text>");
}

static void an_empty_profile_says_why(void **state)
{
	struct fixture *f = *state;
	const char *svg = written(f, &no_options);

	assert_well_formed(svg);
	assert_has(svg, ">No samples</text>");
	assert_has(svg, "never looked at");
	assert_has_not(svg, "<script");
	f->p->stats.ticks = 100;
	assert_has(written(f, &no_options), "100 looks, and no thread had a stack.");
	f->p->stats.failed[ERR_CORRUPT] = 7;
	assert_has(written(f, &no_options), "None of 7 stacks could be read.");
	f->p->stats.idle = 80;
	assert_has(written(f, &no_options), "All 80 stacks that were seen were idle");
	/* A stack that was never counted is not drawn, either. */
	python(f, 0, "never");
	assert_has_not(written(f, &no_options), "never (");
}

static void equal_profiles_give_equal_files(void **state)
{
	static const char *const names[] = { "delta", "alpha", "echo", "bravo", "charlie" };
	struct fixture *f = *state;
	struct fixture *g;

	setup((void **)&g);
	for (size_t i = 0; i < countof(names); i++) {
		const char *forth = names[i], *back = names[countof(names) - 1 - i];
		profile_add(f->p, python(f, python(f, 0, "main"), forth), true, strlen(forth));
		profile_add(g->p, python(g, python(g, 0, "main"), back), true, strlen(back));
	}
	assert_string_equal(written(f, &no_options), written(g, &no_options));
	assert_true(strstr(f->svg, "<title>alpha") < strstr(f->svg, "<title>bravo"));
	teardown((void **)&g);
}

static void fifty_thousand_frames_stay_small(void **state)
{
	enum { FRAMES = 50000, CHAIN = 40 };
	struct fixture *f = *state;
	char name[32];
	node_id n = 0;

	for (unsigned i = 0; i < FRAMES; i++) {
		snprintf(name, sizeof(name), "function_%u", i % 700);
		n = python(f, i % CHAIN ? n : python(f, 0, name), name);
		profile_add(f->p, n, true, 1 + i % 9);
	}
	const char *svg = written(f, &no_options);
	/* 200 bytes an element would be 10 MB. */
	assert_true(strlen(svg) < 2000000);
	assert_true(assert_well_formed(svg) < 10000);
}

static void a_stack_of_any_depth_is_drawn(void **state)
{
	enum { DEPTH = 3000 };
	struct fixture *f = *state;
	node_id n = 0;

	for (unsigned i = 0; i < DEPTH; i++)
		n = python(f, n, "recurse");
	profile_add(f->p, n, true, 1);
	const char *svg = written(f, &no_options);
	assert_well_formed(svg);
	assert_int_equal(occurrences(svg, "<title>recurse"), DEPTH);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(frames_have_titles_with_samples_and_percent, setup, teardown),
		cmocka_unit_test_setup_teardown(the_tree_for_the_script_holds_every_frame, setup, teardown),
		cmocka_unit_test_setup_teardown(frames_under_a_thousandth_are_left_to_the_script, setup, teardown),
		cmocka_unit_test_setup_teardown(siblings_that_read_the_same_are_one, setup, teardown),
		cmocka_unit_test_setup_teardown(kinds_and_libraries_have_their_own_colours, setup, teardown),
		cmocka_unit_test_setup_teardown(hostile_names_stay_text, setup, teardown),
		cmocka_unit_test_setup_teardown(a_long_name_is_cut, setup, teardown),
		cmocka_unit_test_setup_teardown(text_is_cut_to_columns, setup, teardown),
		cmocka_unit_test_setup_teardown(numbers_do_not_depend_on_the_locale, setup, teardown),
		cmocka_unit_test_setup_teardown(the_head_says_what_was_recorded_and_how_well, setup, teardown),
		cmocka_unit_test_setup_teardown(an_empty_profile_says_why, setup, teardown),
		cmocka_unit_test_setup_teardown(equal_profiles_give_equal_files, setup, teardown),
		cmocka_unit_test_setup_teardown(fifty_thousand_frames_stay_small, setup, teardown),
		cmocka_unit_test_setup_teardown(a_stack_of_any_depth_is_drawn, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
