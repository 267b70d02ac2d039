/* roles.h - processes that do the same work, under one frame. */
#ifndef CSPY_ROLES_H
#define CSPY_ROLES_H

#include "cspy/sink.h"

/*
 * A copy in which the frames of processes with the same role (the command line, whatever numbers are in it: workers
 * count themselves) hang below one frame for all of them. NULL: there are no two of a role. Ended by profile_free().
 */
struct profile *profile_by_role(const struct profile *p);
/* Write it so, in this format. */
void profile_write(const struct profile *p, const struct sink_ops *sink, const struct sink_options *o, FILE *out);

#endif
