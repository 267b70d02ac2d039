/* doctor.h - what helps or hinders cspy at one process, each by its own check. */
#ifndef CSPY_DOCTOR_H
#define CSPY_DOCTOR_H

#include "advice.h"
#include "cspy/runtime.h"

enum verdict {
	VERDICT_GOOD,
	VERDICT_NOTE, /* no hindrance, but good to know */
	VERDICT_BAD,
};

struct finding {
	const char *name;
	enum verdict verdict;
	char text[700];
	char hint[300]; /* what to do, or "" */
};

enum { FINDINGS_MAX = 24 };

struct diagnosis {
	pid_t pid;
	struct finding list[FINDINGS_MAX];
	size_t count;
	struct rt_about about; /* .name is "" when no runtime was attached */
	char layout[96];       /* where the offsets came from */
	char build_id[64];     /* of the file that the runtime was found in; "": none */
	/* Where unwind rows come from, of the executable and of that file; NULL: there are none, or no such file. */
	const char *rows_exe, *rows_runtime;
	enum exit_code exit_code; /* EXIT_OK: it can be profiled */
};

/* Reads, and takes one sample as `cspy dump` does. */
void doctor_examine(pid_t pid, struct diagnosis *ret);

#endif
