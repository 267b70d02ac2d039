/* test_unwind.c - native stacks of code that was written for it: step by step, and with stacks that lie. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cspy/unwind.h"

enum { CODE_BYTES = 4096, FRAMES = 64, STACK_WORDS = 64, COPY = 8192, STEPS = 4000 };

#if defined(__x86_64__)

/* Functions without CFI, as a JIT compiler or an assembler makes them; each is called by the first. */
static const uint8_t caller[] = {
	0x55, 0x48, 0x89, 0xe5, /* push rbp; mov rbp, rsp */
	0x53,			/* push rbx */
	0x48, 0x83, 0xec, 0x08, /* sub rsp, 8 */
	0xff, 0xd7,		/* call rdi */
	0x48, 0x83, 0xc4, 0x08, /* add rsp, 8 */
	0x5b, 0x5d, 0xc3,	/* pop rbx; pop rbp; ret */
};
static const uint8_t with_leave[] = {
	0x85, 0xc0, 0x55, 0x48, 0x89, 0xe5, /* test eax, eax; push rbp; mov rbp, rsp */
	0x48, 0x83, 0xec, 0x20,		    /* sub rsp, 32 */
	0xb8, 0x05, 0x00, 0x00, 0x00,	    /* mov eax, 5 */
	0xff, 0xc8, 0x75, 0xfc,		    /* dec eax; jnz back */
	0xc9, 0xc3,			    /* leave; ret */
};
static const uint8_t with_pops[] = {
	0x55, 0x48, 0x89, 0xe5, 0x53, 0x41, 0x54, /* push rbp; mov rbp, rsp; push rbx; push r12 */
	0x48, 0x83, 0xec, 0x30, 0x31, 0xc0,	  /* sub rsp, 48; xor eax, eax */
	0x48, 0x83, 0xc4, 0x30,			  /* add rsp, 48 */
	0x41, 0x5c, 0x5b, 0x5d, 0xc3,		  /* pop r12; pop rbx; pop rbp; ret */
};
/* As V8's builtins leave: the return address is taken off, and pushed again above the arguments. */
static const uint8_t drops_arguments[] = {
	0x55, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xec, 0x10, /* push rbp; mov rbp, rsp; sub rsp, 16 */
	0xc9, 0x59,					/* leave; pop rcx */
	0x48, 0x8d, 0x64, 0x24, 0x00,			/* lea rsp, [rsp + 0] */
	0x51, 0xc3,					/* push rcx; ret */
};
static const uint8_t leaf[] = { 0x31, 0xc0, 0xff, 0xc0, 0x90, 0xc3 }; /* no frame at all */

static uint8_t *code;

static void *put(size_t at, const uint8_t *bytes, size_t len)
{
	memcpy(code + at, bytes, len);
	return code + at;
}

static void make_code(void)
{
	if (code)
		return;
	code = mmap(NULL, CODE_BYTES, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(code, MAP_FAILED);
	memset(code, 0xcc, CODE_BYTES);
	put(0, caller, sizeof(caller));
}

static size_t unwind_child(struct target *t, struct unwinder *u, pid_t pid, struct code_addr *found,
			   enum unwind_end *end)
{
	static uint8_t bytes[COPY];
	struct stack_copy copy = { .bytes = bytes };
	struct regs regs;
	size_t used;

	assert_false(failed(regs_get(pid, &regs)));
	copy.at = regs.sp - STACK_BELOW;
	for (copy.len = COPY; failed(memory_read(t->memory, copy.at, bytes, copy.len));)
		copy.len -= 512;
	return unwind(u, &regs, &copy, found, FRAMES, end, &used);
}

/* At each instruction of the function its caller must be there, and the caller's caller, which has CFI. */
static void step_through(const uint8_t *function, size_t len)
{
	raddr_t at, end, inside = 0;
	struct code_addr found[FRAMES];
	struct modules *m;
	struct unwinder *u;
	struct target *t;
	pid_t pid;
	int status;

	make_code();
	end = (raddr_t)(uintptr_t)code + sizeof(caller);
	at = (raddr_t)(uintptr_t)put(2048, function, len);
	pid = fork();
	if (pid == 0) {
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		raise(SIGSTOP);
		((void (*)(void *))(uintptr_t)code)(code + 2048);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_false(failed(target_open(pid, &t)));
	m = modules_new(t);
	u = unwinder_new(t, m);
	for (int i = 0; i < STEPS && WIFSTOPPED(status); i++) {
		enum unwind_end how;
		size_t n = unwind_child(t, u, pid, found, &how);
		raddr_t pc = found[0].at;

		assert_true(n > 1);
		if (pc >= at && pc < at + len) {
			inside++;
			assert_in_range(found[1].at, (uintptr_t)code, end);
			assert_true(found[1].is_return);
		}
		if ((pc >= at && pc < at + len) || (pc >= (uintptr_t)code && pc < end)) {
			size_t outer = pc >= at ? 2 : 1;

			assert_true(n > outer);
			assert_int_equal(how, UNWIND_ROOT);
			assert_false(found[outer].at >= (uintptr_t)code &&
				     found[outer].at < (uintptr_t)code + CODE_BYTES);
		}
		ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL);
		assert_int_equal(waitpid(pid, &status, 0), pid);
	}
	assert_true(inside >= 4);
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	unwinder_free(u);
	modules_free(m);
	target_close(t);
}

static void each_instruction_of_a_function_with_leave_has_its_caller(void **state)
{
	(void)state;
	step_through(with_leave, sizeof(with_leave));
}

static void each_instruction_of_a_function_with_pops_has_its_caller(void **state)
{
	(void)state;
	step_through(with_pops, sizeof(with_pops));
}

static void each_instruction_of_a_function_that_drops_arguments_has_its_caller(void **state)
{
	(void)state;
	step_through(drops_arguments, sizeof(drops_arguments));
}

static void each_instruction_of_a_leaf_without_a_frame_has_its_caller(void **state)
{
	(void)state;
	step_through(leaf, sizeof(leaf));
}

/* ---- Stacks that lie ---- */

struct liar {
	struct target *t;
	struct modules *m;
	struct unwinder *u;
	uint64_t words[STACK_WORDS];
	struct regs regs;
	struct stack_copy copy;
	struct code_addr found[FRAMES];
	enum unwind_end end;
	size_t used, n;
};

static const raddr_t BASE = 0x10000;

/* In the middle of the caller, whose frame is at the start of the words. */
static void lie(struct liar *l)
{
	make_code();
	memset(l, 0, sizeof(*l));
	assert_false(failed(target_open(getpid(), &l->t)));
	l->m = modules_new(l->t);
	l->u = unwinder_new(l->t, l->m);
	l->regs = (struct regs){ .known = ~0ull, .pc = (uintptr_t)code + 9, .sp = BASE };
	l->regs.v[6] = BASE;
	l->regs.v[7] = BASE;
	l->copy = (struct stack_copy){ BASE, (const uint8_t *)l->words, sizeof(l->words) };
}

static void frame(struct liar *l, size_t i, raddr_t fp, raddr_t ret)
{
	l->words[i] = fp;
	l->words[i + 1] = ret;
}

static void run(struct liar *l)
{
	l->n = unwind(l->u, &l->regs, &l->copy, l->found, FRAMES, &l->end, &l->used);
}

static void end_lie(struct liar *l)
{
	unwinder_free(l->u);
	modules_free(l->m);
	target_close(l->t);
}

static void frame_pointers_lead_to_the_root(void **state)
{
	struct liar l;
	raddr_t ret = (uintptr_t)code + 11;

	(void)state;
	lie(&l);
	frame(&l, 0, BASE + 32, ret);
	frame(&l, 4, BASE + 64, ret);
	frame(&l, 8, 0, ret);
	run(&l);
	assert_int_equal(l.n, 4);
	assert_int_equal(l.end, UNWIND_ROOT);
	assert_int_equal(l.used, 80);
	end_lie(&l);
}

static void frame_that_points_to_itself_ends(void **state)
{
	struct liar l;

	(void)state;
	lie(&l);
	frame(&l, 0, BASE, (uintptr_t)code + 11);
	run(&l);
	assert_int_equal(l.end, UNWIND_LOST);
	assert_true(l.n <= 2);
	end_lie(&l);
}

static void frames_in_a_circle_end(void **state)
{
	struct liar l;
	raddr_t ret = (uintptr_t)code + 11;

	(void)state;
	lie(&l);
	frame(&l, 0, BASE + 32, ret);
	frame(&l, 4, BASE + 64, ret);
	frame(&l, 8, BASE, ret);
	run(&l);
	assert_int_equal(l.end, UNWIND_LOST);
	assert_true(l.n <= 4);
	end_lie(&l);
}

static void copy_that_ends_too_early_is_told(void **state)
{
	struct liar l;

	(void)state;
	lie(&l);
	frame(&l, 0, BASE + sizeof(l.words) - 8, (uintptr_t)code + 11);
	run(&l);
	assert_int_equal(l.end, UNWIND_SHORT);
	end_lie(&l);
}

static void return_address_outside_of_code_is_dropped(void **state)
{
	struct liar l;

	(void)state;
	lie(&l);
	frame(&l, 0, BASE + 32, 0x1234567);
	run(&l);
	assert_int_equal(l.end, UNWIND_LOST);
	assert_int_equal(l.n, 1);
	end_lie(&l);
}

static void call_of_no_code_is_a_leaf(void **state)
{
	struct liar l;

	(void)state;
	lie(&l);
	l.regs.pc = 0x42;
	run(&l);
	assert_int_equal(l.end, UNWIND_LOST);
	assert_int_equal(l.n, 1);
	assert_int_equal(l.found[0].at, 0x42);
	end_lie(&l);
}

static void depth_is_capped(void **state)
{
	struct liar l;
	raddr_t ret = (uintptr_t)code + 11;

	(void)state;
	lie(&l);
	for (size_t i = 0; i + 1 < STACK_WORDS; i += 2)
		frame(&l, i, BASE + (i + 2) * 8, ret);
	l.n = unwind(l.u, &l.regs, &l.copy, l.found, 10, &l.end, &l.used);
	assert_int_equal(l.n, 10);
	assert_int_equal(l.end, UNWIND_DEEP);
	end_lie(&l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_instruction_of_a_function_with_leave_has_its_caller),
		cmocka_unit_test(each_instruction_of_a_function_with_pops_has_its_caller),
		cmocka_unit_test(each_instruction_of_a_function_that_drops_arguments_has_its_caller),
		cmocka_unit_test(each_instruction_of_a_leaf_without_a_frame_has_its_caller),
		cmocka_unit_test(frame_pointers_lead_to_the_root),
		cmocka_unit_test(frame_that_points_to_itself_ends),
		cmocka_unit_test(frames_in_a_circle_end),
		cmocka_unit_test(copy_that_ends_too_early_is_told),
		cmocka_unit_test(return_address_outside_of_code_is_dropped),
		cmocka_unit_test(call_of_no_code_is_a_leaf),
		cmocka_unit_test(depth_is_capped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
#else
int main(void)
{
	return 77;
}
#endif
