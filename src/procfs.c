/* procfs.c - read small files of /proc. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "procfs.h"

enum { FILE_MAX = 64 << 20 }; /* maps of the largest programs are a few megabytes */

char *procfs_read(int dir, const char *name, size_t *len)
{
	int fd = openat(dir, name, O_RDONLY | O_CLOEXEC);
	size_t have = 0, cap = 0;
	char *buf = NULL;
	ssize_t got;

	if (fd < 0)
		return NULL;
	do {
		xgrow(&buf, &cap, have + 65536, 1);
		got = read(fd, buf + have, cap - have - 1);
		if (got > 0)
			have += (size_t)got;
	} while ((got > 0 || (got < 0 && errno == EINTR)) && have < FILE_MAX);
	close(fd);
	if (got < 0) {
		free(buf);
		return NULL;
	}
	buf[have] = 0;
	if (len)
		*len = have;
	return buf;
}

ssize_t procfs_read_buf(int dir, const char *name, char *buf, size_t cap)
{
	int fd = openat(dir, name, O_RDONLY | O_CLOEXEC);
	ssize_t got;

	buf[0] = 0;
	if (fd < 0)
		return -1;
	got = read(fd, buf, cap - 1);
	close(fd);
	buf[got > 0 ? got : 0] = 0;
	return got;
}

void procfs_cmdline(int dir, const char *name, char *buf, size_t cap)
{
	ssize_t got = procfs_read_buf(dir, name, buf, cap);

	while (got > 0 && buf[got - 1] == 0)
		got--;
	for (ssize_t i = 0; i < got; i++)
		if (buf[i] == 0)
			buf[i] = ' ';
}

bool procfs_parse_stat(const char *text, struct procfs_stat *ret)
{
	const char *after = strrchr(text, ')');

	*ret = (struct procfs_stat){ 0 };
	if (!after)
		return false;
	return sscanf(after + 1,
		      " %c %d %*d %*d %*d %*d %" SCNu64 " %*u %*u %*u %*u %" SCNu64 " %" SCNu64
		      " %*d %*d %*d %*d %*d %*d %" SCNu64 " %*u %*d %*u %" SCNu64 " %*u %" SCNu64,
		      &ret->state, &ret->parent, &ret->flags, &ret->user, &ret->system, &ret->start_time,
		      &ret->start_code, &ret->start_stack) == 8;
}

uint64_t procfs_age(uint64_t start_time)
{
	uint64_t began = start_time * (1000000000ull / (uint64_t)sysconf(_SC_CLK_TCK)), now;
	struct timespec t;

	clock_gettime(CLOCK_BOOTTIME, &t);
	now = (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
	return now > began ? now - began : 0;
}

const char *procfs_status_value(const char *text, const char *key)
{
	size_t len = strlen(key);

	for (const char *line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (!strncmp(line, key, len) && line[len] == ':')
			return line + len + 1 + strspn(line + len + 1, " \t");
	}
	return NULL;
}
