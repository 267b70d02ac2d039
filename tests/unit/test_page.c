/* test_page.c - pages drawn into a grid of any size, and what keys do to them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "page.h"

#define SECOND 1000000000ull

static const char *const names[] = { "wait", "run", "futex", NULL };

static struct profile *p;
static struct page page;
static struct screen s;
static uint64_t now;

static frame_id frame(const char *name, uint32_t line, enum frame_kind kind)
{
	str_id text = strings_add(frames_strings(p->frames), name, strlen(name));
	str_id file = kind == FRAME_THREAD ? 0 : strings_add(frames_strings(p->frames), "/app/x.py", 9);

	return frames_add(p->frames, (struct frame_info){ .function = text,
							  .name = text,
							  .file = file,
							  .line = line,
							  .first_line = line - line % 10,
							  .kind = (uint8_t)kind });
}

/* So many looks at the thread with this stack, named from the root on by "name:line", separated by blanks. */
static void see(pid_t tid, uint64_t looks, const char *stack)
{
	char text[256], *save = NULL;
	uint32_t thread = profile_thread(p, 1, tid, strings_add(frames_strings(p->frames), "worker", 6));
	node_id node = profile_child(p, 0, frame("thread worker", 0, FRAME_THREAD));

	snprintf(text, sizeof(text), "%s", stack);
	for (char *part = strtok_r(text, " ", &save); part; part = strtok_r(NULL, " ", &save)) {
		char *colon = strchr(part, ':');

		*colon = 0;
		node = profile_child(p, node, frame(part, (uint32_t)atoi(colon + 1), FRAME_PYTHON));
	}
	profile_add(p, node, true, looks);
	p->threads[thread].last = node;
	p->threads[thread].looks.seen += looks;
	p->threads[thread].looks.held += looks;
	p->looks.seen += looks;
	p->stats.ticks += looks;
	now += SECOND;
	page_update(&page, now);
}

static int setup(void **state)
{
	(void)state;
	now = 0;
	p = profile_new(frames_new(strings_new()));
	p->interval_ns = SECOND / 100;
	page_init(&page, p, names, 10 * SECOND);
	snprintf(page.about.lock, sizeof(page.about.lock), "GIL");
	page.about.status = "LIVE";
	screen_init(&s, 24, 80, false);
	return 0;
}

static int teardown(void **state)
{
	struct frames *frames = p->frames;
	struct strings *strings = frames_strings(frames);

	(void)state;
	page_free(&page);
	screen_free(&s);
	profile_free(p);
	frames_free(frames);
	strings_free(strings);
	return 0;
}

/* The first row that has this text; -1: none. */
static int row_of(const char *text)
{
	page_draw(&page, &s);
	for (int y = 0; y < s.rows; y++) {
		CLEANUP(cleanup_free) char *row = screen_row(&s, y);

		if (strstr(row, text))
			return y;
	}
	return -1;
}

static void assert_shown(const char *text)
{
	if (row_of(text) >= 0)
		return;
	for (int y = 0; y < s.rows; y++) {
		CLEANUP(cleanup_free) char *row = screen_row(&s, y);

		print_message("%s\n", row);
	}
	fail_msg("'%s' is not shown", text);
}

static void press(const char *keys)
{
	for (; *keys; keys++)
		page_key(&page, *keys == '\n' ? TYPED_ENTER : *keys);
}

static bool is_selected(const char *text)
{
	int y = row_of(text);

	return y >= 0 && screen_cell(&s, y, 0)->style == STYLE_SELECTED;
}

static void shares_are_of_all_looks(void **state)
{
	(void)state;
	see(7, 30, "main:1 work:11");
	see(7, 10, "main:2");
	assert_shown(" 75.00   75.00      0.30      0.30  work (x.py:10)");
	assert_shown(" 25.00  100.00      0.10      0.40  main (x.py)");
	press("l");
	assert_shown(" 75.00   75.00      0.30      0.30  work (x.py:11)");
	assert_shown(" 25.00   25.00      0.10      0.10  main (x.py:2)");
}

static void any_size_is_drawn_within(void **state)
{
	static const int sizes[] = { 1, 2, 3, 5, 9, 10, 11, 17, 24, 60, 200 };

	(void)state;
	for (int i = 0; i < 40; i++)
		see(100 + i, 5, "main:1 a_function_with_a_long_name:11 deep:21 deep:21");
	for (size_t v = 0; view_table[v]; v++) {
		for (size_t i = 0; i < countof(sizes); i++) {
			for (size_t k = 0; k < countof(sizes); k++) {
				page.view = view_table[v];
				screen_resize(&s, sizes[i], sizes[k]);
				page_draw(&page, &s);
				page.help = !page.help;
				page_draw(&page, &s);
			}
		}
	}
	page.help = false;
	page.view = &view_functions;
	screen_resize(&s, 5, 20);
	assert_shown("deep");
	assert_int_equal(row_of("q quit"), 4);
}

static void the_chosen_row_stays_chosen_where_it_goes(void **state)
{
	(void)state;
	see(7, 30, "a:1");
	see(7, 20, "b:11");
	see(7, 10, "c:21");
	assert_true(is_selected("a (x.py"));
	press("j");
	assert_true(is_selected("b (x.py"));
	see(7, 90, "c:21");
	see(7, 120, "d:31");
	assert_true(row_of("c (x.py") < row_of("b (x.py"));
	assert_true(is_selected("b (x.py"));
	page_key(&page, TYPED_HOME);
	assert_true(is_selected("d (x.py:30"));
	page_key(&page, TYPED_END);
	assert_true(is_selected("b (x.py"));
}

static void callers_are_found_and_the_way_back(void **state)
{
	(void)state;
	see(7, 30, "main:1 work:11 leaf:21");
	see(7, 10, "other:31 work:11");
	press("/work\n");
	press("\n");
	assert_shown("callers and callees of work (x.py:10)");
	assert_shown(" 75.00  called by main");
	assert_shown(" 25.00  called by other");
	assert_shown("100.00  work (x.py:10)  own 25.00");
	assert_shown(" 75.00    calls leaf");
	page_key(&page, TYPED_END);
	press("\n");
	assert_shown("callers and callees of leaf");
	page_key(&page, TYPED_ESCAPE);
	assert_shown("callers and callees of work");
	page_key(&page, TYPED_ESCAPE);
	assert_shown("Function (file:line)");
}

static void branches_open_and_close(void **state)
{
	(void)state;
	see(7, 98, "main:1 work:11");
	see(7, 2, "main:1 rare:21 hidden:31");
	press("x");
	assert_shown("- thread worker");
	assert_shown("- main (x.py)");
	assert_shown("+ rare");
	assert_int_equal(row_of("hidden (x.py:30)"), -1);
	page_key(&page, TYPED_END);
	page_key(&page, TYPED_RIGHT);
	assert_shown("hidden (x.py:30)");
	page_key(&page, TYPED_LEFT);
	assert_int_equal(row_of("hidden (x.py:30)"), -1);
}

static void a_wrong_filter_is_told_and_changes_nothing(void **state)
{
	(void)state;
	see(7, 10, "main:1 work:11");
	press("/wo(rk\n");
	assert_shown("is no regular expression");
	assert_true(row_of("main (") >= 0);
	press("/^wo\n");
	assert_shown("work (");
	assert_int_equal(row_of("main ("), -1);
	press("//\n");
}

static void a_thread_shows_its_stack_leaf_first(void **state)
{
	(void)state;
	see(7, 10, "main:1 work:11 leaf:21");
	press("t\n");
	assert_shown("stack of worker (7): run");
	assert_true(row_of(" leaf (") < row_of(" work (x.py:11") && row_of(" work (x.py:11") < row_of(" main ("));
}

static void lines_of_the_source_have_their_shares(void **state)
{
	char **lines = xcalloc(2, sizeof(*lines));

	(void)state;
	see(7, 40, "main:2");
	press("c");
	assert_string_equal(page_source_wanted(&page), "/app/x.py");
	lines[0] = xstrdup("def main():");
	lines[1] = xstrdup("    work()");
	page_source_set(&page, lines, 2, "");
	assert_string_equal(page_source_wanted(&page), "");
	assert_shown("100.00  100.00     2      work()");
	assert_true(is_selected("work()"));
	page_source_set(&page, NULL, 0, "x.py: no such file");
	assert_shown("x.py: no such file");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(shares_are_of_all_looks),
		TEST(any_size_is_drawn_within),
		TEST(the_chosen_row_stays_chosen_where_it_goes),
		TEST(callers_are_found_and_the_way_back),
		TEST(branches_open_and_close),
		TEST(a_wrong_filter_is_told_and_changes_nothing),
		TEST(a_thread_shows_its_stack_leaf_first),
		TEST(lines_of_the_source_have_their_shares),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
