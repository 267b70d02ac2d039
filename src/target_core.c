/* target_core.c - a process that is no more, as a target: what its core file has kept. */
#include <string.h>

#include "core.h"
#include "target_core.h"

static struct err fill(struct target *t)
{
	const struct core *c = t->core;

	t->pid = t->ns_pid = c->pid ? c->pid : c->tids[0];
	t->memory = memory_core_new(t->core);
	t->thread_generation = 1;
	for (size_t i = 0; i < c->tid_count; i++) {
		xgrow(&t->threads, &t->thread_cap, t->thread_count + 1, sizeof(*t->threads));
		t->threads[t->thread_count++] = (struct thread){
			.tid = c->tids[i],
			.ns_tid = c->tids[i],
			.stat_fd = -1,
			.runs_fd = -1,
			.seen = 1,
		};
	}
	return maps_parse(core_maps(c), &t->maps);
}

struct err target_open_core(const char *path, const char *exe, struct target **ret)
{
	struct core *c;
	struct target *t;
	struct err e = core_open(path, exe, &c);

	if (failed(e))
		return e;
	t = xcalloc(1, sizeof(*t));
	t->pidfd = t->proc = -1;
	t->core = c;
	e = fill(t);
	if (failed(e)) {
		target_close(t);
		return e;
	}
	*ret = t;
	return OK;
}

int target_core_signal(const struct target *t)
{
	return t->core ? t->core->signal : 0;
}
