/* shares.c - which functions and lines take which part of the looks. */
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "shares.h"

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
	for (size_t i = 0; i < SHARES_SLOTS; i++)
		free(s->slots[i].list);
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

enum when { SINCE = 1, NOW = 2 };

static void count_row(struct share *row, uint64_t samples, bool leaf, int when)
{
	if (when & SINCE) {
		row->total += samples;
		row->own += leaf ? samples : 0;
	}
	if (when & NOW) {
		row->total_now += samples;
		row->own_now += leaf ? samples : 0;
	}
}

/* To take something away, `samples` is a negative number: arithmetic is modulo 2^64. */
static void count_stack(struct shares *s, enum shares_by by, node_id node, uint64_t samples, int when)
{
	bool leaf = true;

	s->walk++;
	for (; node; node = s->profile->nodes[node].parent) {
		uint32_t i = shares_row(s, by, s->profile->nodes[node].frame);
		struct share *row;

		if (i == SHARES_NONE || !shares_shown(s, &s->rows[by][i]))
			continue;
		row = &s->rows[by][i];
		if (row->walk != s->walk)
			count_row(row, samples, leaf, when);
		row->walk = s->walk;
		leaf = false;
	}
}

static void count_both(struct shares *s, node_id node, uint64_t samples, int when)
{
	count_stack(s, SHARES_FUNCTIONS, node, samples, when);
	count_stack(s, SHARES_LINES, node, samples, when);
}

static void forget_first(struct shares *s)
{
	struct shares_slot *slot = &s->slots[s->first];

	for (size_t i = 0; i < slot->count; i++) {
		uint64_t samples = slot->list[i].samples;

		s->nodes[slot->list[i].node].now -= samples;
		count_both(s, slot->list[i].node, 0 - samples, NOW);
	}
	s->looks_now -= slot->looks;
	slot->count = 0;
	s->first = (s->first + 1) % SHARES_SLOTS;
	s->used--;
}

static void take_in(struct shares *s, struct shares_slot *slot, node_id node, uint64_t samples)
{
	struct shares_node *n = &s->nodes[node];

	n->known += samples;
	n->since += samples;
	n->now += samples;
	count_both(s, node, samples, SINCE | NOW);
	xgrow(&slot->list, &slot->cap, slot->count + 1, sizeof(*slot->list));
	slot->list[slot->count++] = (struct shares_delta){ node, (uint32_t)samples };
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
	for (node_id i = 0; i < p->node_count; i++) {
		uint64_t samples = p->nodes[i].fair + p->nodes[i].free - s->nodes[i].known;

		if (samples)
			take_in(s, slot, i, samples);
	}
}

static void clear_rows(struct shares *s)
{
	for (int by = 0; by < SHARES_TABLES; by++)
		for (size_t i = 0; i < s->count[by]; i++)
			s->rows[by][i].own = s->rows[by][i].total = s->rows[by][i].own_now = s->rows[by][i].total_now =
				0;
}

void shares_reset(struct shares *s)
{
	while (s->used)
		forget_first(s);
	clear_rows(s);
	for (size_t i = 0; i < s->node_count; i++) {
		s->nodes[i].known = s->profile->nodes[i].fair + s->profile->nodes[i].free;
		s->nodes[i].since = 0;
	}
	s->ticks = s->profile->stats.ticks;
	s->looks = 0;
}

void shares_rebuild(struct shares *s)
{
	clear_rows(s);
	for (node_id i = 0; i < s->node_count; i++) {
		if (s->nodes[i].since)
			count_both(s, i, s->nodes[i].since, SINCE);
		if (s->nodes[i].now)
			count_both(s, i, s->nodes[i].now, NOW);
	}
}
