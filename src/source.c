/* source.c - a source file's lines, read as the target sees the file. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "source.h"

enum { FILE_MAX = 8 << 20, LINES_MAX = 1 << 20, TAB = 8, LINE_MAX_COLUMNS = 1000 };

static char *read_all(int fd, size_t *len)
{
	char *text = NULL;
	size_t cap = 0;
	ssize_t got = 1;

	*len = 0;
	while (got > 0 && *len < FILE_MAX) {
		xgrow(&text, &cap, *len + 65536, 1);
		got = read(fd, text + *len, cap - *len);
		if (got > 0)
			*len += (size_t)got;
	}
	return text;
}

/* Tabs become blanks, and what else would move the cursor is for the screen to replace. */
static char *copy_line(const char *text, size_t len)
{
	char *line = xcalloc(LINE_MAX_COLUMNS + TAB + 1, 1), *short_;
	size_t n = 0;

	for (size_t i = 0; i < len && n < LINE_MAX_COLUMNS; i++) {
		if (text[i] != '\t') {
			line[n++] = text[i] ? text[i] : '?';
			continue;
		}
		do
			line[n++] = ' ';
		while (n % TAB);
	}
	while (n && line[n - 1] == '\r')
		n--;
	line[n] = 0;
	short_ = xstrdup(line);
	free(line);
	return short_;
}

static char **split(const char *text, size_t len, size_t *count)
{
	char **lines = NULL;
	size_t cap = 0;

	*count = 0;
	for (size_t at = 0; at < len && *count < LINES_MAX;) {
		size_t n = 0;

		while (at + n < len && text[at + n] != '\n')
			n++;
		xgrow(&lines, &cap, *count + 1, sizeof(*lines));
		lines[(*count)++] = copy_line(text + at, n);
		at += n + 1;
	}
	return lines;
}

/* Its working directory as the target itself would call it; "" when that can't be told. */
static void working_directory(struct target *t, char *ret, size_t cap)
{
	char root[PATH_MAX];
	ssize_t got = readlinkat(t->proc, "cwd", ret, cap - 1), len = readlinkat(t->proc, "root", root, sizeof(root));

	ret[got > 0 ? got : 0] = 0;
	/* The links are told from our root. */
	if (len > 1 && got >= len && !memcmp(ret, root, (size_t)len))
		memmove(ret, ret + len, (size_t)(got - len) + 1);
}

char **source_read(struct target *t, const char *path, size_t *count, char *why, size_t cap)
{
	char full[PATH_MAX * 2], folder[PATH_MAX];
	CLEANUP(cleanup_close) int fd = -1;
	char *text, **lines;
	size_t len;
	struct err e;

	*count = 0;
	working_directory(t, folder, sizeof(folder));
	snprintf(full, sizeof(full), "%s%s%s", *path != '/' ? folder : "", *path != '/' ? "/" : "", path);
	e = target_open_file(t, full, &fd);
	if (failed(e)) {
		fd = -1;
		snprintf(why, cap, "%.200s: %s", path, e.os ? strerror(e.os) : e.what);
		return NULL;
	}
	text = read_all(fd, &len);
	lines = split(text, len, count);
	free(text);
	if (!*count)
		snprintf(why, cap, "%.200s is empty", path);
	return lines;
}
