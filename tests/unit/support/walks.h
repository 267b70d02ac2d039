/* walks.h - what holds of the walks of every runtime: over recorded memory, whole and with reads that fail. */
#ifndef WALKS_H
#define WALKS_H

#include "replay.h"

/* Each goes over all snapshots of a runtime and returns how many complaints there were; the first few are printed. */
unsigned walks_say_what_is_expected(const struct replay *how); /* what was written down beside each snapshot */
/* A read that fails costs one stack, or a name, and never makes a wrong one. */
unsigned walks_survive_each_failure(const struct replay *how);
unsigned walks_take_one_read(const struct replay *how);		/* for one look at threads that stand still */
unsigned walks_agree_when_read_twice(const struct replay *how); /* of memory that does not change */
unsigned walks_keep_the_leaf_of_a_deep_stack(const struct replay *how);

#endif
