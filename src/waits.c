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

enum subject {
	NOTHING,
	DESCRIPTOR, /* the first argument */
	PROCESS,    /* the first argument, as the target counts */
};

/* Not every architecture has every call: the older of two that do the same is missing on newer ones. */
static const struct call {
	long number;
	enum thread_wait kind;
	const char *name;
	enum subject subject;
} calls[] = {
	{ SYS_futex, WAIT_FUTEX, "futex", NOTHING },
	{ SYS_epoll_pwait, WAIT_EPOLL, "epoll", NOTHING },
	{ SYS_ppoll, WAIT_POLL, "poll", NOTHING },
	{ SYS_pselect6, WAIT_POLL, "select", NOTHING },
	{ SYS_read, WAIT_READ, "read", DESCRIPTOR },
	{ SYS_readv, WAIT_READ, "readv", DESCRIPTOR },
	{ SYS_pread64, WAIT_READ, "pread", DESCRIPTOR },
	{ SYS_recvfrom, WAIT_READ, "recv", DESCRIPTOR },
	{ SYS_recvmsg, WAIT_READ, "recvmsg", DESCRIPTOR },
	{ SYS_write, WAIT_WRITE, "write", DESCRIPTOR },
	{ SYS_writev, WAIT_WRITE, "writev", DESCRIPTOR },
	{ SYS_pwrite64, WAIT_WRITE, "pwrite", DESCRIPTOR },
	{ SYS_sendto, WAIT_WRITE, "send", DESCRIPTOR },
	{ SYS_sendmsg, WAIT_WRITE, "sendmsg", DESCRIPTOR },
	{ SYS_accept, WAIT_ACCEPT, "accept", DESCRIPTOR },
	{ SYS_accept4, WAIT_ACCEPT, "accept", DESCRIPTOR },
	{ SYS_connect, WAIT_CONNECT, "connect", DESCRIPTOR },
	{ SYS_nanosleep, WAIT_SLEEP, "sleep", NOTHING },
	{ SYS_clock_nanosleep, WAIT_SLEEP, "sleep", NOTHING },
	{ SYS_wait4, WAIT_CHILD, "wait", PROCESS },
	{ SYS_waitid, WAIT_CHILD, "wait", NOTHING },
	{ SYS_rt_sigtimedwait, WAIT_SIGNAL, "sigwait", NOTHING },
	{ SYS_rt_sigsuspend, WAIT_SIGNAL, "sigsuspend", NOTHING },
	{ SYS_flock, WAIT_FILE, "flock", DESCRIPTOR },
	{ SYS_fcntl, WAIT_FILE, "fcntl", DESCRIPTOR },
	{ SYS_fsync, WAIT_FILE, "fsync", DESCRIPTOR },
	{ SYS_fdatasync, WAIT_FILE, "fdatasync", DESCRIPTOR },
	{ SYS_ioctl, WAIT_OTHER, "ioctl", DESCRIPTOR },
	{ SYS_semop, WAIT_OTHER, "semop", NOTHING },
	{ SYS_semtimedop, WAIT_OTHER, "semop", NOTHING },
	{ SYS_msgrcv, WAIT_OTHER, "msgrcv", NOTHING },
	{ SYS_io_getevents, WAIT_IO, "io_getevents", NOTHING },
	{ SYS_io_uring_enter, WAIT_IO, "io_uring", NOTHING },
	{ SYS_restart_syscall, WAIT_OTHER, "a system call begun anew", NOTHING },
#ifdef SYS_epoll_pwait2
	{ SYS_epoll_pwait2, WAIT_EPOLL, "epoll", NOTHING },
#endif
#ifdef SYS_epoll_wait
	{ SYS_epoll_wait, WAIT_EPOLL, "epoll", NOTHING },
#endif
#ifdef SYS_poll
	{ SYS_poll, WAIT_POLL, "poll", NOTHING },
#endif
#ifdef SYS_select
	{ SYS_select, WAIT_POLL, "select", NOTHING },
#endif
#ifdef SYS_pause
	{ SYS_pause, WAIT_SIGNAL, "pause", NOTHING },
#endif
};

const char *const *target_wait_names(void)
{
	return names;
}

/* NULL: none of those. */
static const struct call *call_of(long number)
{
	for (size_t i = 0; i < countof(calls); i++)
		if (calls[i].number == number)
			return &calls[i];
	return NULL;
}

enum in_kernel { IN_CALL, ELSEWHERE, RUNNING, NOT_TOLD };

/* The system call that a thread is in, and its first argument. */
static enum in_kernel current_call(struct target *t, pid_t tid, long *number, uint64_t *first)
{
	char path[64], text[256];

	*first = 0;
	snprintf(path, sizeof(path), "task/%d/syscall", (int)tid);
	if (procfs_read_buf(t->proc, path, text, sizeof(text)) <= 0)
		return NOT_TOLD;
	if (!strncmp(text, "running", 7))
		return RUNNING;
	/* -1: in the kernel for another reason. */
	return sscanf(text, "%ld %" SCNx64, number, first) >= 1 && *number >= 0 ? IN_CALL : ELSEWHERE;
}

bool target_thread_asleep_at(struct target *t, pid_t tid, raddr_t *ret_pc, raddr_t *ret_sp)
{
	char path[64], text[256], *last, *before;

	snprintf(path, sizeof(path), "task/%d/syscall", (int)tid);
	if (procfs_read_buf(t->proc, path, text, sizeof(text)) <= 0)
		return false;
	/* The call and its arguments, if there is one, then both. */
	last = strrchr(text, ' ');
	if (!last)
		return false;
	*last = 0;
	before = strrchr(text, ' ');
	return before && sscanf(before + 1, "%" SCNx64, ret_sp) == 1 && sscanf(last + 1, "%" SCNx64, ret_pc) == 1;
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
	const struct call *call;
	uint64_t first;
	long number;

	switch (current_call(t, tid, &number, &first)) {
	case IN_CALL:
		call = call_of(number);
		return (struct thread_wait_info){
			.kind = call ? call->kind : WAIT_OTHER,
			.at = call && call->kind == WAIT_FUTEX ? first : 0,
		};
	case ELSEWHERE:
		return (struct thread_wait_info){ .kind = WAIT_FAULT };
	case RUNNING:
		return (struct thread_wait_info){ .kind = WAIT_NONE };
	default:
		return (struct thread_wait_info){ .kind = by_wchan(t, tid) };
	}
}

static void describe_descriptor(struct target *t, const char *call, uint64_t fd, char *buf, size_t cap)
{
	char path[64], file[256];
	ssize_t got;

	snprintf(path, sizeof(path), "fd/%" PRIu64, fd);
	got = readlinkat(t->proc, path, file, sizeof(file) - 1);
	file[got > 0 ? got : 0] = 0;
	snprintf(buf, cap, "%s of %" PRIu64 "%s%s%s", call, fd, got > 0 ? " (" : "", file, got > 0 ? ")" : "");
}

static void describe_call(struct target *t, long number, uint64_t first, char *buf, size_t cap)
{
	const struct call *call = call_of(number);

	if (!call)
		snprintf(buf, cap, "system call %ld", number);
	else if (call->subject == DESCRIPTOR)
		describe_descriptor(t, call->name, first & UINT32_MAX, buf, cap);
	else if (call->subject == PROCESS && (int32_t)first > 0)
		snprintf(buf, cap, "%s for process %" PRId32, call->name, (int32_t)first);
	else
		snprintf(buf, cap, "%s", call->name);
}

/* Where in the kernel: all that is told without the right to trace. */
static void describe_place(struct target *t, pid_t tid, char *buf, size_t cap)
{
	char path[64], text[64];

	snprintf(path, sizeof(path), "task/%d/wchan", (int)tid);
	if (procfs_read_buf(t->proc, path, text, sizeof(text)) > 0 && strcmp(text, "0") != 0)
		snprintf(buf, cap, "%s (kernel)", text);
}

void target_thread_wait_text(struct target *t, pid_t tid, char *buf, size_t cap)
{
	uint64_t first;
	long number;

	buf[0] = 0;
	if (t->core)
		return;
	switch (current_call(t, tid, &number, &first)) {
	case IN_CALL:
		describe_call(t, number, first, buf, cap);
		break;
	case NOT_TOLD:
		describe_place(t, tid, buf, cap);
		break;
	default:
		break;
	}
}

/* Kernels without schedstat count in ticks, mostly of 10 ms. */
static uint64_t cpu_by_ticks(struct target *t, const char *name)
{
	struct procfs_stat stat;
	char text[1024];

	if (procfs_read_buf(t->proc, name, text, sizeof(text)) <= 0 || !procfs_parse_stat(text, &stat))
		return 0;
	return (stat.user + stat.system) * (1000000000ull / (uint64_t)sysconf(_SC_CLK_TCK));
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
