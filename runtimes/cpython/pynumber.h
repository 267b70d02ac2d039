/* pynumber.h - ints and floats as the interpreter would print them. */
#ifndef CPYTHON_PYNUMBER_H
#define CPYTHON_PYNUMBER_H

#include "objects.h"
#include "text.h"

/* Decimal up to 45 digits, else "<int of N bits>". The object is an int (or Python 2 int or long). */
MUST_CHECK struct err cpy_int_text(struct memory *m, const struct cpy_layout *l, raddr_t object, struct text *ret);
/* The shortest text that is this double, as repr(float) writes it. */
void cpy_float_text(double value, struct text *ret);

#endif
