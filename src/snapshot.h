/* snapshot.h - the file format that memory_record.c writes and memory_snapshot.c reads. */
#ifndef CSPY_SNAPSHOT_H
#define CSPY_SNAPSHOT_H

#include "cspy/base.h"

/*
 * Numbers are little-endian. The header is followed by the notes ("key=value\n" lines, no NUL), by the ranges
 * (ascending, not overlapping, none empty), and by their bytes one after the other to the end of the file.
 */
#define SNAPSHOT_MAGIC "CSPYSNAP"
enum { SNAPSHOT_VERSION = 1 };

#define SNAPSHOT_BYTES (1ull << 30) /* of the whole file, at most */
#define SNAPSHOT_NOTES (1u << 24)   /* bytes of notes, at most */

struct snapshot_header {
	char magic[8];
	uint32_t version;
	uint32_t notes;	 /* bytes */
	uint64_t ranges; /* how many */
};

struct snapshot_range {
	raddr_t at;
	uint64_t len;
};

#endif
