/* processes.c - which processes of this machine can be profiled. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "container.h"
#include "processes.h"
#include "runtimes.h"
#include "users.h"

enum { PROCESSES_MAX = 1 << 16 }; /* with an interpreter */

/* The effective user; the kernel gives what must not be dumped to root, and it is root's for us as well. */
static void find_user(const struct target *t, struct process *p)
{
	struct stat st;

	if (fstat(t->proc, &st) == 0)
		users_name(st.st_uid, p->user, sizeof(p->user));
}

static struct err describe(pid_t pid, struct process *p)
{
	const struct runtime_ops *ops;
	struct target *t = NULL;
	void *instance;
	struct err e = target_open(pid, &t);

	*p = (struct process){ .pid = pid };
	if (failed(e)) {
		target_close(t);
		return e;
	}
	p->ns_pid = t->ns_pid;
	e = runtimes_attach(t, false, p->why, sizeof(p->why), &ops, &instance);
	if (!failed(e)) {
		ops->about(instance, &p->about);
		ops->detach(instance);
	}
	if (e.code != ERR_UNSUPPORTED) {
		find_user(t, p);
		target_cmdline(t, p->command, sizeof(p->command));
		container_of_process(t->proc, p->container, sizeof(p->container));
	}
	target_close(t);
	return e;
}

static int by_pid(const void *a, const void *b)
{
	const struct process *x = a, *y = b;

	return x->pid < y->pid ? -1 : x->pid > y->pid;
}

static void add(struct processes *all, pid_t pid)
{
	struct process p;
	struct err e = describe(pid, &p);

	if (e.code == ERR_DENIED)
		all->denied++;
	/* Not ours, gone, or the kernel's own, which has no memory to read. */
	if (e.code == ERR_UNSUPPORTED || e.code == ERR_GONE || e.code == ERR_DENIED || e.code == ERR_OS)
		return;
	xgrow(&all->list, &all->cap, all->count + 1, sizeof(p));
	all->list[all->count++] = p;
}

struct err processes_find(struct processes *ret)
{
	DIR *dir = opendir("/proc");
	const struct dirent *entry;

	*ret = (struct processes){ 0 };
	if (!dir)
		return err_errno(errno, "listing processes");
	while ((entry = readdir(dir)) && ret->count < PROCESSES_MAX) {
		pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);

		if (pid > 0 && pid != getpid())
			add(ret, pid);
	}
	closedir(dir);
	if (ret->count)
		qsort(ret->list, ret->count, sizeof(*ret->list), by_pid);
	return OK;
}

void processes_free(struct processes *p)
{
	free(p->list);
	*p = (struct processes){ 0 };
}
