/* debug_file.h - symbols that an ELF file was stripped of: compressed inside it, or in a file beside it. */
#ifndef CSPY_DEBUG_FILE_H
#define CSPY_DEBUG_FILE_H

#include "cspy/target.h"

/* Each gives an image to be closed, or NULL where there is none. */
struct image *debug_file_inside(struct image *img); /* .gnu_debugdata */
/* By build id, in the target's own folders, then in cspy's. */
struct image *debug_file_beside(struct target *t, struct image *img);
/* From a debuginfod server, where the user wants that: see target.debug_server. */
struct image *debug_file_served(struct target *t, struct image *img);

#endif
