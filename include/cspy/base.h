/* base.h - words every other header speaks: remote addresses, ids, errors, scope guards. */
#ifndef CSPY_BASE_H
#define CSPY_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define MUST_CHECK __attribute__((warn_unused_result))

/* An address in the target. An integer on purpose: it cannot be dereferenced here. */
typedef uint64_t raddr_t;
typedef uint32_t str_id;   /* interned string, 0 = "" */
typedef uint32_t frame_id; /* interned frame, 0 = none */
typedef uint32_t node_id;  /* stack trie node, 0 = root */

/* Codes name what the caller should do next, not where the failure happened. */
enum err_code {
	ERR_NONE,	 /* carry on */
	ERR_FAULT,	 /* address unreadable: drop this thread's sample, it is routine */
	ERR_CORRUPT,	 /* bytes read but implausible: drop this thread's sample */
	ERR_GONE,	 /* target exited: finish cleanly */
	ERR_DENIED,	 /* no permission: tell the user how to get it */
	ERR_UNSUPPORTED, /* not ours, or a version without layout: try the next runtime */
	ERR_OS,		 /* anything else, see .os */
	ERR_CODES,	 /* how many there are */
};

/* Returned by value and never allocated: failing is cheap enough for the sample path. */
struct err {
	enum err_code code;
	int os;		  /* errno, or 0 */
	raddr_t at;	  /* remote address, or 0 */
	const char *what; /* static string: what was being done */
};

#define OK ((struct err){ ERR_NONE, 0, 0, NULL })

static inline bool failed(struct err e)
{
	return e.code != ERR_NONE;
}

static inline struct err err_at(enum err_code code, raddr_t at, const char *what)
{
	return (struct err){ code, 0, at, what };
}

/* err.c: from errno; ESRCH becomes ERR_GONE, EPERM and EACCES ERR_DENIED, EFAULT ERR_FAULT, the rest ERR_OS. */
struct err err_errno(int os, const char *what);
const char *err_code_name(enum err_code code); /* "fault", "corrupt", ... for statistics */

#define CLEANUP(fn) __attribute__((cleanup(fn)))

/* xalloc.c: out of memory ends the program with a message, so these never return NULL. */
void *xcalloc(size_t n, size_t size);
void *xrealloc(void *p, size_t n, size_t size);
char *xstrdup(const char *s);
char *xasprintf(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* Allocations made so far by the three above: a test asserts that the warm sample path makes none. */
uint64_t xalloc_count(void);
/* Make room for `want` elements of `size` in *p (capacity *cap); new room is zeroed. */
void xgrow(void *p, size_t *cap, size_t want, size_t size);

/* For CLEANUP: free(*p) of any pointer. */
void cleanup_free(void *p);
void cleanup_close(int *fd); /* closes unless negative */

#define countof(a) (sizeof(a) / sizeof((a)[0]))

#endif
