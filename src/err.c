/* err.c - errors from errno, and their names. */
#include <errno.h>

#include "cspy/base.h"

struct err err_errno(int os, const char *what)
{
	enum err_code code = ERR_OS;

	if (os == ESRCH)
		code = ERR_GONE;
	else if (os == EPERM || os == EACCES)
		code = ERR_DENIED;
	else if (os == EFAULT || os == EIO) /* EIO: what /proc/PID/mem says of a hole */
		code = ERR_FAULT;
	return (struct err){ code, os, 0, what };
}

const char *err_code_name(enum err_code code)
{
	static const char *const names[ERR_CODES] = {
		[ERR_NONE] = "none", [ERR_FAULT] = "fault",   [ERR_CORRUPT] = "corrupt",
		[ERR_GONE] = "gone", [ERR_DENIED] = "denied", [ERR_UNSUPPORTED] = "unsupported",
		[ERR_OS] = "os",
	};

	return (unsigned)code < ERR_CODES ? names[code] : "unknown";
}
