/* sampling.c - what the commands that sample a process have in common. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "launch.h"
#include "sampling.h"

enum { RUNTIMES_BYTES = 200 }; /* of their names in titles; those beyond are left out */

static void set_text(char **at, const char *text)
{
	free(*at);
	*at = xstrdup(text);
}

struct profile *sampling_profile_new(pid_t pid, double rate, const char *mode)
{
	struct profile *p = profile_new(frames_new(strings_new()));
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	p->interval_ns = (uint64_t)(1e9 / rate);
	p->start_ns = clock_now();
	p->start_unix_ns = (uint64_t)now.tv_sec * 1000000000ull + (uint64_t)now.tv_nsec;
	p->pid = pid;
	p->stats.rate_wanted = rate;
	set_text(&p->mode, mode);
	return p;
}

void sampling_profile_free(struct profile *p)
{
	struct frames *frames = p ? p->frames : NULL;
	struct strings *strings = frames ? frames_strings(frames) : NULL;

	profile_free(p);
	frames_free(frames);
	strings_free(strings);
}

/* Each runtime is named once. */
static void add_runtime(struct profile *p, const struct rt_about *a)
{
	CLEANUP(cleanup_free) char *one = NULL, *all = NULL;

	if (!a->name[0])
		return;
	one = xasprintf("%s %s%s%s", a->name, a->version, *a->flavour ? ", " : "", a->flavour);
	if (strstr(p->runtime, one) || strlen(p->runtime) > RUNTIMES_BYTES)
		return;
	all = xasprintf("%s%s%s", p->runtime, *p->runtime ? "; " : "", one);
	set_text(&p->runtime, all);
}

void sampling_describe(struct profile *p, const struct recorder *r)
{
	char text[4096];

	if (r->root.target && !*p->command) {
		target_cmdline(r->root.target, text, sizeof(text));
		set_text(&p->command, text);
	}
	add_runtime(p, &r->root.about);
	for (size_t i = 0; r->options.subprocesses && i < r->children.count; i++)
		add_runtime(p, &r->children.list[i]->about);
}

void sampling_explain(const struct recorder *r, struct err e, pid_t child, const char *name, struct advice *ret)
{
	struct advice_facts facts;
	int code;

	*ret = (struct advice){ 0 };
	advice_find_facts(r->root.pid, &facts);
	advice_attach(&facts, e, r->root.why, ret);
	if (!child)
		return;
	code = launch_status(child, e.code == ERR_GONE);
	if (code > 0 || (code == 0 && ret->exit_code == EXIT_GONE))
		ret->exit_code = (enum exit_code)code;
	if (code >= 0)
		snprintf(ret->text, sizeof(ret->text),
			 "%.200s: it ended (exit code %d) before an interpreter was found in it", name, code);
	else
		snprintf(ret->hint, sizeof(ret->hint), "process %d is still running", (int)child);
}

bool sampling_hopeless(pid_t pid, struct advice *ret)
{
	struct advice_facts facts;

	*ret = (struct advice){ 0 };
	advice_find_facts(pid, &facts);
	return advice_hopeless(&facts, ret);
}
