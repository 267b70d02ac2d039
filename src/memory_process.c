/* memory_process.c - memory of a live process. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/uio.h>
#include <unistd.h>

#include "cspy/memory.h"

enum { BATCH = 1024 }; /* IOV_MAX: ranges of one system call */

struct memory_process {
	struct memory base;
	pid_t pid;
	int mem_fd; /* /proc/PID/mem, when process_vm_readv is refused; else -1 */
};

static struct err fault_at(int os, raddr_t at)
{
	struct err e = err_errno(os, "reading the target's memory");

	e.at = at;
	return e;
}

/* Whole ranges among the first n that `bytes` bytes fill. */
static size_t whole_ranges(const struct memory_range *ranges, size_t n, size_t bytes)
{
	size_t i = 0;

	while (i < n && bytes >= ranges[i].len)
		bytes -= ranges[i++].len;
	return i;
}

static struct err read_batch(const struct memory_process *p, const struct memory_range *ranges, size_t n, size_t *done)
{
	struct iovec local[BATCH], remote[BATCH];
	size_t total = 0;
	ssize_t got;

	for (size_t i = 0; i < n; i++) {
		local[i] = (struct iovec){ ranges[i].buf, ranges[i].len };
		/* NOLINTNEXTLINE(performance-no-int-to-ptr): an address there, never dereferenced here */
		remote[i] = (struct iovec){ (void *)(uintptr_t)ranges[i].at, ranges[i].len };
		total += ranges[i].len;
	}
	got = process_vm_readv(p->pid, local, n, remote, n, 0);
	if (got == (ssize_t)total) {
		*done = n;
		return OK;
	}
	*done = got > 0 ? whole_ranges(ranges, n, (size_t)got) : 0;
	return fault_at(got < 0 ? errno : EFAULT, ranges[*done].at);
}

static struct err read_mem_fd(const struct memory_process *p, const struct memory_range *ranges, size_t n, size_t *done)
{
	for (*done = 0; *done < n; ++*done) {
		const struct memory_range *r = &ranges[*done];
		ssize_t got;

		if (r->at > (raddr_t)LLONG_MAX)
			return fault_at(EFAULT, r->at);
		got = pread(p->mem_fd, r->buf, r->len, (off_t)r->at);
		if (got == 0 && r->len)
			return fault_at(ESRCH, r->at); /* its address space is gone */
		if (got != (ssize_t)r->len)
			return fault_at(got < 0 ? errno : EFAULT, r->at);
	}
	return OK;
}

static struct err process_read(struct memory *m, const struct memory_range *ranges, size_t n, size_t *done)
{
	const struct memory_process *p = (const struct memory_process *)m;

	if (p->mem_fd >= 0)
		return read_mem_fd(p, ranges, n, done);
	*done = 0;
	while (*done < n) {
		size_t filled, batch = n - *done < BATCH ? n - *done : BATCH;
		struct err e = read_batch(p, ranges + *done, batch, &filled);

		*done += filled;
		if (failed(e))
			return e;
	}
	return OK;
}

static void process_close(struct memory *m)
{
	struct memory_process *p = (struct memory_process *)m;

	if (p->mem_fd >= 0)
		close(p->mem_fd);
	free(p);
}

static const struct memory_ops process_ops = { "process_vm_readv", process_read, process_close };
static const struct memory_ops file_ops = { "/proc/PID/mem", process_read, process_close };

struct err memory_process_open(pid_t pid, struct memory **ret)
{
	struct memory_process *p = xcalloc(1, sizeof(*p));
	char path[64], byte;
	struct iovec local = { &byte, 1 }, remote = { NULL, 1 };

	p->base.ops = &process_ops;
	p->pid = pid;
	p->mem_fd = -1;
	*ret = &p->base;
	/* Address 0 is never mapped: EFAULT says that reading is allowed. A seccomp filter (ENOSYS, EPERM) may stand
	 * in the way of the call alone, so the file is tried before giving up. */
	if (process_vm_readv(pid, &local, 1, &remote, 1, 0) >= 0 || errno == EFAULT)
		return OK;
	if (errno != ESRCH) {
		int os = errno;

		snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
		p->mem_fd = open(path, O_RDONLY | O_CLOEXEC);
		p->base.ops = &file_ops;
		if (p->mem_fd >= 0)
			return OK;
		errno = errno == ENOENT ? ESRCH : os;
	}
	*ret = NULL;
	free(p);
	return err_errno(errno, "reading the target's memory");
}
