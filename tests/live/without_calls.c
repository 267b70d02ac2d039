/* without_calls.c - run a command under a seccomp filter that refuses some system calls, as container runtimes do.
 *
 * usage: without_calls CALL[,CALL] COMMAND [ARGUMENTS]      CALL is process_vm_readv, ptrace or openat2
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static void refuse(unsigned number)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof(code) / sizeof(code[0]), code };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) {
		perror("seccomp");
		_exit(99);
	}
}

int main(int argc, char **argv)
{
	if (argc < 3)
		return 2;
	if (strstr(argv[1], "process_vm_readv"))
		refuse(SYS_process_vm_readv);
	if (strstr(argv[1], "ptrace"))
		refuse(SYS_ptrace);
	if (strstr(argv[1], "openat2"))
		refuse(SYS_openat2);
	execvp(argv[2], argv + 2);
	perror(argv[2]);
	return 127;
}
