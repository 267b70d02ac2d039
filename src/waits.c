/* waits.c - what a thread waits for, by the system call that it is in, and how much CPU time was used. */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cspy/target.h"
#include "procfs.h"

static const char *const names[WAIT_KINDS + 1] = {
	[WAIT_UNKNOWN] = "wait",    [WAIT_NONE] = "run",    [WAIT_FUTEX] = "futex",   [WAIT_EPOLL] = "epoll",
	[WAIT_POLL] = "poll",	    [WAIT_READ] = "read",   [WAIT_WRITE] = "write",   [WAIT_ACCEPT] = "accept",
	[WAIT_CONNECT] = "connect", [WAIT_SLEEP] = "sleep", [WAIT_CHILD] = "child",   [WAIT_SIGNAL] = "signal",
	[WAIT_FILE] = "file",	    [WAIT_IO] = "io",	    [WAIT_OTHER] = "syscall", [WAIT_FAULT] = "page",
};

/* Not every architecture has every call: the older of two that do the same is missing on newer ones. */
static const struct {
	long number;
	enum thread_wait kind;
} calls[] = {
	{ SYS_futex, WAIT_FUTEX },
	{ SYS_epoll_pwait, WAIT_EPOLL },
	{ SYS_ppoll, WAIT_POLL },
	{ SYS_pselect6, WAIT_POLL },
	{ SYS_read, WAIT_READ },
	{ SYS_readv, WAIT_READ },
	{ SYS_pread64, WAIT_READ },
	{ SYS_recvfrom, WAIT_READ },
	{ SYS_recvmsg, WAIT_READ },
	{ SYS_write, WAIT_WRITE },
	{ SYS_writev, WAIT_WRITE },
	{ SYS_pwrite64, WAIT_WRITE },
	{ SYS_sendto, WAIT_WRITE },
	{ SYS_sendmsg, WAIT_WRITE },
	{ SYS_accept, WAIT_ACCEPT },
	{ SYS_accept4, WAIT_ACCEPT },
	{ SYS_connect, WAIT_CONNECT },
	{ SYS_nanosleep, WAIT_SLEEP },
	{ SYS_clock_nanosleep, WAIT_SLEEP },
	{ SYS_wait4, WAIT_CHILD },
	{ SYS_waitid, WAIT_CHILD },
	{ SYS_rt_sigtimedwait, WAIT_SIGNAL },
	{ SYS_rt_sigsuspend, WAIT_SIGNAL },
	{ SYS_flock, WAIT_FILE },
	{ SYS_fcntl, WAIT_FILE },
	{ SYS_fsync, WAIT_FILE },
	{ SYS_fdatasync, WAIT_FILE },
	{ SYS_io_getevents, WAIT_IO },
	{ SYS_io_uring_enter, WAIT_IO },
#ifdef SYS_epoll_pwait2
	{ SYS_epoll_pwait2, WAIT_EPOLL },
#endif
#ifdef SYS_epoll_wait
	{ SYS_epoll_wait, WAIT_EPOLL },
#endif
#ifdef SYS_poll
	{ SYS_poll, WAIT_POLL },
#endif
#ifdef SYS_select
	{ SYS_select, WAIT_POLL },
#endif
#ifdef SYS_pause
	{ SYS_pause, WAIT_SIGNAL },
#endif
};

const char *const *target_wait_names(void)
{
	return names;
}

static enum thread_wait kind_of(long number)
{
	for (size_t i = 0; i < countof(calls); i++)
		if (calls[i].number == number)
			return calls[i].kind;
	return WAIT_OTHER;
}

/* Where the kernel hides system calls, the name of the function that it sleeps in still tells something. */
static enum thread_wait by_wchan(struct target *t, pid_t tid)
{
	static const struct {
		const char *part;
		enum thread_wait kind;
	} parts[] = {
		{ "futex", WAIT_FUTEX }, { "ep_poll", WAIT_EPOLL },   { "poll", WAIT_POLL },  { "select", WAIT_POLL },
		{ "read", WAIT_READ },	 { "nanosleep", WAIT_SLEEP }, { "wait", WAIT_CHILD }, { "accept", WAIT_ACCEPT },
	};
	char path[64], text[128];

	snprintf(path, sizeof(path), "task/%d/wchan", (int)tid);
	procfs_read_buf(t->proc, path, text, sizeof(text));
	for (size_t i = 0; i < countof(parts); i++)
		if (strstr(text, parts[i].part))
			return parts[i].kind;
	return WAIT_UNKNOWN;
}

struct thread_wait_info target_thread_wait(struct target *t, pid_t tid)
{
	struct thread_wait_info ret = { WAIT_UNKNOWN, 0 };
	char path[64], text[256];
	uint64_t first = 0;
	long number;

	snprintf(path, sizeof(path), "task/%d/syscall", (int)tid);
	if (procfs_read_buf(t->proc, path, text, sizeof(text)) <= 0) {
		ret.kind = by_wchan(t, tid);
		return ret;
	}
	if (!strncmp(text, "running", 7)) {
		ret.kind = WAIT_NONE;
		return ret;
	}
	if (sscanf(text, "%ld %" SCNx64, &number, &first) < 1)
		return ret;
	ret.kind = number < 0 ? WAIT_FAULT : kind_of(number);
	ret.at = ret.kind == WAIT_FUTEX ? first : 0;
	return ret;
}

/* Kernels without schedstat count in ticks, mostly of 10 ms. */
static uint64_t cpu_by_ticks(struct target *t, const char *stat)
{
	uint64_t user = 0, system = 0;
	const char *after;
	char text[512];

	procfs_read_buf(t->proc, stat, text, sizeof(text));
	after = strrchr(text, ')');
	if (!after ||
	    sscanf(after + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %" SCNu64 " %" SCNu64, &user, &system) != 2)
		return 0;
	return (user + system) * (1000000000ull / (uint64_t)sysconf(_SC_CLK_TCK));
}

uint64_t target_cpu(struct target *t, pid_t tid)
{
	char path[64], text[128];
	uint64_t ns = 0;

	/* The process's own schedstat is that of its first thread only. */
	if (!tid)
		return cpu_by_ticks(t, "stat");
	snprintf(path, sizeof(path), "task/%d/schedstat", (int)tid);
	if (procfs_read_buf(t->proc, path, text, sizeof(text)) > 0 && sscanf(text, "%" SCNu64, &ns) == 1)
		return ns;
	snprintf(path, sizeof(path), "task/%d/stat", (int)tid);
	return cpu_by_ticks(t, path);
}
