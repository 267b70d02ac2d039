/* target.c - one process: opened, found again, and known to be the same one. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core.h"
#include "procfs.h"
#include "threads.h"

/* The last field of "NSpid:" is the id in the innermost namespace, the target's own. */
static pid_t innermost_pid(int proc, pid_t pid)
{
	CLEANUP(cleanup_free) char *status = procfs_read(proc, "status", NULL);
	const char *value = status ? procfs_status_value(status, "NSpid") : NULL;
	long last = pid;

	while (value && *value && *value != '\n') {
		char *end;
		long v = strtol(value, &end, 10);

		if (end == value)
			break;
		last = v;
		value = end + strspn(end, " \t");
	}
	return (pid_t)last;
}

static struct err read_stat(int proc, struct procfs_stat *ret)
{
	char buf[1024];
	ssize_t got = procfs_read_buf(proc, "stat", buf, sizeof(buf));

	if (got < 0)
		return err_errno(errno == ENOENT ? ESRCH : errno, "looking at the process");
	if (!procfs_parse_stat(buf, ret) || ret->state == 'Z' || ret->state == 'X')
		return err_at(ERR_GONE, 0, "looking at the process");
	return OK;
}

static struct err open_process(pid_t pid, struct target *t)
{
	char path[64];
	struct procfs_stat stat = { 0 };
	struct err e;

	snprintf(path, sizeof(path), "/proc/%d", (int)pid);
	t->proc = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (t->proc < 0)
		return err_errno(errno == ENOENT ? ESRCH : errno, "looking at the process");
	t->pidfd = (int)syscall(SYS_pidfd_open, pid, 0); /* -1 before Linux 5.3: stat tells as well */
	e = read_stat(t->proc, &stat);
	if (failed(e))
		return e;
	t->start_time = stat.start_time;
	t->ns_pid = innermost_pid(t->proc, pid);
	e = memory_process_open(pid, &t->memory);
	if (failed(e))
		return e;
	e = target_refresh_maps(t);
	return failed(e) ? e : target_refresh_threads(t);
}

/* A process costs some descriptors, and each of its threads up to two. */
static void raise_descriptor_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
}

struct err target_open(pid_t pid, struct target **ret)
{
	struct target *t = xcalloc(1, sizeof(*t));
	struct err e;

	raise_descriptor_limit();
	t->pid = pid;
	t->pidfd = t->proc = -1;
	e = open_process(pid, t);
	if (failed(e)) {
		target_close(t);
		return e;
	}
	*ret = t;
	return OK;
}

void target_close(struct target *t)
{
	if (!t)
		return;
	threads_free(t);
	maps_free(&t->maps);
	memory_close(t->memory);
	core_close(t->core);
	if (t->pidfd >= 0)
		close(t->pidfd);
	if (t->proc >= 0)
		close(t->proc);
	free(t);
}

struct err target_refresh_maps(struct target *t)
{
	char *text;

	if (t->core)
		return OK;
	text = procfs_read(t->proc, "maps", NULL);
	if (!text)
		return err_errno(errno == ENOENT ? ESRCH : errno, "reading the target's maps");
	maps_free(&t->maps);
	return maps_parse(text, &t->maps);
}

struct err target_alive(struct target *t)
{
	struct pollfd p = { t->pidfd, POLLIN, 0 };
	struct procfs_stat stat = { 0 };
	struct err e;

	if (t->core)
		return OK;
	if (t->pidfd >= 0)
		return poll(&p, 1, 0) > 0 ? err_at(ERR_GONE, 0, "looking at the process") : OK;
	e = read_stat(t->proc, &stat);
	if (failed(e))
		return e;
	return stat.start_time == t->start_time ? OK : err_at(ERR_GONE, 0, "looking at the process");
}

void target_cmdline(struct target *t, char *buf, size_t cap)
{
	if (t->core) {
		snprintf(buf, cap, "%s", t->core->command);
		return;
	}
	procfs_cmdline(t->proc, "cmdline", buf, cap);
}

void target_exe(struct target *t, char *buf, size_t cap)
{
	ssize_t got;

	if (t->core) {
		snprintf(buf, cap, "%s", t->core->file_count ? t->core->files[0].path : t->core->name);
		return;
	}
	got = readlinkat(t->proc, "exe", buf, cap - 1);
	buf[got > 0 ? got : 0] = 0;
}
