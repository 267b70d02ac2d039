/* starting.c - is a process still on its way to running its interpreter? */
#include <fcntl.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "procfs.h"
#include "starting.h"

uint64_t starting_left(pid_t pid)
{
	char path[64], text[1024];
	struct procfs_stat stat;
	struct timespec t;
	uint64_t started, now;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	if (procfs_read_buf(AT_FDCWD, path, text, sizeof(text)) < 0 || !procfs_parse_stat(text, &stat))
		return 0;
	clock_gettime(CLOCK_BOOTTIME, &t);
	now = (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
	started = stat.start_time * (1000000000 / (uint64_t)sysconf(_SC_CLK_TCK));
	return now < started + STARTING_NS ? started + STARTING_NS - now : 0;
}

bool starting_may_pass(struct err e)
{
	return e.code == ERR_UNSUPPORTED || e.code == ERR_CORRUPT || e.code == ERR_FAULT;
}
