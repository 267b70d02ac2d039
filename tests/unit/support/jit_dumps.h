/* jit_dumps.h - records of a JIT's dump. Each function appends to `at` and returns where it ended. */
#ifndef CSPY_TEST_JIT_DUMPS_H
#define CSPY_TEST_JIT_DUMPS_H

#include <stddef.h>
#include <stdint.h>

uint8_t *dump_header(uint8_t *at);
/* With so many bytes of code behind its name. */
uint8_t *dump_load(uint8_t *at, uint64_t start, uint64_t size, const char *name, size_t code);
uint8_t *dump_move(uint8_t *at, uint64_t from, uint64_t to, uint64_t size);

struct dump_line {
	uint64_t at;
	uint32_t line;
	const char *file;
};
uint8_t *dump_lines(uint8_t *at, uint64_t start, const struct dump_line *lines, size_t n);

#endif
