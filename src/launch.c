/* launch.c - start the program that is to be watched. */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "launch.h"
#include "users.h"

enum { ENDING_MS = 2000 }; /* a large program takes its time to give back its memory */

/* What the child tells through the pipe when it fails; a successful exec closes the pipe without a word. */
struct failure {
	int os;
	bool user; /* becoming the user failed, not exec */
};

static bool id_from(const char *variable, long *ret)
{
	const char *text = getenv(variable);
	char *end;

	if (!text || *text < '0' || *text > '9')
		return false;
	errno = 0;
	*ret = strtol(text, &end, 10);
	return !*end && !errno && *ret <= 0xFFFFFFFEl;
}

/* Under sudo the program is the user's: it must not get root from being watched. */
static bool become_caller_of_sudo(void)
{
	const struct passwd *user;
	long uid, gid;

	if (geteuid() != 0 || !id_from("SUDO_UID", &uid) || !id_from("SUDO_GID", &gid) || uid == 0)
		return true;
	user = users_find((uid_t)uid);
	if (user ? users_take_groups(user, (gid_t)gid) : setgroups(0, NULL))
		return false;
	if (setresgid((gid_t)gid, (gid_t)gid, (gid_t)gid) || setresuid((uid_t)uid, (uid_t)uid, (uid_t)uid))
		return false;
	if (user) {
		setenv("HOME", user->pw_dir, 1);
		setenv("USER", user->pw_name, 1);
		setenv("LOGNAME", user->pw_name, 1);
	}
	return true;
}

/* Only what is the terminal: a file or a pipe that the user chose stays. */
static void leave_terminal(void)
{
	int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);

	for (int fd = 0; fd <= STDERR_FILENO; fd++)
		if (isatty(fd))
			dup2(nothing, fd);
}

static void become_program(const struct launch_options *o, int report)
{
	struct failure f = { 0, false };
	ssize_t ignored;

	if (!o->as_root && !become_caller_of_sudo()) {
		f = (struct failure){ errno, true };
	} else {
		if (o->quiet)
			leave_terminal();
		sigprocmask(SIG_SETMASK, o->signals, NULL);
		execvp(o->argv[0], o->argv);
		f.os = errno;
	}
	ignored = write(report, &f, sizeof(f));
	(void)ignored;
	_exit(127);
}

struct err launch_start(const struct launch_options *o, pid_t *ret)
{
	struct failure f;
	int report[2];
	ssize_t got;

	if (pipe2(report, O_CLOEXEC))
		return err_errno(errno, "starting the program");
	*ret = fork();
	if (*ret < 0) {
		struct err e = err_errno(errno, "starting the program");

		close(report[0]);
		close(report[1]);
		return e;
	}
	if (!*ret)
		become_program(o, report[1]);
	close(report[1]);
	do {
		got = read(report[0], &f, sizeof(f));
	} while (got < 0 && errno == EINTR);
	close(report[0]);
	if (got != sizeof(f))
		return OK;
	waitpid(*ret, NULL, 0);
	return (struct err){ ERR_OS, f.os, 0, f.user ? "becoming the user who called sudo" : "executing it" };
}

int launch_status(pid_t child, bool ending)
{
	static const struct timespec nap = { 0, 1000000 };
	int status;
	pid_t got = 0;

	for (int i = 0; i < (ending ? ENDING_MS : 1) && got == 0; i++) {
		if (i)
			nanosleep(&nap, NULL);
		got = waitpid(child, &status, WNOHANG);
	}
	if (got != child)
		return -1;
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}
