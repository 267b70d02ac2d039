/* jitdump.h - the dump that a JIT writes of its code: jit-PID.dump, with names, code and lines in binary records. */
#ifndef CSPY_JITDUMP_H
#define CSPY_JITDUMP_H

#include "cspy/perfmap.h"

/*
 * The very file that the process has mapped executable, whose name is that of a dump: so whoever writes one says where
 * it is. Part of what perfmap.h offers: these do what their namesakes there do. Bounded: some 40 MB.
 */
struct jitdump;
struct jitdump *jitdump_new(struct target *t); /* borrowed */
void jitdump_free(struct jitdump *d);	       /* accepts NULL */
bool jitdump_exists(struct target *t);
void jitdump_mark(struct jitdump *d);
bool jitdump_read(struct jitdump *d);

/* Set in the `line` of each perfmap_code that comes from a dump. */
#define JITDUMP_LINE (1ull << 62)
bool jitdump_find(const struct jitdump *d, raddr_t at, struct perfmap_code *ret);
MUST_CHECK struct err jitdump_name(struct jitdump *d, raddr_t start, uint64_t line, struct strings *strings,
				   struct frame_info *ret);

#endif
