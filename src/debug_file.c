/* debug_file.c - symbols that an ELF file was stripped of: compressed inside it, or in a file beside it. */
#include <fcntl.h>
#include <lzma.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "debug_file.h"
#include "debug_server.h"

enum {
	ID_BYTES_MAX = 64,
	UNPACKED_MAX = 256 << 20,
	UNPACK_MEMORY = 64 << 20, /* that unpacking may use */
	PIECE = 1 << 16,
};

static bool write_all(int fd, const uint8_t *bytes, size_t len)
{
	while (len) {
		ssize_t n = write(fd, bytes, len);

		if (n <= 0)
			return false;
		bytes += n;
		len -= (size_t)n;
	}
	return true;
}

static bool unpack(lzma_stream *s, int fd)
{
	uint8_t piece[PIECE];
	lzma_ret r = LZMA_OK;

	while (r == LZMA_OK && s->total_out < UNPACKED_MAX) {
		s->next_out = piece;
		s->avail_out = sizeof(piece);
		r = lzma_code(s, LZMA_FINISH);
		if (!write_all(fd, piece, sizeof(piece) - s->avail_out))
			return false;
	}
	return r == LZMA_STREAM_END;
}

struct image *debug_file_inside(struct image *img)
{
	lzma_stream s = LZMA_STREAM_INIT;
	struct image *ret = NULL;
	const void *bytes;
	uint64_t svma;
	size_t len;
	bool ok;
	int fd;

	if (!image_section(img, ".gnu_debugdata", &svma, &bytes, &len) || !bytes ||
	    lzma_stream_decoder(&s, UNPACK_MEMORY, 0) != LZMA_OK)
		return NULL;
	fd = memfd_create("gnu_debugdata", MFD_CLOEXEC);
	s.next_in = bytes;
	s.avail_in = len;
	ok = fd >= 0 && unpack(&s, fd);
	lzma_end(&s);
	if (!ok) {
		cleanup_close(&fd);
		return NULL;
	}
	return failed(image_open(fd, image_name(img), &ret)) ? NULL : ret;
}

static bool same_id(struct image *a, const void *id, size_t len)
{
	const void *other;
	size_t n;

	return image_build_id(a, &other, &n) && n == len && !memcmp(other, id, len);
}

static struct image *open_if_same(int fd, const char *path, const void *id, size_t len)
{
	struct image *img;

	if (failed(image_open(fd, path, &img)))
		return NULL;
	if (same_id(img, id, len))
		return img;
	image_close(img);
	return NULL;
}

struct image *debug_file_beside(struct target *t, struct image *img)
{
	char path[64 + 2 * ID_BYTES_MAX];
	struct image *found = NULL;
	const void *id;
	size_t len, at;
	int fd;

	if (!image_build_id(img, &id, &len) || len < 2 || len > ID_BYTES_MAX)
		return NULL;
	at = (size_t)snprintf(path, sizeof(path), "/usr/lib/debug/.build-id/%02x/", *(const uint8_t *)id);
	for (size_t i = 1; i < len; i++)
		at += (size_t)snprintf(path + at, sizeof(path) - at, "%02x", ((const uint8_t *)id)[i]);
	snprintf(path + at, sizeof(path) - at, ".debug");
	if (!failed(target_open_file(t, path, &fd)))
		found = open_if_same(fd, path, id, len);
	if (found)
		return found;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	return fd >= 0 ? open_if_same(fd, path, id, len) : NULL;
}

struct image *debug_file_served(struct target *t, struct image *img)
{
	const void *id;
	size_t len;
	int fd;

	if (!t->debug_server || !image_build_id(img, &id, &len) || len < 2 || len > ID_BYTES_MAX)
		return NULL;
	fd = debug_server_fetch(t->debug_server, image_name(img), id, len);
	return fd >= 0 ? open_if_same(fd, image_name(img), id, len) : NULL;
}
