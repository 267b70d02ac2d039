/* session.c - the one place that waits: for a deadline, a signal, a key, or the target's end. */
#include <errno.h>
#include <poll.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "cspy/sampler.h"
#include "session.h"

enum {
	/* Going to sleep and waking up takes about as long as this: a shorter wait is spent awake. */
	AWAKE_NS = 60000,
	/* How late an event may be noticed when there is never time to sleep. */
	LOOK_NS = 500000,
};

struct err session_open(struct session *ret)
{
	struct sigaction hup;

	*ret = (struct session){ .signals = -1, .pidfd = -1, .keys = -1 };
	sigemptyset(&ret->taken);
	sigaddset(&ret->taken, SIGINT);
	sigaddset(&ret->taken, SIGTERM);
	sigaddset(&ret->taken, SIGUSR1);
	/* nohup(1) ignores it, and that shall hold. */
	if (sigaction(SIGHUP, NULL, &hup) || hup.sa_handler != SIG_IGN)
		sigaddset(&ret->taken, SIGHUP);
	if (sigprocmask(SIG_BLOCK, &ret->taken, &ret->saved))
		return err_errno(errno, "taking signals");
	ret->signals = signalfd(-1, &ret->taken, SFD_NONBLOCK | SFD_CLOEXEC);
	if (ret->signals < 0) {
		struct err e = err_errno(errno, "taking signals");

		session_close(ret);
		return e;
	}
	return OK;
}

void session_close(struct session *s)
{
	static const int ending[] = { SIGINT, SIGTERM, SIGHUP };

	if (s->signals >= 0)
		close(s->signals);
	if (s->pidfd >= 0)
		close(s->pidfd);
	s->signals = s->pidfd = s->keys = -1;
	/* A shell without job control starts background programs with SIGINT ignored; it is heeded all the
	 * same. */
	for (size_t i = 0; i < countof(ending); i++)
		if (sigismember(&s->taken, ending[i]))
			signal(ending[i], SIG_DFL);
	sigprocmask(SIG_SETMASK, &s->saved, NULL);
}

void session_watch(struct session *s, pid_t pid)
{
	session_unwatch(s);
	s->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
}

void session_unwatch(struct session *s)
{
	if (s->pidfd >= 0)
		close(s->pidfd);
	s->pidfd = -1;
}

struct err session_terminal(struct session *s, int fd)
{
	sigaddset(&s->taken, SIGWINCH);
	sigaddset(&s->taken, SIGTSTP);
	if (sigprocmask(SIG_BLOCK, &s->taken, NULL) || signalfd(s->signals, &s->taken, 0) < 0)
		return err_errno(errno, "taking the terminal's signals");
	s->keys = fd;
	return OK;
}

void session_suspend(struct session *s)
{
	sigset_t stop;

	(void)s;
	sigemptyset(&stop);
	sigaddset(&stop, SIGTSTP);
	/* Not the group, as the terminal would: the target may be in it. */
	raise(SIGTSTP);
	sigprocmask(SIG_UNBLOCK, &stop, NULL); /* here it stops */
	sigprocmask(SIG_BLOCK, &stop, NULL);
}

static enum session_event event_of_signal(struct session *s)
{
	struct signalfd_siginfo info;

	if (read(s->signals, &info, sizeof(info)) != sizeof(info))
		return SESSION_DEADLINE;
	if (info.ssi_signo == SIGUSR1)
		return SESSION_SNAPSHOT;
	if (info.ssi_signo == SIGWINCH)
		return SESSION_RESIZE;
	if (info.ssi_signo == SIGTSTP)
		return SESSION_SUSPEND;
	if (info.ssi_signo == SIGINT && info.ssi_code == SI_KERNEL)
		return SESSION_INTERRUPT;
	return SESSION_STOP;
}

/* One look at the descriptors, sleeping until the deadline at most. */
static enum session_event look(struct session *s, uint64_t wait_ns)
{
	struct pollfd fds[] = { { s->signals, POLLIN, 0 }, { s->keys, POLLIN, 0 }, { s->pidfd, POLLIN, 0 } };
	struct timespec timeout = { (time_t)(wait_ns / 1000000000), (long)(wait_ns % 1000000000) };
	int ready = ppoll(fds, countof(fds), &timeout, NULL);

	s->now_ns = s->looked_ns = clock_now();
	if (ready > 0 && fds[0].revents)
		return event_of_signal(s);
	if (ready > 0 && fds[1].revents) /* a terminal that is gone has no more keys, but is ready for ever */
		return fds[1].revents & POLLIN && !(fds[1].revents & POLLHUP) ? SESSION_KEY : SESSION_STOP;
	if (ready > 0 && fds[2].revents)
		return SESSION_EXIT;
	return SESSION_DEADLINE;
}

enum session_event session_wait(struct session *s, uint64_t deadline_ns)
{
	enum session_event event;

	s->now_ns = clock_now();
	for (;;) {
		if (s->now_ns + AWAKE_NS < deadline_ns) {
			event = look(s, deadline_ns - s->now_ns);
		} else if (s->now_ns - s->looked_ns >= LOOK_NS) {
			event = look(s, 0);
		} else if (s->now_ns >= deadline_ns) {
			return SESSION_DEADLINE;
		} else {
			s->now_ns = clock_now();
			continue;
		}
		if (event != SESSION_DEADLINE)
			return event;
	}
}
