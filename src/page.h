/* page.h - what `cspy top` shows: the model, what the user chose, and the rows of the view that is open. */
#ifndef CSPY_PAGE_H
#define CSPY_PAGE_H

#include <regex.h>

#include "cspy/sink.h"
#include "cspy/view.h"
#include "roster.h"
#include "screen.h"
#include "shares.h"
#include "tally.h"

/* What was typed: a character, or one of these. */
enum typed {
	TYPED_NONE = -1,
	TYPED_ENTER = '\r',
	TYPED_ESCAPE = 27,
	TYPED_ERASE = 127,
	TYPED_UP = 0x110000, /* beyond every character */
	TYPED_DOWN,
	TYPED_LEFT,
	TYPED_RIGHT,
	TYPED_PAGE_UP,
	TYPED_PAGE_DOWN,
	TYPED_HOME,
	TYPED_END,
};

enum {
	PAGE_VIEWS = 16,
	PAGE_DEPTH = 32,   /* views opened from one another */
	PAGE_FILTER = 128, /* bytes */
	PAGE_MESSAGE = 300,
	PAGE_ROWS_MAX = 1 << 20,
	PAGE_LABEL = 512, /* bytes of a label that are shown or searched */
};

struct page_row {
	uint64_t id;	  /* of what it shows, as long as the page lives */
	double sort;	  /* larger first */
	const char *text; /* sorted by this instead when the column is a text */
	uint32_t index;	  /* the rest is the view's */
	int depth;
	uint64_t own, total; /* samples */
};

/* Where the user is in one view. */
struct page_place {
	bool pinned; /* `selected` was chosen; else the first row is */
	uint64_t selected;
	size_t cursor; /* where it was drawn last */
	size_t scroll;
	int column; /* sorted by */
};

struct page_filter {
	char text[PAGE_FILTER], typing[PAGE_FILTER];
	bool open; /* being typed */
	bool set;
	regex_t regex;
	uint8_t *known; /* by row of a shares table: 0 not asked, 1 no, 2 yes */
	size_t known_cap;
	enum shares_by known_by;
};

/* Lines of the selected function's file, read in the target's root. */
struct page_source {
	str_id file; /* 0: none was read */
	pid_t pid;   /* whose it is; 0: of whatever process has it */
	char **lines;
	size_t count;
	char why[PAGE_MESSAGE]; /* why there are none; "" */
};

/* What the head says, told by the command. */
struct page_about {
	pid_t pid;
	char command[256], runtime[128], lock[16];
	uint64_t age_ns;    /* of the process; 0: not known */
	char clock[16];	    /* time of day */
	const char *status; /* LIVE, PAUSED, ENDED, ... */
	double rate, failed, late, own_cpu;
	uint64_t samples;
};

struct page {
	const struct profile *profile; /* borrowed */
	struct shares shares;
	struct tallies tallies;
	struct roster roster;
	struct page_about about;
	/* What the user chose. */
	enum shares_by by;
	bool idle, lock_only, since_start, help;
	bool processes; /* more than one may be watched */
	pid_t process;	/* whose threads the table of threads has; 0: all */
	struct page_filter filter;
	char message[PAGE_MESSAGE]; /* instead of the keys, until the next key */
	bool plain;		    /* printed, not shown: no keys, nothing is selected */
	size_t processes_most;	    /* rows of the tree of processes beside another view; 0: none */
	size_t threads_most;	    /* rows of the thread table beside another view; 0: by the screen's height */
	/* Views. */
	const struct view_ops *view;
	struct page_place places[PAGE_VIEWS]; /* by index in view_table */
	struct page_step {
		const struct view_ops *view;
		uint32_t function;
	} way[PAGE_DEPTH]; /* where the user came from */
	size_t depth;
	uint32_t thread;   /* of the stack view */
	uint32_t function; /* of callers and source: a row of the functions' table */
	pid_t source_pid;  /* whose source file is wanted; 0: of whatever process has it */
	struct page_source source;
	void *tree; /* the tree view's own; freed by view_tree_free() */
	/* The rows of the view, made by page_fill(). */
	struct page_row *rows;
	size_t row_count, row_cap;
	size_t page_rows; /* that were drawn last */
};

void page_init(struct page *p, const struct profile *profile, const char *const *wait_names, uint64_t window_ns);
void page_free(struct page *p);
/* The model up to date; the profile is settled. */
void page_update(struct page *p, uint64_t now_ns);
void page_reset(struct page *p);
void page_draw(struct page *p, struct screen *s);
/* VIEW_IGNORED: a key that means nothing to the page. */
enum view_result page_key(struct page *p, int key);

/* For views. */
void page_push(struct page *p, struct page_row row);
struct page_place *page_place(struct page *p);
void page_open(struct page *p, const struct view_ops *view);
/* Enter and c on a function: its callers, its source. */
enum view_result page_key_function(struct page *p, uint32_t function, pid_t pid, int key);
void page_fill(struct page *p);
const struct page_row *page_selected(struct page *p);
/* "function (file:line)", with a line where lines are told apart. */
void page_label(const struct page *p, frame_id frame, enum shares_by by, char *ret, size_t cap);
/* Does the filter, if there is one, let this row of a shares table, or this text, through? */
bool page_passes_row(struct page *p, enum shares_by by, uint32_t row);
bool page_passes(const struct page *p, const char *text);
/* Samples and looks of the window or since the start, as chosen. */
uint64_t page_samples(const struct page *p, node_id node);
double page_share(const struct page *p, uint64_t samples);
/* Seconds that so many samples of the time since the start stand for. */
double page_seconds(const struct page *p, uint64_t samples);
double page_percent(uint64_t part, uint64_t whole);

/* page_head.c: the lines above the table; the last of them is `most` at most. Returns the first row below. */
int page_head(struct page *p, struct screen *s, int most);
/* A command line without the folders of its program, or of what an interpreter runs. */
void page_command(const char *command, char *ret, size_t cap);
/* page_help.c */
void page_help(struct page *p, struct screen *s);
void page_keys(struct page *p, struct screen *s);
/* page_filter.c */
void page_filter_set(struct page *p, const char *text);
bool page_filter_key(struct page *p, int key);
void page_filter_free(struct page_filter *f);
/* page_source.c: the file that the source view wants, "" when there is none; the command reads it. */
const char *page_source_wanted(const struct page *p);
/* Takes the lines (malloc'ed) over. Without lines, `why` says why there are none. */
void page_source_set(struct page *p, char **lines, size_t count, const char *why);
/* `pid`: as this process has it; 0: as the process does in which the function was met most. */
void page_source_open(struct page *p, uint32_t function, pid_t pid);
/* The process that a frame of kind FRAME_PROCESS stands for; 0: not known. */
pid_t page_source_process(const struct page *p, frame_id process);
void page_source_free(struct page_source *s);
/* view_threads.c: the table of threads, beside another view, too. */
void page_threads_head(struct page *p, struct screen *s, int y);
void page_threads_row(struct page *p, struct screen *s, int y, uint32_t thread);

/* view_processes.c: the tree of processes, beside another view, too. */
void page_processes_head(struct page *p, struct screen *s, int y);
void page_processes_row(struct page *p, struct screen *s, int y, uint32_t process);

extern const struct view_ops view_functions, view_threads, view_processes, view_tree, view_stack, view_callers,
	view_source;
void view_tree_free(void *tree);

#endif
