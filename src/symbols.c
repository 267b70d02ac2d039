/* symbols.c - names of native code, file by file. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cspy/symbols.h"
#include "debug_file.h"
#include "debug_info.h"
#include "demangle.h"
#include "go_file.h"
#include "map64.h"
#include "modules.h"
#include "symbol_table.h"

enum { NAME_BYTES = 1024, ADDRESSES_MAX = 1 << 18 };

/* What is known of one file. */
struct names {
	bool ready;
	struct symbol_table table;
	struct image *debug; /* whose names the table borrows, too */
	struct debug_info *info;
	struct go_table *go;
};

struct symbols {
	struct modules *modules; /* borrowed */
	struct names *list;	 /* by number of the module */
	size_t cap;
	struct map64 inlined; /* by address and module: how many functions are, plus one */
};

struct symbols *symbols_new(struct modules *m)
{
	struct symbols *s = xcalloc(1, sizeof(*s));

	s->modules = m;
	map64_init(&s->inlined, ADDRESSES_MAX);
	return s;
}

void symbols_free(struct symbols *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->cap; i++) {
		symbol_table_free(&s->list[i].table);
		debug_info_free(s->list[i].info);
		go_table_free(s->list[i].go);
		image_close(s->list[i].debug);
	}
	free(s->list);
	map64_free(&s->inlined);
	free(s);
}

static bool has_section(struct image *img, const char *name)
{
	const void *bytes;
	uint64_t svma;
	size_t len;

	return image_section(img, name, &svma, &bytes, &len);
}

static struct names *names_of(struct symbols *s, const struct code_map *map, const struct module *module)
{
	struct names *n;

	xgrow(&s->list, &s->cap, map->module + 1, sizeof(*s->list));
	n = &s->list[map->module];
	if (n->ready)
		return n;
	n->ready = true;
	symbol_table_add(&n->table, module->image);
	if (!has_section(module->image, ".symtab")) {
		n->debug = debug_file_beside(modules_target(s->modules), module->image);
		if (!n->debug)
			n->debug = debug_file_inside(module->image);
	}
	if (!n->debug && !has_section(module->image, ".debug_info"))
		n->debug = debug_file_served(modules_target(s->modules), module->image);
	if (n->debug)
		symbol_table_add(&n->table, n->debug);
	symbol_table_sort(&n->table);
	n->info = debug_info_new(n->debug ? n->debug : module->image);
	n->go = go_file_table(module->image);
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

static size_t count_inlined(struct symbols *s, raddr_t at)
{
	const struct code_map *map = modules_map(s->modules, at);
	const struct module *module = map ? modules_open(s->modules, map) : NULL;
	struct debug_place places[INLINED_MAX + 1];
	struct names *names;
	uint64_t svma;
	size_t n;

	if (!module || !module->image || !modules_svma(module, map, at, &svma))
		return 0;
	names = names_of(s, map, module);
	n = names->info ? debug_info_at(names->info, svma, places) : 0;
	return n ? n - 1 : 0;
}

size_t symbols_inlined(struct symbols *s, raddr_t at, uint32_t module)
{
	uint64_t *known;
	bool fresh;

	/* Most files have no debug information. */
	if (!module || (module <= s->cap && s->list[module - 1].ready && !s->list[module - 1].info))
		return 0;
	known = map64_put(&s->inlined, map64_key(hash_step(hash_step(module, at), at)), &fresh);
	if (!*known)
		*known = count_inlined(s, at) + 1;
	return *known - 1;
}

/* The name, file and line of the one of them that `inner` tells. */
static bool name_by_debug_info(struct names *names, uint64_t svma, size_t inner, char *name, size_t cap,
			       struct strings *strings, struct frame_info *ret)
{
	struct debug_place places[INLINED_MAX + 1];
	size_t n = names->info ? debug_info_at(names->info, svma, places) : 0;
	const struct debug_place *p = &places[inner];

	if (inner >= n)
		return false;
	if (p->file)
		ret->file = strings_add(strings, p->file, strlen(p->file));
	ret->line = p->line;
	ret->first_line = p->first_line;
	if (!p->function)
		return false;
	demangle(p->function, name, cap);
	return true;
}

/* The file and line, too, of what no debug information tells. */
static const char *name_by_go(struct names *names, uint64_t svma, struct strings *strings, struct frame_info *ret)
{
	struct go_place place;

	if (!names->go || !go_table_at(names->go, svma, &place))
		return NULL;
	if (place.file && !ret->file) {
		ret->file = strings_add(strings, place.file, strlen(place.file));
		ret->line = place.line;
		ret->first_line = place.first_line;
	}
	return place.function;
}

static void name_by_symbol(struct names *names, const struct module *module, uint64_t svma, const char *go, char *name,
			   size_t cap)
{
	const struct symbol *symbol = symbol_table_find(&names->table, svma);

	if (symbol) {
		demangle(symbol->name, name, cap);
		name[strcspn(name, "@")] = 0; /* a symbol's version */
	} else if (go) {
		snprintf(name, cap, "%s", go);
	} else {
		snprintf(name, cap, "%.900s+0x%" PRIx64, base_name(module->path), function_start(module->image, svma));
	}
}

struct err symbols_name(struct symbols *s, raddr_t at, size_t inner, struct strings *strings, struct frame_info *ret)
{
	const struct code_map *map = modules_map(s->modules, at);
	const struct module *module;
	struct frame_info found = { 0 };
	char name[NAME_BYTES], marked[NAME_BYTES + 16];
	struct names *names;
	uint64_t svma;

	if (!map)
		return err_at(ERR_FAULT, at, "naming native code");
	module = modules_open(s->modules, map);
	if (!module || !module->image || !modules_svma(module, map, at, &svma)) {
		*ret = info_of(strings, module ? "[unknown]" : "[jit]", module ? module->path : "");
		return OK;
	}
	names = names_of(s, map, module);
	if (name_by_debug_info(names, svma, inner, name, sizeof(name), strings, &found)) {
		snprintf(marked, sizeof(marked), "%s [inlined]", name);
		*ret = info_of(strings, marked, module->path);
		ret->name = strings_add(strings, name, strlen(name));
	} else {
		name_by_symbol(names, module, svma, name_by_go(names, svma, strings, &found), name, sizeof(name));
		*ret = info_of(strings, name, module->path);
	}
	ret->file = found.file;
	ret->line = found.line;
	ret->first_line = found.first_line;
	return OK;
}
