/*
 * jit_moving.c - a JIT that puts one function after the other at the same address, and says so in its perf map.
 *
 * made_a calls work_a, made_b calls work_b, for the same time each: a stack that has one with the other's is wrong.
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { ROUNDS = 20000, CALLS = 10, TURN_MS = 5, SKIPPED = 77, PAGE = 4096 };

static volatile unsigned sink;

__attribute__((noinline)) static void work_a(void)
{
	for (unsigned i = 0; i < ROUNDS; i++)
		sink = sink * 31 + i;
}

__attribute__((noinline)) static void work_b(void)
{
	for (unsigned i = 0; i < ROUNDS; i++)
		sink = sink * 33 + i;
}

static double cpu_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* push rbp; mov rbp, rsp; mov rax, FUNCTION; call rax; pop rbp; ret */
static size_t make(uint8_t *code, void (*function)(void))
{
	static const uint8_t begin[] = { 0x55, 0x48, 0x89, 0xe5, 0x48, 0xb8 }, end[] = { 0xff, 0xd0, 0x5d, 0xc3 };
	uintptr_t to = (uintptr_t)function;

	memcpy(code, begin, sizeof(begin));
	memcpy(code + sizeof(begin), &to, sizeof(to));
	memcpy(code + sizeof(begin) + sizeof(to), end, sizeof(end));
	return sizeof(begin) + sizeof(to) + sizeof(end);
}

int main(void)
{
	uint8_t *code = mmap(NULL, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char path[64];
	FILE *map;

#if !defined(__x86_64__)
	return SKIPPED;
#endif
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
	map = fopen(path, "w");
	if (!map || code == MAP_FAILED)
		return 1;
	puts("ready");
	fflush(stdout);
	for (unsigned turn = 0;; turn++) {
		size_t len = make(code, turn % 2 ? work_b : work_a);
		double end = cpu_ms() + TURN_MS;

		fprintf(map, "%lx %zx made_%c\n", (unsigned long)code, len, turn % 2 ? 'b' : 'a');
		fflush(map);
		while (cpu_ms() < end) /* to ask for the time is not cheap everywhere */
			for (unsigned i = 0; i < CALLS; i++)
				((void (*)(void))(void *)code)();
	}
}
