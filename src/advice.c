/* advice.c - say what failed, why, and the one thing to do about it. */
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "advice.h"
#include "procfs.h"
#include "users.h"
#include "utf8.h"

enum {
	KERNEL_THREAD = 0x00200000, /* PF_KTHREAD in field 9 of stat */
	CAPABILITY_SYS_PTRACE = 19,
};

static const char container_hint[] = "in a container, give it the capability: docker run --cap-add "
				     "SYS_PTRACE, or in Kubernetes from outside: "
				     "kubectl debug --profile=general --target=CONTAINER";

static long status_number(const char *status, const char *key, int base)
{
	const char *value = status ? procfs_status_value(status, key) : NULL;

	return value ? strtol(value, NULL, base) : 0;
}

/* "Uid:" has four: real, effective, saved, file system. */
static long effective_uid(const char *status)
{
	const char *value = procfs_status_value(status, "Uid");
	char *end;

	if (!value)
		return -1;
	strtol(value, &end, 10);
	return strtol(end, NULL, 10);
}

static void find_state(int proc, struct advice_facts *f)
{
	char text[1024];
	struct procfs_stat stat;

	if (procfs_read_buf(proc, "stat", text, sizeof(text)) <= 0 || !procfs_parse_stat(text, &stat))
		return;
	f->exists = true;
	f->zombie = stat.state == 'Z' || stat.state == 'X';
	f->kernel_thread = stat.flags & KERNEL_THREAD;
}

static void find_owner(int proc, struct advice_facts *f, const char *status)
{
	struct stat st;

	f->uid = effective_uid(status);
	users_name((uid_t)f->uid, f->user, sizeof(f->user));
	/* The files of a process that must not be dumped belong to root. */
	f->dumpable = fstatat(proc, "mem", &st, 0) || f->uid == 0 || st.st_uid != 0;
}

/* The namespace itself can be named only by who may trace; its map of ids by everybody. */
static bool has_other_users(int proc)
{
	CLEANUP(cleanup_free) char *its = procfs_read(proc, "uid_map", NULL);
	CLEANUP(cleanup_free) char *ours = procfs_read(AT_FDCWD, "/proc/self/uid_map", NULL);

	return its && ours && strcmp(its, ours) != 0;
}

static void find_tracer(struct advice_facts *f)
{
	char path[64];

	if (!f->tracer)
		return;
	snprintf(path, sizeof(path), "/proc/%d/comm", (int)f->tracer);
	procfs_read_buf(AT_FDCWD, path, f->tracer_name, sizeof(f->tracer_name));
	f->tracer_name[strcspn(f->tracer_name, "\n")] = 0;
}

static void find_ourselves(struct advice_facts *f)
{
	CLEANUP(cleanup_free) char *status = procfs_read(AT_FDCWD, "/proc/self/status", NULL);
	const char *caps = status ? procfs_status_value(status, "CapEff") : NULL;
	char yama[16];

	f->own_uid = (long)geteuid();
	f->can_trace = caps && strtoull(caps, NULL, 16) >> CAPABILITY_SYS_PTRACE & 1;
	if (procfs_read_buf(AT_FDCWD, "/proc/sys/kernel/yama/ptrace_scope", yama, sizeof(yama)) > 0)
		f->yama = (int)strtol(yama, NULL, 10);
}

void advice_find_facts(pid_t pid, struct advice_facts *ret)
{
	char path[64];
	CLEANUP(cleanup_close) int proc = -1;
	CLEANUP(cleanup_free) char *status = NULL;
	ssize_t got;

	*ret = (struct advice_facts){ .pid = pid, .process = pid, .uid = -1, .dumpable = true };
	find_ourselves(ret);
	snprintf(path, sizeof(path), "/proc/%d", (int)pid);
	proc = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (proc < 0)
		return;
	find_state(proc, ret);
	status = procfs_read(proc, "status", NULL);
	if (!status)
		return;
	ret->process = (pid_t)status_number(status, "Tgid", 10);
	ret->tracer = (pid_t)status_number(status, "TracerPid", 10);
	find_owner(proc, ret, status);
	ret->foreign_users = has_other_users(proc);
	find_tracer(ret);
	got = readlinkat(proc, "exe", ret->exe, sizeof(ret->exe) - 1);
	ret->exe[got > 0 ? got : 0] = 0;
}

static void say(struct advice *a, enum exit_code code, const char *hint, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

static void say(struct advice *a, enum exit_code code, const char *hint, const char *fmt, ...)
{
	va_list args;

	a->exit_code = code;
	snprintf(a->hint, sizeof(a->hint), "%s", hint);
	va_start(args, fmt);
	vsnprintf(a->text, sizeof(a->text), fmt, args);
	va_end(args);
}

bool advice_hopeless(const struct advice_facts *f, struct advice *ret)
{
	int pid = (int)f->pid;

	if (!f->exists) {
		say(ret, EXIT_GONE, "", "process %d: there is no such process", pid);
	} else if (f->process && f->process != f->pid) {
		say(ret, EXIT_USAGE, "", "process %d: that is a thread; its process is %d", pid, (int)f->process);
		snprintf(ret->hint, sizeof(ret->hint), "use -p %d", (int)f->process);
	} else if (f->zombie) {
		say(ret, EXIT_GONE, "", "process %d: it has ended (a zombie that its parent has not collected yet)",
		    pid);
	} else if (f->kernel_thread) {
		say(ret, EXIT_UNSUPPORTED, "", "process %d: a thread of the kernel, no program", pid);
	} else {
		return false;
	}
	return true;
}

/* In the order in which the kernel's own checks could have failed. */
static void advise_denied(const struct advice_facts *f, struct advice *ret)
{
	char who[96];

	snprintf(who, sizeof(who), "process %d: no permission to %s it", (int)f->pid, f->readable ? "pause" : "read");
	if (f->readable && !f->tracer)
		say(ret, EXIT_DENIED, "try --nonblocking",
		    "%s: the kernel refuses ptrace (seccomp, SELinux or AppArmor), though not reading", who);
	else if (f->foreign_users && f->can_trace)
		say(ret, EXIT_DENIED, "run cspy on the host, with sudo, or inside the process's own container",
		    "%s: it lives in another user namespace, for which cspy's CAP_SYS_PTRACE does not count", who);
	else if (f->own_uid == 0 && !f->can_trace)
		say(ret, EXIT_DENIED, container_hint, "%s: root, but without the capability CAP_SYS_PTRACE", who);
	else if (f->own_uid != 0 && f->uid != f->own_uid && !f->can_trace)
		say(ret, EXIT_DENIED, "run cspy with sudo, or as that user", "%s: it belongs to %s", who, f->user);
	else if (!f->dumpable && !f->can_trace)
		say(ret, EXIT_DENIED, "run cspy with sudo",
		    "%s: it is protected (not dumpable: it changed user, or its file has capabilities)", who);
	else if (f->yama >= 3)
		say(ret, EXIT_DENIED,
		    "boot with kernel.yama.ptrace_scope at 2 or less: 3 can't be lowered while running",
		    "%s: kernel.yama.ptrace_scope is %d, which forbids it to everybody", who, f->yama);
	else if (f->yama == 2 && !f->can_trace)
		say(ret, EXIT_DENIED, "run cspy with sudo",
		    "%s: kernel.yama.ptrace_scope is 2, which allows it to root only", who);
	else if (f->yama == 1 && !f->can_trace)
		say(ret, EXIT_DENIED,
		    "run cspy with sudo, or start the program by it (cspy record -- COMMAND), or set "
		    "kernel.yama.ptrace_scope to 0 (sudo sysctl kernel.yama.ptrace_scope=0)",
		    "%s: kernel.yama.ptrace_scope is 1, which allows it for own children only", who);
	else if (f->tracer)
		say(ret, EXIT_DENIED, "end that, or try --nonblocking", "%s: it is traced already, by process %d (%s)",
		    who, (int)f->tracer, f->tracer_name);
	else
		say(ret, EXIT_DENIED, container_hint,
		    "%s: the kernel refuses (another user namespace, seccomp, SELinux or AppArmor)", who);
}

void advice_attach(const struct advice_facts *f, struct err e, const char *why, struct advice *ret)
{
	int pid = (int)f->pid;

	if (advice_hopeless(f, ret))
		return;
	switch (e.code) {
	case ERR_DENIED:
		advise_denied(f, ret);
		return;
	case ERR_GONE:
		say(ret, EXIT_GONE, "", "process %d: it ended before a sample was taken", pid);
		return;
	case ERR_UNSUPPORTED:
	case ERR_CORRUPT:
	case ERR_FAULT:
		if (*why)
			say(ret, EXIT_UNSUPPORTED, "", "process %d: %s", pid, why);
		else
			say(ret, EXIT_UNSUPPORTED, "", "process %d (%s): %s", pid, *f->exe ? f->exe : "unknown program",
			    e.what ? e.what : "it can't be read");
		return;
	default:
		say(ret, EXIT_FAILED, "", "process %d: %s: %s", pid, e.what ? e.what : "failed",
		    *why   ? why
		    : e.os ? strerror(e.os)
			   : err_code_name(e.code));
	}
}

/* Names come from the target: nothing of them may move the cursor or start another line. */
static void print_line(FILE *out, const char *text)
{
	fputs("cspy: ", out);
	utf8_put_plain(out, text);
	fputc('\n', out);
}

void advice_print(FILE *out, const struct advice *a)
{
	print_line(out, a->text);
	if (*a->hint)
		print_line(out, a->hint);
}

int advice_say(enum exit_code code, const char *text, const char *hint)
{
	struct advice a = { .exit_code = code };

	snprintf(a.text, sizeof(a.text), "%s", text);
	snprintf(a.hint, sizeof(a.hint), "%s", hint);
	advice_print(stderr, &a);
	return code;
}
