/* options.c - parse the command line by a command's option table, and print the table as help. */
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "options.h"

enum {
	PID_LIMIT = 1 << 22,		  /* the kernel's PID_MAX_LIMIT */
	DURATION_LIMIT = 366 * 24 * 3600, /* seconds */
	LONG_ONLY = 256,		  /* getopt's value for row i without a letter is LONG_ONLY + i */
	HELP_COLUMN = 30,
};

/* Options of the tools that people come from, and what they are called here. */
static const struct {
	const char *typed, *hint;
} habits[] = {
	{ "--file", "to choose the file, use -o FILE" },
	{ "--exposure", "to choose how long, use -d SECONDS" },
	{ "-x", "to choose how long, use -d SECONDS" },
	{ "--interval", "to choose how often, use -r RATE (samples a second)" },
	{ "--sampling-rate", "to choose how often, use -r RATE (samples a second)" },
	{ "--native", "frames of native code are not shown yet" },
	{ "-n", "frames of native code are not shown yet" },
	{ "--children", "to follow children, use -s (--subprocesses)" },
	{ "-C", "to follow children, use -s (--subprocesses)" },
	{ "--mode", "use -i for all threads (wall time), -g for the lock's holder only" },
	{ "--flamegraph", "to choose the format, use -f flamegraph" },
	{ "--realtime", "to follow a program while it runs: cspy top -p PID" },
};

static void wrong(struct options_rest *ret, const char *hint, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static void wrong(struct options_rest *ret, const char *hint, const char *fmt, ...)
{
	va_list args;

	ret->outcome = OPTIONS_WRONG;
	va_start(args, fmt);
	vsnprintf(ret->why, sizeof(ret->why), fmt, args);
	va_end(args);
	snprintf(ret->hint, sizeof(ret->hint), "%s", hint);
}

/* A number that the text begins with; *end is what follows it. Not nan, inf or hexadecimal. */
static bool number(const char *text, double *ret, const char **end)
{
	size_t len = strspn(text, "0123456789.");
	char *stopped;

	if (!len)
		return false;
	*ret = strtod(text, &stopped);
	*end = text + len;
	return stopped == *end;
}

static bool parse_rate(const char *text, double *ret)
{
	const char *unit;

	if (!number(text, ret, &unit))
		return false;
	if (*unit == 'k' || *unit == 'K') {
		*ret *= 1e3;
		unit++;
	} else if (*unit == 'M') {
		*ret *= 1e6;
		unit++;
	}
	return (!*unit || !strcasecmp(unit, "hz")) && *ret >= 1 && *ret <= OPTION_RATE_MAX;
}

static bool parse_duration(const char *text, uint64_t *ret)
{
	static const struct {
		const char *name;
		double seconds;
	} units[] = { { "", 1 }, { "s", 1 }, { "sec", 1 }, { "ms", 1e-3 }, { "m", 60 }, { "min", 60 }, { "h", 3600 } };
	const char *unit;
	double v;

	if (!strcmp(text, "unlimited")) {
		*ret = 0;
		return true;
	}
	if (!number(text, &v, &unit))
		return false;
	for (size_t i = 0; i < countof(units); i++) {
		if (strcmp(unit, units[i].name))
			continue;
		v *= units[i].seconds;
		*ret = (uint64_t)llround(fmin(v, DURATION_LIMIT) * 1e9);
		return v <= DURATION_LIMIT && *ret > 0;
	}
	return false;
}

static bool parse_share(const char *text, double *ret)
{
	const char *unit;

	if (!number(text, ret, &unit) || (*unit && strcmp(unit, "%")))
		return false;
	*ret /= 100;
	return *ret > 0 && *ret <= 1;
}

static bool parse_count(const char *text, size_t *ret)
{
	char *end;
	unsigned long v;

	if (text[0] < '0' || text[0] > '9')
		return false;
	v = strtoul(text, &end, 10);
	*ret = v;
	return !*end && v >= 1 && v <= OPTION_COUNT_MAX;
}

bool options_pid(const char *text, pid_t *ret)
{
	bool hex = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
	const char *digits = text + (hex ? 2 : 0);
	char *end;
	unsigned long v;

	if (!*digits || strspn(digits, hex ? "0123456789abcdefABCDEF" : "0123456789") != strlen(digits))
		return false;
	v = strtoul(digits, &end, hex ? 16 : 10);
	if (v < 1 || v > PID_LIMIT)
		return false;
	*ret = (pid_t)v;
	return true;
}

/* How the user typed it, for messages: the long name unless a letter was used. */
static void option_text(const struct option_row *row, bool letter, char *buf, size_t cap)
{
	if (letter)
		snprintf(buf, cap, "-%c", row->letter);
	else
		snprintf(buf, cap, "--%s", row->name);
}

static void set_pid(const char *text, pid_t *at, const char *option, struct options_rest *ret)
{
	if (*at)
		wrong(ret, "record each of them by its own command", "%s %.40s: a process was named before", option,
		      text);
	else if (!options_pid(text, at))
		wrong(ret, "", "%s '%.40s': not a process id (1 to %d)", option, text, PID_LIMIT);
}

static void set_value(const struct option_row *row, const char *text, void *at, const char *option,
		      struct options_rest *ret)
{
	switch ((enum option_kind)row->kind) {
	case OPTION_FLAG:
		*(bool *)at = true;
		break;
	case OPTION_STRING:
		*(const char **)at = text;
		break;
	case OPTION_PID:
		set_pid(text, at, option, ret);
		break;
	case OPTION_RATE:
		if (!parse_rate(text, at))
			wrong(ret, "", "%s '%.40s': not a rate; 1 to %d samples a second, as 100 or 10k", option, text,
			      OPTION_RATE_MAX);
		break;
	case OPTION_DURATION:
		if (!parse_duration(text, at))
			wrong(ret, "", "%s '%.40s': not a duration above 0, as 30, 30s, 2m, 1h or unlimited", option,
			      text);
		break;
	case OPTION_SHARE:
		if (!parse_share(text, at))
			wrong(ret, "", "%s '%.40s': not a share above 0 and up to 100 %%, as 1%%", option, text);
		break;
	case OPTION_COUNT:
		if (!parse_count(text, at))
			wrong(ret, "", "%s '%.40s': not a number from 1 to %d", option, text, OPTION_COUNT_MAX);
		break;
	case OPTION_HELP:
		ret->outcome = OPTIONS_HELP_WANTED;
		break;
	case OPTION_VERSION:
		ret->outcome = OPTIONS_VERSION_WANTED;
		break;
	case OPTION_GROUP:
		break;
	}
}

static bool takes_value(const struct option_row *row)
{
	return row->kind != OPTION_FLAG && row->kind != OPTION_HELP && row->kind != OPTION_VERSION;
}

/* What getopt_long needs, made from the rows. */
struct getopt_tables {
	struct option longs[OPTIONS_MAX + 1];
	char shorts[2 + 2 * OPTIONS_MAX + 1];
};

static void make_tables(const struct option_row *rows, struct getopt_tables *t)
{
	size_t n = 0, s = 0;

	/* '-': operands come in their order, as option 1, so that what follows "--" is known apart. ':': no
	 * messages. */
	t->shorts[s++] = '-';
	t->shorts[s++] = ':';
	for (size_t i = 0; i < OPTIONS_MAX && rows[i].help; i++) {
		if (!rows[i].name)
			continue;
		t->longs[n++] = (struct option){ rows[i].name, takes_value(&rows[i]), NULL, LONG_ONLY + (int)i };
		if (!rows[i].letter)
			continue;
		t->shorts[s++] = rows[i].letter;
		if (takes_value(&rows[i]))
			t->shorts[s++] = ':';
	}
	t->longs[n] = (struct option){ 0 };
	t->shorts[s] = 0;
}

static const struct option_row *row_of_letter(const struct option_row *rows, int letter)
{
	for (; rows->help; rows++)
		if (rows->name && rows->letter == letter)
			return rows;
	return NULL;
}

static void unknown_option(const struct option_row *rows, char **argv, struct options_rest *ret)
{
	char typed[64];
	const char *hint = "--help lists the options";

	/* optopt is the letter; 0 for a long option that is unknown or ambiguous; above LONG_ONLY for a flag
	 * with a value. */
	if (optopt > 0 && optopt < LONG_ONLY) {
		snprintf(typed, sizeof(typed), "-%c", optopt);
	} else {
		snprintf(typed, sizeof(typed), "%s", argv[optind - 1]);
		typed[strcspn(typed, "=")] = 0;
	}
	if (optopt >= LONG_ONLY) {
		wrong(ret, "", "--%s takes no value", rows[optopt - LONG_ONLY].name);
		return;
	}
	for (size_t i = 0; i < countof(habits); i++)
		if (!strcmp(habits[i].typed, typed))
			hint = habits[i].hint;
	wrong(ret, hint, "no option %s", typed);
}

static void missing_value(const struct option_row *rows, struct options_rest *ret)
{
	bool letter = optopt < LONG_ONLY;
	const struct option_row *row = letter ? row_of_letter(rows, optopt) : &rows[optopt - LONG_ONLY];
	char option[64];

	option_text(row, letter, option, sizeof(option));
	wrong(ret, "", "%s needs a value: %s", option, row->arg);
}

static void add_operand(const char *text, struct options_rest *ret)
{
	if (ret->operand)
		wrong(ret, "to start a program, put -- before it",
		      "'%.60s': one process at a time ('%.60s' was named before)", text, ret->operand);
	ret->operand = text;
}

static void take(const struct option_row *rows, int got, char **argv, void *values, struct options_rest *ret)
{
	const struct option_row *row;
	char option[64];

	switch (got) {
	case 1:
		add_operand(optarg, ret);
		return;
	case '?':
		unknown_option(rows, argv, ret);
		return;
	case ':':
		missing_value(rows, ret);
		return;
	default:
		row = got < LONG_ONLY ? row_of_letter(rows, got) : &rows[got - LONG_ONLY];
		option_text(row, got < LONG_ONLY, option, sizeof(option));
		set_value(row, optarg, (char *)values + row->at, option, ret);
	}
}

void options_parse(const struct option_row *rows, int argc, char **argv, void *values, struct options_rest *ret)
{
	struct getopt_tables tables;
	int got;

	*ret = (struct options_rest){ .outcome = OPTIONS_RUN };
	make_tables(rows, &tables);
	optind = 0; /* start afresh: getopt keeps its place in globals */
	while (ret->outcome == OPTIONS_RUN) {
		got = getopt_long(argc, argv, tables.shorts, tables.longs, NULL);
		if (got == -1)
			break;
		take(rows, got, argv, values, ret);
	}
	if (ret->outcome == OPTIONS_RUN && optind > 0 && optind <= argc && !strcmp(argv[optind - 1], "--")) {
		ret->command = argv + optind;
		if (optind == argc)
			wrong(ret, "as in: cspy record -- python3 app.py", "nothing follows --");
	}
}

void options_print(FILE *out, const struct option_row *rows)
{
	for (; rows->help; rows++) {
		int used;

		if (!rows->name) {
			fprintf(out, "\n%s:\n", rows->help);
			continue;
		}
		used = rows->letter ? fprintf(out, "  -%c, --%s", rows->letter, rows->name)
				    : fprintf(out, "      --%s", rows->name);
		if (rows->arg)
			used += fprintf(out, " %s", rows->arg);
		fprintf(out, "%*s%s\n", used < HELP_COLUMN ? HELP_COLUMN - used : 1, "", rows->help);
	}
}
