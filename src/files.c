/* files.c - open files as the target sees them, without being led out of its root. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core.h"

/* A descriptor whose file is looked at before anything that could block or have an effect is done with it. */
static struct err reopen_regular(int path_fd, int *ret)
{
	struct stat st;
	char path[64];

	if (fstat(path_fd, &st) < 0 || !S_ISREG(st.st_mode)) {
		close(path_fd);
		return err_at(ERR_UNSUPPORTED, 0, "opening a file of the target's: not a regular file");
	}
	snprintf(path, sizeof(path), "/proc/self/fd/%d", path_fd);
	*ret = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	close(path_fd);
	return *ret < 0 ? err_errno(errno, "opening a file of the target's") : OK;
}

/* For kernels without openat2, before 5.6: from name to name, and nothing is followed. */
static int open_without_links(int root, const char *path)
{
	char name[NAME_MAX + 1];
	int at = dup(root);

	while (at >= 0 && *(path += strspn(path, "/"))) {
		size_t len = strcspn(path, "/");
		int next = -1;

		snprintf(name, sizeof(name), "%.*s", (int)(len < NAME_MAX ? len : NAME_MAX), path);
		/* A link is opened itself, and has nothing below it. */
		if (strcmp(name, "..") != 0)
			next = openat(at, name, O_PATH | O_CLOEXEC | O_NOFOLLOW);
		close(at);
		at = next;
		path += len;
	}
	return at;
}

static int open_in_root(int root, const char *path, int flags)
{
	struct open_how how = { .flags = (unsigned)(O_PATH | O_CLOEXEC | flags),
				.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS };
	int fd = (int)syscall(SYS_openat2, root, path, &how, sizeof(how));

	/* Some seccomp filters say EPERM to calls that they do not know. */
	if (fd < 0 && (errno == ENOSYS || errno == EPERM))
		fd = open_without_links(root, path);
	return fd;
}

static struct err open_file(struct target *t, const char *path, int flags, int *ret)
{
	int fd, root;

	if (t->core)
		return err_at(ERR_UNSUPPORTED, 0, "opening a file of a process that is no more");
	root = openat(t->proc, "root", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root < 0)
		return err_errno(errno, "opening the target's root");
	fd = open_in_root(root, path, flags);
	close(root);
	if (fd < 0)
		return err_errno(errno, "opening a file of the target's");
	return reopen_regular(fd, ret);
}

struct err target_open_file(struct target *t, const char *path, int *ret)
{
	return open_file(t, path, 0, ret);
}

struct err target_open_shared(struct target *t, const char *path, int *ret)
{
	return open_file(t, path, O_NOFOLLOW, ret);
}

/* Overlay file systems report one device here and another in maps, so the inode alone has to do. */
static bool is_mapped_file(int fd, const struct mapping *m)
{
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_ino == m->inode;
}

/* `path_fd`, when it is the file that was mapped; a device must not even be opened. */
static bool reopen_mapped(int path_fd, const struct mapping *m, int *ret)
{
	if (path_fd < 0)
		return false;
	if (is_mapped_file(path_fd, m))
		return !failed(reopen_regular(path_fd, ret));
	close(path_fd);
	return false;
}

/* A link of the kernel's that names the very file, whatever its path has become. */
static bool open_link(struct target *t, const char *name, const struct mapping *m, int *ret)
{
	return reopen_mapped(openat(t->proc, name, O_PATH | O_CLOEXEC), m, ret);
}

/* The path is as cspy sees it where that is possible (the target may live in a chroot), else as the target does. */
static bool open_path(struct target *t, const struct mapping *m, int *ret)
{
	if (m->deleted)
		return false;
	if (!failed(target_open_file(t, m->path, ret))) {
		if (is_mapped_file(*ret, m))
			return true;
		cleanup_close(ret);
	}
	return reopen_mapped(open(m->path, O_PATH | O_CLOEXEC | O_NOFOLLOW), m, ret);
}

struct err target_open_mapping(struct target *t, const struct mapping *m, int *ret)
{
	char name[96];

	if (t->core)
		return core_open_file(t->core, m->start, ret);
	if (!m->inode || m->path[0] != '/')
		return err_at(ERR_UNSUPPORTED, m->start, "opening a mapped file: anonymous");
	/* map_files asks for CAP_CHECKPOINT_RESTORE or CAP_SYS_ADMIN, exe for no more than ptrace does. */
	snprintf(name, sizeof(name), "map_files/%llx-%llx", (unsigned long long)m->start, (unsigned long long)m->end);
	if (open_link(t, name, m, ret) || open_path(t, m, ret) || open_link(t, "exe", m, ret))
		return OK;
	return err_at(ERR_UNSUPPORTED, m->start, "opening a mapped file: it is gone, or out of reach");
}
