/* test_options.c - a command line becomes values, or one line that says what is wrong with it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "options.h"

struct values {
	bool quiet, idle;
	const char *output;
	pid_t pid;
	double rate, share;
	uint64_t duration_ns;
	size_t depth;
};

#define AT(field) offsetof(struct values, field)
static const struct option_row rows[] = {
	{ NULL, 0, OPTION_GROUP, 0, NULL, "Group" },
	{ "quiet", 'q', OPTION_FLAG, AT(quiet), NULL, "say nothing" },
	{ "idle", 'i', OPTION_FLAG, AT(idle), NULL, "all threads" },
	{ "output", 'o', OPTION_STRING, AT(output), "FILE", "where to" },
	{ "pid", 'p', OPTION_PID, AT(pid), "PID", "whom" },
	{ "rate", 'r', OPTION_RATE, AT(rate), "RATE", "how often" },
	{ "max-pause", 0, OPTION_SHARE, AT(share), "SHARE", "how much" },
	{ "duration", 'd', OPTION_DURATION, AT(duration_ns), "TIME", "how long" },
	{ "depth", 0, OPTION_COUNT, AT(depth), "N", "how deep" },
	OPTION_ROW_HELP,
	OPTION_ROW_VERSION,
	{ 0 },
};

static struct values values;
static struct options_rest rest;

/* The arguments, separated by blanks, after the command's name. */
static enum options_outcome parse(const char *line)
{
	static char buf[512];
	static char *argv[32];
	int argc = 0;

	snprintf(buf, sizeof(buf), "record %s", line);
	for (char *word = strtok(buf, " "); word; word = strtok(NULL, " "))
		argv[argc++] = word;
	argv[argc] = NULL;
	values = (struct values){ 0 };
	options_parse(rows, argc, argv, &values, &rest);
	return rest.outcome;
}

static void assert_wrong(const char *line, const char *part)
{
	if (parse(line) != OPTIONS_WRONG)
		fail_msg("'%s' was accepted", line);
	if (!strstr(rest.why, part))
		fail_msg("'%s' said '%s', not '%s'", line, rest.why, part);
	assert_null(strchr(rest.why, '\n'));
}

static void nothing_given_changes_nothing(void **state)
{
	(void)state;
	assert_int_equal(parse(""), OPTIONS_RUN);
	assert_null(rest.operand);
	assert_null(rest.command);
	assert_false(values.quiet);
}

static void letters_and_names_mean_the_same(void **state)
{
	(void)state;
	assert_int_equal(parse("-q -i -o a.svg -p 12"), OPTIONS_RUN);
	assert_true(values.quiet && values.idle);
	assert_string_equal(values.output, "a.svg");
	assert_int_equal(values.pid, 12);
	assert_int_equal(parse("--quiet --idle --output=a.svg --pid 12"), OPTIONS_RUN);
	assert_true(values.quiet && values.idle);
	assert_string_equal(values.output, "a.svg");
	assert_int_equal(values.pid, 12);
	assert_int_equal(parse("-qioa.svg"), OPTIONS_RUN);
	assert_true(values.quiet && values.idle);
	assert_string_equal(values.output, "a.svg");
}

static void a_name_may_be_shortened_while_it_is_clear(void **state)
{
	(void)state;
	assert_int_equal(parse("--out x"), OPTIONS_RUN);
	assert_string_equal(values.output, "x");
	assert_wrong("--d 3", "no option --d");
}

static void options_may_follow_the_operand(void **state)
{
	(void)state;
	assert_int_equal(parse("4711 -q -d 3"), OPTIONS_RUN);
	assert_string_equal(rest.operand, "4711");
	assert_true(values.quiet);
	assert_int_equal(values.duration_ns, 3000000000);
}

static void two_operands_are_one_too_many(void **state)
{
	(void)state;
	assert_wrong("python3 app.py", "'app.py'");
	assert_non_null(strstr(rest.hint, "--"));
}

static void what_follows_two_dashes_is_left_alone(void **state)
{
	(void)state;
	assert_int_equal(parse("-q -- python3 -q -o x -- y"), OPTIONS_RUN);
	assert_string_equal(rest.command[0], "python3");
	assert_string_equal(rest.command[1], "-q");
	assert_string_equal(rest.command[4], "--");
	assert_string_equal(rest.command[5], "y");
	assert_null(rest.command[6]);
	assert_null(values.output);
	assert_null(rest.operand);
	assert_wrong("-q --", "nothing follows --");
}

static void rates_have_units(void **state)
{
	static const struct {
		const char *line;
		double rate;
	} good[] = { { "-r 1", 1 },	    { "-r 100", 100 }, { "-r 1k", 1000 },    { "-r 2.5k", 2500 },
		     { "-r 10khz", 10000 }, { "-r 99Hz", 99 }, { "-r 1M", 1000000 }, { "-r 1000000", 1000000 } };

	(void)state;
	for (size_t i = 0; i < countof(good); i++) {
		assert_int_equal(parse(good[i].line), OPTIONS_RUN);
		assert_true(values.rate == good[i].rate);
	}
}

static void bad_rates_name_the_range(void **state)
{
	static const char *const bad[] = { "-r 0",   "-r -1",  "-r 1000001", "-r 2M",  "-r x", "-r 1kk",  "-r 1e3",
					   "-r nan", "-r inf", "-r 0x10",    "-r 0.5", "-r k", "-r 1..2", "-r 10s" };

	(void)state;
	for (size_t i = 0; i < countof(bad); i++) {
		assert_wrong(bad[i], "1 to 1000000");
		assert_wrong(bad[i], strchr(bad[i], ' ') + 1);
	}
}

static void durations_have_units(void **state)
{
	static const struct {
		const char *line;
		uint64_t ns;
	} good[] = { { "-d 30", 30000000000 },	 { "-d 30s", 30000000000 }, { "-d 2m", 120000000000 },
		     { "-d 1h", 3600000000000 }, { "-d 500ms", 500000000 }, { "-d 1.5", 1500000000 },
		     { "-d 0.25s", 250000000 },	 { "-d unlimited", 0 } };

	(void)state;
	for (size_t i = 0; i < countof(good); i++) {
		assert_int_equal(parse(good[i].line), OPTIONS_RUN);
		assert_int_equal(values.duration_ns, good[i].ns);
	}
}

static void bad_durations_show_good_ones(void **state)
{
	static const char *const bad[] = {
		"-d 0", "-d 0s", "-d -5", "-d x", "-d 1d", "-d 1e9", "-d 99999999h", "-d s"
	};

	(void)state;
	for (size_t i = 0; i < countof(bad); i++)
		assert_wrong(bad[i], "as 30, 30s, 2m, 1h");
}

static void shares_are_percents(void **state)
{
	(void)state;
	assert_int_equal(parse("--max-pause 1%"), OPTIONS_RUN);
	assert_true(values.share == 0.01);
	assert_int_equal(parse("--max-pause 0.5"), OPTIONS_RUN);
	assert_true(values.share == 0.005);
	assert_int_equal(parse("--max-pause 100%"), OPTIONS_RUN);
	assert_wrong("--max-pause 0", "not a share");
	assert_wrong("--max-pause 101%", "not a share");
	assert_wrong("--max-pause -1", "not a share");
	assert_wrong("--max-pause 1%%", "not a share");
}

static void counts_have_a_cap(void **state)
{
	(void)state;
	assert_int_equal(parse("--depth 65535"), OPTIONS_RUN);
	assert_int_equal(values.depth, 65535);
	assert_wrong("--depth 0", "1 to 65535");
	assert_wrong("--depth 65536", "1 to 65535");
	assert_wrong("--depth 99999999999999999999999", "1 to 65535");
	assert_wrong("--depth 12x", "1 to 65535");
}

static void process_ids_are_decimal_or_hexadecimal(void **state)
{
	(void)state;
	assert_int_equal(parse("-p 0x10"), OPTIONS_RUN);
	assert_int_equal(values.pid, 16);
	assert_wrong("-p 0", "not a process id");
	assert_wrong("-p -1", "not a process id");
	assert_wrong("-p 12a", "not a process id");
	assert_wrong("-p 4194305", "not a process id");
	assert_wrong("-p 99999999999999999999", "not a process id");
	assert_wrong("-p 1 -p 2", "a process was named before");
}

static void an_unknown_option_is_named(void **state)
{
	(void)state;
	assert_wrong("--frobnicate", "--frobnicate");
	assert_wrong("--frobnicate=3", "no option --frobnicate");
	assert_wrong("-z", "no option -z");
	assert_wrong("-qz", "no option -z");
	assert_wrong("--quiet=yes", "--quiet takes no value");
}

static void options_of_other_tools_are_translated(void **state)
{
	(void)state;
	assert_wrong("--file x.svg", "no option --file");
	assert_non_null(strstr(rest.hint, "-o FILE"));
	assert_wrong("-x 10", "no option -x");
	assert_non_null(strstr(rest.hint, "-d"));
}

static void a_missing_value_is_named(void **state)
{
	(void)state;
	assert_wrong("-o", "-o needs a value: FILE");
	assert_wrong("--rate", "--rate needs a value: RATE");
}

static void help_and_version_end_the_parsing(void **state)
{
	(void)state;
	assert_int_equal(parse("-q --help --nonsense"), OPTIONS_HELP_WANTED);
	assert_int_equal(parse("-V -r 0"), OPTIONS_VERSION_WANTED);
}

static void help_shows_every_option_once(void **state)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	(void)state;
	options_print(out, rows);
	fclose(out);
	for (const struct option_row *r = rows; r->help; r++) {
		const char *at = strstr(text, r->help);

		assert_non_null(at);
		assert_null(strstr(at + 1, r->help));
	}
	assert_non_null(strstr(text, "-d, --duration TIME "));
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_given_changes_nothing),
		cmocka_unit_test(letters_and_names_mean_the_same),
		cmocka_unit_test(a_name_may_be_shortened_while_it_is_clear),
		cmocka_unit_test(options_may_follow_the_operand),
		cmocka_unit_test(two_operands_are_one_too_many),
		cmocka_unit_test(what_follows_two_dashes_is_left_alone),
		cmocka_unit_test(rates_have_units),
		cmocka_unit_test(bad_rates_name_the_range),
		cmocka_unit_test(durations_have_units),
		cmocka_unit_test(bad_durations_show_good_ones),
		cmocka_unit_test(shares_are_percents),
		cmocka_unit_test(counts_have_a_cap),
		cmocka_unit_test(process_ids_are_decimal_or_hexadecimal),
		cmocka_unit_test(an_unknown_option_is_named),
		cmocka_unit_test(options_of_other_tools_are_translated),
		cmocka_unit_test(a_missing_value_is_named),
		cmocka_unit_test(help_and_version_end_the_parsing),
		cmocka_unit_test(help_shows_every_option_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
