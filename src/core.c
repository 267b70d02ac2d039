/* core.c - a core file: the memory, mappings and threads of a process that is no more. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core.h"
#include "core_notes.h"

enum {
	SEGMENTS_MAX = 1 << 20,
	PAGE = 4096, /* of the start of a file, by which it is known again */
	NOT_LOOKED_FOR = -2,
};
static const uint64_t NOTES_BYTES = 64 << 20;

static struct err not_core(void)
{
	return err_at(ERR_UNSUPPORTED, 0, "opening it: not a core file of this machine");
}

static int by_start(const void *a, const void *b)
{
	const struct core_segment *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

static void add_segment(struct core *c, const GElf_Phdr *ph)
{
	uint64_t file_size = ph->p_filesz < ph->p_memsz ? ph->p_filesz : ph->p_memsz;

	if (!ph->p_memsz || ph->p_memsz > UINT64_MAX - ph->p_vaddr || file_size > INT64_MAX ||
	    ph->p_offset > INT64_MAX - file_size)
		return;
	xgrow(&c->segments, &c->segment_cap, c->segment_count + 1, sizeof(*c->segments));
	c->segments[c->segment_count++] = (struct core_segment){
		.start = ph->p_vaddr,
		.size = ph->p_memsz,
		.file_size = file_size,
		.at = ph->p_offset,
		.flags = ph->p_flags,
	};
}

/* The kernel writes them in order; a file that says otherwise is not to be believed. */
static bool segments_are_sound(struct core *c)
{
	if (c->segment_count)
		qsort(c->segments, c->segment_count, sizeof(*c->segments), by_start);
	for (size_t i = 1; i < c->segment_count; i++)
		if (c->segments[i - 1].start + c->segments[i - 1].size > c->segments[i].start)
			return false;
	return c->segment_count > 0;
}

static struct err read_headers(struct core *c, Elf *elf)
{
	GElf_Ehdr eh;
	size_t n;

	if (!elf || elf_kind(elf) != ELF_K_ELF || !gelf_getehdr(elf, &eh) || gelf_getclass(elf) != ELFCLASS64 ||
	    eh.e_type != ET_CORE || elf_getphdrnum(elf, &n) != 0 || n > SEGMENTS_MAX)
		return not_core();
	for (size_t i = 0; i < n; i++) {
		GElf_Phdr ph;

		if (!gelf_getphdr(elf, (int)i, &ph))
			return not_core();
		if (ph.p_type == PT_LOAD)
			add_segment(c, &ph);
		else if (ph.p_type == PT_NOTE && ph.p_filesz <= NOTES_BYTES)
			core_read_notes(c, elf_getdata_rawchunk(elf, (int64_t)ph.p_offset, ph.p_filesz, ELF_T_NHDR));
	}
	return segments_are_sound(c) && c->tid_count ? OK : not_core();
}

struct err core_open(const char *path, const char *exe, struct core **ret)
{
	struct core *c = xcalloc(1, sizeof(*c));
	struct err e;
	Elf *elf;

	c->exe = exe;
	c->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (c->fd < 0) {
		e = err_errno(errno, "opening the core file");
		free(c);
		/* It is a file of the user's, not a process. */
		return (struct err){ ERR_OS, e.os, 0, e.what };
	}
	elf_version(EV_CURRENT);
	elf = elf_begin(c->fd, ELF_C_READ, NULL);
	e = read_headers(c, elf);
	if (elf)
		elf_end(elf);
	if (failed(e)) {
		core_close(c);
		return e;
	}
	*ret = c;
	return OK;
}

void core_close(struct core *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < c->file_count; i++) {
		free(c->files[i].path);
		cleanup_close(&c->files[i].fd);
	}
	free(c->files);
	free(c->segments);
	free(c->tids);
	close(c->fd);
	free(c);
}

static const struct core_segment *segment_at(const struct core *c, raddr_t at)
{
	size_t low = 0, high = c->segment_count;

	while (low < high) {
		size_t mid = low + (high - low) / 2;
		const struct core_segment *s = &c->segments[mid];

		if (at < s->start)
			high = mid;
		else if (at - s->start >= s->size)
			low = mid + 1;
		else
			return s;
	}
	return NULL;
}

static struct core_file *file_at(const struct core *c, raddr_t at)
{
	for (size_t i = 0; i < c->file_count; i++)
		if (at >= c->files[i].start && at < c->files[i].end)
			return &c->files[i];
	return NULL;
}

/* ---- The mapped files, as they are here and now ---- */

/* The start of an ELF file has its build id. The kernel dumps it even where it dumps nothing else of the file. */
static bool is_same_file(struct core *c, const char *path, int fd)
{
	char here[PAGE], there[PAGE];

	for (size_t i = 0; i < c->file_count; i++) {
		const struct core_file *f = &c->files[i];
		const struct core_segment *s = segment_at(c, f->start);

		if (f->offset || strcmp(f->path, path) != 0 || !s || f->start - s->start + PAGE > s->file_size)
			continue;
		return pread(fd, here, PAGE, 0) == PAGE &&
		       pread(c->fd, there, PAGE, (off_t)(s->at + f->start - s->start)) == PAGE &&
		       !memcmp(here, there, PAGE);
	}
	return false;
}

/* The program itself is what was mapped at the lowest address, but for one that is loaded elsewhere on purpose. */
static int open_same(struct core *c, const char *path)
{
	const char *from = c->exe && !strcmp(path, c->files[0].path) ? c->exe : path;
	int fd = open(from, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;

	if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && is_same_file(c, path, fd))
		return fd;
	cleanup_close(&fd);
	return -1;
}

static int fd_of(struct core *c, struct core_file *f)
{
	if (f->fd == NOT_LOOKED_FOR)
		f->fd = open_same(c, f->path);
	return f->fd;
}

struct err core_open_file(struct core *c, raddr_t at, int *ret)
{
	struct core_file *f = file_at(c, at);
	int fd = f ? fd_of(c, f) : -1;

	*ret = fd >= 0 ? fcntl(fd, F_DUPFD_CLOEXEC, 0) : -1;
	return *ret >= 0 ? OK : err_at(ERR_UNSUPPORTED, at, "opening a mapped file: it is not here, or another one");
}

/* ---- Memory ---- */

static bool read_whole(int fd, void *buf, size_t len, uint64_t at)
{
	return at <= INT64_MAX && pread(fd, buf, len, (off_t)at) == (ssize_t)len;
}

/* Some bytes of one segment, either all dumped or none; how many, 0 when they are not to be had. */
static size_t read_some(struct core *c, raddr_t at, void *buf, size_t len)
{
	const struct core_segment *s = segment_at(c, at);
	uint64_t in, left;
	struct core_file *f;

	if (!s)
		return 0;
	in = at - s->start;
	left = (in < s->file_size ? s->file_size : s->size) - in;
	len = len < left ? len : left;
	if (in < s->file_size)
		return read_whole(c->fd, buf, len, s->at + in) ? len : 0;
	f = s->flags & PF_W ? NULL : file_at(c, at);
	if (!f || fd_of(c, f) < 0)
		return 0;
	len = len < f->end - at ? len : f->end - at;
	return read_whole(f->fd, buf, len, f->offset + (at - f->start)) ? len : 0;
}

struct err core_read(struct core *c, raddr_t at, void *buf, size_t len)
{
	while (len) {
		size_t got = read_some(c, at, buf, len);

		if (!got)
			return err_at(ERR_FAULT, at, "reading the core file");
		at += got;
		buf = (char *)buf + got;
		len -= got;
	}
	return OK;
}

/* ---- Mappings ---- */

static void put_path(FILE *out, const char *path)
{
	for (; *path; path++) {
		if (*path == '\n')
			fputs("\\012", out);
		else
			fputc(*path, out);
	}
}

/* A number for each file that is the same for the same path, as an inode's is. */
static size_t number_of(const struct core *c, const struct core_file *f)
{
	for (size_t i = 0; i < c->file_count; i++)
		if (!strcmp(c->files[i].path, f->path))
			return i + 1;
	return 0;
}

char *core_maps(const struct core *c)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	for (size_t i = 0; out && i < c->segment_count; i++) {
		const struct core_segment *s = &c->segments[i];
		const struct core_file *f = file_at(c, s->start);

		fprintf(out, "%" PRIx64 "-%" PRIx64 " %c%c%cp %" PRIx64 " 00:00 %zu ", s->start, s->start + s->size,
			s->flags & PF_R ? 'r' : '-', s->flags & PF_W ? 'w' : '-', s->flags & PF_X ? 'x' : '-',
			f ? f->offset + (s->start - f->start) : 0, f ? number_of(c, f) : 0);
		if (f)
			put_path(out, f->path);
		fputc('\n', out);
	}
	if (out)
		fclose(out);
	return text;
}
