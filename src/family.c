/* family.c - a process and its descendants, and those that joined since the last time. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cspy/sampler.h"
#include "family.h"
#include "procfs.h"

enum {
	RELATIVES_MAX = 1 << 22, /* the kernel's PID_MAX_LIMIT */
	ROUNDS_MAX = 64,	 /* generations born between two calls in an order other than their ids' */
	COST_SHARE = 20,	 /* listings take a twentieth of the time at most */
};
static const uint64_t PERIOD_NS = 10 * 1000 * 1000, FULL_NS = 1000 * 1000 * 1000;

struct err family_open(struct family *f, pid_t root)
{
	*f = (struct family){ .last_pid = -1 };
	f->proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	f->loadavg = open("/proc/loadavg", O_RDONLY | O_CLOEXEC);
	if (f->proc < 0) {
		struct err e = err_errno(errno, "listing processes");

		family_close(f);
		return e;
	}
	xgrow(&f->list, &f->cap, 1, sizeof(*f->list));
	f->list[f->count++] = (struct relative){ root, 0, true, true };
	return OK;
}

void family_close(struct family *f)
{
	cleanup_close(&f->proc);
	cleanup_close(&f->loadavg);
	free(f->list);
	free(f->before);
	free(f->joined);
	*f = (struct family){ .proc = -1, .loadavg = -1 };
}

/* The last field of loadavg. -1: can't be told. */
static long youngest(const struct family *f)
{
	char text[128];
	ssize_t got = f->loadavg >= 0 ? pread(f->loadavg, text, sizeof(text) - 1, 0) : -1;
	const char *last;

	if (got <= 0)
		return -1;
	text[got] = 0;
	last = strrchr(text, ' ');
	return last ? strtol(last, NULL, 10) : -1;
}

static int by_pid(const void *a, const void *b)
{
	const struct relative *x = a, *y = b;

	return x->pid < y->pid ? -1 : x->pid > y->pid;
}

static const struct relative *find(const struct relative *list, size_t n, pid_t pid)
{
	const struct relative key = { .pid = pid };

	return n ? bsearch(&key, list, n, sizeof(*list), by_pid) : NULL;
}

static pid_t parent_of(const struct family *f, pid_t pid)
{
	char name[32], text[1024];
	struct procfs_stat stat;

	snprintf(name, sizeof(name), "%d/stat", (int)pid);
	if (procfs_read_buf(f->proc, name, text, sizeof(text)) <= 0 || !procfs_parse_stat(text, &stat))
		return 0;
	return stat.parent;
}

/* The listing becomes the one before, whose room is used for the next. */
static void keep_listing(struct family *f)
{
	struct relative *room = f->before;
	size_t cap = f->before_cap;

	f->before = f->list;
	f->before_cap = f->cap;
	f->list = room;
	f->cap = cap;
	f->count = 0;
}

static struct err list_processes(struct family *f)
{
	int fd = openat(f->proc, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	const struct dirent *entry;

	if (!dir) {
		struct err e = err_errno(errno, "listing processes");

		cleanup_close(&fd);
		return e;
	}
	keep_listing(f);
	while ((entry = readdir(dir)) && f->count < RELATIVES_MAX) {
		if (entry->d_name[0] < '1' || entry->d_name[0] > '9')
			continue;
		xgrow(&f->list, &f->cap, f->count + 1, sizeof(*f->list));
		f->list[f->count++] = (struct relative){ .pid = (pid_t)strtol(entry->d_name, NULL, 10) };
	}
	closedir(dir);
	qsort(f->list, f->count, sizeof(*f->list), by_pid);
	return OK;
}

/* Who was there before is who it was: ids are not used again within one period. */
static void remember(struct family *f, size_t before_count)
{
	for (size_t i = 0; i < f->count; i++) {
		const struct relative *b = find(f->before, before_count, f->list[i].pid);

		if (b)
			f->list[i] = *b;
	}
}

static void find_joined(struct family *f)
{
	size_t found = 1;

	for (size_t i = 0; i < f->count; i++)
		if (!f->list[i].known)
			f->list[i].parent = parent_of(f, f->list[i].pid);
	for (int round = 0; round < ROUNDS_MAX && found; round++) {
		found = 0;
		for (size_t i = 0; i < f->count; i++) {
			struct relative *r = &f->list[i];
			const struct relative *parent = r->known ? NULL : find(f->list, f->count, r->parent);

			if (r->member || !parent || !parent->member)
				continue;
			r->member = true;
			found++;
			xgrow(&f->joined, &f->joined_cap, f->joined_count + 1, sizeof(*f->joined));
			f->joined[f->joined_count++] = r->pid;
		}
	}
	for (size_t i = 0; i < f->count; i++)
		f->list[i].known = true;
}

struct err family_update(struct family *f, uint64_t now)
{
	size_t before_count = f->count;
	long last = youngest(f);
	uint64_t began = clock_own_cpu(), cost;
	struct err e;

	f->joined_count = 0;
	f->next_ns = now + PERIOD_NS;
	if (last == f->last_pid && last >= 0 && !f->again && now < f->full_ns)
		return OK;
	/* What has an id already may not be listed yet. */
	f->again = last != f->last_pid;
	f->last_pid = last;
	e = list_processes(f);
	if (failed(e))
		return e;
	remember(f, before_count);
	find_joined(f);
	cost = (clock_own_cpu() - began) * COST_SHARE;
	f->next_ns = now + (cost > PERIOD_NS ? cost : PERIOD_NS);
	f->full_ns = now + FULL_NS;
	return OK;
}
