/* files.c - open files as the target sees them, without being led out of its root. */
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cspy/target.h"

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

static int open_in_root(int root, const char *path, int flags)
{
	struct open_how how = { .flags = (unsigned)(O_PATH | O_CLOEXEC | flags),
				.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS };
	int fd = (int)syscall(SYS_openat2, root, path, &how, sizeof(how));

	/* Before Linux 5.6: accept only what needs no link to be followed at the end. */
	if (fd < 0 && errno == ENOSYS)
		fd = openat(root, path + strspn(path, "/"), O_PATH | O_CLOEXEC | O_NOFOLLOW);
	return fd;
}

static struct err open_file(struct target *t, const char *path, int flags, int *ret)
{
	int fd, root = openat(t->proc, "root", O_PATH | O_DIRECTORY | O_CLOEXEC);

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

/* A link of the kernel's that names the very file, whatever its path has become. */
static bool open_link(struct target *t, const char *name, const struct mapping *m, int *ret)
{
	*ret = openat(t->proc, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (*ret >= 0 && is_mapped_file(*ret, m))
		return true;
	cleanup_close(ret);
	return false;
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
	*ret = open(m->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
	if (*ret >= 0 && is_mapped_file(*ret, m))
		return true;
	cleanup_close(ret);
	return false;
}

struct err target_open_mapping(struct target *t, const struct mapping *m, int *ret)
{
	char name[96];

	if (!m->inode || m->path[0] != '/')
		return err_at(ERR_UNSUPPORTED, m->start, "opening a mapped file: anonymous");
	/* map_files asks for CAP_CHECKPOINT_RESTORE or CAP_SYS_ADMIN, exe for no more than ptrace does. */
	snprintf(name, sizeof(name), "map_files/%llx-%llx", (unsigned long long)m->start, (unsigned long long)m->end);
	if (open_link(t, name, m, ret) || open_path(t, m, ret) || open_link(t, "exe", m, ret))
		return OK;
	return err_at(ERR_UNSUPPORTED, m->start, "opening a mapped file: it is gone, or out of reach");
}
