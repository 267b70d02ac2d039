/* fuzz_snapshot.c - any bytes as a snapshot: refused, or memory that answers within it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cspy/memory.h"
#include "snapshot.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What the file says it holds can be read, up to its ends and not beyond. */
static void read_ranges(struct memory *m, const uint8_t *data, size_t size)
{
	struct snapshot_header h;
	char buf[256];

	memcpy(&h, data, sizeof(h)); /* it was accepted, so it is there */
	for (uint64_t i = 0; i < h.ranges; i++) {
		struct snapshot_range r;
		size_t len;

		memcpy(&r, data + sizeof(h) + h.notes + i * sizeof(r), sizeof(r));
		len = r.len < sizeof(buf) ? r.len : sizeof(buf);
		if (r.len > size || failed(memory_read(m, r.at, buf, len)) ||
		    failed(memory_read(m, r.at + r.len - len, buf, len)))
			abort();
		(void)!failed(memory_read(m, r.at + r.len - 1, buf, 2));
		(void)!failed(memory_str(m, r.at, buf, sizeof(buf)));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct memory *m = NULL;
	int fd = memfd_create("snapshot", MFD_CLOEXEC);
	char path[64];

	if (fd < 0)
		return 0;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (write(fd, data, size) == (ssize_t)size && !failed(memory_snapshot_open(path, &m))) {
		read_ranges(m, data, size);
		memory_snapshot_note(m, "version");
		memory_snapshot_note(m, "");
	}
	memory_close(m);
	close(fd);
	return 0;
}
