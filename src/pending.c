/* pending.c - samples that wait until their code objects were found to be the same before and after. */
#include "pending.h"

enum { FEW = 16 }; /* not worth a read of their own */
static const uint64_t SETTLE_NS = 10 * 1000 * 1000, SETTLE_LATEST_NS = 200 * 1000 * 1000;
/* What is not settled when the process ends can't be any more: of a short life that shall be no more than this share.
 */
enum { LIFE_SHARE = 16 };

void pending_init(struct pending *p, uint64_t now_ns)
{
	p->count = 0;
	p->since_ns = p->settled_ns = now_ns;
}

void pending_add(struct pending *p, struct pending_sample sample)
{
	p->list[p->count++] = sample;
}

bool pending_is_full(const struct pending *p)
{
	return p->count == PENDING_MAX;
}

static uint64_t interval(const struct pending *p, uint64_t now_ns)
{
	uint64_t share = (now_ns - p->since_ns) / LIFE_SHARE;

	if (p->count >= FEW || share < SETTLE_NS)
		return SETTLE_NS;
	return share < SETTLE_LATEST_NS ? share : SETTLE_LATEST_NS;
}

bool pending_is_due(const struct pending *p, uint64_t now_ns)
{
	return now_ns - p->settled_ns >= interval(p, now_ns);
}

void pending_settle(struct pending *p, struct identifier *names, uint64_t reused, uint64_t now_ns)
{
	struct profile *profile = names->profile;

	for (size_t i = 0; i < p->count; i++) {
		struct pending_sample *s = &p->list[i];

		if (s->codes & reused) {
			s->node = identify_lost(names, s->root);
			s->cut = true;
			profile->stats.reused++;
		}
		profile->stats.cut += s->cut;
		profile_add(profile, s->node, s->fair, s->weight);
		if (profile->keep_runs)
			profile_run(profile, s->thread, s->node, s->when_ns);
	}
	p->count = 0;
	p->settled_ns = now_ns;
}
