/*
 * unwind_steps.c - step a process through its instructions one by one, and compare cspy's native stack at each with the
 * calls and returns that were seen.
 *
 * usage: unwind_steps PID STEPS
 *
 * Prints "steps N same N thrown N calls N frames N" (thrown: differs in the act of throwing), and on stderr the
 * steps that differ. Where a return address lies on the stack and what it is, is known from the call that pushed it; it
 * is gone as soon as the stack pointer is above it, however that came about (a return, a throw, a longjmp). So the
 * truth needs no unwinder but for the frames of the first stop.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>

#include "cspy/unwind.h"

#if defined(__x86_64__)

enum {
	FRAMES = 512,
	COPY = 1 << 20,
	CALL_SHORTEST = 2, /* bytes of a call instruction */
	CALL_LONGEST = 8,
	FIRST_STOPS = 1000, /* until a stack is whole */
	BURST = 500,	    /* steps, before it runs freely for a moment: loops are long */
	SHOWN = 5,
};

/* A return address, and where it lies. */
struct call {
	raddr_t slot, back;
};

struct steps {
	pid_t pid;
	struct target *target;
	struct modules *modules;
	struct unwinder *unwinder;
	struct regs regs;
	struct call calls[FRAMES]; /* outermost first */
	size_t count;
	struct code_addr found[FRAMES];
	size_t found_count;
	enum unwind_end end;
	size_t done, equal, thrown; /* steps, those that agree, those that differ in the act of throwing */
	size_t called, frames;	    /* calls among them, frames of all */
};

static uint8_t bytes[COPY];

static bool wait_stop(struct steps *s, int *signal)
{
	int status;

	if (waitpid(s->pid, &status, __WALL) != s->pid || !WIFSTOPPED(status))
		return false;
	*signal = WSTOPSIG(status) == SIGTRAP || status >> 16 ? 0 : WSTOPSIG(status);
	return !failed(regs_get(s->pid, &s->regs));
}

/* From below the stack pointer to `top`. */
static void unwind_now(struct steps *s, raddr_t top)
{
	struct stack_copy copy = { s->regs.sp - STACK_BELOW, bytes, 0 };
	size_t used;

	copy.len = top > copy.at && top - copy.at < COPY ? top - copy.at : COPY;
	if (failed(memory_read(s->target->memory, copy.at, bytes, copy.len)))
		copy.len = 0;
	s->found_count = unwind(s->unwinder, &s->regs, &copy, s->found, FRAMES, &s->end, &used);
}

/* Whoever throws overwrites its own callers' registers before it lands there. */
static bool throws(const struct steps *s)
{
	for (size_t i = 0; i < 2 && i < s->found_count; i++) {
		const struct mapping *m = maps_find(&s->target->maps, s->found[i].at);

		if (m && strstr(m->path, "/libgcc_s"))
			return true;
	}
	return false;
}

/* The calls that are there already, as the unwinder has them. False: it does not have them all. */
static bool begin(struct steps *s)
{
	const struct mapping *m = maps_find(&s->target->maps, s->regs.sp);

	unwind_now(s, m ? m->end : 0);
	s->count = s->found_count ? s->found_count - 1 : 0;
	for (size_t i = 0; i < s->count; i++) {
		struct call *c = &s->calls[s->count - 1 - i];

		*c = (struct call){ s->found[i].cfa - sizeof(raddr_t), s->found[i + 1].at };
		if (!s->found[i + 1].is_return)
			return false;
	}
	return s->count && s->end == UNWIND_ROOT && !throws(s);
}

/* Let it run until it stands where the unwinder has the whole stack. */
static bool stop(struct steps *s, int signal)
{
	for (int i = 0; i < FIRST_STOPS; i++) {
		struct timespec nap = { 0, 300000 + 7919 * (i % 101) };

		ptrace(PTRACE_CONT, s->pid, NULL, signal); /* fails at the very first stop: it runs */
		nanosleep(&nap, NULL);
		if (ptrace(PTRACE_INTERRUPT, s->pid, NULL, NULL) != 0 || !wait_stop(s, &signal))
			return false;
		if (begin(s))
			return true;
	}
	return false;
}

/* What the instruction did that was stepped over; the registers before it are given. True: it was a call. */
static bool follow(struct steps *s, const struct regs *before)
{
	raddr_t top;

	while (s->count && s->calls[s->count - 1].slot < s->regs.sp)
		s->count--;
	if (s->regs.sp != before->sp - sizeof(top) || s->count == FRAMES ||
	    failed(memory_ptr(s->target->memory, s->regs.sp, &top)))
		return false;
	if (top < before->pc + CALL_SHORTEST || top > before->pc + CALL_LONGEST)
		return false;
	s->calls[s->count++] = (struct call){ s->regs.sp, top };
	return true;
}

static bool same(const struct steps *s)
{
	if (s->found_count != s->count + 1 || s->end != UNWIND_ROOT)
		return false;
	for (size_t i = 0; i < s->count; i++)
		if (s->found[i + 1].at != s->calls[s->count - 1 - i].back)
			return false;
	return true;
}

static void show(const struct steps *s)
{
	fprintf(stderr, "step %zu, end %d\n  cspy: ", s->done, (int)s->end);
	for (size_t i = 0; i < s->found_count; i++)
		fprintf(stderr, " %llx", (unsigned long long)s->found[i].at);
	fprintf(stderr, "\n  calls: %llx", (unsigned long long)s->regs.pc);
	for (size_t i = s->count; i-- > 0;)
		fprintf(stderr, " %llx", (unsigned long long)s->calls[i].back);
	fputc('\n', stderr);
}

static bool burst(struct steps *s)
{
	raddr_t outermost = s->calls[0].slot;
	int signal = 0;

	for (int i = 0; i < BURST && s->count; i++) {
		struct regs before = s->regs;

		if (ptrace(PTRACE_SINGLESTEP, s->pid, NULL, signal) != 0 || !wait_stop(s, &signal))
			return false;
		s->called += follow(s, &before);
		unwind_now(s, outermost + STACK_BELOW);
		s->frames += s->found_count;
		s->done++;
		if (same(s))
			s->equal++;
		else if (throws(s))
			s->thrown++;
		else if (s->done - s->equal - s->thrown <= SHOWN)
			show(s);
	}
	return stop(s, signal);
}

int main(int argc, char **argv)
{
	struct steps s = { .pid = argc > 2 ? (pid_t)atoi(argv[1]) : 0 };
	size_t wanted;

	if (!s.pid || failed(target_open(s.pid, &s.target)) || ptrace(PTRACE_SEIZE, s.pid, NULL, NULL) != 0) {
		fprintf(stderr, "usage: unwind_steps PID STEPS\n");
		return 2;
	}
	s.modules = modules_new(s.target);
	s.unwinder = unwinder_new(s.target, s.modules);
	wanted = (size_t)atoi(argv[2]);
	if (stop(&s, 0))
		while (s.done < wanted && burst(&s))
			continue;
	printf("steps %zu same %zu thrown %zu calls %zu frames %zu\n", s.done, s.equal, s.thrown, s.called, s.frames);
	ptrace(PTRACE_DETACH, s.pid, NULL, NULL);
	unwinder_free(s.unwinder);
	modules_free(s.modules);
	target_close(s.target);
	return 0;
}

#else

int main(void)
{
	puts("steps 0"); /* a call leaves its return address in a register first: other rules */
	return 0;
}

#endif
