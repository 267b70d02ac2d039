/* output.c - an output file that is there whole or not at all. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "output.h"

enum {
	COPY_BYTES = 1 << 18,
	TEMP_TRIES = 100,
};

/* Where a regular file goes: links are followed, so that the file they name is replaced and not the link. */
struct place {
	char dir[PATH_MAX];
	char name[NAME_MAX + 1];
};

static bool written_directly(const char *path)
{
	struct stat st;

	if (!strcmp(path, "-") || !strncmp(path, "/dev/", 5) || !strncmp(path, "/proc/", 6))
		return true;
	return stat(path, &st) == 0 && !S_ISREG(st.st_mode);
}

bool output_is_file(const char *path)
{
	return !written_directly(path);
}

static struct err place_of(const char *path, struct place *ret)
{
	CLEANUP(cleanup_free) char *real = realpath(path, NULL);
	const char *whole = real ? real : path;
	const char *slash = strrchr(whole, '/');
	const char *name = slash ? slash + 1 : whole;
	size_t len = slash ? (size_t)(slash - whole) : 0;

	if (!*name)
		return (struct err){ ERR_OS, EISDIR, 0, "it names a folder" };
	if (len >= sizeof(ret->dir) || strlen(name) >= sizeof(ret->name))
		return err_errno(ENAMETOOLONG, "naming it");
	snprintf(ret->name, sizeof(ret->name), "%s", name);
	if (!slash)
		snprintf(ret->dir, sizeof(ret->dir), ".");
	else
		snprintf(ret->dir, sizeof(ret->dir), "%.*s", len ? (int)len : 1, len ? whole : "/");
	return OK;
}

/* err_errno() would call EACCES ERR_DENIED, which is advice about the target; a file is another matter. */
static struct err file_error(int os, const char *what)
{
	return (struct err){ ERR_OS, os, 0, what };
}

static struct err open_temp(const struct place *place, char *temp, size_t cap, int *ret)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	for (unsigned i = 0; i < TEMP_TRIES; i++) {
		uint64_t bits = ((uint64_t)now.tv_nsec ^ (uint64_t)getpid() << 32) * 0x9E3779B97F4A7C15ull + i;
		char tail[7];

		for (size_t n = 0; n < sizeof(tail) - 1; n++, bits /= sizeof(letters) - 1)
			tail[n] = letters[bits % (sizeof(letters) - 1)];
		tail[sizeof(tail) - 1] = 0;
		/* A long name is shortened: the whole must fit in NAME_MAX. */
		snprintf(temp, cap, "%s/.%.*s.%s", place->dir, NAME_MAX - 8, place->name, tail);
		*ret = open(temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
		if (*ret >= 0)
			return OK;
		if (errno != EEXIST)
			break;
	}
	return file_error(errno, "making a file in its folder");
}

struct err output_check(const char *path)
{
	char temp[PATH_MAX + NAME_MAX + 16];
	struct place place;
	struct stat st;
	struct err e;
	int fd;

	if (!strcmp(path, "-"))
		return OK;
	if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
		return file_error(EISDIR, "it names a folder");
	if (written_directly(path))
		return access(path, W_OK) ? file_error(errno, "writing to it") : OK;
	e = place_of(path, &place);
	if (failed(e))
		return e;
	/* A file without a name leaves nothing behind, even if cspy is killed now; not all file systems have
	 * them. */
	fd = open(place.dir, O_WRONLY | O_TMPFILE | O_CLOEXEC, 0666);
	if (fd < 0 && (errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL)) {
		e = open_temp(&place, temp, sizeof(temp), &fd);
		if (!failed(e))
			unlink(temp);
	}
	if (fd < 0)
		return failed(e) ? e : file_error(errno, "making a file in its folder");
	close(fd);
	return OK;
}

struct err output_open(const char *path, struct output *ret)
{
	int fd = memfd_create("cspy-output", MFD_CLOEXEC);

	*ret = (struct output){ .path = path };
	if (fd < 0)
		return file_error(errno, "making room in memory");
	ret->stream = fdopen(fd, "w+");
	if (!ret->stream) {
		close(fd);
		return file_error(errno, "making room in memory");
	}
	return OK;
}

/* Only while copying into a named temporary file: for that moment an ending signal must wait. */
struct hold {
	sigset_t set, saved;
};

static void hold_signals(struct hold *h)
{
	sigemptyset(&h->set);
	sigaddset(&h->set, SIGINT);
	sigaddset(&h->set, SIGTERM);
	sigaddset(&h->set, SIGHUP);
	sigaddset(&h->set, SIGQUIT);
	sigprocmask(SIG_BLOCK, &h->set, &h->saved);
}

static void let_signals(struct hold *h)
{
	sigprocmask(SIG_SETMASK, &h->saved, NULL);
}

/* A signal that somebody blocked before is theirs, and no reason to stop. */
static bool told_to_end(const struct hold *h)
{
	static const int numbers[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
	sigset_t pending;

	if (!h || sigpending(&pending))
		return false;
	for (size_t i = 0; i < countof(numbers); i++)
		if (sigismember(&pending, numbers[i]) == 1 && !sigismember(&h->saved, numbers[i]))
			return true;
	return false;
}

static struct err write_all(int fd, const char *bytes, size_t len)
{
	while (len) {
		ssize_t put = write(fd, bytes, len);

		if (put < 0 && errno == EINTR)
			continue;
		if (put <= 0)
			return file_error(put ? errno : ENOSPC, "writing it");
		bytes += put;
		len -= (size_t)put;
	}
	return OK;
}

static struct err copy_to(int from, int to, const struct hold *hold)
{
	CLEANUP(cleanup_free) char *buf = xcalloc(1, COPY_BYTES);
	off_t at = 0;

	for (;;) {
		ssize_t got = pread(from, buf, COPY_BYTES, at);
		struct err e;

		if (got < 0)
			return file_error(errno, "reading what was made");
		if (!got)
			return OK;
		e = write_all(to, buf, (size_t)got);
		if (failed(e))
			return e;
		if (told_to_end(hold))
			return file_error(EINTR, "writing it");
		at += got;
	}
}

static struct err commit_directly(int from, const char *path)
{
	bool standard = !strcmp(path, "-");
	int fd = standard ? STDOUT_FILENO : open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
	struct err e;

	if (fd < 0)
		return file_error(errno, "opening it");
	e = copy_to(from, fd, NULL);
	if (!standard && close(fd) && !failed(e))
		e = file_error(errno, "closing it");
	return e;
}

static struct err commit_beside(int from, const char *path)
{
	char temp[PATH_MAX + NAME_MAX + 16], final[PATH_MAX + NAME_MAX + 16];
	struct place place;
	struct hold hold;
	struct err e = place_of(path, &place);
	int fd;

	if (failed(e))
		return e;
	hold_signals(&hold);
	e = open_temp(&place, temp, sizeof(temp), &fd);
	if (!failed(e)) {
		e = copy_to(from, fd, &hold);
		if (close(fd) && !failed(e))
			e = file_error(errno, "closing it");
		snprintf(final, sizeof(final), "%s/%s", place.dir, place.name);
		if (!failed(e) && rename(temp, final))
			e = file_error(errno, "renaming it into place");
		if (failed(e))
			unlink(temp);
	}
	let_signals(&hold);
	return e;
}

struct err output_commit(struct output *o)
{
	bool bad = fflush(o->stream) != 0 || ferror(o->stream);
	int os = errno;
	struct err e;

	if (bad)
		e = file_error(os, "making it in memory");
	else if (written_directly(o->path))
		e = commit_directly(fileno(o->stream), o->path);
	else
		e = commit_beside(fileno(o->stream), o->path);
	output_abort(o);
	return e;
}

void output_abort(struct output *o)
{
	if (o->stream)
		fclose(o->stream);
	o->stream = NULL;
}

char *output_name(const char *pattern, pid_t pid, uint64_t unix_ns)
{
	time_t seconds = (time_t)(unix_ns / 1000000000);
	char *name = NULL, when[32] = "";
	size_t len = 0;
	struct tm tm;
	FILE *out = open_memstream(&name, &len);

	if (!out)
		return xstrdup(pattern);
	if (localtime_r(&seconds, &tm))
		strftime(when, sizeof(when), "%Y%m%d-%H%M%S", &tm);
	for (const char *c = pattern; *c; c++) {
		bool two = *c == '%' && (c[1] == 'p' || c[1] == 't' || c[1] == '%');

		if (!two)
			fputc(*c, out);
		else if (*++c == 'p')
			fprintf(out, "%d", (int)pid);
		else
			fputs(*c == 't' ? when : "%", out);
	}
	if (fclose(out) || !name)
		abort();
	return name;
}
