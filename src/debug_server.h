/* debug_server.h - debug files from a debuginfod server, for a user who asked for that. */
#ifndef CSPY_DEBUG_SERVER_H
#define CSPY_DEBUG_SERVER_H

#include "cspy/base.h"

struct debug_server;

/* While a file comes: of which module, and bytes so far, and in all where that is known (else 0). */
typedef void debug_server_say(void *arg, const char *name, uint64_t done, uint64_t all);

/*
 * By the system's libdebuginfod, which knows the servers (DEBUGINFOD_URLS) and keeps what came (DEBUGINFOD_CACHE_PATH).
 * It is loaded here: who does not call this has no code in the program that could reach a network. NULL: *why says it
 * in words.
 */
struct debug_server *debug_server_open(debug_server_say *say, void *arg, const char **why);
void debug_server_close(struct debug_server *s); /* accepts NULL */
/*
 * A descriptor of the debug file with this build id, or -1. Takes some seconds at most; a server that did not answer in
 * time is not asked again.
 */
int debug_server_fetch(struct debug_server *s, const char *name, const uint8_t *id, size_t len);
/* How many files were asked for, and how many came. */
void debug_server_count(const struct debug_server *s, unsigned *ret_asked, unsigned *ret_came);

#endif
