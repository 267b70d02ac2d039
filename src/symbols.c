/* symbols.c - names of native code, file by file. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cspy/symbols.h"
#include "debug_file.h"
#include "demangle.h"
#include "modules.h"
#include "symbol_table.h"

enum { NAME_BYTES = 1024 };

/* What is known of one file. */
struct names {
	bool ready;
	struct symbol_table table;
	struct image *debug; /* whose names the table borrows, too */
};

struct symbols {
	struct modules *modules; /* borrowed */
	struct names *list;	 /* by number of the module */
	size_t cap;
};

struct symbols *symbols_new(struct modules *m)
{
	struct symbols *s = xcalloc(1, sizeof(*s));

	s->modules = m;
	return s;
}

void symbols_free(struct symbols *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->cap; i++) {
		symbol_table_free(&s->list[i].table);
		image_close(s->list[i].debug);
	}
	free(s->list);
	free(s);
}

static bool has_symtab(struct image *img)
{
	const void *bytes;
	uint64_t svma;
	size_t len;

	return image_section(img, ".symtab", &svma, &bytes, &len);
}

static const struct names *names_of(struct symbols *s, const struct code_map *map, const struct module *module)
{
	struct names *n;

	xgrow(&s->list, &s->cap, map->module + 1, sizeof(*s->list));
	n = &s->list[map->module];
	if (n->ready)
		return n;
	n->ready = true;
	symbol_table_add(&n->table, module->image);
	if (!has_symtab(module->image)) {
		n->debug = debug_file_beside(modules_target(s->modules), module->image);
		if (!n->debug)
			n->debug = debug_file_inside(module->image);
	}
	if (n->debug)
		symbol_table_add(&n->table, n->debug);
	symbol_table_sort(&n->table);
	return n;
}

/* ---- Functions without a name ---- */

/* Of .eh_frame_hdr: four bytes of encodings, where .eh_frame is, how many, and pairs (start, its FDE). */
enum { HDR_VERSION = 1, HDR_COUNT_ENC = 3, HDR_TABLE_ENC = 0x3b, HDR_COUNT_AT = 8, HDR_TABLE_AT = 12, HDR_PAIR = 8 };

static uint64_t pair_start(const uint8_t *hdr, uint64_t svma, size_t i)
{
	int32_t off;

	memcpy(&off, hdr + HDR_TABLE_AT + i * HDR_PAIR, sizeof(off));
	return svma + (uint64_t)(int64_t)off;
}

/* Where the function that holds an address begins, as its unwind table says; else the address itself. */
static uint64_t function_start(struct image *img, uint64_t at)
{
	const uint8_t *hdr;
	const void *bytes;
	uint64_t svma;
	size_t len, low = 0, high;
	uint32_t count;

	if (!image_section(img, ".eh_frame_hdr", &svma, &bytes, &len) || !bytes || len < HDR_TABLE_AT)
		return at;
	hdr = bytes;
	memcpy(&count, hdr + HDR_COUNT_AT, sizeof(count));
	if (hdr[0] != HDR_VERSION || hdr[2] != HDR_COUNT_ENC || hdr[3] != HDR_TABLE_ENC ||
	    count > (len - HDR_TABLE_AT) / HDR_PAIR)
		return at;
	high = count;
	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (pair_start(hdr, svma, mid) <= at)
			low = mid + 1;
		else
			high = mid;
	}
	return low ? pair_start(hdr, svma, low - 1) : at;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

static struct frame_info info_of(struct strings *strings, const char *name, const char *module)
{
	str_id id = strings_add(strings, name, strlen(name));

	return (struct frame_info){
		.function = id,
		.name = id,
		.module = strings_add(strings, module, strlen(module)),
		.kind = FRAME_NATIVE,
		.library = true,
	};
}

struct err symbols_name(struct symbols *s, raddr_t at, struct strings *strings, struct frame_info *ret)
{
	const struct code_map *map = modules_map(s->modules, at);
	const struct module *module;
	const struct symbol *symbol;
	char name[NAME_BYTES];
	uint64_t svma;

	if (!map)
		return err_at(ERR_FAULT, at, "naming native code");
	module = modules_open(s->modules, map);
	if (!module || !module->image || !modules_svma(module, map, at, &svma)) {
		*ret = info_of(strings, module ? "[unknown]" : "[jit]", module ? module->path : "");
		return OK;
	}
	symbol = symbol_table_find(&names_of(s, map, module)->table, svma);
	if (symbol) {
		demangle(symbol->name, name, sizeof(name));
		name[strcspn(name, "@")] = 0; /* a symbol's version */
	} else {
		snprintf(name, sizeof(name), "%.900s+0x%" PRIx64, base_name(module->path),
			 function_start(module->image, svma));
	}
	*ret = info_of(strings, name, module->path);
	return OK;
}
