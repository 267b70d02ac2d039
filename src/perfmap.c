/* perfmap.c - follow the map that a JIT writes of its code, as it grows. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cspy/perfmap.h"
#include "cspy/sampler.h"
#include "intervals.h"
#include "jit_name.h"
#include "jitdump.h"
#include "map64.h"
#include "procfs.h"

enum {
	BUFFER = 1 << 16,
	LINE_HEAD_MAX = 64, /* address, size and spaces */
	NAME_MAX_BYTES = 1024,
	HEX_DIGITS_MAX = 16,
	CODE_BYTES_MAX = 1 << 30, /* of one function */
	CHECK = 64,		  /* bytes before what is new, which must not have changed */
	BEHIND_MAX = 128 << 20,	  /* of a map that is larger, its end */
};
static const uint64_t BYTES_MAX = 4ull << 30; /* in all: what writes more than that is no JIT */
static const uint64_t OPEN_NS = 1000000000;   /* between looks whether the file is there, or another one */
static const int64_t START_SLACK_S = 2;
/* A line's place, and whether it is glue, in one interval's value. */
static const uint64_t LINE_SHIFT = 1, GLUE = 1;

struct perfmap {
	struct target *target; /* borrowed */
	int fd;		       /* -1: there is no map */
	dev_t dev;
	ino_t inode;
	uint64_t opened_ns; /* last looked for it */
	uint64_t marked;    /* its size at the mark */
	uint64_t offset;    /* of what is not read yet: a line's start, but when `inside` */
	uint64_t total;	    /* bytes read */
	bool inside;	    /* of a line that is longer than any should be: skip to its end */
	char check[CHECK];  /* what is before `offset` */
	size_t check_len;
	uint32_t generation;
	struct intervals code;
	struct jitdump *dump; /* what another file says, in records */
	char buffer[BUFFER];
};

/* ---- The file ---- */

static bool owner_is_right(struct target *t, uid_t owner)
{
	CLEANUP(cleanup_free) char *status = procfs_read(t->proc, "status", NULL);
	const char *value = status ? procfs_status_value(status, "Uid") : NULL;
	unsigned real, effective, saved, files;

	if (!value || sscanf(value, "%u %u %u %u", &real, &effective, &saved, &files) != 4)
		return false;
	return owner == 0 || owner == files || owner == effective;
}

/* A process that had the same number before may have left one. */
static bool is_of_this_process(const struct target *t, const struct stat *st)
{
	int64_t started = time(NULL) - (int64_t)(procfs_age(t->start_time) / 1000000000);

	return st->st_mtim.tv_sec + START_SLACK_S >= started;
}

/* The text behind `option`, in which - and _ are the same, as V8 has it; NULL: another option. */
static const char *option_value(const char *text, const char *option)
{
	for (; *option; option++, text++)
		if (*text != *option && !(*option == '-' && *text == '_'))
			return NULL;
	return text;
}

/* Nearly always /tmp; V8 may be told another one. */
static const char *folder_of(const char *cmdline, size_t len)
{
	const char *folder = "/tmp";

	for (size_t i = 0; i < len; i += strlen(cmdline + i) + 1) {
		const char *value = option_value(cmdline + i, "--perf-basic-prof-path=");

		if (value && *value == '/')
			folder = value;
	}
	return folder;
}

static int open_map(struct target *t, struct stat *st)
{
	size_t len = 0;
	CLEANUP(cleanup_free) char *cmdline = procfs_read(t->proc, "cmdline", &len);
	char path[PATH_MAX];
	int fd;

	snprintf(path, sizeof(path), "%s/perf-%d.map", folder_of(cmdline, len), (int)t->ns_pid);
	if (failed(target_open_shared(t, path, &fd)))
		return -1;
	if (fstat(fd, st) == 0 && owner_is_right(t, st->st_uid) && is_of_this_process(t, st))
		return fd;
	close(fd);
	return -1;
}

bool perfmap_exists(struct target *t)
{
	struct stat st;
	CLEANUP(cleanup_close) int fd = open_map(t, &st);

	return fd >= 0 || jitdump_exists(t);
}

static void begin_anew(struct perfmap *m)
{
	intervals_free(&m->code);
	m->offset = m->check_len = 0;
	m->inside = false;
	m->generation++;
}

/* A file that is gone is kept: what it said stays true. */
static void look_for_file(struct perfmap *m)
{
	struct stat st;
	int fd;

	m->opened_ns = clock_now();
	fd = open_map(m->target, &st);
	if (fd < 0)
		return;
	if (m->fd >= 0 && st.st_dev == m->dev && st.st_ino == m->inode) {
		close(fd);
		return;
	}
	cleanup_close(&m->fd);
	m->fd = fd;
	m->dev = st.st_dev;
	m->inode = st.st_ino;
	m->marked = (uint64_t)st.st_size;
	begin_anew(m);
}

struct perfmap *perfmap_new(struct target *t)
{
	struct perfmap *m = xcalloc(1, sizeof(*m));

	m->target = t;
	m->fd = -1;
	m->dump = jitdump_new(t);
	look_for_file(m);
	return m;
}

void perfmap_free(struct perfmap *m)
{
	if (!m)
		return;
	cleanup_close(&m->fd);
	intervals_free(&m->code);
	jitdump_free(m->dump);
	free(m);
}

void perfmap_mark(struct perfmap *m)
{
	struct stat st;

	jitdump_mark(m->dump);
	if (m->fd >= 0 && fstat(m->fd, &st) == 0)
		m->marked = (uint64_t)st.st_size;
}

/* ---- Its lines ---- */

struct line {
	uint64_t start, size;
	const char *name;
	size_t name_len;
};

static bool take_hex(const char **at, const char *end, uint64_t *ret)
{
	const char *p = *at, *first;

	while (p < end && *p == ' ')
		p++;
	if (end - p > 2 && p[0] == '0' && (p[1] == 'x' || p[1] == 'X'))
		p += 2;
	first = p;
	for (*ret = 0; p < end && p - first < HEX_DIGITS_MAX; p++) {
		unsigned c = (unsigned char)*p, digit = c - '0' < 10 ? c - '0' : (c | 0x20) - 'a' + 10;

		if (digit > 15 || (digit > 9 && (c | 0x20) < 'a'))
			break;
		*ret = *ret << 4 | digit;
	}
	*at = p;
	return p > first && p < end && *p == ' ';
}

/* "7f0042 1c JS:*foo /app/x.js:12:3", or with 0x. False: no line of a map. */
static bool parse_line(const char *at, size_t len, struct line *ret)
{
	const char *end = at + len;

	if (!take_hex(&at, end, &ret->start) || !take_hex(&at, end, &ret->size))
		return false;
	while (at < end && *at == ' ')
		at++;
	ret->name = at;
	ret->name_len = (size_t)(end - at) < NAME_MAX_BYTES ? (size_t)(end - at) : NAME_MAX_BYTES;
	return ret->name_len && ret->size && ret->size <= CODE_BYTES_MAX && ret->start <= UINT64_MAX - ret->size;
}

static void take_line(struct perfmap *m, const char *at, size_t len, uint64_t offset)
{
	bool is_glue;
	struct line l;

	if (!parse_line(at, len, &l))
		return;
	is_glue = jit_name_is_glue(l.name, l.name_len);
	intervals_put(&m->code,
		      (struct interval){ l.start, l.start + l.size, offset << LINE_SHIFT | (is_glue ? GLUE : 0) });
}

/* All whole lines of the buffer; how many bytes they are. */
static size_t take_lines(struct perfmap *m, size_t len)
{
	size_t at = 0;

	while (at < len) {
		const char *line = m->buffer + at, *end = memchr(line, '\n', len - at);

		if (!end)
			break;
		if (!m->inside)
			take_line(m, line, (size_t)(end - line), m->offset + at);
		m->inside = false;
		at = (size_t)(end - m->buffer) + 1;
	}
	if (at == 0 && len == BUFFER) {
		/* Longer than any line should be: its head is enough. */
		if (!m->inside)
			take_line(m, m->buffer, len, m->offset);
		m->inside = true;
		at = len;
	}
	return at;
}

static void remember_end(struct perfmap *m, size_t used)
{
	m->check_len = used < CHECK ? used : CHECK;
	memcpy(m->check, m->buffer + used - m->check_len, m->check_len);
}

/* Was the file emptied and written again, perhaps to the same length? */
static bool is_same(struct perfmap *m)
{
	char now[CHECK];

	if (m->marked < m->offset)
		return false;
	return pread(m->fd, now, m->check_len, (off_t)(m->offset - m->check_len)) == (ssize_t)m->check_len &&
	       !memcmp(now, m->check, m->check_len);
}

/* Up to the mark. What is behind its last line's end waits. */
static void take_new(struct perfmap *m)
{
	while (m->offset < m->marked && m->total < BYTES_MAX) {
		size_t want = m->marked - m->offset < BUFFER ? (size_t)(m->marked - m->offset) : BUFFER, used;
		ssize_t got = pread(m->fd, m->buffer, want, (off_t)m->offset);

		if (got <= 0)
			return;
		m->total += (uint64_t)got;
		used = take_lines(m, (size_t)got);
		if (!used)
			return;
		remember_end(m, used);
		m->offset += used;
	}
}

static bool read_map(struct perfmap *m)
{
	if (m->total >= BYTES_MAX) { /* to go on with half of it would give wrong names */
		begin_anew(m);
		return false;
	}
	if (clock_now() - m->opened_ns >= OPEN_NS)
		look_for_file(m);
	if (m->fd < 0)
		return false;
	if (!is_same(m))
		begin_anew(m);
	if (m->marked > m->offset && m->marked - m->offset > BEHIND_MAX) {
		begin_anew(m);
		m->offset = m->marked - BEHIND_MAX;
		m->inside = true;
	}
	take_new(m);
	return true;
}

bool perfmap_read(struct perfmap *m)
{
	bool has_dump = jitdump_read(m->dump);

	return read_map(m) || has_dump;
}

/* ---- What it says ---- */

bool perfmap_find(const struct perfmap *m, raddr_t at, struct perfmap_code *ret)
{
	struct interval found;

	if (!intervals_find(&m->code, at, &found))
		return jitdump_find(m->dump, at, ret);
	*ret = (struct perfmap_code){
		.start = found.start,
		.end = found.end,
		.line = found.value >> LINE_SHIFT,
		.glue = found.value & GLUE,
		.stamp = (uint32_t)(hash_step(hash_step(m->generation, found.start), found.value) >> 32),
	};
	return true;
}

static str_id add(struct strings *strings, struct jit_text t)
{
	return strings_add(strings, t.at, t.len);
}

struct err perfmap_name(struct perfmap *m, raddr_t start, uint64_t line, struct strings *strings,
			struct frame_info *ret)
{
	char text[LINE_HEAD_MAX + NAME_MAX_BYTES];
	const char *end;
	struct jit_name n;
	struct line l;
	ssize_t got;

	if (line & JITDUMP_LINE)
		return jitdump_name(m->dump, start, line, strings, ret);
	got = m->fd < 0 ? -1 : pread(m->fd, text, sizeof(text), (off_t)line);
	end = got > 0 ? memchr(text, '\n', (size_t)got) : NULL;
	if (got <= 0 || !parse_line(text, end ? (size_t)(end - text) : (size_t)got, &l) || l.start != start)
		return err_at(ERR_CORRUPT, start, "naming code by its perf map");
	jit_name_split(l.name, l.name_len, &n);
	*ret = (struct frame_info){
		.function = add(strings, n.function),
		.name = add(strings, n.function),
		.file = add(strings, n.file),
		.line = n.line,
		.column = n.column,
		.first_line = n.line,
		.kind = (uint8_t)n.kind,
		.library = n.library,
	};
	return OK;
}
