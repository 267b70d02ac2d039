/* label.c - how a frame is called in every format, and which part of its file's path tells it apart. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "cspy/sink.h"
#include "label.h"

enum {
	PARENTS_MAX = 16, /* folders added one by one; after that the whole path is shown */
	ROUNDS_MAX = 64,  /* paths made to collide on purpose stay ambiguous */
};

/* For each file that a frame names: where the part that is shown begins. */
struct label_files {
	size_t frames_seen;
	uint32_t *skip; /* by str_id */
	size_t cap;
};

struct file {
	const char *path;
	uint32_t skip;
	bool twice; /* another file would be shown the same */
	str_id id;
};

/* One part of a path, between slashes. */
struct part {
	const char *at;
	size_t len;
};

struct label_files *label_files_new(void)
{
	return xcalloc(1, sizeof(struct label_files));
}

void label_files_free(struct label_files *l)
{
	if (!l)
		return;
	free(l->skip);
	free(l);
}

static bool is(struct part p, const char *text)
{
	return p.len == strlen(text) && !memcmp(p.at, text, p.len);
}

static bool begins_with(struct part p, const char *text)
{
	size_t len = strlen(text);

	return p.len >= len && !memcmp(p.at, text, len);
}

/* "python3.11", "python3.13t", "pypy3.9" */
static bool is_python_version(struct part p)
{
	size_t word = begins_with(p, "python") ? 6 : begins_with(p, "pypy") ? 4 : 0;

	return word && p.len > word && isdigit((unsigned char)p.at[word]) && memchr(p.at, '.', p.len);
}

/* Does what follows `p` start at an import path, so that a reader knows the file by it? The two parts before:
 * b, a. */
static bool is_import_root(struct part a, struct part b, struct part p)
{
	if (is(p, "site-packages") || is(p, "dist-packages") || is(p, "node_modules"))
		return true;
	if (begins_with(b, "lib") && is_python_version(p))
		return true;
	if (is(a, "gems") && is(p, "lib")) /* gems/NAME-VERSION/lib */
		return memchr(b.at, '-', b.len) != NULL;
	if (is(b, "ruby") || is(b, "site_ruby") || is(b, "vendor_ruby"))
		return p.len && isdigit((unsigned char)p.at[0]);
	return false;
}

/* Names that are no paths: "<string>", "(eval at x.rb:1)", "[eval]", "node:internal/timers". */
static bool is_no_path(const char *s)
{
	return strchr("<([", *s) || !strncmp(s, "node:", 5);
}

/* Where the shortest name of the file begins: after the last import root, else the base name. */
static uint32_t shortest(const char *path)
{
	struct part a = { "", 0 }, b = { "", 0 };
	const char *at = path, *root = NULL, *slash;

	if (is_no_path(path))
		return 0;
	for (; (slash = strchr(at, '/')); at = slash + 1) {
		struct part p = { at, (size_t)(slash - at) };

		if (slash[1] && is_import_root(a, b, p))
			root = slash + 1;
		else if (is(b, "gems") && memchr(p.at, '-', p.len))
			root = at;
		a = b;
		b = p;
	}
	if (!*at) /* ends in a slash */
		return 0;
	return (uint32_t)((root ? root : at) - path);
}

/* One more folder. */
static uint32_t longer(const char *path, uint32_t skip)
{
	if (skip)
		skip--;
	while (skip && path[skip - 1] != '/')
		skip--;
	return skip;
}

static int by_shown(const void *a, const void *b)
{
	const struct file *x = a, *y = b;

	return strcmp(x->path + x->skip, y->path + y->skip);
}

/* Lengthen what is shown of files that would be shown the same, until nothing is. */
static void tell_apart(struct file *files, size_t n)
{
	bool changed = true;

	for (size_t round = 0; changed && round < ROUNDS_MAX; round++) {
		changed = false;
		qsort(files, n, sizeof(*files), by_shown);
		for (size_t i = 0; i < n; i++)
			files[i].twice = (i > 0 && !by_shown(&files[i - 1], &files[i])) ||
					 (i + 1 < n && !by_shown(&files[i], &files[i + 1]));
		for (size_t i = 0; i < n; i++) {
			if (!files[i].twice || !files[i].skip)
				continue;
			files[i].skip = round < PARENTS_MAX ? longer(files[i].path, files[i].skip) : 0;
			changed = true;
		}
	}
}

static void refresh(struct label_files *l, const struct frames *frames)
{
	const struct strings *strings = frames_strings(frames);
	size_t count = frames_count(frames), n = 0, cap = 0;
	struct file *files = NULL;

	if (l->frames_seen == count)
		return;
	for (frame_id f = 0; f < count; f++)
		xgrow(&l->skip, &l->cap, (size_t)frames_get(frames, f).file + 1, sizeof(*l->skip));
	memset(l->skip, 0, l->cap * sizeof(*l->skip));
	for (frame_id f = 0; f < count; f++) {
		str_id id = frames_get(frames, f).file;

		if (!id || l->skip[id]) /* here: listed already */
			continue;
		l->skip[id] = 1;
		xgrow(&files, &cap, n + 1, sizeof(*files));
		files[n] = (struct file){ .path = strings_get(strings, id), .id = id };
		files[n].skip = shortest(files[n].path);
		n++;
	}
	if (n)
		tell_apart(files, n);
	for (size_t i = 0; i < n; i++)
		l->skip[files[i].id] = files[i].skip;
	free(files);
	l->frames_seen = count;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

static const char *function_of(const struct strings *strings, const struct frame_info *info)
{
	const char *name = strings_get(strings, info->function);

	if (!*name)
		name = strings_get(strings, info->name);
	if (*name)
		return name;
	return info->kind == FRAME_JS ? "(anonymous)" : "[unknown]";
}

static const char *file_of(const struct profile *p, const struct frame_info *info, bool full)
{
	const struct strings *strings = frames_strings(p->frames);
	struct label_files *l = p->labels;

	if (!info->file) {
		const char *module = strings_get(strings, info->module);

		return full ? module : base_name(module);
	}
	if (full)
		return strings_get(strings, info->file);
	refresh(l, p->frames);
	return strings_get(strings, info->file) + l->skip[info->file];
}

struct label label_of(const struct profile *p, frame_id f, const struct sink_options *o)
{
	struct frame_info info = frames_get(p->frames, f);
	struct label label = { function_of(frames_strings(p->frames), &info), "", 0 };

	if (info.kind == FRAME_MARK || info.kind == FRAME_THREAD || info.kind == FRAME_PROCESS)
		return label;
	label.file = file_of(p, &info, o->full_filenames);
	if (*label.file && !o->no_lines)
		label.line = o->function_only ? info.first_line : info.line;
	return label;
}
