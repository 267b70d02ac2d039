/* said.c - everything that a plugin says of a process. */
#include <stdlib.h>
#include <string.h>

#include "said.h"

enum { DEPTH = 1000, REUSED_MAX = 1024 };

/* Of each tick, in ns after the first: a slow one, one soon after, one when all code is trusted, one when lists age. */
static const uint64_t WHEN_NS[SAID_TICKS] = { 0, 2000000, 2100000, 300000000, 1600000000 };
static const uint64_t START_NS = 5000000000;

static void add_local(void *arg, const struct rt_local *local)
{
	struct said *s = arg;

	xgrow(&s->locals, &s->local_cap, s->local_count + 1, sizeof(*s->locals));
	s->locals[s->local_count++] = (struct said_local){ local->kind, xstrdup(local->name), xstrdup(local->value) };
	s->frames[s->frame_count - 1].count++;
}

/* The plugin, attached to a process. */
struct plugin {
	const struct runtime_ops *ops;
	void *instance;
	struct target *t;
};

static void add_frame(struct said *s, const struct plugin *p, const struct raw_frame *raw, struct strings *strings)
{
	struct frame_info info;
	struct said_frame *f;

	xgrow(&s->frames, &s->frame_cap, s->frame_count + 1, sizeof(*s->frames));
	f = &s->frames[s->frame_count++];
	*f = (struct said_frame){ .first = s->local_count };
	f->err = p->ops->resolve(p->instance, p->t, raw, strings, &info);
	if (!failed(f->err)) {
		f->function = xstrdup(strings_get(strings, info.function));
		f->file = xstrdup(strings_get(strings, info.file));
		f->line = info.line;
	}
	if (p->ops->locals)
		f->locals_err = p->ops->locals(p->instance, p->t, raw, add_local, s);
}

static void add_thread(struct said *s, const struct plugin *p, const struct raw_stacks *all, size_t i,
		       struct strings *strings)
{
	const struct raw_stack *stack = &all->list[i];
	struct said_thread *th;
	str_id name;

	xgrow(&s->threads, &s->thread_cap, s->thread_count + 1, sizeof(*s->threads));
	th = &s->threads[s->thread_count++];
	*th = (struct said_thread){
		.state_at = stack->state_at,
		.state = stack->state,
		.gc = stack->gc,
		.cut = stack->cut,
		.err = stack->err,
		.first = s->frame_count,
		.count = stack->count,
	};
	th->name_err = p->ops->thread_name(p->instance, p->t, stack, strings, &name);
	th->name = xstrdup(failed(th->name_err) ? "" : strings_get(strings, name));
	for (uint32_t k = 0; k < stack->count; k++)
		add_frame(s, p, &all->frames[stack->first + k], strings);
}

static void take_ticks(struct said *s, const struct plugin *p, const pid_t *still, size_t still_count)
{
	struct raw_reuse reused[REUSED_MAX];

	for (size_t i = 0; i < SAID_TICKS; i++) {
		struct rt_look look = {
			.now_ns = START_NS + WHEN_NS[i],
			.still = still,
			.still_count = still_count,
			.twice = i == 2,
		};

		raw_stacks_init(&s->ticks[i], DEPTH);
		s->err[i] = p->ops->sample(p->instance, p->t, &look, &s->ticks[i]);
		if (i == 0)
			s->mutators_err = p->ops->mutators(p->instance, p->t, s->mutators, countof(s->mutators),
							   &s->mutator_count);
	}
	s->verify_err =
		p->ops->verify(p->instance, p->t, START_NS + WHEN_NS[SAID_TICKS - 1], reused, REUSED_MAX, &s->reused);
}

void said_take(struct said *s, const struct runtime_ops *ops, void *instance, struct target *t, const pid_t *still,
	       size_t still_count)
{
	const struct plugin p = { ops, instance, t };
	struct strings *strings = strings_new();
	const struct raw_stacks *last = &s->ticks[SAID_TICKS - 1];

	*s = (struct said){ 0 };
	take_ticks(s, &p, still, still_count);
	for (size_t i = 0; !failed(s->err[SAID_TICKS - 1]) && i < last->count; i++)
		add_thread(s, &p, last, i, strings);
	strings_free(strings);
}

void said_free(struct said *s)
{
	for (size_t i = 0; i < SAID_TICKS; i++)
		raw_stacks_free(&s->ticks[i]);
	for (size_t i = 0; i < s->thread_count; i++)
		free(s->threads[i].name);
	for (size_t i = 0; i < s->frame_count; i++) {
		free(s->frames[i].function);
		free(s->frames[i].file);
	}
	for (size_t i = 0; i < s->local_count; i++) {
		free(s->locals[i].name);
		free(s->locals[i].value);
	}
	free(s->threads);
	free(s->frames);
	free(s->locals);
	*s = (struct said){ 0 };
}

static void print_err(FILE *out, const char *what, struct err e)
{
	fprintf(out, "%s: %s, %s\n", what, err_code_name(e.code), e.what);
}

static void print_frame(FILE *out, const struct said *s, const struct said_frame *f)
{
	if (failed(f->err))
		print_err(out, "  no name", f->err);
	else
		fprintf(out, "  %s (%s:%u)\n", f->function, f->file, f->line);
	if (failed(f->locals_err))
		print_err(out, "    no locals", f->locals_err);
	for (size_t i = 0; i < f->count; i++) {
		const struct said_local *l = &s->locals[f->first + i];

		fprintf(out, "    %c %s = %s\n", l->kind, l->name, l->value);
	}
}

void said_print(FILE *out, const struct runtime_ops *ops, void *instance, const struct said *s)
{
	static const char *const states[] = { "unknown", "running", "wants the lock", "outside", "sleeping" };
	struct rt_about about;

	ops->about(instance, &about);
	fprintf(out, "%s %s, %s%s%s%s%s\n", about.name, about.version, about.layout, about.flavour[0] ? ", " : "",
		about.flavour, about.lock[0] ? ", " : "", about.lock);
	for (size_t i = 0; i < SAID_TICKS; i++)
		if (failed(s->err[i]))
			print_err(out, "no look", s->err[i]);
	for (size_t i = 0; i < s->thread_count; i++) {
		const struct said_thread *th = &s->threads[i];

		fprintf(out, "thread %s\n  state: %s%s%s\n", th->name,
			th->state < countof(states) ? states[th->state] : "?", th->gc ? ", collecting garbage" : "",
			th->cut ? ", cut" : "");
		if (failed(th->name_err))
			print_err(out, "  no name", th->name_err);
		if (failed(th->err))
			print_err(out, "  no stack", th->err);
		for (size_t k = 0; k < th->count; k++)
			print_frame(out, s, &s->frames[th->first + k]);
	}
}
