/* threads.c - the OS threads of a target and what each of them is doing. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cspy/target.h"
#include "procfs.h"
#include "threads.h"

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
		*th = (struct thread){ .tid = tid, .ns_tid = id_in_target(t, tid), .stat_fd = -1, .runs_fd = -1 };
	}
	th->seen = t->thread_generation;
}

static void close_files(struct thread *th)
{
	if (th->stat_fd >= 0)
		close(th->stat_fd);
	if (th->runs_fd >= 0)
		close(th->runs_fd);
	th->stat_fd = th->runs_fd = -1;
}

void threads_free(struct target *t)
{
	for (size_t i = 0; i < t->thread_count; i++)
		close_files(&t->threads[i]);
	free(t->threads);
}

static void forget_ended(struct target *t)
{
	size_t kept = 0;

	for (size_t i = 0; i < t->thread_count; i++) {
		if (t->threads[i].seen == t->thread_generation)
			t->threads[kept++] = t->threads[i];
		else
			close_files(&t->threads[i]);
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

/* A small file of the thread, by the descriptor that is kept; NUL-terminated. */
static bool read_kept(struct target *t, const struct thread *th, const char *name, int *fd, char *buf, size_t cap)
{
	ssize_t got;

	if (*fd < 0) {
		char path[64];

		snprintf(path, sizeof(path), "task/%d/%s", (int)th->tid, name);
		*fd = openat(t->proc, path, O_RDONLY | O_CLOEXEC);
	}
	got = *fd >= 0 ? pread(*fd, buf, cap - 1, 0) : -1;
	buf[got > 0 ? got : 0] = 0;
	return got > 0;
}

/* Field 39 of stat, where `after` is at field 3. */
static int last_cpu(const char *after)
{
	for (int field = 3; field < 39 && after; field++) {
		after = strchr(after, ' ');
		after += after != NULL;
	}
	return after && *after >= '0' && *after <= '9' ? (int)strtol(after, NULL, 10) : -1;
}

enum thread_state target_thread_state_cpu(struct target *t, struct thread *th, int *ret_cpu)
{
	char buf[1024];
	const char *after;

	*ret_cpu = -1;
	if (t->core)
		return THREAD_DEAD;
	if (!read_kept(t, th, "stat", &th->stat_fd, buf, sizeof(buf)))
		return th->stat_fd >= 0 || errno == ENOENT ? THREAD_DEAD : THREAD_UNKNOWN;
	after = strrchr(buf, ')');
	if (!after || !after[1])
		return THREAD_UNKNOWN;
	*ret_cpu = last_cpu(after + 2);
	return state_of_letter(after[2]);
}

enum thread_state target_thread_state(struct target *t, struct thread *th)
{
	int cpu;

	return target_thread_state_cpu(t, th, &cpu);
}

bool target_thread_runs(struct target *t, struct thread *th, struct thread_runs *ret)
{
	char buf[96];

	/* A kernel that does not count says 0. */
	return !t->core && read_kept(t, th, "schedstat", &th->runs_fd, buf, sizeof(buf)) &&
	       sscanf(buf, "%*u %" SCNu64 " %" SCNu64, &ret->waited_ns, &ret->count) == 2 && ret->count;
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
