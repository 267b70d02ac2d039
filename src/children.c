/* children.c - the descendants of a recorded process, recorded with it. */
#include <stdlib.h>

#include "children.h"
#include "starting.h"

enum {
	CHILDREN_MAX = 4096, /* watched at once */
	ATTACH_SHARE = 4,    /* tries to attach take a quarter of the time at most: looks must go on */
};

struct err children_open(struct children *c, const struct watch_options *o, struct profile *p, pid_t root, uint64_t now)
{
	*c = (struct children){ .options = o, .profile = p, .next_ns = now };
	return family_open(&c->family, root);
}

void children_close(struct children *c)
{
	for (size_t i = 0; i < c->count; i++) {
		watch_close(c->list[i]);
		free(c->list[i]);
	}
	free(c->list);
	family_close(&c->family);
	c->list = NULL;
	c->count = c->cap = 0;
}

static void add(struct children *c, pid_t pid, uint64_t now)
{
	struct watch *w;

	c->seen++;
	if (c->count == CHILDREN_MAX) {
		c->left_out++;
		return;
	}
	w = xcalloc(1, sizeof(*w));
	watch_init(w, c->options, c->profile, pid, now);
	w->give_up_ns = now + STARTING_NS;
	xgrow(&c->list, &c->cap, c->count + 1, sizeof(struct watch *));
	c->list[c->count++] = w;
}

static void drop(struct children *c, size_t i)
{
	watch_close(c->list[i]);
	free(c->list[i]);
	c->list[i] = c->list[--c->count];
}

static void check_all(struct children *c, uint64_t now)
{
	for (size_t i = c->count; i-- > 0;)
		if (c->list[i]->check_ns <= now && !watch_check(c->list[i], now))
			drop(c, i);
}

/* Which of them has waited longest for its try; count: none. */
static size_t first_to_try(const struct children *c)
{
	size_t first = c->count;

	for (size_t i = 0; i < c->count; i++)
		if (!c->list[i]->sampler && c->list[i]->try_ns != UINT64_MAX &&
		    (first == c->count || c->list[i]->try_ns < c->list[first]->try_ns))
			first = i;
	return first;
}

static void try_one(struct children *c, uint64_t now)
{
	size_t i = first_to_try(c);
	struct watch *w;
	uint64_t began = clock_own_cpu();
	bool first_time;
	struct err e;

	if (i == c->count || c->list[i]->try_ns > now || now < c->attach_ns)
		return;
	w = c->list[i];
	first_time = !w->about.name[0];
	e = watch_try(w, now);
	c->attach_ns = now + (clock_own_cpu() - began) * ATTACH_SHARE;
	c->attached += w->sampler && first_time;
	c->denied += e.code == ERR_DENIED;
	/* What runs no interpreter stays in sight: it may yet execute one. */
	if (failed(e) && !starting_may_pass(e))
		drop(c, i);
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static void schedule(struct children *c)
{
	uint64_t try_ns = UINT64_MAX;

	c->next_ns = c->family.next_ns;
	for (size_t i = 0; i < c->count; i++) {
		c->next_ns = earlier(c->next_ns, c->list[i]->check_ns);
		if (!c->list[i]->sampler)
			try_ns = earlier(try_ns, c->list[i]->try_ns);
	}
	c->next_ns = earlier(c->next_ns, try_ns > c->attach_ns ? try_ns : c->attach_ns);
}

void children_tend(struct children *c, uint64_t now)
{
	if (now >= c->family.next_ns && !failed(family_update(&c->family, now)))
		for (size_t i = 0; i < c->family.joined_count; i++)
			add(c, c->family.joined[i], now);
	check_all(c, now);
	try_one(c, now);
	schedule(c);
}

void children_look(struct children *c, uint64_t now)
{
	for (size_t i = c->count; i-- > 0;) {
		struct err e;

		if (!c->list[i]->sampler)
			continue;
		e = watch_look(c->list[i], now);
		c->denied += e.code == ERR_DENIED;
		if (failed(e))
			drop(c, i);
	}
}

void children_settle(struct children *c)
{
	for (size_t i = 0; i < c->count; i++)
		if (c->list[i]->sampler)
			sampler_settle(c->list[i]->sampler);
}

void children_count(struct children *c, bool idle, bool lock_only)
{
	for (size_t i = 0; i < c->count; i++)
		if (c->list[i]->sampler)
			sampler_count(c->list[i]->sampler, idle, lock_only);
}

const struct watch *children_find(const struct children *c, pid_t pid)
{
	for (size_t i = 0; i < c->count; i++)
		if (c->list[i]->pid == pid)
			return c->list[i];
	return NULL;
}

const struct watch *children_any(const struct children *c)
{
	for (size_t i = 0; i < c->count; i++)
		if (c->list[i]->sampler)
			return c->list[i];
	return NULL;
}
