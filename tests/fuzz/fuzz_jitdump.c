/*
 * fuzz_jitdump.c - any bytes as a JIT's dump that is written in two parts: as they are, or as changes (place, byte) to
 * one that is right. The first byte picks which, the second where the parts meet.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cspy/perfmap.h"
#include "jit_dumps.h"

enum { PAGE = 4096, BYTES = 4096, CHANGE = 3, HEAD = 2, PLACES = 128, STEP = 0x20 };

static char path[64];

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void remove_dump(void)
{
	unlink(path);
}

/* This process is the target, and has the file mapped for good. */
static struct target *target(void)
{
	static struct target *t;
	int fd;

	if (t)
		return t;
	if (failed(target_open(getpid(), &t)))
		abort();
	snprintf(path, sizeof(path), "/tmp/jit-%d.dump", (int)t->ns_pid);
	fd = open(path, O_RDWR | O_CREAT | O_EXCL, 0600);
	if (fd < 0)
		abort();
	atexit(remove_dump);
	if (mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) == MAP_FAILED || failed(target_refresh_maps(t)))
		abort();
	close(fd);
	return t;
}

static void write_part(const uint8_t *bytes, size_t len, int how)
{
	int fd = open(path, O_WRONLY | how);

	if (fd < 0 || write(fd, bytes, len) != (ssize_t)len)
		abort();
	close(fd);
}

static size_t make(uint8_t *bytes, const uint8_t *data, size_t size)
{
	static const struct dump_line lines[] = { { 0x140, 5, "/x.js" }, { 0x148, 6, "\xff" }, { 0x150, 9, "/y.js" } };
	uint8_t *at = dump_lines(dump_header(bytes), 0x100, lines, countof(lines));
	size_t len;

	at = dump_load(at, 0x100, 0x80, "JS:*foo /x.js:4:2", 0x10);
	at = dump_load(at, 0x400, 0x80, "plain", 0x10);
	at = dump_move(at, 0x400, 0x800, 0x80);
	at = dump_lines(at, 0x480, lines, countof(lines));
	len = (size_t)(dump_load(at, 0x480, 0x20, "Builtin:x", 0) - bytes);
	for (size_t i = 0; i + CHANGE <= size; i += CHANGE)
		bytes[(data[i] | (size_t)data[i + 1] << 8) % len] = data[i + 2];
	return len;
}

static void look(struct perfmap *m, struct strings *strings)
{
	perfmap_mark(m);
	perfmap_read(m);
	for (uint64_t i = 0; i < PLACES; i++) {
		raddr_t at = i % 4 == 3 ? UINT64_MAX - i * STEP : i * STEP;
		struct perfmap_code code;
		struct frame_info info = { 0 };

		if (!perfmap_find(m, at, &code))
			continue;
		if (code.start > at || code.end <= at)
			abort();
		if (!failed(perfmap_name(m, code.start, code.line, strings, &info)) &&
		    !*strings_get(strings, info.function) && info.function)
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct target *t = target();
	struct strings *strings;
	uint8_t bytes[BYTES];
	struct perfmap *m;
	size_t len, first;

	if (size < HEAD || size > BYTES)
		return 0;
	memcpy(bytes, data + HEAD, size - HEAD);
	len = data[0] & 1 ? size - HEAD : make(bytes, data + HEAD, size - HEAD);
	first = data[1] * len / 256;
	strings = strings_new();
	write_part(bytes, first, O_TRUNC);
	m = perfmap_new(t);
	look(m, strings);
	write_part(bytes + first, len - first, data[0] & 2 ? O_TRUNC : O_APPEND);
	look(m, strings);
	perfmap_free(m);
	strings_free(strings);
	return 0;
}
