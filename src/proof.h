/* proof.h - which part of a stack that was read while its thread ran did exist? Knows no runtime. */
#ifndef CSPY_PROOF_H
#define CSPY_PROOF_H

#include "cspy/runtime.h"
#include "map64.h"

/*
 * A stack read while its thread runs may be torn: an old part and a new one with a junction between them. The context
 * of a frame is its code with the code and position of its callers: all of them down to the root, or the next
 * PROOF_CALLERS. A context is proven once it was seen in a stack that could not change while it was read; an unsure
 * stack is true as far as, from the root on, all its contexts are proven.
 *
 * By path, nothing is believed but what was seen whole. By callers, two ways of the program that share more than
 * PROOF_CALLERS frames hide a junction in them; it is for where nothing may be stopped, and each context has to earn
 * belief on its own: a second read right after the first keeps finding it. A true one lasts, a torn one is gone.
 */
enum proof_by { PROOF_BY_PATH, PROOF_BY_CALLERS };
enum { PROOF_CALLERS = 3 }; /* with two, false ones slip through all the time */

struct proof {
	enum proof_by by;
	struct map64 contexts; /* hash -> PROVEN, or how often it was seen and found again */
	uint64_t *hashes;      /* of the frames of the stack in hand, leaf first */
	size_t cap;
	uint64_t believed; /* contexts proven by witness so far */
};

void proof_init(struct proof *p, enum proof_by by);
void proof_free(struct proof *p);
/* Nothing could change this stack: all of it is proven from now on. */
void proof_learn(struct proof *p, const struct raw_frame *frames, size_t n, bool deep);
/* How many frames at the leaf's end are not proven; n: none is. */
size_t proof_unproven(struct proof *p, const struct raw_frame *frames, size_t n, bool deep);
/* An unsure stack of which a second read, right after the first, showed `agreed` frames from the root on again. */
void proof_witness(struct proof *p, const struct raw_frame *frames, size_t n, bool deep, size_t agreed);

#endif
