/* wait.c - what a sleeping thread waits for, as the kernel tells it. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "procfs.h"
#include "wait.h"

enum subject {
	NOTHING,
	DESCRIPTOR, /* the first argument */
	PROCESS,    /* the first argument, as the target counts */
};

static const struct {
	long number;
	const char *name;
	enum subject subject;
} calls[] = {
	{ SYS_read, "read", DESCRIPTOR },
	{ SYS_pread64, "pread", DESCRIPTOR },
	{ SYS_readv, "readv", DESCRIPTOR },
	{ SYS_write, "write", DESCRIPTOR },
	{ SYS_writev, "writev", DESCRIPTOR },
	{ SYS_pwrite64, "pwrite", DESCRIPTOR },
	{ SYS_recvfrom, "recv", DESCRIPTOR },
	{ SYS_recvmsg, "recvmsg", DESCRIPTOR },
	{ SYS_sendto, "send", DESCRIPTOR },
	{ SYS_sendmsg, "sendmsg", DESCRIPTOR },
	{ SYS_accept, "accept", DESCRIPTOR },
	{ SYS_accept4, "accept", DESCRIPTOR },
	{ SYS_connect, "connect", DESCRIPTOR },
	{ SYS_flock, "flock", DESCRIPTOR },
	{ SYS_fcntl, "fcntl", DESCRIPTOR },
	{ SYS_fsync, "fsync", DESCRIPTOR },
	{ SYS_fdatasync, "fdatasync", DESCRIPTOR },
	{ SYS_ioctl, "ioctl", DESCRIPTOR },
	{ SYS_epoll_pwait, "epoll", NOTHING },
#ifdef SYS_epoll_wait
	{ SYS_epoll_wait, "epoll", NOTHING },
#endif
#ifdef SYS_poll
	{ SYS_poll, "poll", NOTHING },
#endif
#ifdef SYS_select
	{ SYS_select, "select", NOTHING },
#endif
#ifdef SYS_pause
	{ SYS_pause, "pause", NOTHING },
#endif
	{ SYS_ppoll, "poll", NOTHING },
	{ SYS_pselect6, "select", NOTHING },
	{ SYS_futex, "futex", NOTHING },
	{ SYS_wait4, "wait", PROCESS },
	{ SYS_waitid, "wait", NOTHING },
	{ SYS_nanosleep, "sleep", NOTHING },
	{ SYS_clock_nanosleep, "sleep", NOTHING },
	{ SYS_semop, "semop", NOTHING },
	{ SYS_semtimedop, "semop", NOTHING },
	{ SYS_msgrcv, "msgrcv", NOTHING },
	{ SYS_rt_sigsuspend, "sigsuspend", NOTHING },
	{ SYS_rt_sigtimedwait, "sigwait", NOTHING },
	{ SYS_io_getevents, "io_getevents", NOTHING },
	{ SYS_restart_syscall, "a system call begun anew", NOTHING },
};

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
	size_t i = 0;

	while (i < countof(calls) && calls[i].number != number)
		i++;
	if (i == countof(calls))
		snprintf(buf, cap, "system call %ld", number);
	else if (calls[i].subject == DESCRIPTOR)
		describe_descriptor(t, calls[i].name, first & UINT32_MAX, buf, cap);
	else if (calls[i].subject == PROCESS && (int32_t)first > 0)
		snprintf(buf, cap, "%s for process %" PRId32, calls[i].name, (int32_t)first);
	else
		snprintf(buf, cap, "%s", calls[i].name);
}

/* Where in the kernel: all that is told without the right to trace. */
static void describe_place(struct target *t, pid_t tid, char *buf, size_t cap)
{
	char path[64], text[64];

	snprintf(path, sizeof(path), "task/%d/wchan", (int)tid);
	if (procfs_read_buf(t->proc, path, text, sizeof(text)) > 0 && strcmp(text, "0") != 0)
		snprintf(buf, cap, "%s (kernel)", text);
}

void wait_describe(struct target *t, pid_t tid, char *buf, size_t cap)
{
	char path[64], text[256];
	uint64_t first;
	long number;

	buf[0] = 0;
	if (t->core)
		return;
	snprintf(path, sizeof(path), "task/%d/syscall", (int)tid);
	/* "running", or the call's number and arguments; -1: in the kernel for another reason. */
	if (procfs_read_buf(t->proc, path, text, sizeof(text)) <= 0)
		describe_place(t, tid, buf, cap);
	else if (sscanf(text, "%ld %" SCNx64, &number, &first) == 2 && number >= 0)
		describe_call(t, number, first, buf, cap);
}
