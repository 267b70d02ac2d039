/* pause.c - hold some threads of a target still for the length of one read. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cspy/sampler.h"
#include "pause.h"
#include "procfs.h"

/* A running thread stops within some 10 us. Polling that long is cheaper for both sides than sleeping: it is the
 * wake-up of a sleeping CPU that costs. One that has not stopped by then waits for a CPU, and that takes long. */
static const uint64_t SPIN_NS = 25 * 1000;
/* A thread that is not stopped by then has no CPU to stop on, or is deep in the kernel. Waiting does it no harm. */
static const uint64_t STOP_NS = 1000 * 1000 * 1000;
/* No more than this for letting one thread go counts as its pause. */
static const uint64_t LET_GO_NS = 5 * 1000;
enum { NAP_NS = 2000000 }; /* should the signal of a stop not come */

static void let_go(pid_t tid, int signal)
{
	/* Detaching clears what is left of the interrupt, and keeps a group stop. */
	ptrace(PTRACE_DETACH, tid, NULL, (long)signal);
}

/* What a stop that was waited for means; false when the thread is no more. */
static bool accept_stop(struct pause_thread *th, int status)
{
	if (!WIFSTOPPED(status))
		return false;
	th->stopped = true;
	/* A signal's delivery came first: the thread is as still as by our interrupt. */
	th->signal = status >> 16 == 0 ? WSTOPSIG(status) : 0;
	return true;
}

static bool is_own_child(pid_t tid)
{
	char path[64], text[1024];
	struct procfs_stat stat;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)tid);
	return procfs_read_buf(AT_FDCWD, path, text, sizeof(text)) > 0 && procfs_parse_stat(text, &stat) &&
	       stat.parent == getpid();
}

/* waitpid() without waiting, except that the end of a program that cspy launched is left to be collected by who
 * launched it: its exit code would be lost here. */
static pid_t wait_thread(pid_t tid, int *status)
{
	siginfo_t seen = { 0 };

	if (waitid(P_PID, (id_t)tid, &seen, WEXITED | WSTOPPED | WNOHANG | WNOWAIT | __WALL) != 0)
		return -1;
	if (!seen.si_pid)
		return 0;
	*status = 0; /* WIFEXITED */
	if (seen.si_code != CLD_TRAPPED && seen.si_code != CLD_STOPPED && is_own_child(tid))
		return tid;
	return waitpid(tid, status, __WALL | WNOHANG);
}

/* *done: it stopped, or never will. */
static struct err find_stopped(struct pause *p, struct pause_thread *th, bool *done)
{
	int status = 0;
	pid_t got = wait_thread(th->tid, &status);

	*done = got == th->tid || (got < 0 && errno != EINTR);
	if (!*done)
		return OK;
	if (got < 0)
		return err_errno(errno, "stopping a thread");
	if (!accept_stop(th, status))
		return err_at(ERR_GONE, 0, "stopping a thread");
	/* Until now it ran on, or waited for a CPU. */
	if (!p->since_ns)
		p->since_ns = clock_now();
	return OK;
}

/* The signal that a stop sends wakes us up, so that the thread is held no longer than it has to be. */
static struct err sleep_until_stopped(struct pause *p, struct pause_thread *th, uint64_t until_ns, bool *done)
{
	struct timespec nap = { 0, NAP_NS };
	sigset_t stop, saved;
	struct err e;

	sigemptyset(&stop);
	sigaddset(&stop, SIGCHLD);
	sigprocmask(SIG_BLOCK, &stop, &saved);
	do {
		e = find_stopped(p, th, done);
		if (!*done)
			sigtimedwait(&stop, NULL, &nap);
	} while (!*done && clock_now() < until_ns);
	sigprocmask(SIG_SETMASK, &saved, NULL);
	return e;
}

static struct err wait_stopped(struct pause *p, struct pause_thread *th)
{
	uint64_t start = clock_now();
	bool done;
	struct err e;

	do
		e = find_stopped(p, th, &done);
	while (!done && clock_now() - start <= SPIN_NS);
	if (!done)
		e = sleep_until_stopped(p, th, start + STOP_NS, &done);
	if (done)
		return e;
	if (p->late_count < PAUSE_THREADS)
		p->late[p->late_count++] = th->tid;
	return (struct err){ ERR_OS, EBUSY, 0, "stopping a thread: it did not stop in time" };
}

/* Threads that did not stop in time must not stay stopped when they do. */
static void reap_late(struct pause *p)
{
	size_t kept = 0;

	for (size_t i = 0; i < p->late_count; i++) {
		int status = 0;
		pid_t got = wait_thread(p->late[i], &status);

		if (got == 0)
			p->late[kept++] = p->late[i];
		else if (got > 0 && WIFSTOPPED(status))
			let_go(p->late[i], status >> 16 == 0 ? WSTOPSIG(status) : 0);
	}
	p->late_count = kept;
}

static bool is_late(const struct pause *p, pid_t tid)
{
	for (size_t i = 0; i < p->late_count; i++)
		if (p->late[i] == tid)
			return true;
	return false;
}

static struct err interrupt(struct pause *p, struct pause_thread *th)
{
	if (is_late(p, th->tid))
		return (struct err){ ERR_OS, EBUSY, 0, "stopping a thread: it did not stop in time" };
	if (ptrace(PTRACE_SEIZE, th->tid, NULL, NULL) != 0)
		return err_errno(errno, "stopping a thread");
	if (ptrace(PTRACE_INTERRUPT, th->tid, NULL, NULL) != 0)
		return err_errno(errno, "stopping a thread");
	return wait_stopped(p, th);
}

/* How often this thread was taken off its CPU. */
static uint64_t own_switches(void)
{
	struct rusage u;

	return getrusage(RUSAGE_THREAD, &u) == 0 ? (uint64_t)u.ru_nvcsw + (uint64_t)u.ru_nivcsw : 0;
}

/* The CPU that it is to go on at is ours, and was all the time: as long as nobody takes it from us it stands. */
static bool waits_for_us(const struct pause *p, int cpu)
{
	return cpu >= 0 && cpu == sched_getcpu() && own_switches() == p->switches;
}

static struct err stop(struct pause *p, const struct thread_runs *before, struct pause_thread *held)
{
	struct err e = interrupt(p, held);

	if (failed(e))
		return e;
	if (!p->stopped)
		p->back = (struct pause_return){ held->ns_tid, *before };
	return OK;
}

static struct err hold(struct pause *p, struct target *t, enum pause_way way, struct thread *th)
{
	struct pause_thread *held = &p->list[p->count];
	struct thread_runs runs = { 0 };
	enum thread_state state;
	struct err e = OK;
	bool off;
	int cpu;

	*held = (struct pause_thread){ .tid = th->tid, .ns_tid = th->ns_tid };
	if (!p->waiting)
		p->switches = own_switches();
	/* The count first, then the state: what runs from then on is counted anew. */
	target_thread_runs(t, th, &runs);
	held->runs = runs.count;
	state = target_thread_state_cpu(t, th, &cpu);
	if (state == THREAD_DEAD)
		return OK;
	off = runs.count && (state != THREAD_RUNNING || (way == PAUSE_BUSY && waits_for_us(p, cpu)));
	if (!off && state != THREAD_RUNNING)
		return OK;
	held->waits = off && state == THREAD_RUNNING;
	p->waiting += held->waits;
	if (!off)
		e = stop(p, &runs, held);
	if (e.code == ERR_GONE)
		return OK; /* it ended: nothing of it is left that could change */
	if (failed(e))
		return e;
	p->count++;
	p->stopped += held->stopped;
	return OK;
}

bool pause_holds(const struct pause *p, pid_t ns_tid)
{
	for (size_t i = 0; i < p->count; i++)
		if (p->list[i].ns_tid == ns_tid)
			return true;
	return false;
}

bool pause_stopped(const struct pause *p, pid_t ns_tid)
{
	for (size_t i = 0; i < p->count; i++)
		if (p->list[i].ns_tid == ns_tid)
			return p->list[i].stopped;
	return false;
}

struct err pause_hold(struct pause *p, struct target *t, enum pause_way way, const pid_t *ns_tids, size_t n)
{
	reap_late(p);
	for (size_t i = 0; i < n; i++) {
		struct thread *th = target_thread(t, ns_tids[i]);
		struct err e;

		if (!th || pause_holds(p, ns_tids[i]))
			continue;
		if (p->count == PAUSE_THREADS)
			return (struct err){ ERR_OS, EBUSY, 0, "stopping threads: too many" };
		e = hold(p, t, way, th);
		if (failed(e))
			return e;
	}
	return OK;
}

bool pause_still(struct pause *p, struct target *t)
{
	size_t before = p->count, kept = 0;
	bool ours = p->waiting && own_switches() == p->switches;

	p->waiting = 0;
	for (size_t i = 0; i < before; i++) {
		struct pause_thread held = p->list[i];
		struct thread *th = held.stopped ? NULL : target_thread(t, held.ns_tid);
		struct thread_runs runs;

		if (!held.stopped &&
		    (!th || (held.waits && !ours) || !target_thread_runs(t, th, &runs) || runs.count != held.runs))
			continue;
		p->list[kept++] = held;
		p->waiting += held.waits;
	}
	p->count = kept;
	return kept == before;
}

uint64_t pause_release(struct pause *p)
{
	uint64_t held = 0, begun = clock_now(), most = LET_GO_NS * p->count, took;

	for (size_t i = 0; i < p->count; i++)
		if (p->list[i].stopped)
			let_go(p->list[i].tid, p->list[i].signal);
	/* Who was let go may take this CPU for itself, which is no pause of its. */
	took = clock_now() - begun;
	if (p->since_ns)
		held = begun - p->since_ns + (took < most ? took : most);
	p->count = p->stopped = p->waiting = 0;
	p->since_ns = 0;
	reap_late(p);
	return held;
}

uint64_t pause_waited(struct pause *p, struct target *t)
{
	struct thread *th = p->back.ns_tid && !p->stopped ? target_thread(t, p->back.ns_tid) : NULL;
	struct thread_runs now;
	uint64_t times, waited;

	if (!th || !target_thread_runs(t, th, &now) || !p->back.before.count)
		return 0;
	times = now.count - p->back.before.count;
	/* 0: it waits still. Several waits are one sum by now: then each of them counts as much as the others. */
	if (!times)
		return 0;
	waited = (now.waited_ns - p->back.before.waited_ns) / times;
	p->back.ns_tid = 0;
	return waited;
}
