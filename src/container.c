/* container.c - in which container does a process live? */
#include <ctype.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "container.h"
#include "procfs.h"

enum { ID_DIGITS = 64, ID_SHOWN = 12 };

/* Who writes these names into the path of a control group; an id whose maker is not known stands for itself. */
static const struct {
	const char *mark, *name;
} makers[] = {
	{ "docker", "docker" }, { "libpod", "podman" },		{ "cri-containerd", "containerd" },
	{ "crio", "cri-o" },	{ "containerd", "containerd" }, { "kubepods", "kubernetes" },
};

/* A run of exactly 64 hexadecimal digits; NULL: none. */
static const char *find_id(const char *text)
{
	size_t run = 0;

	for (const char *s = text;; s++) {
		if (isxdigit((unsigned char)*s)) {
			run++;
			continue;
		}
		if (run == ID_DIGITS)
			return s - run;
		if (!*s)
			return NULL;
		run = 0;
	}
}

static const char *maker_of(const char *text)
{
	for (size_t i = 0; i < countof(makers); i++)
		if (strstr(text, makers[i].mark))
			return makers[i].name;
	return "container";
}

static bool namespace_of(int dir, const char *kind, char *buf, size_t cap)
{
	char name[32];
	ssize_t got;

	snprintf(name, sizeof(name), "ns/%s", kind);
	got = readlinkat(dir, name, buf, cap - 1);
	buf[got > 0 ? got : 0] = 0;
	return got > 0;
}

bool container_shares(int proc, const char *kind)
{
	char its[64], ours[64];
	CLEANUP(cleanup_close) int self = open("/proc/self", O_PATH | O_DIRECTORY | O_CLOEXEC);

	return !namespace_of(proc, kind, its, sizeof(its)) || !namespace_of(self, kind, ours, sizeof(ours)) ||
	       !strcmp(its, ours);
}

void container_of_process(int proc, char *buf, size_t cap)
{
	CLEANUP(cleanup_free) char *groups = procfs_read(proc, "cgroup", NULL);
	CLEANUP(cleanup_free) char *own = procfs_read(AT_FDCWD, "/proc/self/cgroup", NULL);
	const char *id = groups ? find_id(groups) : NULL, *own_id = own ? find_id(own) : NULL;
	char its[64];

	buf[0] = 0;
	if (id && own_id && !strncmp(id, own_id, ID_DIGITS))
		id = NULL;
	if (id)
		snprintf(buf, cap, "%s %.*s", maker_of(groups), ID_SHOWN, id);
	else if (!container_shares(proc, "pid") && namespace_of(proc, "pid", its, sizeof(its)))
		snprintf(buf, cap, "namespace %lu", strtoul(its + strcspn(its, "0123456789"), NULL, 10));
}
