/* shares.c - which functions and lines take which part of the looks. */
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "balance.h"
#include "shares.h"

enum { NODES_A_SAMPLE = 100 };

/* What makes two frames the same function. */
struct function_key {
	str_id function, file;
	uint32_t first_line;
	uint32_t kind;
};

void shares_init(struct shares *s, const struct profile *p, uint64_t window_ns)
{
	*s = (struct shares){ .profile = p, .window_ns = window_ns, .ticks = p->stats.ticks };
}

void shares_free(struct shares *s)
{
	for (int by = 0; by < SHARES_TABLES; by++) {
		free(s->rows[by]);
		free(s->row_of[by]);
	}
	for (size_t i = 0; i < SHARES_SLOTS; i++) {
		free(s->slots[i].list);
		free(s->slots[i].shifts);
	}
	for (int span = 0; span < SHARES_SPANS; span++)
		free(s->moved.in[span]);
	free(s->moved.known);
	free(s->weighed);
	slots_free(&s->by_key);
	free(s->nodes);
}

/* ---- From frames to rows ---- */

static struct function_key key_of(const struct frame_info *info)
{
	return (struct function_key){ info->function, info->file ? info->file : info->module, info->first_line,
				      info->kind };
}

static bool same_function(const void *owner, uint32_t id, const void *key)
{
	const struct shares *s = owner;
	struct frame_info info = frames_get(s->profile->frames, s->rows[SHARES_FUNCTIONS][id].frame);
	struct function_key mine = key_of(&info);

	return !memcmp(&mine, key, sizeof(mine));
}

static uint32_t add_row(struct shares *s, enum shares_by by, frame_id frame, const struct frame_info *info)
{
	xgrow(&s->rows[by], &s->cap[by], s->count[by] + 1, sizeof(*s->rows[by]));
	s->rows[by][s->count[by]] = (struct share){
		.frame = frame,
		.native = info->kind == FRAME_NATIVE || info->kind == FRAME_KERNEL,
	};
	return (uint32_t)s->count[by]++;
}

static void place_frame(struct shares *s, frame_id frame)
{
	struct frame_info info = frames_get(s->profile->frames, frame);
	struct function_key key = key_of(&info);
	uint64_t hash = XXH3_64bits(&key, sizeof(key));
	int64_t known;

	s->row_of[SHARES_FUNCTIONS][frame] = s->row_of[SHARES_LINES][frame] = SHARES_NONE;
	if (!frame || info.kind == FRAME_THREAD || info.kind == FRAME_PROCESS)
		return;
	s->row_of[SHARES_LINES][frame] = add_row(s, SHARES_LINES, frame, &info);
	known = slots_find(&s->by_key, hash, same_function, s, &key);
	if (known == SLOTS_NONE) {
		known = add_row(s, SHARES_FUNCTIONS, frame, &info);
		slots_add(&s->by_key, hash, (uint32_t)known);
	}
	s->row_of[SHARES_FUNCTIONS][frame] = (uint32_t)known;
}

static void place_frames(struct shares *s)
{
	size_t count = frames_count(s->profile->frames);

	for (int by = 0; by < SHARES_TABLES; by++)
		xgrow(&s->row_of[by], &s->row_of_cap[by], count, sizeof(*s->row_of[by]));
	for (; s->frames < count; s->frames++)
		place_frame(s, (frame_id)s->frames);
}

uint32_t shares_row(const struct shares *s, enum shares_by by, frame_id frame)
{
	return frame < s->frames ? s->row_of[by][frame] : SHARES_NONE;
}

bool shares_shown(const struct shares *s, const struct share *row)
{
	return !(row->native && s->hide_native);
}

/* ---- Counting ---- */

static void count_stack(struct shares *s, enum shares_by by, node_id node, uint64_t weight, enum shares_span span)
{
	bool leaf = true;

	s->walk++;
	for (; node; node = s->profile->nodes[node].parent) {
		uint32_t i = shares_row(s, by, s->profile->nodes[node].frame);
		struct share *row;

		if (i == SHARES_NONE || !shares_shown(s, &s->rows[by][i]))
			continue;
		row = &s->rows[by][i];
		if (row->walk != s->walk) {
			*(span == SHARES_NOW ? &row->total_now : &row->total) += weight;
			*(span == SHARES_NOW ? &row->own_now : &row->own) += leaf ? weight : 0;
		}
		row->walk = s->walk;
		leaf = false;
	}
}

static void clear_rows(struct shares *s, enum shares_span span)
{
	for (int by = 0; by < SHARES_TABLES; by++) {
		for (size_t i = 0; i < s->count[by]; i++) {
			struct share *row = &s->rows[by][i];

			*(span == SHARES_NOW ? &row->total_now : &row->total) = 0;
			*(span == SHARES_NOW ? &row->own_now : &row->own) = 0;
		}
	}
}

/* Nodes that have samples in this span, in the order of the profile: s->weighed. */
static size_t collect(struct shares *s, enum shares_span span)
{
	size_t n = 0;

	for (node_id i = 0; i < s->node_count; i++) {
		const struct shares_counts *c = &s->nodes[i].in[span];

		if (!c->fair && !c->free)
			continue;
		xgrow(&s->weighed, &s->weighed_cap, n + 1, sizeof(*s->weighed));
		s->weighed[n++] = (struct profile_node){
			.parent = i, /* its own id here */
			.frame = s->profile->nodes[i].frame,
			.fair = c->fair,
			.free = c->free,
		};
	}
	return n;
}

/* By the rule of a whole recording, applied to what this span holds. */
static void weigh(struct shares *s, enum shares_span span)
{
	size_t count = collect(s, span);
	struct balance b = {
		.frames = s->profile->frames,
		.nodes = s->weighed,
		.count = count,
		.moved = s->moved.in[span],
		.moved_count = s->moved.count,
	};

	balance(&b);
	clear_rows(s, span);
	for (size_t i = 0; i < count; i++) {
		node_id node = b.nodes[i].parent;

		s->nodes[node].in[span].weight = b.nodes[i].self;
		count_stack(s, SHARES_FUNCTIONS, node, b.nodes[i].self, span);
		count_stack(s, SHARES_LINES, node, b.nodes[i].self, span);
	}
	if (span == SHARES_SINCE) {
		s->told = count;
		s->untold = 0;
	}
}

void shares_rebuild(struct shares *s)
{
	weigh(s, SHARES_SINCE);
	weigh(s, SHARES_NOW);
}

/* ---- What the window holds ---- */

static void forget_first(struct shares *s)
{
	struct shares_slot *slot = &s->slots[s->first];

	for (size_t i = 0; i < slot->count; i++) {
		struct shares_counts *now = &s->nodes[slot->list[i].node].in[SHARES_NOW];

		now->fair -= slot->list[i].fair;
		now->free -= slot->list[i].free;
		now->weight = 0; /* until it is weighed, if anything is left of it */
	}
	for (size_t i = 0; i < slot->shift_count; i++)
		s->moved.in[SHARES_NOW][slot->shifts[i].function] -= slot->shifts[i].moved;
	s->looks_now -= slot->looks;
	slot->count = slot->shift_count = 0;
	s->first = (s->first + 1) % SHARES_SLOTS;
	s->used--;
}

static void take_node(struct shares *s, struct shares_slot *slot, node_id node)
{
	const struct profile_node *p = &s->profile->nodes[node];
	struct shares_node *n = &s->nodes[node];
	uint64_t fair = p->fair - n->fair, unpaused = p->free - n->free;

	if (!fair && !unpaused)
		return;
	n->fair = p->fair;
	n->free = p->free;
	for (int span = 0; span < SHARES_SPANS; span++) {
		n->in[span].fair += fair;
		n->in[span].free += unpaused;
	}
	s->untold += fair + unpaused;
	xgrow(&slot->list, &slot->cap, slot->count + 1, sizeof(*slot->list));
	slot->list[slot->count++] = (struct shares_delta){ node, (uint32_t)fair, (uint32_t)unpaused };
}

static void take_moved(struct shares *s, struct shares_slot *slot)
{
	const struct profile *p = s->profile;
	struct shares_moved *m = &s->moved;

	xgrow(&m->known, &m->known_cap, p->moved_cap, sizeof(*m->known));
	for (int span = 0; span < SHARES_SPANS; span++)
		xgrow(&m->in[span], &m->cap[span], p->moved_cap, sizeof(*m->known));
	m->count = p->moved_cap;
	for (str_id i = 0; i < p->moved_cap; i++) {
		int64_t moved = p->moved[i] - m->known[i];

		if (!moved)
			continue;
		m->known[i] = p->moved[i];
		m->in[SHARES_SINCE][i] += moved;
		m->in[SHARES_NOW][i] += moved;
		xgrow(&slot->shifts, &slot->shift_cap, slot->shift_count + 1, sizeof(*slot->shifts));
		slot->shifts[slot->shift_count++] = (struct shares_shift){ i, moved };
	}
}

void shares_update(struct shares *s, uint64_t now_ns)
{
	const struct profile *p = s->profile;
	struct shares_slot *slot;

	place_frames(s);
	xgrow(&s->nodes, &s->node_cap, p->node_count, sizeof(*s->nodes));
	s->node_count = p->node_count;
	while (s->used == SHARES_SLOTS || (s->used && s->slots[s->first].end_ns + s->window_ns <= now_ns))
		forget_first(s);
	slot = &s->slots[(s->first + s->used++) % SHARES_SLOTS];
	slot->end_ns = now_ns;
	slot->looks = p->stats.ticks - s->ticks;
	s->ticks = p->stats.ticks;
	s->looks += slot->looks;
	s->looks_now += slot->looks;
	for (node_id i = 0; i < s->node_count; i++)
		take_node(s, slot, i);
	take_moved(s, slot);
	weigh(s, SHARES_NOW);
	/* What is counted anew since the start only grows: each new sample pays for some nodes. */
	if (s->untold * NODES_A_SAMPLE >= s->told)
		weigh(s, SHARES_SINCE);
}

void shares_reset(struct shares *s)
{
	struct shares_moved *m = &s->moved;

	shares_update(s, 0); /* what came since the last update counts no more, either */
	while (s->used)
		forget_first(s);
	for (node_id i = 0; i < s->node_count; i++)
		s->nodes[i].in[SHARES_SINCE] = (struct shares_counts){ 0 };
	for (size_t i = 0; i < m->count; i++)
		m->in[SHARES_SINCE][i] = 0;
	s->looks = 0;
	shares_rebuild(s);
}
