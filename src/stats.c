/* stats.c - how a recording went, for people and as JSON. */
#include <inttypes.h>

#include "json.h"
#include "stats.h"

static const double MS = 1e-6, SECOND = 1e-9; /* from ns */

uint64_t stats_failed(const struct profile_stats *s)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < ERR_CODES; i++)
		sum += s->failed[i];
	return sum;
}

static double share(double part, double whole)
{
	return whole > 0 ? part / whole : 0;
}

double stats_rate(const struct profile_stats *s)
{
	return share((double)s->ticks, (double)s->wall_ns * SECOND);
}

static double cpu_us(const struct profile_stats *s)
{
	return share((double)s->cpu_ns * 1e-3, (double)s->ticks);
}

static void print_rate(FILE *out, const struct profile_stats *s)
{
	bool loss = s->held_back > s->held_back_own;

	fprintf(out, "cspy: %" PRIu64 " looks in %.1f s, %.6g a second", s->ticks, (double)s->wall_ns * SECOND,
		stats_rate(s));
	if (s->processes > 1)
		fprintf(out, ", %" PRIu64 " processes", s->processes);
	if (s->late)
		fprintf(out, ", %" PRIu64 " late", s->late);
	if (s->idle)
		fprintf(out, "; %" PRIu64 " stack%s of idle threads left out (-i counts them)", s->idle,
			s->idle == 1 ? "" : "s");
	fputc('\n', out);
	if (s->held_back)
		fprintf(out, "cspy: the rate was kept at %.6g a second (%.6g were asked for) to hold %s%s%s\n",
			stats_rate(s), s->rate_wanted,
			s->held_back_own ? "cspy's own CPU time within --max-overhead" : "",
			s->held_back_own && loss ? ", and " : "",
			!loss	    ? ""
			: s->native ? "the target's loss within --max-pause"
				    : "the target's loss within --max-pause; --nonblocking reads faster");
}

static void print_pauses(FILE *out, const struct profile_stats *s)
{
	if (s->paused && s->processes > 1)
		fprintf(out, "cspy: paused %" PRIu64 " times, %.3g ms in all %" PRIu64 " processes\n", s->paused,
			(double)s->paused_ns * MS, s->processes);
	else if (s->paused)
		fprintf(out, "cspy: paused the target %" PRIu64 " times, %.3g ms in all, %.2f %% of the time\n",
			s->paused, (double)s->paused_ns * MS, 100 * share((double)s->paused_ns, (double)s->wall_ns));
	if (s->pause_failed)
		fprintf(out, "cspy: pauses that failed: %" PRIu64 "\n", s->pause_failed);
}

static void print_quality(FILE *out, const struct profile *p)
{
	const struct profile_stats *s = &p->stats;
	uint64_t failures = stats_failed(s);
	const char *comma = "";

	if (s->cut)
		fprintf(out, "cspy: %" PRIu64 " samples (%.2f %%) changed while they were read, and end in [cut]\n",
			s->cut, 100 * share((double)s->cut, (double)s->samples));
	if (s->reused)
		fprintf(out, "cspy: %" PRIu64 " of these because their code was replaced\n", s->reused);
	if (s->lost)
		fprintf(out,
			"cspy: %" PRIu64
			" samples (%.2f %%) begin with [lost]: the way to their first function was lost\n",
			s->lost, 100 * share((double)s->lost, (double)s->samples));
	if (s->unmerged)
		fprintf(out,
			"cspy: %" PRIu64 " samples are without native frames, which did not fit (%" PRIu64 " did)\n",
			s->unmerged, s->merged);
	if (s->deep)
		fprintf(out, "cspy: %" PRIu64 " samples were deeper than --depth, and begin with [deeper]\n", s->deep);
	if (failures) {
		fprintf(out, "cspy: %" PRIu64 " more failed (%.2f %%): ", failures,
			100 * share((double)failures, (double)(s->samples + failures)));
		for (size_t i = 0; i < ERR_CODES; i++) {
			if (!s->failed[i])
				continue;
			fprintf(out, "%s%" PRIu64 " %s", comma, s->failed[i], err_code_name((enum err_code)i));
			comma = ", ";
		}
		fputc('\n', out);
	}
	if (s->lean > 0.01)
		fprintf(out, "cspy: weights corrected: %s was off by %.1f points\n",
			strings_get(frames_strings(p->frames), s->lean_function), 100 * s->lean);
}

void stats_print(FILE *out, const struct profile *p)
{
	const struct profile_stats *s = &p->stats;

	print_rate(out, s);
	print_pauses(out, s);
	print_quality(out, p);
	if (s->ticks)
		fprintf(out, "cspy: own CPU %.3g ms, %.2g %% of a core, %.3g us a look\n", (double)s->cpu_ns * MS,
			100 * share((double)s->cpu_ns, (double)s->wall_ns), cpu_us(s));
}

static void count(FILE *out, const char *key, uint64_t v)
{
	json_key(out, key);
	fprintf(out, "%" PRIu64 ",", v);
}

static void measure(FILE *out, const char *key, double v)
{
	json_key(out, key);
	json_number(out, v);
	fputc(',', out);
}

static void text(FILE *out, const char *key, const char *v)
{
	json_key(out, key);
	json_text(out, v ? v : "");
	fputc(',', out);
}

static void counts(FILE *out, const struct profile_stats *s)
{
	count(out, "ticks", s->ticks);
	count(out, "processes", s->processes);
	count(out, "late", s->late);
	count(out, "held_back", s->held_back);
	count(out, "held_back_own", s->held_back_own);
	count(out, "samples", s->samples);
	count(out, "idle", s->idle);
	count(out, "paused", s->paused);
	count(out, "paused_ns", s->paused_ns);
	count(out, "pause_failed", s->pause_failed);
	count(out, "torn", s->torn);
	count(out, "cut", s->cut);
	count(out, "deep", s->deep);
	count(out, "lost", s->lost);
	count(out, "merged", s->merged);
	count(out, "unmerged", s->unmerged);
	count(out, "reused", s->reused);
	count(out, "failed", stats_failed(s));
	count(out, "reads", s->reads);
	count(out, "cpu_ns", s->cpu_ns);
	count(out, "wall_ns", s->wall_ns);
}

static void causes(FILE *out, const struct profile_stats *s)
{
	const char *comma = "";

	json_key(out, "failed_by_cause");
	fputc('{', out);
	for (size_t i = 0; i < ERR_CODES; i++) {
		if (!s->failed[i])
			continue;
		fputs(comma, out);
		json_key(out, err_code_name((enum err_code)i));
		fprintf(out, "%" PRIu64, s->failed[i]);
		comma = ",";
	}
	fputc('}', out);
}

void stats_json(FILE *out, const struct profile *p)
{
	const struct profile_stats *s = &p->stats;

	fputc('{', out);
	count(out, "cspy_stats", 1);
	count(out, "pid", (uint64_t)p->pid);
	text(out, "command", p->command);
	text(out, "runtime", p->runtime);
	text(out, "mode", p->mode);
	counts(out, s);
	measure(out, "rate_wanted", s->rate_wanted);
	measure(out, "rate", stats_rate(s));
	measure(out, "duration_s", (double)s->wall_ns * SECOND);
	measure(out, "cpu_us_per_sample", cpu_us(s));
	measure(out, "lean", s->lean);
	text(out, "lean_function", strings_get(frames_strings(p->frames), s->lean_function));
	causes(out, s);
	fputs("}\n", out);
}
