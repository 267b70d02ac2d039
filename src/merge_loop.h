/* merge_loop.h - find the function that runs an interpreter's frames where nobody names it. */
#ifndef CSPY_MERGE_LOOP_H
#define CSPY_MERGE_LOOP_H

#include "cspy/frame.h"

enum { CANDIDATES_MAX = 64 };

/*
 * In a stripped interpreter the loop is known by how often it is there: in every stack as often as native code entered
 * the interpreter, or once more while a call of it begins or ends. A few stacks leave no other function with that.
 */
struct merge_loop {
	str_id candidates[CANDIDATES_MAX]; /* from the root on */
	size_t count;
};

/*
 * The functions of one stack, leaf first (0: none that could be it), and how often native code entered the interpreter
 * in it. Returns the function that it is, as far as is known now; 0: none fits.
 */
str_id merge_loop_see(struct merge_loop *l, const str_id *functions, size_t n, size_t entries);

#endif
