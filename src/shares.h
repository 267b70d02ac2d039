/* shares.h - which functions and lines take which part of the looks: in a sliding window, and since the start. */
#ifndef CSPY_SHARES_H
#define CSPY_SHARES_H

#include "cspy/profile.h"
#include "slots.h"

enum { SHARES_SLOTS = 128 }; /* updates that the window is made of, at most */

enum shares_by { SHARES_FUNCTIONS, SHARES_LINES, SHARES_TABLES };

/* No row: the frame is none of a function (a thread's, a process's), or is not to be shown. */
#define SHARES_NONE UINT32_MAX

/* One function, or one line of one. Samples; in a total, a stack counts once however often it holds the row. */
struct share {
	frame_id frame; /* one of its frames, to name it by */
	bool native;
	uint64_t own, total;	     /* since the start */
	uint64_t own_now, total_now; /* in the window */
	uint64_t walk;		     /* private: the stack that it was counted for last */
};

/* Samples of one node: taken paused, read while the target ran, and what both weigh (balance.h). */
struct shares_counts {
	uint64_t fair, free, weight;
};

enum shares_span { SHARES_SINCE, SHARES_NOW, SHARES_SPANS }; /* the start, the window */

struct shares_node {
	uint64_t fair, free; /* samples when looked at last */
	struct shares_counts in[SHARES_SPANS];
};

/* How often a function was not kept as the leaf that it was at first (profile.h), by its name. */
struct shares_moved {
	int64_t *known, *in[SHARES_SPANS];
	size_t known_cap, cap[SHARES_SPANS], count;
};

/* What one update brought. */
struct shares_slot {
	uint64_t end_ns, looks;
	struct shares_delta {
		node_id node;
		uint32_t fair, free;
	} * list;
	struct shares_shift {
		str_id function;
		int64_t moved;
	} * shifts;
	size_t count, cap, shift_count, shift_cap;
};

struct shares {
	const struct profile *profile; /* borrowed */
	uint64_t window_ns;
	bool hide_native; /* what native frames take belongs to their callers; shares_rebuild() after a change */
	struct share *rows[SHARES_TABLES];
	size_t count[SHARES_TABLES], cap[SHARES_TABLES];
	uint32_t *row_of[SHARES_TABLES]; /* by frame: the row, or SHARES_NONE */
	size_t row_of_cap[SHARES_TABLES];
	size_t frames;	     /* frames that have rows */
	struct slots by_key; /* functions */
	struct shares_node *nodes;
	size_t node_count, node_cap;
	struct shares_moved moved;
	uint64_t untold; /* samples taken in that the rows since the start have not been counted anew for */
	size_t told;	 /* nodes that they were counted of then */
	struct profile_node *weighed; /* room for those that are weighed */
	size_t weighed_cap;
	struct shares_slot slots[SHARES_SLOTS]; /* a ring */
	size_t first, used;
	uint64_t ticks;		   /* looks when updated last */
	uint64_t looks, looks_now; /* since the start, in the window */
	uint64_t walk;
};

void shares_init(struct shares *s, const struct profile *p, uint64_t window_ns);
void shares_free(struct shares *s);
/* Take in what the profile has got since the last update, and let go of what is older than the window. */
void shares_update(struct shares *s, uint64_t now_ns);
/* Begin anew: what was seen so far counts no more. */
void shares_reset(struct shares *s);
void shares_rebuild(struct shares *s);
/* The row that a frame belongs to, or SHARES_NONE. */
uint32_t shares_row(const struct shares *s, enum shares_by by, frame_id frame);
/* Is the row to be shown at all? */
bool shares_shown(const struct shares *s, const struct share *row);

#endif
