/* debug_info.h - source lines and inlined functions of one ELF file, out of its DWARF. */
#ifndef CSPY_DEBUG_INFO_H
#define CSPY_DEBUG_INFO_H

#include "cspy/image.h"

enum { INLINED_MAX = 32 }; /* of one address; more are left out */

struct debug_info;
/* NULL: it has none, or it lies elsewhere or is too large. The image is borrowed. */
struct debug_info *debug_info_new(struct image *img);
void debug_info_free(struct debug_info *d); /* accepts NULL */

/* Texts live as long as the image's debug information; NULL: not known. */
struct debug_place {
	const char
		*function; /* mangled, where it is; NULL for the function that was not inlined: its symbol names it */
	const char *file;
	uint32_t line;	     /* 0: not known */
	uint32_t first_line; /* of the function; 0: not known */
};

/*
 * What the code at an address belongs to: the functions that were inlined there, innermost first, then the function
 * itself. How many; 0: nothing is known.
 */
size_t debug_info_at(struct debug_info *d, uint64_t svma, struct debug_place ret[INLINED_MAX + 1]);

#endif
