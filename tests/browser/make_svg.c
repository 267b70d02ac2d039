/*
 * make_svg.c - a flame graph of the folded stacks on standard input, for tests of what a browser shows.
 *
 * usage: make_svg [-F] [-t TITLE] [-c COMMAND] <stacks >graph.svg
 *
 * A line is `frame;frame;frame COUNT`. A frame is `{kind}function (file:line)`; kind and place may be
 * missing. Kinds are python, ruby, js, native, kernel, gc, thread, process, mark; a `+` after it says
 * library: `{python+}`. `\n`, `\;`, `\\` and `\xHH` stand for what a name may hold and a line may not.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cspy/sink.h"

extern const struct sink_ops sink_flamegraph;

static const char *const kinds[FRAME_KINDS] = {
	[FRAME_PYTHON] = "python", [FRAME_RUBY] = "ruby",	[FRAME_JS] = "js",
	[FRAME_NATIVE] = "native", [FRAME_KERNEL] = "kernel",	[FRAME_GC] = "gc",
	[FRAME_THREAD] = "thread", [FRAME_PROCESS] = "process", [FRAME_MARK] = "mark",
};

/* In place; returns the length. */
static size_t unescape(char *s)
{
	char *out = s, *begin = s;

	for (; *s; s++) {
		if (*s != '\\' || !s[1]) {
			*out++ = *s;
			continue;
		}
		s++;
		if (*s == 'x' && isxdigit((unsigned char)s[1]) && isxdigit((unsigned char)s[2])) {
			char hex[] = { s[1], s[2], '\0' };
			*out++ = (char)strtol(hex, NULL, 16);
			s += 2;
		} else {
			*out++ = *s == 'n' ? '\n' : *s;
		}
	}
	*out = '\0';
	return (size_t)(out - begin);
}

static char *take_kind(char *s, struct frame_info *info)
{
	char *end = *s == '{' ? strchr(s, '}') : NULL;

	if (!end)
		return s;
	*end = '\0';
	if (end[-1] == '+') {
		info->library = true;
		end[-1] = '\0';
	}
	for (unsigned k = 0; k < FRAME_KINDS; k++)
		if (!strcmp(s + 1, kinds[k]))
			info->kind = (uint8_t)k;
	return end + 1;
}

/* "name (file:line)" -> name, with file and line taken off. */
static void take_place(char *s, struct strings *strings, struct frame_info *info)
{
	char *open = strrchr(s, '('), *colon = strrchr(s, ':');
	size_t len = strlen(s);

	if (!open || open == s || open[-1] != ' ' || !colon || colon < open || s[len - 1] != ')')
		return;
	info->line = (uint32_t)strtoul(colon + 1, NULL, 10);
	info->file = strings_add(strings, open + 1, (size_t)(colon - open - 1));
	open[-1] = '\0';
}

static frame_id frame_of(char *s, struct frames *frames)
{
	struct strings *strings = frames_strings(frames);
	struct frame_info info = { 0 };

	s = take_kind(s, &info);
	take_place(s, strings, &info);
	info.function = info.name = strings_add(strings, s, unescape(s));
	return frames_add(frames, info);
}

/* The next part up to a `;` that no backslash precedes. */
static char *next_part(char **rest)
{
	char *part = *rest;

	if (!part)
		return NULL;
	for (char *s = part; *s; s++) {
		if (*s == '\\' && s[1]) {
			s++;
		} else if (*s == ';') {
			*s = '\0';
			*rest = s + 1;
			return part;
		}
	}
	*rest = NULL;
	return part;
}

static void add_line(struct profile *p, char *line)
{
	char *space = strrchr(line, ' '), *part;
	node_id node = 0;

	if (!space)
		return;
	*space = '\0';
	while ((part = next_part(&line)))
		node = profile_child(p, node, frame_of(part, p->frames));
	profile_add(p, node, true, strtoull(space + 1, NULL, 10));
}

static void set_text(char **text, const char *value)
{
	free(*text);
	*text = xstrdup(value);
}

int main(int argc, char **argv)
{
	struct strings *strings = strings_new();
	struct frames *frames = frames_new(strings);
	struct profile *p = profile_new(frames);
	struct sink_options o = { 0 };
	char *line = NULL;
	size_t cap = 0;
	int c;

	set_text(&p->command, "python app.py");
	while ((c = getopt(argc, argv, "Ft:c:")) != -1) {
		if (c == 'F')
			o.function_only = o.no_lines = true;
		else if (c == 't')
			o.title = optarg;
		else if (c == 'c')
			set_text(&p->command, optarg);
		else
			return 2;
	}
	for (ssize_t n; (n = getline(&line, &cap, stdin)) > 0;) {
		line[strcspn(line, "\n")] = '\0';
		add_line(p, line);
	}
	free(line);
	set_text(&p->runtime, "CPython 3.12.1");
	p->pid = 4711;
	p->interval_ns = 10000000;
	p->stats.rate_wanted = 100;
	p->stats.samples = p->stats.ticks = profile_total(p);
	p->stats.wall_ns = p->stats.ticks * p->interval_ns;
	p->stats.paused = p->stats.ticks / 9;
	sink_flamegraph.write(stdout, p, &o);
	profile_free(p);
	frames_free(frames);
	strings_free(strings);
	return ferror(stdout) || fflush(stdout) ? 1 : 0;
}
