/* modules.h - the executable mappings of a target and the ELF files behind them. */
#ifndef CSPY_MODULES_H
#define CSPY_MODULES_H

#include "cspy/unwind.h"

/* One file, or the vdso; what others keep with it they free in their own time. */
struct module {
	uint64_t dev, inode;
	char *path;
	struct image *image; /* NULL: can't be read, or is no ELF file */
	bool opened;
};

/* One executable mapping: the bias is the mapping's own, for a file may be mapped in many places. */
struct code_map {
	raddr_t start, end;
	uint64_t offset;
	uint32_t module; /* number, or MODULE_NONE: code that no file holds */
};

enum { MODULES_MAX = 4096 };
static const uint32_t MODULE_NONE = UINT32_MAX;

/* Read the mappings again when it is time to. */
void modules_refresh(struct modules *m);
/* Another number than before: mappings have changed, and what is known by address is not true any more. */
uint64_t modules_generation(const struct modules *m);
/* NULL: the address is not in executable memory. Mappings may be read again for it; valid until the next call. */
const struct code_map *modules_map(struct modules *m, raddr_t at);
/* NULL: MODULE_NONE. Opens the file when it was not; valid until mappings are read again. */
struct module *modules_open(struct modules *m, const struct code_map *map);
/* What the file itself calls the address; false when none of its segments holds it. */
bool modules_svma(const struct module *module, const struct code_map *map, raddr_t at, uint64_t *ret);
struct target *modules_target(struct modules *m);

#endif
