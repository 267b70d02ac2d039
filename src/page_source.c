/* page_source.c - which source file is wanted, and where its lines are once the command has read it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "page.h"

void page_source_free(struct page_source *s)
{
	for (size_t i = 0; i < s->count; i++)
		free(s->lines[i]);
	free(s->lines);
	*s = (struct page_source){ 0 };
}

static str_id file_of(const struct page *p)
{
	if (p->function >= p->shares.count[SHARES_FUNCTIONS])
		return 0;
	return frames_get(p->profile->frames, p->shares.rows[SHARES_FUNCTIONS][p->function].frame).file;
}

const char *page_source_wanted(const struct page *p)
{
	str_id file = file_of(p);

	if (p->view != &view_source || !file || (file == p->source.file && p->source_pid == p->source.pid))
		return "";
	return strings_get(frames_strings(p->profile->frames), file);
}

void page_source_set(struct page *p, char **lines, size_t count, const char *why)
{
	page_source_free(&p->source);
	p->source = (struct page_source){ .file = file_of(p), .pid = p->source_pid, .lines = lines, .count = count };
	snprintf(p->source.why, sizeof(p->source.why), "%s", why);
}

/* The line of the function that most samples are in. */
static uint32_t hottest(const struct page *p, uint32_t function)
{
	const struct shares *s = &p->shares;
	uint64_t most = 0;
	uint32_t line = 0;

	for (size_t i = 0; i < s->count[SHARES_LINES]; i++) {
		const struct share *row = &s->rows[SHARES_LINES][i];

		if (row->total > most && shares_row(s, SHARES_FUNCTIONS, row->frame) == function) {
			most = row->total;
			line = frames_get(p->profile->frames, row->frame).line;
		}
	}
	return line;
}

/* The frame of the process that a stack belongs to; 0: there is one process only. */
static frame_id process_of(const struct page *p, node_id node)
{
	frame_id frame = 0;

	for (; node && !frame; node = p->profile->nodes[node].parent)
		if (frames_get(p->profile->frames, p->profile->nodes[node].frame).kind == FRAME_PROCESS)
			frame = p->profile->nodes[node].frame;
	return frame;
}

pid_t page_source_process(const struct page *p, frame_id process)
{
	for (size_t i = 0; process && i < p->profile->thread_count; i++)
		if (process_of(p, p->profile->threads[i].last) == process)
			return p->profile->threads[i].pid;
	return 0;
}

static bool is_in(const struct page *p, node_id node, uint32_t function)
{
	for (; node; node = p->profile->nodes[node].parent)
		if (shares_row(&p->shares, SHARES_FUNCTIONS, p->profile->nodes[node].frame) == function)
			return true;
	return false;
}

/* Where most of the function's samples are. */
static pid_t commonest_process(const struct page *p, uint32_t function)
{
	CLEANUP(cleanup_free) uint64_t *samples = xcalloc(frames_count(p->profile->frames) + 1, sizeof(*samples));
	frame_id most = 0;

	for (node_id i = 1; p->processes && i < p->shares.node_count; i++) {
		frame_id process = page_samples(p, i) && is_in(p, i, function) ? process_of(p, i) : 0;

		samples[process] += process ? page_samples(p, i) : 0;
		if (samples[process] > samples[most])
			most = process;
	}
	return page_source_process(p, most);
}

void page_source_open(struct page *p, uint32_t function, pid_t pid)
{
	struct page_place *place;

	page_open(p, &view_source);
	p->function = function;
	p->source_pid = pid ? pid : commonest_process(p, function);
	place = page_place(p);
	place->pinned = true;
	place->selected = hottest(p, function);
	place->scroll = place->selected > 5 ? place->selected - 5 : 0; /* some lines before it, for context */
}
