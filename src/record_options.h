/* record_options.h - what the user of cspy record asked for. */
#ifndef CSPY_RECORD_OPTIONS_H
#define CSPY_RECORD_OPTIONS_H

#include "advice.h"
#include "cspy/sink.h"
#include "options.h"

struct record_options {
	pid_t pid;   /* 0: `argv` is started */
	char **argv; /* NULL-terminated */
	const struct sink_ops *sink;
	const char *output, *format, *stats, *title;
	double rate, max_pause, max_overhead;
	uint64_t duration_ns;
	size_t depth;
	bool native, subprocesses, threads, idle, gil, function, no_lines, full_filenames;
	bool blocking, nonblocking, as_root, quiet, debuginfod;
};

extern const struct option_row record_rows[];

/* Defaults and the command line. OPTIONS_WRONG: *ret_advice is for the user. */
enum options_outcome record_options_parse(struct record_options *o, int argc, char **argv, struct advice *ret_advice);

#endif
