/* memory_record.c - keep what was read of a process, and write it as a snapshot. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cspy/memory.h"
#include "snapshot.h"

/* Bytes read once; chunks never overlap. */
struct chunk {
	raddr_t at;
	size_t len;
	size_t first; /* index in bytes */
};

struct note {
	char *key, *value;
};

struct memory_record {
	struct memory base;
	struct memory *inner;
	struct chunk *chunks; /* ascending */
	size_t count, cap;
	char *bytes;
	size_t used, bytes_cap;
	struct note *notes;
	size_t note_count, note_cap;
	bool full; /* more was read than a snapshot may hold */
};

static struct err record_read(struct memory *m, const struct memory_range *ranges, size_t n, size_t *done);
static void record_close(struct memory *m);
static const struct memory_ops record_ops = { "record", record_read, record_close };

struct memory *memory_record_new(struct memory *inner)
{
	struct memory_record *r = xcalloc(1, sizeof(*r));

	r->base.ops = &record_ops;
	r->inner = inner;
	return &r->base;
}

static void record_close(struct memory *m)
{
	struct memory_record *r = (struct memory_record *)m;

	memory_close(r->inner);
	for (size_t i = 0; i < r->note_count; i++) {
		free(r->notes[i].key);
		free(r->notes[i].value);
	}
	free(r->notes);
	free(r->chunks);
	free(r->bytes);
	free(r);
}

/* The first chunk that ends after the address. */
static size_t chunk_after(const struct memory_record *r, raddr_t at)
{
	size_t low = 0, high = r->count;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (r->chunks[mid].at + r->chunks[mid].len <= at)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* Becomes chunk i: nothing of it is there yet. */
static void insert(struct memory_record *r, size_t i, raddr_t at, const char *bytes, size_t len)
{
	struct chunk *before = i ? &r->chunks[i - 1] : NULL;

	if (r->full || len > SNAPSHOT_BYTES / 2 - r->used) {
		r->full = true;
		return;
	}
	xgrow(&r->bytes, &r->bytes_cap, r->used + len, 1);
	memcpy(r->bytes + r->used, bytes, len);
	if (before && before->at + before->len == at && before->first + before->len == r->used) {
		before->len += len;
	} else {
		xgrow(&r->chunks, &r->cap, r->count + 1, sizeof(*r->chunks));
		memmove(&r->chunks[i + 1], &r->chunks[i], (r->count - i) * sizeof(*r->chunks));
		r->chunks[i] = (struct chunk){ at, len, r->used };
		r->count++;
	}
	r->used += len;
}

/* Keep the parts of this range that no chunk has. */
static void keep(struct memory_record *r, raddr_t at, const char *bytes, size_t len)
{
	raddr_t end = at + len;

	if (end < at)
		return;
	while (at < end && !r->full) {
		size_t i = chunk_after(r, at);
		raddr_t next = i < r->count && r->chunks[i].at < end ? r->chunks[i].at : end;

		if (next > at) {
			insert(r, i, at, bytes, next - at);
		} else {
			next = r->chunks[i].at + r->chunks[i].len;
			if (next > end)
				next = end;
		}
		bytes += next - at;
		at = next;
	}
}

static struct err record_read(struct memory *m, const struct memory_range *ranges, size_t n, size_t *done)
{
	struct memory_record *r = (struct memory_record *)m;
	struct err e = memory_readv(r->inner, ranges, n, done);

	for (size_t i = 0; i < *done; i++)
		keep(r, ranges[i].at, ranges[i].buf, ranges[i].len);
	return e;
}

static char *one_line(const char *text)
{
	char *s = xstrdup(text);

	for (char *c = s; *c; c++) {
		if (*c == '\n' || *c == '\r')
			*c = ' ';
	}
	return s;
}

void memory_record_note(struct memory *m, const char *key, const char *value)
{
	struct memory_record *r = (struct memory_record *)m;
	size_t i = 0;

	while (i < r->note_count && strcmp(r->notes[i].key, key) != 0)
		i++;
	if (i == r->note_count) {
		xgrow(&r->notes, &r->note_cap, i + 1, sizeof(*r->notes));
		r->notes[i].key = one_line(key);
		r->note_count++;
	}
	free(r->notes[i].value);
	r->notes[i].value = one_line(value);
}

static void write_notes(FILE *out, const struct memory_record *r)
{
	for (size_t i = 0; i < r->note_count; i++)
		fprintf(out, "%s=%s\n", r->notes[i].key, r->notes[i].value);
}

static void write_all(FILE *out, const struct memory_record *r)
{
	struct snapshot_header h = { SNAPSHOT_MAGIC, SNAPSHOT_VERSION, 0, 0 };

	for (size_t i = 0; i < r->note_count; i++)
		h.notes += (uint32_t)(strlen(r->notes[i].key) + strlen(r->notes[i].value) + 2);
	h.ranges = r->count;
	fwrite(&h, sizeof(h), 1, out);
	write_notes(out, r);
	for (size_t i = 0; i < r->count; i++) {
		struct snapshot_range range = { r->chunks[i].at, r->chunks[i].len };

		fwrite(&range, sizeof(range), 1, out);
	}
	for (size_t i = 0; i < r->count; i++)
		fwrite(r->bytes + r->chunks[i].first, 1, r->chunks[i].len, out);
}

/* Half a snapshot is worth nothing, but a device that was named as the output stays. */
static void discard(FILE *out, const char *path)
{
	struct stat st;
	bool regular = !fstat(fileno(out), &st) && S_ISREG(st.st_mode);

	fclose(out);
	if (regular)
		unlink(path);
}

struct err memory_record_save(struct memory *m, const char *path)
{
	const struct memory_record *r = (const struct memory_record *)m;
	FILE *out;

	if (r->full)
		return err_errno(EFBIG, "more was read than a snapshot may hold");
	out = fopen(path, "wbe");
	if (!out)
		return err_errno(errno, "creating the snapshot");
	errno = EIO;
	write_all(out, r);
	if (fflush(out) || ferror(out)) {
		struct err e = err_errno(errno, "writing the snapshot");

		discard(out, path);
		return e;
	}
	return fclose(out) ? err_errno(errno, "writing the snapshot") : OK;
}
