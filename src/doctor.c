/* doctor.c - what helps or hinders cspy at one process, each by its own check. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "container.h"
#include "cspy/perfmap.h"
#include "doctor.h"
#include "dump.h"
#include "runtimes.h"
#include "unwind_cfi.h"
#include "users.h"

static struct finding *find(struct diagnosis *d, const char *name, enum verdict v, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

static struct finding *find(struct diagnosis *d, const char *name, enum verdict v, const char *fmt, ...)
{
	struct finding *f = &d->list[d->count < FINDINGS_MAX ? d->count++ : FINDINGS_MAX - 1];
	va_list args;

	*f = (struct finding){ .name = name, .verdict = v };
	va_start(args, fmt);
	vsnprintf(f->text, sizeof(f->text), fmt, args);
	va_end(args);
	return f;
}

/* What stands in the way of everything that would be checked after it. */
static void stop(struct diagnosis *d, const char *name, const struct advice *a)
{
	struct finding *f = find(d, name, VERDICT_BAD, "%s", a->text);

	snprintf(f->hint, sizeof(f->hint), "%s", a->hint);
	d->exit_code = a->exit_code;
}

/* ---- What the kernel looks at before it lets one process read another ---- */

static void check_user(struct diagnosis *d, const struct advice_facts *f)
{
	char own[64];

	users_name((uid_t)f->own_uid, own, sizeof(own));
	if (f->uid == f->own_uid)
		find(d, "user", VERDICT_GOOD, "it belongs to %s, as cspy does", f->user);
	else
		find(d, "user", f->can_trace ? VERDICT_GOOD : VERDICT_NOTE, "it belongs to %s, cspy runs as %s",
		     f->user, own);
	find(d, "capability", f->can_trace ? VERDICT_GOOD : VERDICT_NOTE, "cspy %s CAP_SYS_PTRACE",
	     f->can_trace ? "has" : "has no");
}

static void check_rules(struct diagnosis *d, const struct advice_facts *f)
{
	static const char *const scopes[] = { "own processes may be read", "only children, or with CAP_SYS_PTRACE",
					      "only with CAP_SYS_PTRACE", "nothing may be read" };
	int scope = f->yama < 0 ? 0 : f->yama > 3 ? 3 : f->yama;

	find(d, "ptrace_scope",
	     scope == 3		      ? VERDICT_BAD
	     : scope && !f->can_trace ? VERDICT_NOTE
				      : VERDICT_GOOD,
	     "%d: %s", f->yama, scopes[scope]);
	if (!f->dumpable)
		find(d, "dumpable", f->can_trace ? VERDICT_GOOD : VERDICT_NOTE,
		     "no: it changed user, or its file has capabilities; that asks for CAP_SYS_PTRACE");
	if (f->tracer)
		find(d, "tracer", VERDICT_NOTE, "process %d (%s) traces it: it can be read, but not paused",
		     (int)f->tracer, f->tracer_name);
	if (f->foreign_users)
		find(d, "user namespace", f->can_trace ? VERDICT_GOOD : VERDICT_NOTE, "another than cspy's");
}

static void check_place(struct diagnosis *d, struct target *t)
{
	char text[256];

	if (t->ns_pid != t->pid)
		find(d, "pid namespace", VERDICT_GOOD, "another than cspy's; its own id there is %d", (int)t->ns_pid);
	container_of_process(t->proc, text, sizeof(text));
	if (*text)
		find(d, "container", VERDICT_GOOD, "%s", text);
}

/* ---- What cspy has to find in it ---- */

/* NULL: it can't be read. */
static struct image *open_image(struct target *t, const struct mapping *at)
{
	struct image *img;
	int fd;

	if (!at || failed(target_open_mapping(t, at, &fd)) || failed(image_open(fd, at->path, &img)))
		return NULL;
	return img;
}

static void read_build_id(struct diagnosis *d, struct image *img)
{
	const void *bytes;
	size_t len;

	if (!image_build_id(img, &bytes, &len))
		return;
	for (size_t i = 0; i < len && 2 * i + 2 < sizeof(d->build_id); i++)
		snprintf(d->build_id + 2 * i, 3, "%02x", ((const unsigned char *)bytes)[i]);
}

static const char *rows_of(struct image *img)
{
	struct cfi *cfi = cfi_new(img);
	const char *ret = cfi_source(cfi);

	cfi_free(cfi);
	return ret;
}

static const struct mapping *executable(struct target *t)
{
	struct stat st;

	if (fstatat(t->proc, "exe", &st, 0) != 0)
		return NULL;
	for (size_t i = 0; i < t->maps.count; i++)
		if (t->maps.list[i].inode == st.st_ino)
			return &t->maps.list[i];
	return NULL;
}

static bool is_same_file(const struct mapping *a, const struct mapping *b)
{
	return b && a->inode == b->inode && a->dev == b->dev;
}

/* What -n goes by in this file. */
static void find_rows(struct diagnosis *d, const char *name, const struct image *img, const char *rows)
{
	struct finding *f = find(d, name, rows ? VERDICT_GOOD : VERDICT_NOTE, "%s",
				 rows  ? rows
				 : img ? "none: native frames (-n) are found by frame pointers"
				       : "its file can't be read");

	if (img && !rows)
		snprintf(f->hint, sizeof(f->hint), "build it with -fno-omit-frame-pointer, or keep its .eh_frame");
}

static void check_executable(struct diagnosis *d, struct target *t)
{
	struct image *img = open_image(t, executable(t));
	char text[256];

	target_exe(t, text, sizeof(text));
	find(d, "executable", VERDICT_GOOD, "%s", text);
	if (img)
		d->rows_exe = rows_of(img);
	find_rows(d, "unwind rows", img, d->rows_exe);
	image_close(img);
}

static bool check_runtime(struct diagnosis *d, struct target *t, const struct advice_facts *facts)
{
	const struct runtime_ops *ops;
	const struct mapping *file;
	struct image *img;
	raddr_t at;
	char why[256] = "";
	void *instance;
	struct err e = runtimes_find(t, false, why, sizeof(why), &ops, &instance, &at);

	if (failed(e)) {
		struct advice a = { 0 };

		advice_attach(facts, e, why, &a);
		stop(d, "runtime", &a);
		return false;
	}
	ops->about(instance, &d->about);
	snprintf(d->layout, sizeof(d->layout), "%s", d->about.layout ? d->about.layout : "");
	d->about.layout = NULL; /* the instance's */
	ops->detach(instance);
	file = maps_find(&t->maps, at);
	img = open_image(t, file);
	if (img) {
		read_build_id(d, img);
		d->rows_runtime = rows_of(img);
	}
	find(d, "runtime", VERDICT_GOOD, "%s %s%s%s, in %s", d->about.name, d->about.version,
	     *d->about.flavour ? ", " : "", d->about.flavour, file ? file->path : "?");
	find(d, "build id", VERDICT_GOOD, "%s", *d->build_id ? d->build_id : "none");
	find(d, "layout", VERDICT_GOOD, "%s", d->layout);
	if (file && !is_same_file(file, executable(t)))
		find_rows(d, "its unwind rows", img, d->rows_runtime);
	image_close(img);
	return true;
}

static void check_perf_map(struct diagnosis *d, struct target *t)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)t->ns_pid);
	if (failed(target_open_file(t, path, &fd))) {
		if (perfmap_exists(t))
			find(d, "perf map", VERDICT_GOOD,
			     "its own dump (jit-%d.dump) names code that was made while it ran", (int)t->ns_pid);
		return;
	}
	close(fd);
	find(d, "perf map", VERDICT_GOOD, "%s names code that was made while it ran", path);
}

static void check_sample(struct diagnosis *d, struct target *t, const struct advice_facts *facts)
{
	struct dump *dump = NULL;
	char why[256] = "";
	/* A debugger keeps others from pausing it, which is told already. */
	struct err e = dump_take(t, (struct dump_options){ .nonblocking = facts->tracer }, why, sizeof(why), &dump);
	size_t whole = 0;

	if (e.code == ERR_DENIED) {
		find(d, "pause", VERDICT_NOTE, "it can be read, but not paused: the kernel refuses ptrace");
		e = dump_take(t, (struct dump_options){ .nonblocking = true }, why, sizeof(why), &dump);
	}

	if (failed(e)) {
		struct advice a = { 0 };

		advice_attach(facts, e, why, &a);
		stop(d, "sample", &a);
		return;
	}
	for (size_t i = 0; i < dump->thread_count; i++)
		whole += !failed(dump->threads[i].err);
	find(d, "sample", whole == dump->thread_count ? VERDICT_GOOD : VERDICT_NOTE,
	     "%zu of %zu threads read, %zu frames; paused for %.3g ms", whole, dump->thread_count, dump->frame_count,
	     (double)dump->paused_ns * 1e-6);
	dump_free(dump);
}

void doctor_examine(pid_t pid, struct diagnosis *ret)
{
	struct advice_facts facts;
	struct advice a = { 0 };
	struct target *t = NULL;
	struct err e;

	*ret = (struct diagnosis){ .pid = pid };
	advice_find_facts(pid, &facts);
	if (advice_hopeless(&facts, &a)) {
		stop(ret, "process", &a);
		return;
	}
	check_user(ret, &facts);
	check_rules(ret, &facts);
	e = target_open(pid, &t);
	if (failed(e)) {
		advice_attach(&facts, e, "", &a);
		stop(ret, "memory", &a);
		return;
	}
	facts.readable = true;
	find(ret, "memory", VERDICT_GOOD, "can be read, by %s", t->memory->ops->name);
	check_place(ret, t);
	check_executable(ret, t);
	if (check_runtime(ret, t, &facts)) {
		check_perf_map(ret, t);
		check_sample(ret, t, &facts);
	}
	target_close(t);
}
