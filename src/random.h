/* random.h - a small generator for coins and jitter. */
#ifndef CSPY_RANDOM_H
#define CSPY_RANDOM_H

#include <stdint.h>

/* xorshift64*; *state must not be 0. */
static inline uint64_t random_next(uint64_t *state)
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return *state * 0x2545F4914F6CDD1Dull;
}

#endif
