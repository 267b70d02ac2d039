/* budget.h - which samples may pause the target, and how many there may be: so that it loses no more than a share of
 * its time, and cspy takes no more than a share of a core. */
#ifndef CSPY_BUDGET_H
#define CSPY_BUDGET_H

#include "cspy/sampler.h"

struct budget {
	enum pause_mode mode;
	double share;	      /* of the target's time, for pauses */
	double cost_ns;	      /* of one pause, smoothed */
	uint64_t interval_ns; /* between looks, smoothed */
	uint64_t last_ns;     /* the look before this one */
	uint64_t start_ns;
	uint64_t spent_ns;
	uint64_t coin; /* state of the generator */
};

void budget_init(struct budget *b, enum pause_mode mode, double share, uint64_t now_ns);
/* Once per look, before anything is read: pause for this one? Does not depend on what the target does. */
bool budget_coin(struct budget *b, uint64_t now_ns);
void budget_spent(struct budget *b, uint64_t held_ns);
/* What the last pause led to afterwards: its thread found its CPU taken. */
void budget_waited(struct budget *b, uint64_t waited_ns);
/* A look that might have paused did not have to: its thread was off its CPU already. */
void budget_free(struct budget *b);
/* Looks that read a running target cost it something as well, and PAUSE_EACH stops it every time: no more often than
 * this. 0: as often as wanted. */
uint64_t budget_min_interval(const struct budget *b);

/* cspy's own CPU time: what was taken beyond its share is a debt, which longer intervals pay off. */
struct own_budget {
	double share; /* of one core; 0: any */
	double debt_ns;
	uint64_t last_ns, last_cpu_ns;
};

void own_budget_init(struct own_budget *b, double share, uint64_t now_ns, uint64_t cpu_ns);
/* After a look: how long to wait at least until the next one. 0: as short as wanted. */
uint64_t own_budget_min_interval(struct own_budget *b, uint64_t now_ns, uint64_t cpu_ns);

#endif
