/* sink.h - an output format: one const table per src/sink_NAME.c. */
#ifndef CSPY_SINK_H
#define CSPY_SINK_H

#include <stdio.h>

#include "cspy/profile.h"

struct sink_options {
	bool function_only;  /* -F: a function is one frame, told by its first line */
	bool no_lines;	     /* --nolineno: no line numbers */
	bool full_filenames; /* paths as the runtime has them; else shortened to what tells them apart */
	const char *title;   /* NULL: made from the profile */
};

struct sink_ops {
	const char *name;      /* --format=NAME */
	const char *synonym;   /* another accepted name, or NULL */
	const char *extension; /* ".svg": of the default file, and chosen by -o's ending; NULL: never chosen so */
	const char *also;      /* other endings that choose it, ".a.b.c"; or NULL */
	const char *help;
	bool needs_runs; /* wants profile.runs */
	/* Write everything; the stream's error flag tells failure. */
	void (*write)(FILE *out, const struct profile *p, const struct sink_options *o);
};

/* Generated from src/sink_*.c; NULL-terminated. */
extern const struct sink_ops *const sink_table[];

/*
 * label.c: "function (file:line)" and its parts, shared by all formats. The texts live as long as the frames' strings
 * and hold whatever the target said: each format escapes them.
 */
struct label {
	const char *function; /* never "" */
	const char *file;     /* shortened unless full_filenames; the module where there is no file; "" when none */
	uint32_t line;	      /* 0: none or not wanted */
};
struct label label_of(const struct profile *p, frame_id f, const struct sink_options *o);

#endif
