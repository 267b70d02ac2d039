/*
 * perfmap.h - what a JIT writes of its code: a map, /tmp/perf-PID.map, with an address, a size and a name a line; or a
 * dump, jit-PID.dump, in records.
 */
#ifndef CSPY_PERFMAP_H
#define CSPY_PERFMAP_H

#include "cspy/frame.h"
#include "cspy/target.h"

/*
 * The target's own map, as its root and its pid namespace have it: a regular file, no link, of the target's user or
 * root's, and no older than the process. It may come later, grow, begin anew or be replaced while it is read. Later
 * lines win over earlier ones. Bounded, whatever the file is: some 30 MB, since names stay in the file. The dump is the
 * file of that name that the process has mapped executable; an address that both know is the map's.
 */
struct perfmap;
struct perfmap *perfmap_new(struct target *t); /* borrowed */
void perfmap_free(struct perfmap *m);	       /* accepts NULL */
/* Has the process a map or a dump now? */
bool perfmap_exists(struct target *t);

/* While threads are held: lines that are written from now on are not for their stacks. */
void perfmap_mark(struct perfmap *m);
/* Take in what was there at the mark. False: there is neither. */
bool perfmap_read(struct perfmap *m);

/* What a line says. Its place in the file names it; in a dump with lines, the place in the code, too. */
struct perfmap_code {
	raddr_t start, end;
	uint64_t line;
	bool glue;	/* between functions, not one of them: a trampoline, a bytecode handler */
	uint32_t stamp; /* other lines have another one, nearly always */
};

bool perfmap_find(const struct perfmap *m, raddr_t at, struct perfmap_code *ret);
/* Function, file and line as the line has them. ERR_CORRUPT: the file has no such line any more. */
MUST_CHECK struct err perfmap_name(struct perfmap *m, raddr_t start, uint64_t line, struct strings *strings,
				   struct frame_info *ret);

#endif
