/* target.h - one process under observation: its maps, threads, files and memory. */
#ifndef CSPY_TARGET_H
#define CSPY_TARGET_H

#include "cspy/image.h"
#include "cspy/memory.h"

struct mapping {
	raddr_t start, end;
	uint64_t offset;
	uint64_t dev, inode;
	uint32_t prot;	  /* PROT_READ | PROT_WRITE | PROT_EXEC */
	bool deleted;	  /* the file was unlinked or replaced since */
	const char *path; /* "" when anonymous; lives until maps_refresh() */
};

/* Ascending, not overlapping. */
struct maps {
	struct mapping *list;
	size_t count, cap;
	char *text; /* what the paths point into */
};

MUST_CHECK struct err maps_parse(char *text, struct maps *ret); /* takes `text` (malloc) over */
void maps_free(struct maps *m);
const struct mapping *maps_find(const struct maps *m, raddr_t at);

enum thread_state {
	THREAD_UNKNOWN,
	THREAD_RUNNING, /* on a CPU or waiting for one: R */
	THREAD_SLEEPING,
	THREAD_DISK,	/* D */
	THREAD_STOPPED, /* T or t */
	THREAD_DEAD,	/* zombie, dead or no such thread */
};

/* Why a thread does not run. */
enum thread_wait {
	WAIT_UNKNOWN, /* the kernel does not tell */
	WAIT_NONE,    /* it runs */
	WAIT_FUTEX,   /* a lock, a condition, a thread: .at says which */
	WAIT_EPOLL,
	WAIT_POLL,
	WAIT_READ,
	WAIT_WRITE,
	WAIT_ACCEPT,
	WAIT_CONNECT,
	WAIT_SLEEP,
	WAIT_CHILD,
	WAIT_SIGNAL,
	WAIT_FILE, /* a file's lock or its way to the disk */
	WAIT_IO,   /* a completion queue */
	WAIT_OTHER,
	WAIT_FAULT, /* a page */
	WAIT_KINDS,
};

struct thread_wait_info {
	enum thread_wait kind;
	raddr_t at; /* WAIT_FUTEX: the address that it waits at; else 0 */
};

/* Of schedstat; both only grow. */
struct thread_runs {
	uint64_t count;	    /* times that it got a CPU */
	uint64_t waited_ns; /* for one, before those */
};

struct thread {
	pid_t tid;    /* as cspy sees it */
	pid_t ns_tid; /* as the target sees it, in its own pid namespace */
	/* stat and schedstat of /proc/PID/task/TID kept open: a third and an eighth of the price of opening them; -1
	 * until needed. */
	int stat_fd, runs_fd;
	uint32_t seen; /* generation of the last listing that had it */
};

/* A core file's; private to core.c. */
struct core;
/* See src/debug_server.h. */
struct debug_server;

struct target {
	pid_t pid;
	pid_t ns_pid;	       /* in the target's own pid namespace */
	int pidfd;	       /* -1 where the kernel has none */
	int proc;	       /* /proc/PID, a directory */
	struct memory *memory; /* owned */
	struct maps maps;
	struct thread *threads;
	size_t thread_count, thread_cap;
	uint32_t thread_generation;
	struct core *core;		   /* of a process that is no more; NULL for a live one */
	struct debug_server *debug_server; /* for debug files, where the user wants that; borrowed, or NULL */
	uint64_t start_time;		   /* field 22 of stat: together with the pid it names a process for ever */
};

MUST_CHECK struct err target_open(pid_t pid, struct target **ret);
void target_close(struct target *t); /* accepts NULL */
MUST_CHECK struct err target_refresh_maps(struct target *t);
MUST_CHECK struct err target_refresh_threads(struct target *t);
/* ERR_GONE once the process has ended or its pid means another one. */
MUST_CHECK struct err target_alive(struct target *t);
/* By the id that the target's own memory holds; NULL when no such thread is listed (refresh, then ask again). */
struct thread *target_thread(struct target *t, pid_t ns_tid);
enum thread_state target_thread_state(struct target *t, struct thread *th);
/* And the CPU where it is, or would go on; -1 when that can't be told. */
enum thread_state target_thread_state_cpu(struct target *t, struct thread *th, int *ret_cpu);
/* How often it got a CPU, and how long it had waited for one by then; false where the kernel does not tell. */
bool target_thread_runs(struct target *t, struct thread *th, struct thread_runs *ret);
/* By the system call that it is in (some 5 us). */
struct thread_wait_info target_thread_wait(struct target *t, pid_t tid);
/* Where a thread that sleeps will go on, and its stack pointer there; false when it runs or the kernel does not tell.
 */
bool target_thread_asleep_at(struct target *t, pid_t tid, raddr_t *ret_pc, raddr_t *ret_sp);
/* In words: "read of 5 (pipe:[4711])", "futex", "wait for process 17"; "" when it does not wait or that can't be told.
 */
void target_thread_wait_text(struct target *t, pid_t tid, char *buf, size_t cap);
/* "futex", "read", ... by enum thread_wait; NULL-terminated. */
const char *const *target_wait_names(void);
/* CPU time that a thread, or with tid 0 the whole process, has used, in ns; 0 when it can't be read. */
uint64_t target_cpu(struct target *t, pid_t tid);
/* comm of a thread; "" when it can't be read. */
void target_thread_comm(struct target *t, pid_t tid, char *buf, size_t cap);
/*
 * Open a file as the target sees it: inside its root, regular files only, never blocking, nothing followed out
 * of the root. For a mapping that is deleted or replaced, its bytes through /proc/PID/map_files.
 */
MUST_CHECK struct err target_open_file(struct target *t, const char *path, int *ret);
/* The same in a folder where anybody may write: a path that ends in a link is refused, wherever it leads. */
MUST_CHECK struct err target_open_shared(struct target *t, const char *path, int *ret);
MUST_CHECK struct err target_open_mapping(struct target *t, const struct mapping *m, int *ret);
/* Command line with spaces for NULs, executable's path; always terminated. */
void target_cmdline(struct target *t, char *buf, size_t cap);
void target_exe(struct target *t, char *buf, size_t cap);

#endif
