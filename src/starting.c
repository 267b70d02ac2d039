/* starting.c - is a process still on its way to running its interpreter? */
#include <fcntl.h>
#include <stdio.h>

#include "procfs.h"
#include "starting.h"

uint64_t starting_left(pid_t pid)
{
	char path[64], text[1024];
	struct procfs_stat stat;
	uint64_t age;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	if (procfs_read_buf(AT_FDCWD, path, text, sizeof(text)) < 0 || !procfs_parse_stat(text, &stat))
		return 0;
	age = procfs_age(stat.start_time);
	return age < STARTING_NS ? STARTING_NS - age : 0;
}

bool starting_may_pass(struct err e)
{
	return e.code == ERR_UNSUPPORTED || e.code == ERR_CORRUPT || e.code == ERR_FAULT;
}
