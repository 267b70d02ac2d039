/* memory_snapshot.c - memory that was recorded once, answered from a file. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cspy/memory.h"
#include "snapshot.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "snapshots are read as they lie");

/* Adjacent ranges of the file are one span: their bytes are adjacent too. */
struct span {
	raddr_t at;
	uint64_t len;
	const char *bytes;
};

struct memory_snapshot {
	struct memory base;
	char *file;  /* the whole of it */
	char *notes; /* "key=value" strings, each with its NUL */
	size_t notes_len;
	struct span *spans; /* ascending */
	size_t count;
};

static struct err bad(const char *what)
{
	return err_at(ERR_CORRUPT, 0, what);
}

static struct err snapshot_read(struct memory *m, const struct memory_range *ranges, size_t n, size_t *done);
static void snapshot_close(struct memory *m);
static const struct memory_ops snapshot_ops = { "snapshot", snapshot_read, snapshot_close };

/* The last span that starts at or before the address. */
static const struct span *span_find(const struct memory_snapshot *s, raddr_t at)
{
	size_t low = 0, high = s->count;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (s->spans[mid].at <= at)
			low = mid + 1;
		else
			high = mid;
	}
	return low ? &s->spans[low - 1] : NULL;
}

static struct err snapshot_read(struct memory *m, const struct memory_range *ranges, size_t n, size_t *done)
{
	const struct memory_snapshot *s = (const struct memory_snapshot *)m;

	for (*done = 0; *done < n; ++*done) {
		const struct memory_range *r = &ranges[*done];
		const struct span *span = span_find(s, r->at);
		uint64_t skip = span ? r->at - span->at : 0;

		if (!r->len)
			continue;
		if (!span || skip >= span->len || r->len > span->len - skip)
			return err_at(ERR_FAULT, r->at, "reading recorded memory");
		memcpy(r->buf, span->bytes + skip, r->len);
	}
	return OK;
}

static void snapshot_close(struct memory *m)
{
	struct memory_snapshot *s = (struct memory_snapshot *)m;

	free(s->file);
	free(s->notes);
	free(s->spans);
	free(s);
}

static struct err load_file(int fd, char **ret, size_t *len)
{
	struct stat st;
	size_t have = 0;
	char *file;

	if (fstat(fd, &st))
		return err_errno(errno, "looking at the snapshot");
	if (!S_ISREG(st.st_mode) || st.st_size < 0 || (uint64_t)st.st_size > SNAPSHOT_BYTES)
		return bad("the snapshot is no file, or too large");
	file = xcalloc(1, (size_t)st.st_size);
	while (have < (size_t)st.st_size) {
		ssize_t got = read(fd, file + have, (size_t)st.st_size - have);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0) {
			free(file);
			return got < 0 ? err_errno(errno, "reading the snapshot") : bad("the snapshot shrank");
		}
		have += (size_t)got;
	}
	*ret = file;
	*len = have;
	return OK;
}

static void parse_notes(struct memory_snapshot *s, const char *text, size_t len)
{
	s->notes = xcalloc(1, len + 1);
	s->notes_len = len;
	memcpy(s->notes, text, len);
	for (char *c = s->notes; (c = memchr(c, '\n', (size_t)(s->notes + len - c))); c++)
		*c = 0;
}

/* `bytes` to `end` is what is left of the file after the table. */
static struct err parse_ranges(struct memory_snapshot *s, const char *table, uint64_t n, const char *bytes,
			       const char *end)
{
	struct span *last = NULL;

	s->spans = xcalloc(n, sizeof(*s->spans));
	for (uint64_t i = 0; i < n; i++) {
		struct snapshot_range r;

		memcpy(&r, table + i * sizeof(r), sizeof(r)); /* the notes before it have any length */
		if (!r.len || r.len > (uint64_t)(end - bytes) || r.at > UINT64_MAX - r.len)
			return bad("a range of the snapshot has an impossible length");
		if (last && r.at < last->at + last->len)
			return bad("the snapshot's ranges are out of order");
		if (last && r.at == last->at + last->len) {
			last->len += r.len;
		} else {
			last = &s->spans[s->count++];
			*last = (struct span){ r.at, r.len, bytes };
		}
		bytes += r.len;
	}
	return bytes == end ? OK : bad("the snapshot is longer than its ranges");
}

static struct err parse(struct memory_snapshot *s, size_t len)
{
	struct snapshot_header h;
	size_t left = len;
	const char *at = s->file;

	if (left < sizeof(h))
		return bad("the snapshot is cut short");
	memcpy(&h, at, sizeof(h));
	at += sizeof(h);
	left -= sizeof(h);
	if (memcmp(h.magic, SNAPSHOT_MAGIC, sizeof(h.magic)) != 0)
		return bad("this is no snapshot");
	if (h.version != SNAPSHOT_VERSION)
		return err_at(ERR_UNSUPPORTED, 0, "the snapshot has another version");
	if (h.notes > SNAPSHOT_NOTES || h.notes > left)
		return bad("the snapshot is cut short");
	parse_notes(s, at, h.notes);
	at += h.notes;
	left -= h.notes;
	if (h.ranges > left / (sizeof(struct snapshot_range) + 1)) /* each has a byte at least */
		return bad("the snapshot is cut short");
	return parse_ranges(s, at, h.ranges, at + h.ranges * sizeof(struct snapshot_range), at + left);
}

struct err memory_snapshot_open(const char *path, struct memory **ret)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct memory_snapshot *s;
	struct err e;
	size_t len = 0;

	*ret = NULL;
	if (fd < 0)
		return err_errno(errno, "opening the snapshot");
	s = xcalloc(1, sizeof(*s));
	s->base.ops = &snapshot_ops;
	e = load_file(fd, &s->file, &len);
	close(fd);
	if (!failed(e))
		e = parse(s, len);
	if (failed(e))
		snapshot_close(&s->base);
	else
		*ret = &s->base;
	return e;
}

const char *memory_snapshot_note(const struct memory *m, const char *key)
{
	const struct memory_snapshot *s = (const struct memory_snapshot *)m;
	size_t len = strlen(key);

	if (m->ops != &snapshot_ops)
		return NULL;
	for (const char *n = s->notes; n < s->notes + s->notes_len; n += strlen(n) + 1) {
		if (!strncmp(n, key, len) && n[len] == '=')
			return n + len + 1;
	}
	return NULL;
}
