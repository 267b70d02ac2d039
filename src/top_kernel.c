/* top_kernel.c - what the kernel says of the processes and threads that cspy top shows: CPU time, and what they wait
 * for.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "procfs.h"
#include "top.h"

enum {
	ASK_MOST = 20, /* threads in one go: an answer costs some microseconds */
};

/* ---- Processes ---- */

static bool read_stat(pid_t pid, struct procfs_stat *ret)
{
	char path[64], text[1024];

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	return procfs_read_buf(AT_FDCWD, path, text, sizeof(text)) > 0 && procfs_parse_stat(text, ret);
}

static uint64_t cpu_of(const struct procfs_stat *stat)
{
	return (stat->user + stat->system) * (1000000000ull / (uint64_t)sysconf(_SC_CLK_TCK));
}

static void name_process(struct roster_process *p, const struct watch *w)
{
	char path[64];

	p->program = w->program;
	snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)p->pid);
	procfs_cmdline(AT_FDCWD, path, p->command, sizeof(p->command));
}

/* Returns the CPU time that it used since it was met last. */
static uint64_t meet(struct top *t, const struct watch *w, uint64_t now)
{
	bool fresh;
	struct roster_process *p = roster_meet(&t->page.roster, w->pid, &fresh);
	uint64_t before = p->tally.now.cpu_ns;
	struct procfs_stat stat;

	if (fresh || p->program != w->program)
		name_process(p, w);
	if (w->sampler)
		snprintf(p->runtime, sizeof(p->runtime), "%s %s", w->about.name, w->about.version);
	else
		p->runtime[0] = 0;
	if (!read_stat(w->pid, &stat))
		return 0;
	p->parent = stat.parent;
	if (fresh) {
		tallies_begin(&p->tally, now, cpu_of(&stat));
		return 0;
	}
	tallies_cpu(&p->tally, cpu_of(&stat));
	return p->tally.now.cpu_ns - before;
}

void top_meet(struct top *t)
{
	const struct recorder *r = &t->recorder;
	struct tally *all = &t->page.tallies.process;
	uint64_t now = clock_now(), used;

	roster_begin(&t->page.roster);
	used = meet(t, &r->root, now);
	for (size_t i = 0; r->options.subprocesses && i < r->children.count; i++)
		used += meet(t, r->children.list[i], now);
	tallies_cpu(all, all->now.cpu_ns + used);
}

/* ---- Threads ---- */

/* Who watches the process of a thread; NULL: it is not attached now. Threads of one process stand together, mostly. */
static const struct watch *watch_of(const struct top *t, size_t thread, const struct watch *last)
{
	pid_t pid = t->profile->threads[thread].pid;
	const struct watch *w = last && last->pid == pid ? last : recorder_watch(&t->recorder, pid);

	return w && w->sampler ? w : NULL;
}

static void greet_threads(struct top *t)
{
	struct tallies *tallies = &t->page.tallies;
	const struct watch *w = NULL;

	for (size_t i = tallies_grow(tallies); i < tallies->count; i++) {
		w = watch_of(t, i, w);
		tallies_begin(&tallies->threads[i].tally, clock_now(),
			      w ? target_cpu(w->target, t->profile->threads[i].tid) : 0);
	}
}

void top_ask(struct top *t, uint64_t now)
{
	struct tallies *tallies = &t->page.tallies;
	const struct watch *w = NULL;
	size_t asked = 0;

	greet_threads(t);
	for (size_t i = 0; i < tallies->count && asked < ASK_MOST; i++) {
		size_t at = t->turn++ % tallies->count;
		pid_t tid = t->profile->threads[at].tid;
		struct thread_wait_info info;

		if (!tallies->threads[at].alive || tid <= 0)
			continue;
		if (!tallies_curious(tallies, at, now)) {
			tallies_repeat(tallies, at);
			continue;
		}
		w = watch_of(t, at, w);
		if (!w)
			continue;
		info = target_thread_wait(w->target, tid);
		tallies_answer(tallies, at, now, info.kind, info.at && sampler_lock_at(w->sampler, info.at));
		asked++;
	}
}

void top_read_cpu(struct top *t)
{
	struct tallies *tallies = &t->page.tallies;
	const struct watch *w = NULL;

	greet_threads(t);
	for (size_t i = 0; i < tallies->count; i++) {
		pid_t tid = t->profile->threads[i].tid;

		if (!tallies->threads[i].alive || tid <= 0)
			continue;
		w = watch_of(t, i, w);
		if (w)
			tallies_cpu(&tallies->threads[i].tally, target_cpu(w->target, tid));
	}
}
