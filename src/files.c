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

static int open_in_root(int root, const char *path)
{
	struct open_how how = {.flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS};
	int fd = (int)syscall(SYS_openat2, root, path, &how, sizeof(how));

	/* Before Linux 5.6: accept only what needs no link to be followed at the end. */
	if (fd < 0 && errno == ENOSYS)
		fd = openat(root, path + strspn(path, "/"), O_PATH | O_CLOEXEC | O_NOFOLLOW);
	return fd;
}

struct err target_open_file(struct target *t, const char *path, int *ret)
{
	int fd, root = openat(t->proc, "root", O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (root < 0)
		return err_errno(errno, "opening the target's root");
	fd = open_in_root(root, path);
	close(root);
	if (fd < 0)
		return err_errno(errno, "opening a file of the target's");
	return reopen_regular(fd, ret);
}

/* map_files names the very file that is mapped, but asks for CAP_CHECKPOINT_RESTORE or CAP_SYS_ADMIN; the executable
 * has a link of its own that asks for no more than ptrace does. */
static struct err open_unlinked(struct target *t, const struct mapping *m, int *ret)
{
	char path[96];
	struct stat st;
	int os;

	snprintf(path, sizeof(path), "map_files/%llx-%llx", (unsigned long long)m->start, (unsigned long long)m->end);
	*ret = openat(t->proc, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (*ret >= 0)
		return OK;
	os = errno;
	*ret = openat(t->proc, "exe", O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (*ret >= 0 && fstat(*ret, &st) == 0 && st.st_ino == m->inode)
		return OK;
	cleanup_close(ret);
	*ret = -1;
	return err_errno(os, "opening a deleted file that the target has mapped");
}

struct err target_open_mapping(struct target *t, const struct mapping *m, int *ret)
{
	if (!m->inode || m->path[0] != '/')
		return err_at(ERR_UNSUPPORTED, m->start, "opening a mapped file: anonymous");
	return m->deleted ? open_unlinked(t, m, ret) : target_open_file(t, m->path, ret);
}
