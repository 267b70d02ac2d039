/* roles.c - processes that do the same work, under one frame. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "roles.h"

struct role {
	str_id text;
	unsigned processes;
	frame_id frame; /* 0: not made yet */
};

struct roles {
	struct role *list;
	size_t count, cap;
};

static bool is_process(const struct profile *p, node_id node)
{
	return node && !p->nodes[node].parent && frames_get(p->frames, p->nodes[node].frame).kind == FRAME_PROCESS;
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* "process 12: worker 3 [app]" -> "worker * [app]". */
static str_id role_text(struct strings *strings, const char *process)
{
	const char *command = strstr(process, ": ");
	CLEANUP(cleanup_free) char *text = xstrdup(command ? command + 2 : process);
	size_t len = 0;

	for (size_t i = 0; text[i]; i++) {
		if (is_digit(text[i]) && len && text[len - 1] == '*')
			continue;
		text[len++] = is_digit(text[i]) ? '*' : text[i];
	}
	return strings_add(strings, text, len);
}

/* The role of this process; made when it is new. */
static struct role *role_of(struct roles *roles, const struct profile *p, node_id process)
{
	struct strings *strings = frames_strings(p->frames);
	str_id text = role_text(strings, strings_get(strings, frames_get(p->frames, p->nodes[process].frame).function));

	for (size_t i = 0; i < roles->count; i++)
		if (roles->list[i].text == text)
			return &roles->list[i];
	xgrow(&roles->list, &roles->cap, roles->count + 1, sizeof(*roles->list));
	roles->list[roles->count] = (struct role){ .text = text };
	return &roles->list[roles->count++];
}

/* False: no two processes have the same. */
static bool find_roles(struct roles *roles, const struct profile *p)
{
	bool shared = false;

	for (node_id i = 0; i < p->node_count; i++)
		if (is_process(p, i))
			shared |= ++role_of(roles, p, i)->processes > 1;
	return shared;
}

static frame_id role_frame(struct role *role, struct frames *frames)
{
	struct strings *strings = frames_strings(frames);

	if (!role->frame) {
		CLEANUP(cleanup_free)
		char *text = xasprintf("%u processes: %s", role->processes, strings_get(strings, role->text));
		str_id name = strings_add(strings, text, strlen(text));
		struct frame_info info = { .function = name, .name = name, .kind = FRAME_PROCESS };

		role->frame = frames_add(frames, info);
	}
	return role->frame;
}

/* to[i]: the copy's node for each. A node's parent comes before it. */
static void copy_nodes(struct profile *copy, const struct profile *p, struct roles *roles, node_id *to)
{
	to[0] = 0;
	copy->nodes[0] = p->nodes[0];
	for (node_id i = 1; i < p->node_count; i++) {
		const struct profile_node *n = &p->nodes[i];
		struct role *role = is_process(p, i) ? role_of(roles, p, i) : NULL;
		node_id parent = to[n->parent];

		if (role && role->processes > 1)
			parent = profile_child(copy, parent, role_frame(role, p->frames));
		to[i] = profile_child(copy, parent, n->frame);
		copy->nodes[to[i]].fair += n->fair;
		copy->nodes[to[i]].free += n->free;
		copy->nodes[to[i]].self += n->self;
	}
}

static void copy_times(struct profile *copy, const struct profile *p, const node_id *to)
{
	for (size_t i = 0; i < p->thread_count; i++) {
		const struct profile_thread *th = &p->threads[i];
		uint32_t same = profile_thread(copy, th->pid, th->tid, th->name);

		copy->threads[same].last = to[th->last];
		copy->threads[same].looks = th->looks;
	}
	xgrow(&copy->runs, &copy->run_cap, p->run_count, sizeof(*copy->runs));
	for (size_t i = 0; i < p->run_count; i++) {
		copy->runs[i] = p->runs[i];
		copy->runs[i].stack = to[p->runs[i].stack];
	}
	copy->run_count = p->run_count;
	copy->keep_runs = p->keep_runs;
}

static void copy_rest(struct profile *copy, const struct profile *p)
{
	copy->stats = p->stats;
	copy->looks = p->looks;
	copy->interval_ns = p->interval_ns;
	copy->start_unix_ns = p->start_unix_ns;
	copy->start_ns = p->start_ns;
	copy->pid = p->pid;
	free(copy->command);
	free(copy->runtime);
	free(copy->mode);
	copy->command = xstrdup(p->command);
	copy->runtime = xstrdup(p->runtime);
	copy->mode = xstrdup(p->mode);
}

struct profile *profile_by_role(const struct profile *p)
{
	struct roles roles = { 0 };
	struct profile *copy = NULL;

	if (find_roles(&roles, p)) {
		node_id *to = xcalloc(p->node_count, sizeof(*to));

		copy = profile_new(p->frames);
		copy_nodes(copy, p, &roles, to);
		copy_times(copy, p, to);
		copy_rest(copy, p);
		free(to);
	}
	free(roles.list);
	return copy;
}

void profile_write(const struct profile *p, const struct sink_ops *sink, const struct sink_options *o, FILE *out)
{
	struct profile *grouped = profile_by_role(p);

	sink->write(out, grouped ? grouped : p, o);
	profile_free(grouped);
}
