/* jit_dumps.c - records of a JIT's dump. */
#include <string.h>

#include "jit_dumps.h"

enum { LOAD, MOVE, LINES };

static uint8_t *put32(uint8_t *at, uint32_t v)
{
	memcpy(at, &v, sizeof(v));
	return at + sizeof(v);
}

static uint8_t *put64(uint8_t *at, uint64_t v)
{
	memcpy(at, &v, sizeof(v));
	return at + sizeof(v);
}

uint8_t *dump_header(uint8_t *at)
{
	memset(at, 0, 40);
	put32(at, 0x4A695444);
	put32(at + 4, 1);
	put32(at + 8, 40);
	return at + 40;
}

static uint8_t *put_head(uint8_t *at, uint32_t id, size_t size)
{
	at = put32(at, id);
	at = put32(at, (uint32_t)size);
	return put64(at, 0); /* the time */
}

uint8_t *dump_load(uint8_t *at, uint64_t start, uint64_t size, const char *name, size_t code)
{
	size_t len = strlen(name) + 1;

	at = put_head(at, LOAD, 56 + len + code);
	at = put64(at, 0); /* process and thread */
	at = put64(at, start);
	at = put64(at, start);
	at = put64(at, size);
	at = put64(at, 0);
	memcpy(at, name, len);
	memset(at + len, 0x90, code);
	return at + len + code;
}

uint8_t *dump_move(uint8_t *at, uint64_t from, uint64_t to, uint64_t size)
{
	at = put_head(at, MOVE, 64);
	at = put64(at, 0);
	at = put64(at, to);
	at = put64(at, from);
	at = put64(at, to);
	at = put64(at, size);
	return put64(at, 0);
}

uint8_t *dump_lines(uint8_t *at, uint64_t start, const struct dump_line *lines, size_t n)
{
	uint8_t *begin = at;

	at = put_head(at, LINES, 0);
	at = put64(at, start);
	at = put64(at, n);
	for (size_t i = 0; i < n; i++) {
		size_t len = strlen(lines[i].file) + 1;

		at = put64(at, lines[i].at);
		at = put32(at, lines[i].line);
		at = put32(at, 0);
		memcpy(at, lines[i].file, len);
		at += len;
	}
	put32(begin + 4, (uint32_t)(at - begin));
	return at;
}
