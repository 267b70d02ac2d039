/* watch.c - what the commands that sample a process have in common. */
#include <stdlib.h>
#include <time.h>

#include "launch.h"
#include "watch.h"

static void set_text(char **at, const char *text)
{
	free(*at);
	*at = xstrdup(text);
}

struct profile *watch_profile_new(pid_t pid, double rate, const char *mode)
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

void watch_profile_free(struct profile *p)
{
	struct frames *frames = p ? p->frames : NULL;
	struct strings *strings = frames ? frames_strings(frames) : NULL;

	profile_free(p);
	frames_free(frames);
	strings_free(strings);
}

void watch_describe(struct profile *p, const struct recorder *r)
{
	const struct rt_about *a = &r->about;
	char text[4096];
	CLEANUP(cleanup_free) char *runtime = NULL;

	if (r->target) {
		target_cmdline(r->target, text, sizeof(text));
		if (*text)
			set_text(&p->command, text);
	}
	if (!a->name[0])
		return;
	runtime = xasprintf("%s %s%s%s", a->name, a->version, *a->flavour ? ", " : "", a->flavour);
	set_text(&p->runtime, runtime);
}

void watch_explain(const struct recorder *r, struct err e, pid_t child, const char *name, struct advice *ret)
{
	struct advice_facts facts;
	int code;

	*ret = (struct advice){ 0 };
	advice_find_facts(r->pid, &facts);
	advice_attach(&facts, e, r->why, ret);
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

bool watch_hopeless(pid_t pid, struct advice *ret)
{
	struct advice_facts facts;

	*ret = (struct advice){ 0 };
	advice_find_facts(pid, &facts);
	return advice_hopeless(&facts, ret);
}
