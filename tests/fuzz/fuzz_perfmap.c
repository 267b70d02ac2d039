/* fuzz_perfmap.c - any bytes as a perf map that is written in two parts; the first byte says how. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cspy/perfmap.h"

enum { PLACES = 64, STEP = 0x40 };

static char path[64];

static void remove_map(void)
{
	unlink(path);
}

/* This process is the target. */
static struct target *target(void)
{
	static struct target *t;

	if (t)
		return t;
	if (failed(target_open(getpid(), &t)))
		abort();
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)t->ns_pid);
	atexit(remove_map);
	return t;
}

static void write_part(const uint8_t *bytes, size_t len, int how)
{
	int fd = open(path, O_WRONLY | O_CREAT | how, 0600);

	if (fd < 0 || write(fd, bytes, len) != (ssize_t)len)
		abort();
	close(fd);
}

static void look(struct perfmap *m, struct strings *strings)
{
	perfmap_mark(m);
	if (!perfmap_read(m))
		abort();
	for (uint64_t i = 0; i < PLACES; i++) {
		raddr_t at = i % 2 ? UINT64_MAX - i * STEP : i * STEP;
		struct perfmap_code code;
		struct frame_info info;

		if (!perfmap_find(m, at, &code))
			continue;
		if (code.start > at || code.end <= at || failed(perfmap_name(m, code.start, code.line, strings, &info)))
			abort();
		if (!*strings_get(strings, info.function) && info.function)
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct target *t = target();
	struct strings *strings = strings_new();
	struct perfmap *m;
	size_t first;

	if (size < 2)
		first = size;
	else
		first = 1 + data[1] * (size - 1) / 256;
	write_part(data, first, O_TRUNC);
	m = perfmap_new(t);
	look(m, strings);
	write_part(data + first, size - first, size && data[0] & 1 ? O_APPEND : O_TRUNC);
	look(m, strings);
	perfmap_free(m);
	strings_free(strings);
	return 0;
}
