/* stats.h - how a recording went, for people and as JSON. */
#ifndef CSPY_STATS_H
#define CSPY_STATS_H

#include <stdio.h>

#include "cspy/profile.h"

uint64_t stats_failed(const struct profile_stats *s); /* sum over all causes */
double stats_rate(const struct profile_stats *s);     /* looks a second, as achieved; 0 without time */
/* A few lines, each beginning with "cspy: ". Numbers that are zero are left out. */
void stats_print(FILE *out, const struct profile *p);
/* One flat object; keys are the names of the fields of struct profile_stats. */
void stats_json(FILE *out, const struct profile *p);

#endif
