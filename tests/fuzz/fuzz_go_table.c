/*
 * fuzz_go_table.c - any bytes as a Go program's table of functions: as they are, or as changes (place, byte) to a table
 * that is right. The first byte picks the format, or none.
 */
#include <stdlib.h>
#include <string.h>

#include "go_table.h"
#include "go_tables.h"

enum { CHANGE = 3, STEP = 4 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void ask(const struct go_table *t, const uint8_t *bytes, size_t len)
{
	for (uint64_t off = 0; off < 0x80; off += STEP) {
		struct go_place p;

		if (!go_table_at(t, GO_TABLE_TEXT + off, &p))
			continue;
		if ((const uint8_t *)p.function < bytes ||
		    (const uint8_t *)p.function + strlen(p.function) >= bytes + len)
			abort();
		if (p.file && (const uint8_t *)p.file + strlen(p.file) >= bytes + len)
			abort();
	}
}

static size_t change(uint8_t *table, const uint8_t *data, size_t size)
{
	size_t len = go_table_build(data[0] % (GO_TABLE_FORMATS + 1), table);

	for (size_t i = 1; i + CHANGE <= size; i += CHANGE)
		table[(data[i] | (size_t)data[i + 1] << 8) % len] = data[i + 2];
	return len;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t table[GO_TABLE_BYTES], *copy;
	struct go_table *t;
	uint64_t off;
	size_t len;

	if (!size)
		return 0;
	if (data[0] % (GO_TABLE_FORMATS + 1) == GO_TABLE_FORMATS)
		len = size - 1;
	else
		len = change(table, data, size);
	/* A copy of its own, so that a read beyond the end is noticed. */
	copy = malloc(len + !len);
	memcpy(copy, data[0] % (GO_TABLE_FORMATS + 1) == GO_TABLE_FORMATS ? data + 1 : table, len);
	t = go_table_new(copy, len);
	if (t) {
		ask(t, copy, len);
		go_table_entry(t, &off);
	}
	go_table_free(t);
	free(copy);
	return 0;
}
