/* threads.c - the OS threads of a target and what each of them is doing. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cspy/target.h"
#include "procfs.h"

enum { THREADS_MAX = 1 << 16 };

static struct thread *find_tid(struct target *t, pid_t tid)
{
	for (size_t i = 0; i < t->thread_count; i++)
		if (t->threads[i].tid == tid)
			return &t->threads[i];
	return NULL;
}

/* Reading status costs 10 us, so only where the namespaces differ. */
static pid_t id_in_target(struct target *t, pid_t tid)
{
	char path[64];
	const char *value, *last;
	pid_t ret = tid;

	if (tid == t->pid)
		return t->ns_pid;
	if (t->ns_pid == t->pid)
		return tid;
	snprintf(path, sizeof(path), "task/%d/status", (int)tid);
	CLEANUP(cleanup_free) char *status = procfs_read(t->proc, path, NULL);
	value = status ? procfs_status_value(status, "NSpid") : NULL;
	if (value) {
		size_t len = strcspn(value, "\n");

		for (last = value + len; last > value && last[-1] != '\t' && last[-1] != ' ';)
			last--;
		ret = (pid_t)strtol(last, NULL, 10);
	}
	return ret;
}

static void add_thread(struct target *t, pid_t tid)
{
	struct thread *th = find_tid(t, tid);

	if (!th) {
		xgrow(&t->threads, &t->thread_cap, t->thread_count + 1, sizeof(*t->threads));
		th = &t->threads[t->thread_count++];
		*th = (struct thread){ .tid = tid, .ns_tid = id_in_target(t, tid), .stat_fd = -1 };
	}
	th->seen = t->thread_generation;
}

static void forget_ended(struct target *t)
{
	size_t kept = 0;

	for (size_t i = 0; i < t->thread_count; i++) {
		if (t->threads[i].seen == t->thread_generation)
			t->threads[kept++] = t->threads[i];
		else if (t->threads[i].stat_fd >= 0)
			close(t->threads[i].stat_fd);
	}
	t->thread_count = kept;
}

struct err target_refresh_threads(struct target *t)
{
	const struct dirent *entry;
	DIR *dir;
	int fd;

	if (t->core)
		return OK;
	fd = openat(t->proc, "task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	dir = fd >= 0 ? fdopendir(fd) : NULL;
	if (!dir) {
		struct err e = err_errno(errno == ENOENT ? ESRCH : errno, "listing the target's threads");

		if (fd >= 0)
			close(fd);
		return e;
	}
	t->thread_generation++;
	while ((entry = readdir(dir)) != NULL && t->thread_count < THREADS_MAX) {
		pid_t tid = (pid_t)strtol(entry->d_name, NULL, 10);

		if (tid > 0)
			add_thread(t, tid);
	}
	closedir(dir);
	forget_ended(t);
	return t->thread_count ? OK : err_at(ERR_GONE, 0, "listing the target's threads");
}

struct thread *target_thread(struct target *t, pid_t ns_tid)
{
	for (size_t i = 0; i < t->thread_count; i++)
		if (t->threads[i].ns_tid == ns_tid)
			return &t->threads[i];
	return NULL;
}

static enum thread_state state_of_letter(char letter)
{
	switch (letter) {
	case 'R':
		return THREAD_RUNNING;
	case 'S':
	case 'I':
		return THREAD_SLEEPING;
	case 'D':
		return THREAD_DISK;
	case 'T':
	case 't':
		return THREAD_STOPPED;
	case 'Z':
	case 'X':
	case 'x':
		return THREAD_DEAD;
	default:
		return THREAD_UNKNOWN;
	}
}

enum thread_state target_thread_state(struct target *t, struct thread *th)
{
	char buf[128]; /* the state follows the command, which has at most 64 bytes */
	const char *after;
	ssize_t got;

	if (t->core)
		return THREAD_DEAD;
	if (th->stat_fd < 0) {
		char path[64];

		snprintf(path, sizeof(path), "task/%d/stat", (int)th->tid);
		th->stat_fd = openat(t->proc, path, O_RDONLY | O_CLOEXEC);
	}
	if (th->stat_fd < 0)
		return errno == ENOENT ? THREAD_DEAD : THREAD_UNKNOWN;
	got = pread(th->stat_fd, buf, sizeof(buf) - 1, 0);
	if (got <= 0)
		return THREAD_DEAD;
	buf[got] = 0;
	after = strrchr(buf, ')');
	return after && after[1] ? state_of_letter(after[2]) : THREAD_UNKNOWN;
}

void target_thread_comm(struct target *t, pid_t tid, char *buf, size_t cap)
{
	char path[64];

	buf[0] = 0;
	if (t->core)
		return;
	snprintf(path, sizeof(path), "task/%d/comm", (int)tid);
	procfs_read_buf(t->proc, path, buf, cap);
	buf[strcspn(buf, "\n")] = 0;
}
