/* test_cpython_objects.c - objects of live interpreters, read from outside, against what each says of its
 * own. */
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "cpython/code.h"
#include "cpython/objects.h"

#define PROGRAM "fixtures/targets/python/objects.py"
#define LIST	"fixtures/runtimes/list 2>/dev/null"

enum { PYTHONS_MAX = 40, FIELDS_MAX = 12, ARGV_MAX = 8, TEXT_CAP = 8192, LOCALS_CAP = 512, CYCLES = 2 };

/* A line of what the interpreter said, cut at its blanks. */
struct fact {
	char *field[FIELDS_MAX];
	size_t fields;
};

struct python {
	char name[64];
	pid_t pid;
	int hold; /* the interpreter ends when this is closed */
	struct cpy_layout layout;
	struct memory *memory;
	struct fact *facts;
	size_t count, cap;
};

struct pythons {
	struct python list[PYTHONS_MAX];
	size_t count;
};

/* ---- Starting the interpreters ---- */

static char *whole_file(const char *path)
{
	FILE *f = fopen(path, "r");
	char *text = xcalloc(1 << 16, 1);

	assert_non_null(f);
	assert_true(fread(text, 1, (1 << 16) - 1, f) > 0);
	fclose(f);
	return text;
}

static void run(char *command, char *program, int in, int out)
{
	char *argv[ARGV_MAX + 3], *rest = NULL;
	int n = 0;

	for (char *word = strtok_r(command, " ", &rest); word && n < ARGV_MAX; word = strtok_r(NULL, " ", &rest))
		argv[n++] = word;
	argv[n++] = (char *)"-c";
	argv[n++] = program;
	argv[n] = NULL;
	dup2(in, 0);
	dup2(out, 1);
	execvp(argv[0], argv);
	_exit(127);
}

static void keep_fact(struct python *py, char *line)
{
	struct fact fact = { .fields = 0 };
	char *rest = NULL;

	for (char *f = strtok_r(line, " \n", &rest); f && fact.fields < FIELDS_MAX; f = strtok_r(NULL, " \n", &rest))
		fact.field[fact.fields++] = xstrdup(f);
	xgrow(&py->facts, &py->cap, py->count + 1, sizeof(*py->facts));
	py->facts[py->count++] = fact;
}

static void start(struct python *py, char *command, char *program)
{
	int in[2], out[2];
	char *line = NULL;
	size_t cap = 0;
	FILE *f;

	assert_int_equal(pipe2(in, O_CLOEXEC), 0);
	assert_int_equal(pipe2(out, O_CLOEXEC), 0);
	py->pid = fork();
	if (py->pid == 0)
		run(command, program, in[0], out[1]);
	close(in[0]);
	close(out[1]);
	py->hold = in[1];
	f = fdopen(out[0], "r");
	while (getline(&line, &cap, f) > 0) {
		if (strcmp(line, "ready\n") == 0)
			break;
		keep_fact(py, line);
	}
	if (ferror(f) || !line || strcmp(line, "ready\n") != 0)
		fail_msg("%s did not get ready", py->name);
	free(line);
	fclose(f);
	assert_false(failed(memory_process_open(py->pid, &py->memory)));
}

static int start_all(void **state)
{
	struct pythons *all = xcalloc(1, sizeof(*all));
	char *program = whole_file(PROGRAM), *line = NULL;
	size_t cap = 0;
	FILE *list = popen(LIST, "r");

	*state = all;
	while (getline(&line, &cap, list) > 0 && all->count < PYTHONS_MAX) {
		struct python *py = &all->list[all->count];
		unsigned int major, minor;
		char command[512], flags[64], *rest = line, *name = strsep(&rest, "\t"), *runtime = strsep(&rest, "\t");

		if (strcmp(runtime, "python") != 0 ||
		    sscanf(rest, "%u.%u.%*u\t%511[^\t]\t%63s", &major, &minor, command, flags) != 4 ||
		    strstr(flags, "musl") || /* with a small part of the modules that the program needs */
		    strstr(flags, "nogil"))  /* no row: known by what it says of itself alone; live tests read it */
			continue;
		snprintf(py->name, sizeof(py->name), "%s", name);
		const struct cpy_layout *layout = cpy_layout_find(major, minor, false);
		if (!layout)
			fail_msg("%s has no layout", name);
		py->layout = *layout;
		all->count++;
		start(py, command, program);
	}
	free(line);
	pclose(list);
	free(program);
	return 0;
}

static int stop_all(void **state)
{
	struct pythons *all = *state;

	for (size_t i = 0; i < all->count; i++) {
		struct python *py = &all->list[i];

		memory_close(py->memory);
		close(py->hold);
		kill(py->pid, SIGKILL);
		waitpid(py->pid, NULL, 0);
		for (size_t j = 0; j < py->count; j++) {
			for (size_t k = 0; k < py->facts[j].fields; k++)
				free(py->facts[j].field[k]);
		}
		free(py->facts);
	}
	free(all);
	return 0;
}

/* ---- Reading the facts ---- */

static raddr_t number(const struct fact *f, size_t i)
{
	return strtoull(f->field[i], NULL, 10);
}

/* Text from its hex digits. */
static const char *text_of(const char *hex, char *buf)
{
	size_t n = 0;
	unsigned int byte;

	for (; n < TEXT_CAP - 1 && sscanf(hex, "%2x", &byte) == 1; hex += 2)
		buf[n++] = (char)byte;
	buf[n] = '\0';
	return buf;
}

static bool is(const struct fact *f, const char *what)
{
	return strcmp(f->field[0], what) == 0;
}

typedef bool judge_fn(struct memory *m, const struct cpy_layout *l, const struct fact *f, char *said);

/* Judge every fact of one kind, of every interpreter; all that is wrong is shown. */
static void judge(void **state, const char *what, judge_fn *fn)
{
	struct pythons *all = *state;
	size_t wrong = 0, seen = 0;
	static char said[TEXT_CAP];

	if (all->count == 0)
		skip();
	for (size_t i = 0; i < all->count; i++) {
		struct python *py = &all->list[i];

		for (size_t j = 0; j < py->count; j++) {
			if (!is(&py->facts[j], what))
				continue;
			seen++;
			strcpy(said, "-");
			if (fn(py->memory, &py->layout, &py->facts[j], said))
				continue;
			char want[TEXT_CAP];
			wrong++;
			print_error("%s: fact %zu: %s %s, read: %.200s, true: %.200s\n", py->name, j, what,
				    py->facts[j].field[1], said,
				    py->facts[j].fields > 2 ? text_of(py->facts[j].field[2], want) : "");
		}
	}
	assert_true(seen >= all->count);
	assert_int_equal(wrong, 0);
}

static bool judge_string(struct memory *m, const struct cpy_layout *l, const struct fact *f, char *said)
{
	char want[TEXT_CAP];
	struct err e = cpy_string(m, l, number(f, 1), said, TEXT_CAP);

	return !failed(e) && strcmp(said, text_of(f->field[2], want)) == 0;
}

static void strings_of_every_kind_become_utf8(void **state)
{
	judge(state, "string", judge_string);
}

static bool judge_cut(struct memory *m, const struct cpy_layout *l, const struct fact *f, char *said)
{
	char want[TEXT_CAP];

	text_of(f->field[2], want);
	for (size_t cap = 1; cap < 12; cap++) {
		if (failed(cpy_string(m, l, number(f, 1), said, cap)) || strlen(said) >= cap ||
		    strncmp(said, want, strlen(said)) != 0)
			return false;
		/* Whole characters: the next byte begins one, and at most three bytes of room are left. */
		if (((uint8_t)want[strlen(said)] & 0xC0) == 0x80 || (want[strlen(said)] && strlen(said) + 4 < cap))
			return false;
	}
	return true;
}

static void a_string_is_cut_between_characters(void **state)
{
	judge(state, "string", judge_cut);
}

static bool judge_repr(struct memory *m, const struct cpy_layout *l, const struct fact *f, char *said)
{
	char want[TEXT_CAP];

	cpy_repr(m, l, number(f, 1), said, TEXT_CAP);
	return strcmp(said, text_of(f->field[2], want)) == 0;
}

static void objects_look_as_repr_shows_them(void **state)
{
	judge(state, "repr", judge_repr);
}

static bool judge_short_repr(struct memory *m, const struct cpy_layout *l, const struct fact *f, char *said)
{
	char want[TEXT_CAP];
	size_t length = strlen(text_of(f->field[2], want));

	for (size_t cap = 1; cap < 40; cap++) {
		cpy_repr(m, l, number(f, 1), said, cap);
		if (strlen(said) >= cap)
			return false;
		if (length < cap ? strcmp(said, want) != 0 : cap > 4 && strcmp(said + strlen(said) - 3, "...") != 0)
			return false;
	}
	return true;
}

static void a_repr_that_does_not_fit_ends_with_dots(void **state)
{
	judge(state, "repr", judge_short_repr);
}

static bool judge_int(struct memory *m, const struct cpy_layout *l, const struct fact *f, char *said)
{
	int64_t value;
	struct err e = cpy_int(m, l, number(f, 1), &value);

	if (failed(e))
		return false;
	sprintf(said, "%lld", (long long)value);
	return strcmp(said, f->field[2]) == 0;
}

static void ints_of_64_bits_are_exact(void **state)
{
	judge(state, "int", judge_int);
}

static bool same_value(struct err e, raddr_t value, raddr_t want, char *said)
{
	sprintf(said, "%s %llu", failed(e) ? e.what : "", (unsigned long long)value);
	return want ? !failed(e) && value == want : e.code == ERR_UNSUPPORTED;
}

static bool judge_get(struct memory *m, const struct cpy_layout *l, const struct fact *f, char *said)
{
	char key[TEXT_CAP];
	raddr_t value = 0;
	struct err e = cpy_dict_get(m, l, number(f, 1), text_of(f->field[2], key), &value);

	return same_value(e, value, number(f, 3), said);
}

static void dicts_find_their_keys(void **state)
{
	judge(state, "get", judge_get);
}

static bool count_entry(void *arg, raddr_t key, raddr_t value)
{
	assert_true(key && value);
	++*(size_t *)arg;
	return true;
}

static bool judge_count(struct memory *m, const struct cpy_layout *l, const struct fact *f, char *said)
{
	size_t n = 0, few = 0, want = number(f, 2);

	if (failed(cpy_dict_each(m, l, number(f, 1), SIZE_MAX, count_entry, &n)) ||
	    failed(cpy_dict_each(m, l, number(f, 1), 3, count_entry, &few)))
		return false;
	sprintf(said, "%zu", n);
	return n == want && few == (want < 3 ? want : 3);
}

static void dicts_list_all_their_entries(void **state)
{
	judge(state, "count", judge_count);
}

static bool judge_attribute(struct memory *m, const struct cpy_layout *l, const struct fact *f, char *said)
{
	char name[TEXT_CAP];
	raddr_t value = 0;
	struct err e = cpy_attribute(m, l, number(f, 1), text_of(f->field[2], name), &value);

	return same_value(e, value, number(f, 3), said);
}

static void instances_have_their_attributes(void **state)
{
	judge(state, "attr", judge_attribute);
}

static bool judge_thread(struct memory *m, const struct cpy_layout *l, const struct fact *f, char *said)
{
	char want[TEXT_CAP];
	raddr_t interp;
	struct err e = memory_ptr(m, number(f, 1) + l->thread_interp, &interp);

	if (!failed(e))
		e = cpy_thread_name(m, l, interp, number(f, 2), &(raddr_t){ 0 }, said, TEXT_CAP);
	if (strcmp(f->field[3], "-") == 0)
		return e.code == ERR_UNSUPPORTED;
	return !failed(e) && strcmp(said, text_of(f->field[3], want)) == 0;
}

static void threads_have_the_names_that_the_program_gave(void **state)
{
	judge(state, "thread", judge_thread);
}

static bool judge_code(struct memory *m, const struct cpy_layout *l, const struct fact *f, char *said)
{
	struct cpy_code code;
	char want[TEXT_CAP];
	uint32_t line = 0, column = 0;
	struct err e = cpy_code_read(m, l, number(f, 1), &code);

	if (failed(e))
		return false;
	bool good = strcmp(code.name, text_of(f->field[2], want)) == 0 &&
		    strcmp(code.qualname, text_of(f->field[3], want)) == 0 &&
		    strcmp(code.filename, text_of(f->field[4], want)) == 0 && code.first_line == number(f, 5) &&
		    number(f, 6) < code.code_len && cpy_line_at(l, &code, number(f, 6), &line, &column) &&
		    line == number(f, 7) && (column > 0) == (l->lines == LINES_LOCATIONS) &&
		    !cpy_line_at(l, &code, code.code_len, &line, &column);
	snprintf(said, TEXT_CAP, "%s %s %s %u, line %u:%u", code.name, code.qualname, code.filename, code.first_line,
		 line, column);
	cpy_code_free(&code);
	return good;
}

static void code_objects_tell_name_file_and_line(void **state)
{
	judge(state, "code", judge_code);
}

/* ---- Local variables: one fact for the frame, then one for each variable ---- */

struct seen_locals {
	const struct fact *facts;
	size_t want, right, others;
	char *said;
};

static void check_local(void *arg, const struct rt_local *local)
{
	struct seen_locals *seen = arg;
	char want[TEXT_CAP];

	for (size_t i = 0; i < seen->want; i++) {
		const struct fact *f = &seen->facts[i];

		if (strcmp(text_of(f->field[2], want), local->name) != 0)
			continue;
		if (f->field[1][0] == local->kind && strcmp(text_of(f->field[3], want), local->value) == 0) {
			seen->right++;
			return;
		}
	}
	seen->others++;
	snprintf(seen->said, TEXT_CAP, "%c %s = %s", local->kind, local->name, local->value);
}

/* From 3.11 on a frame object points to the frame, behind its header and f_back. */
static struct err frame_of(struct memory *m, const struct cpy_layout *l, raddr_t object, raddr_t *ret)
{
	*ret = object;
	return l->frames == FRAMES_HEAP ? OK : memory_ptr(m, object + l->object_type + 2 * sizeof(raddr_t), ret);
}

static bool judge_locals(struct memory *m, const struct cpy_layout *l, const struct fact *f, char *said)
{
	struct seen_locals seen = { .facts = f + 1, .want = number(f, 3), .said = said };
	raddr_t frame;
	struct err e = frame_of(m, l, number(f, 1), &frame);

	if (!failed(e))
		e = cpy_locals(m, l, frame, number(f, 2), check_local, &seen);
	return !failed(e) && seen.others == 0 && seen.right == seen.want;
}

static void frames_show_their_bound_variables_and_no_others(void **state)
{
	judge(state, "locals", judge_locals);
}

/* ---- What a hostile or changing target does ---- */

static void ignore_local(void *arg, const struct rt_local *local)
{
	(void)arg;
	assert_non_null(local->name);
}

static bool ask_everything(struct memory *m, const struct cpy_layout *l, raddr_t object)
{
	static char buf[TEXT_CAP];
	struct cpy_code code;
	raddr_t value;
	int64_t n;
	size_t count = 0;
	bool any = !failed(cpy_string(m, l, object, buf, sizeof(buf)));

	any |= !failed(cpy_int(m, l, object, &n));
	any |= !failed(cpy_dict_get(m, l, object, "first", &value));
	any |= !failed(cpy_dict_each(m, l, object, 1000, count_entry, &count));
	any |= !failed(cpy_attribute(m, l, object, "first", &value));
	any |= !failed(cpy_thread_name(m, l, object, 1, &(raddr_t){ 0 }, buf, sizeof(buf)));
	any |= !failed(cpy_locals(m, l, object, object, ignore_local, NULL));
	cpy_repr(m, l, object, buf, sizeof(buf));
	if (!failed(cpy_code_read(m, l, object, &code))) {
		any = true;
		cpy_code_free(&code);
	}
	return any;
}

/* Every reader on every object there is, whatever it is, and on places between objects. */
static void any_address_is_safe_to_ask_about(void **state)
{
	struct pythons *all = *state;

	if (all->count == 0)
		skip();
	for (size_t i = 0; i < all->count; i++) {
		struct python *py = &all->list[i];

		for (size_t j = 0; j < py->count; j += 7) {
			raddr_t object = is(&py->facts[j], "local") ? 8 : number(&py->facts[j], 1);

			for (int shift = 0; shift <= 48; shift += 8)
				ask_everything(py->memory, &py->layout, object + (raddr_t)shift);
		}
		assert_false(ask_everything(py->memory, &py->layout, 0));
		assert_false(ask_everything(py->memory, &py->layout, UINT64_MAX - 4095));
	}
}

static void one_fact(struct memory *m, const struct cpy_layout *l, const struct fact *f)
{
	static char said[TEXT_CAP];

	if (is(f, "string"))
		judge_string(m, l, f, said);
	else if (is(f, "repr"))
		judge_repr(m, l, f, said);
	else if (is(f, "attr"))
		judge_attribute(m, l, f, said);
	else if (is(f, "code"))
		judge_code(m, l, f, said);
	else if (is(f, "thread"))
		judge_thread(m, l, f, said);
	else if (is(f, "locals"))
		judge_locals(m, l, f, said);
}

/* The first facts of each kind, with each of their reads failing in turn. */
static void every_failing_read_is_survived(void **state)
{
	static const char *const kinds[] = { "string", "repr", "attr", "code", "thread", "locals" };
	struct pythons *all = *state;

	if (all->count == 0)
		skip();
	for (size_t i = 0; i < all->count; i++) {
		struct python *py = &all->list[i];

		for (size_t k = 0; k < countof(kinds); k++) {
			size_t cycles = 0;

			for (size_t j = 0; j < py->count && cycles < CYCLES; j++) {
				bool fired = is(&py->facts[j], kinds[k]);

				cycles += fired;
				for (uint64_t fail = 0; fired && fail < 2000; fail++) {
					struct memory *inner, *m;

					assert_false(failed(memory_process_open(py->pid, &inner)));
					m = memory_faulty_new(inner, fail);
					one_fact(m, &py->layout, &py->facts[j]);
					fired = memory_faulty_fired(m);
					memory_close(m);
				}
			}
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(strings_of_every_kind_become_utf8),
		cmocka_unit_test(a_string_is_cut_between_characters),
		cmocka_unit_test(objects_look_as_repr_shows_them),
		cmocka_unit_test(a_repr_that_does_not_fit_ends_with_dots),
		cmocka_unit_test(ints_of_64_bits_are_exact),
		cmocka_unit_test(dicts_find_their_keys),
		cmocka_unit_test(dicts_list_all_their_entries),
		cmocka_unit_test(instances_have_their_attributes),
		cmocka_unit_test(threads_have_the_names_that_the_program_gave),
		cmocka_unit_test(code_objects_tell_name_file_and_line),
		cmocka_unit_test(frames_show_their_bound_variables_and_no_others),
		cmocka_unit_test(any_address_is_safe_to_ask_about),
		cmocka_unit_test(every_failing_read_is_survived),
	};

	return cmocka_run_group_tests(tests, start_all, stop_all);
}
