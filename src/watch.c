/* watch.c - one process that is recorded: attach, try again while it starts, and again after exec. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "cspy/perfmap.h"
#include "map64.h"
#include "procfs.h"
#include "starting.h"
#include "watch.h"

/* Tries to attach, each of which costs as much as some hundred looks, come after an eighth of the time waited so far:
 * so little of the start is missed, and what never runs an interpreter costs little. */
enum { WAITED_SHARE = 8 };
static const uint64_t TRY_FIRST_NS = 1000000, TRY_LAST_NS = 250000000;
/* A process just attached is more likely to run another program soon: a fork before its exec. */
static const uint64_t CHECK_FIRST_NS = 10000000, CHECK_LAST_NS = 250000000;
/* A program that has just been started may still load its interpreter's library. */
static const uint64_t ANY_NS = 100000000;
enum { COMMAND_BYTES = 96 };

/* exec gives a process another stack: where it starts (field 28 of stat) is random and set once for each program.
 * *ret is 0 when that can't be told. False: there is no such process, or a zombie. */
static bool running_program(pid_t pid, uint64_t *ret)
{
	char path[64], text[1024];
	struct procfs_stat stat;

	*ret = 0;
	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	if (procfs_read_buf(AT_FDCWD, path, text, sizeof(text)) < 0 || !procfs_parse_stat(text, &stat))
		return false;
	*ret = stat.start_stack ? stat.start_stack ^ stat.start_code << 1 : 0;
	return stat.state != 'Z' && stat.state != 'X';
}

static void let_go(struct watch *w)
{
	if (w->sampler)
		sampler_settle(w->sampler);
	sampler_free(w->sampler);
	target_close(w->target);
	w->sampler = NULL;
	w->target = NULL;
}

void watch_init(struct watch *w, const struct watch_options *o, struct profile *p, pid_t pid, uint64_t now)
{
	*w = (struct watch){
		.options = o,
		.profile = p,
		.pid = pid,
		.try_ns = now,
		.since_ns = now,
		.check_ns = now + CHECK_FIRST_NS,
		.any_ns = starting_left(pid) ? now + ANY_NS : 0,
	};
	running_program(pid, &w->program);
}

void watch_close(struct watch *w)
{
	let_go(w);
}

static node_id process_root(const struct watch *w)
{
	struct strings *strings = frames_strings(w->profile->frames);
	char command[COMMAND_BYTES];
	CLEANUP(cleanup_free) char *text = NULL;
	struct frame_info info = { .kind = FRAME_PROCESS };

	if (!w->options->process_frames)
		return 0;
	target_cmdline(w->target, command, sizeof(command));
	text = xasprintf("process %d: %s", (int)w->pid, command);
	info.function = info.name = strings_add(strings, text, strlen(text));
	return profile_child(w->profile, 0, frames_add(w->profile->frames, info));
}

/* Stands for the files that it has mapped, one of which may be an interpreter. */
static uint64_t mapped_files(const struct target *t)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < t->maps.count; i++)
		if (t->maps.list[i].inode && !t->maps.list[i].offset)
			sum = hash_step(sum, t->maps.list[i].inode);
	return sum;
}

static void set_attached(struct watch *w)
{
	w->files = mapped_files(w->target);
	sampler_about(w->sampler, &w->about);
	running_program(w->pid, &w->program);
	w->since_ns = clock_now();
	w->check_ns = w->since_ns + CHECK_FIRST_NS;
}

struct err watch_attach(struct watch *w)
{
	struct sampler_options o = w->options->sampler;
	struct err e;

	w->why[0] = 0;
	e = target_open(w->pid, &w->target);
	if (!failed(e)) {
		w->target->debug_server = o.debug_server;
		o.root = process_root(w);
		o.any = o.native ? clock_now() >= w->any_ns : perfmap_exists(w->target);
		e = sampler_new(w->target, w->profile, o, w->why, sizeof(w->why), &w->sampler);
		if (failed(e))
			w->sampler = NULL;
	}
	w->error = e;
	if (failed(e))
		let_go(w);
	else
		set_attached(w);
	return e;
}

void watch_start_trying(struct watch *w, uint64_t now, uint64_t until)
{
	let_go(w);
	w->since_ns = now;
	w->any_ns = now + ANY_NS;
	w->try_ns = now + TRY_FIRST_NS;
	w->give_up_ns = until;
}

struct err watch_try(struct watch *w, uint64_t now)
{
	uint64_t wait = (now - w->since_ns) / WAITED_SHARE;
	struct err e = watch_attach(w);

	if (!failed(e))
		return OK;
	w->try_ns = now + (wait < TRY_FIRST_NS ? TRY_FIRST_NS : wait < TRY_LAST_NS ? wait : TRY_LAST_NS);
	if (starting_may_pass(e) && now < w->give_up_ns)
		return OK;
	w->try_ns = UINT64_MAX;
	return e;
}

bool watch_exited(const struct watch *w)
{
	return w->target && target_alive(w->target).code == ERR_GONE;
}

struct err watch_look(struct watch *w, uint64_t now)
{
	struct err e = sampler_step(w->sampler, now);

	if (!failed(e))
		return OK;
	/* The looks fail as a whole: the sampler has borne that for a while, so it is another program now, or none. */
	if (watch_exited(w))
		e = err_at(ERR_GONE, 0, "looking at the process");
	w->error = e;
	if (e.code == ERR_DENIED || e.code == ERR_GONE)
		return e;
	watch_start_trying(w, now, now + STARTING_NS);
	return OK;
}

/* A young process that was taken by its native stacks may have had an interpreter since. */
static void look_for_interpreter(struct watch *w)
{
	struct sampler_options o = w->options->sampler;
	struct sampler *found;
	uint64_t files;

	if (!w->sampler || !sampler_is_fallback(w->sampler) || !starting_left(w->pid) ||
	    failed(target_refresh_maps(w->target)))
		return;
	files = mapped_files(w->target);
	if (files == w->files) /* reading all their symbols again would tell nothing new */
		return;
	w->files = files;
	o.root = process_root(w);
	if (failed(sampler_new(w->target, w->profile, o, w->why, sizeof(w->why), &found)))
		return;
	sampler_settle(w->sampler);
	sampler_free(w->sampler);
	w->sampler = found;
	sampler_about(found, &w->about);
}

bool watch_check(struct watch *w, uint64_t now)
{
	uint64_t program, next = (now - w->since_ns) / 4;
	bool lives = running_program(w->pid, &program);

	next = next < CHECK_FIRST_NS ? CHECK_FIRST_NS : next > CHECK_LAST_NS ? CHECK_LAST_NS : next;
	w->check_ns = now + next;
	if (lives && program == w->program)
		look_for_interpreter(w);
	if (!lives || !program || program == w->program)
		return lives;
	w->program = program;
	if (w->sampler) {
		w->execs++;
		w->exec_ns = now;
	}
	w->error = err_at(ERR_UNSUPPORTED, 0, "attaching to what the process runs now");
	watch_start_trying(w, now, now + STARTING_NS);
	return true;
}
