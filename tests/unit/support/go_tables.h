/* go_tables.h - small tables of functions as Go programs have them, in each format. */
#ifndef CSPY_TEST_GO_TABLES_H
#define CSPY_TEST_GO_TABLES_H

#include <stddef.h>
#include <stdint.h>

enum { GO_TABLE_FORMATS = 4, GO_TABLE_BYTES = 1024, GO_TABLE_TEXT = 0x401000 };

/*
 * main.outer, 0x40 bytes at the text's start, of /src/a.go: line 10 for 0x10 bytes, then 12 for 0x10 bytes, then 0x10
 * bytes that were inlined from line 3 of /src/b.go, then line 13; and main.leaf, 0x20 bytes of /src/b.go: line 3. From
 * format 3 on their first lines are 9 and 2. Returns the length.
 */
size_t go_table_build(unsigned format, uint8_t ret[GO_TABLE_BYTES]);

#endif
