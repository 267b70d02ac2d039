/*
 * unwind_judge.c - stop a process again and again, and compare cspy's native stacks with libdwfl's, and where it was
 * there to build with, with libunwind-ptrace's, on the same stops.
 *
 * usage: unwind_judge PID STOPS [alone]     (alone: cspy's only, for its time: others take the caches)
 *
 * Prints "stops N same N settled N lost N frames N longest N ns N" (ns: of one unwinding, the median), and on stderr
 * each stop that differs. `settled`: the leaf has no CFI and is in its first or last instructions, where libdwfl misses
 * the leaf's caller. What another takes for return addresses but lies in no code is not compared.
 *
 * Then "libdwfl_ns N", and of libunwind-ptrace "libunwind_same N libunwind_cut N libunwind_alone N libunwind_against N
 * libunwind_ns N". `cut`: it ends where both others go on. `alone`: it differs otherwise, and libdwfl has what cspy
 * has, or has settled it. `against`: neither has what cspy has. Both read the stack by ptrace, in the time that is
 * told.
 */
#include <elfutils/libdwfl.h>
#include <fcntl.h>
#ifdef WITH_LIBUNWIND
#include <libunwind-ptrace.h>
#endif
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>

#include "cspy/sampler.h"
#include "cspy/unwind.h"

enum { FRAMES = 512, COPY = 1 << 20, STOPS_MAX = 100000 };

struct list {
	raddr_t at[FRAMES];
	size_t count;
};

static uint8_t bytes[COPY];
/* ns of each unwinding */
static uint64_t took[STOPS_MAX], dwfl_took[STOPS_MAX], libunwind_took[STOPS_MAX];

static int one_frame(Dwfl_Frame *f, void *arg)
{
	struct list *l = arg;
	Dwarf_Addr pc;

	if (l->count == FRAMES || !dwfl_frame_pc(f, &pc, NULL))
		return DWARF_CB_ABORT;
	l->at[l->count++] = pc;
	return DWARF_CB_OK;
}

static char root[64]; /* the target's, as we see it */

/* The file that the target sees at that path. */
static int find_elf(Dwfl_Module *module, void **arg, const char *name, Dwarf_Addr base, char **file, Elf **elf)
{
	char path[4096];
	int fd = -1;

	snprintf(path, sizeof(path), "%s%s", root, name);
	if (*name == '/')
		fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return dwfl_linux_proc_find_elf(module, arg, name, base, file, elf);
	*file = strdup(path);
	return fd;
}

static Dwfl *open_dwfl(pid_t pid)
{
	static char *no_path = NULL;
	static const Dwfl_Callbacks callbacks = {
		.find_elf = find_elf,
		.find_debuginfo = dwfl_standard_find_debuginfo,
		.debuginfo_path = &no_path,
	};
	Dwfl *dwfl = dwfl_begin(&callbacks);

	snprintf(root, sizeof(root), "/proc/%d/root", (int)pid);
	if (!dwfl || dwfl_linux_proc_report(dwfl, pid) != 0 || dwfl_report_end(dwfl, NULL, NULL) != 0 ||
	    dwfl_linux_proc_attach(dwfl, pid, true) != 0) {
		fprintf(stderr, "libdwfl: %s\n", dwfl_errmsg(-1));
		exit(2);
	}
	return dwfl;
}

/* What libunwind-ptrace says of all stops. */
struct other {
	size_t same, cut, alone, against;
};

#ifdef WITH_LIBUNWIND
static void other_frames(pid_t pid, struct list *l)
{
	static unw_addr_space_t space;
	static void *state;
	unw_cursor_t c;
	unw_word_t ip;

	if (!space) {
		space = unw_create_addr_space(&_UPT_accessors, 0);
		state = _UPT_create(pid);
	}
	if (unw_init_remote(&c, space, state) != 0)
		return;
	do {
		if (unw_get_reg(&c, UNW_REG_IP, &ip) != 0)
			return;
		l->at[l->count++] = ip;
	} while (l->count < FRAMES && unw_step(&c) > 0);
}
#endif

static bool stop(pid_t pid)
{
	int status;

	return ptrace(PTRACE_INTERRUPT, pid, NULL, NULL) == 0 && waitpid(pid, &status, __WALL) == pid &&
	       WIFSTOPPED(status);
}

static size_t copy_stack(struct target *t, raddr_t sp)
{
	const struct mapping *m = maps_find(&t->maps, sp);
	size_t len = m && m->end - sp < COPY ? m->end - sp : COPY;

	return failed(memory_read(t->memory, sp, bytes, len)) ? 0 : len;
}

static void print(const char *who, const struct list *l)
{
	fprintf(stderr, "  %s:", who);
	for (size_t i = 0; i < l->count; i++)
		fprintf(stderr, " %llx", (unsigned long long)l->at[i]);
	fputc('\n', stderr);
}

static bool is_code(struct target *t, raddr_t at)
{
	const struct mapping *m = maps_find(&t->maps, at);

	return m && m->prot & PROT_EXEC;
}

static void drop_nonsense(struct target *t, struct list *l)
{
	while (l->count > 1 && !is_code(t, l->at[l->count - 1]))
		l->count--;
}

/* All but ours[1]. */
static bool is_settled(const struct list *ours, const struct list *theirs)
{
	return ours->count == theirs->count + 1 && ours->at[0] == theirs->at[0] &&
	       !memcmp(&ours->at[2], &theirs->at[1], (theirs->count - 1) * sizeof(ours->at[0]));
}

static bool same(const struct list *a, const struct list *b)
{
	return a->count == b->count && !memcmp(a->at, b->at, a->count * sizeof(a->at[0]));
}

static bool is_cut(const struct list *ours, const struct list *theirs)
{
	return theirs->count && theirs->count < ours->count &&
	       !memcmp(ours->at, theirs->at, theirs->count * sizeof(ours->at[0]));
}

/* `agreed`: libdwfl has cspy's stack. */
static void judge_other(pid_t pid, struct target *t, const struct list *ours, bool agreed, uint64_t *took_ns,
			struct other *o)
{
#ifdef WITH_LIBUNWIND
	struct list theirs = { .count = 0 };
	uint64_t start = clock_now();

	other_frames(pid, &theirs);
	*took_ns = clock_now() - start;
	drop_nonsense(t, &theirs);
	if (same(ours, &theirs)) {
		o->same++;
	} else if (agreed && is_cut(ours, &theirs)) {
		o->cut++;
	} else if (agreed) {
		o->alone++;
	} else {
		o->against++;
		print("cspy", ours);
		print("libunwind", &theirs);
	}
#else
	(void)pid, (void)t, (void)ours, (void)agreed, (void)took_ns, (void)o;
#endif
}

static int by_size(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static unsigned long long median(uint64_t *list, int n)
{
	qsort(list, (size_t)n, sizeof(*list), by_size);
	return list[n / 2];
}

int main(int argc, char **argv)
{
	pid_t pid = argc > 2 ? (pid_t)atoi(argv[1]) : 0;
	int stops = argc > 2 ? atoi(argv[2]) : 0;
	bool alone = argc > 3;
	size_t equal = 0, settled = 0, frames = 0, longest = 0, lost = 0;
	struct other other = { 0 };
	struct target *t;
	struct modules *modules;
	struct unwinder *u;
	Dwfl *dwfl;

	if (stops <= 0 || stops > STOPS_MAX || failed(target_open(pid, &t)) ||
	    ptrace(PTRACE_SEIZE, pid, NULL, NULL) != 0) {
		fprintf(stderr, "usage: unwind_judge PID STOPS\n");
		return 2;
	}
	modules = modules_new(t);
	u = unwinder_new(t, modules);
	if (!stop(pid))
		return 2;
	dwfl = open_dwfl(pid);
	for (int i = 0; i < stops; i++) {
		struct timespec nap = { 0, 300000 + 7919 * (i % 101) };
		struct code_addr found[FRAMES];
		struct list ours = { .count = 0 }, theirs = { .count = 0 };
		struct stack_copy copy = { .bytes = bytes };
		enum unwind_end end = UNWIND_LOST;
		struct regs regs;
		size_t used;
		uint64_t start;

		ptrace(PTRACE_CONT, pid, NULL, NULL);
		nanosleep(&nap, NULL);
		if (!stop(pid) || failed(regs_get(pid, &regs)))
			break;
		copy.at = regs.sp - STACK_BELOW;
		copy.len = copy_stack(t, copy.at);
		start = clock_now();
		ours.count = unwind(u, &regs, &copy, found, FRAMES, &end, &used);
		took[i] = clock_now() - start;
		for (size_t k = 0; k < ours.count; k++)
			ours.at[k] = found[k].at;
		frames += ours.count;
		if (alone)
			continue;
		start = clock_now();
		dwfl_getthread_frames(dwfl, pid, one_frame, &theirs);
		dwfl_took[i] = clock_now() - start;
		drop_nonsense(t, &theirs);
		longest = ours.count > longest ? ours.count : longest;
		lost += end != UNWIND_ROOT;
		if (same(&ours, &theirs)) {
			equal++;
		} else if (is_settled(&ours, &theirs)) {
			settled++;
		} else {
			fprintf(stderr, "stop %d, end %d:\n", i, (int)end);
			print("cspy", &ours);
			print("libdwfl", &theirs);
		}
		judge_other(pid, t, &ours, same(&ours, &theirs) || is_settled(&ours, &theirs), &libunwind_took[i],
			    &other);
	}
	ptrace(PTRACE_DETACH, pid, NULL, NULL);
	printf("stops %d same %zu settled %zu lost %zu frames %zu longest %zu ns %llu libdwfl_ns %llu\n", stops, equal,
	       settled, lost, frames, longest, median(took, stops), median(dwfl_took, stops));
#ifdef WITH_LIBUNWIND
	printf("libunwind_same %zu libunwind_cut %zu libunwind_alone %zu libunwind_against %zu libunwind_ns %llu\n",
	       other.same, other.cut, other.alone, other.against, median(libunwind_took, stops));
#endif
	dwfl_end(dwfl);
	unwinder_free(u);
	modules_free(modules);
	target_close(t);
	return 0;
}
