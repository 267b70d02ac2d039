/* symbol_table.h - the functions that one ELF file names, by address. */
#ifndef CSPY_SYMBOL_TABLE_H
#define CSPY_SYMBOL_TABLE_H

#include "cspy/image.h"

enum { SYMBOLS_MAX = 1 << 22 };

struct symbol {
	uint64_t start, size; /* size 0: to the next one */
	const char *name;     /* lives as long as the image */
	uint8_t rank;	      /* of several names for one address, the highest is shown */
};

struct symbol_table {
	struct symbol *list; /* ascending once sorted */
	size_t count, cap;
};

void symbol_table_free(struct symbol_table *t);
/* All functions of .symtab and .dynsym. */
void symbol_table_add(struct symbol_table *t, struct image *img);
/* After the last file was added. */
void symbol_table_sort(struct symbol_table *t);
/* NULL: no function that is named holds the address. */
const struct symbol *symbol_table_find(const struct symbol_table *t, uint64_t svma);

#endif
