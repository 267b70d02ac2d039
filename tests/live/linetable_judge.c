/*
 * linetable_judge.c - compare cpy_line_at() with what an interpreter says of its own code.
 *
 * usage: linetable_judge MAJOR MINOR < records         (of fixtures/targets/python/line_tables.py)
 *
 * Prints "CODE_OBJECTS OFFSETS WRONG"; the first wrong places on stderr. Ends with 0 when none is wrong.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cpython/code.h"

enum { SHOWN = 20, PART_CAP = 256 << 20 };

/* One code object as the interpreter describes it. */
struct record {
	uint32_t name_len, table_len, first_line, code_len, runs, columns;
};

struct truth {
	struct record head;
	char *name;
	uint8_t *table;
	uint32_t *runs;	   /* pairs (end, line) */
	uint32_t *columns; /* one for two bytes of bytecode */
};

struct counts {
	uint64_t codes, offsets, wrong;
};

static void *read_part(size_t n, size_t size)
{
	void *part = xcalloc(n + 1, size);

	if (n * size > PART_CAP || fread(part, size, n, stdin) != n) {
		fputs("linetable_judge: the records end within one\n", stderr);
		exit(2);
	}
	return part;
}

static bool read_truth(struct truth *ret)
{
	if (fread(&ret->head, sizeof(ret->head), 1, stdin) != 1)
		return false;
	ret->name = read_part(ret->head.name_len, 1);
	ret->table = read_part(ret->head.table_len, 1);
	ret->runs = read_part(ret->head.runs, 2 * sizeof(uint32_t));
	ret->columns = read_part(ret->head.columns, sizeof(uint32_t));
	return true;
}

static void free_truth(struct truth *t)
{
	free(t->name);
	free(t->table);
	free(t->runs);
	free(t->columns);
}

static void compare(const struct cpy_layout *l, const struct truth *t, struct counts *counts)
{
	struct cpy_code code = { .lines = t->table,
				 .lines_len = t->head.table_len,
				 .first_line = t->head.first_line,
				 .code_len = t->head.code_len };
	uint32_t step = t->head.columns ? 2 : 1, line, column, run = 0;

	for (uint32_t at = 0; at < t->head.code_len; at += step) {
		while (run < t->head.runs && t->runs[run * 2] <= at)
			run++;
		bool known = run < t->head.runs;
		uint32_t want_line = known ? t->runs[run * 2 + 1] : 0;
		uint32_t want_column = at / 2 < t->head.columns ? t->columns[at / 2] : 0;
		bool found = cpy_line_at(l, &code, at, &line, &column);

		counts->offsets++;
		if (found == known && (!found || (line == want_line && column == want_column)))
			continue;
		if (counts->wrong++ < SHOWN)
			fprintf(stderr, "%s, offset %u: %u:%u%s, the interpreter says %u:%u%s\n", t->name, at, line,
				column, found ? "" : " (outside)", want_line, want_column, known ? "" : " (outside)");
	}
	if (cpy_line_at(l, &code, t->head.code_len, &line, &column))
		counts->wrong++;
	counts->codes++;
}

int main(int argc, char **argv)
{
	const struct cpy_layout *l =
		argc == 3 ? cpy_layout_find((unsigned int)atoi(argv[1]), (unsigned int)atoi(argv[2]), false) : NULL;
	struct counts counts = { 0 };
	struct truth truth;

	if (!l) {
		fputs("usage: linetable_judge MAJOR MINOR < records\n", stderr);
		return 2;
	}
	while (read_truth(&truth)) {
		compare(l, &truth, &counts);
		free_truth(&truth);
	}
	printf("%llu %llu %llu\n", (unsigned long long)counts.codes, (unsigned long long)counts.offsets,
	       (unsigned long long)counts.wrong);
	return counts.wrong != 0;
}
