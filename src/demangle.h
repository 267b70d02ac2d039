/* demangle.h - C++ and Rust names as people write them. */
#ifndef CSPY_DEMANGLE_H
#define CSPY_DEMANGLE_H

#include <stddef.h>

/* Without parameters. The name itself where it is not mangled, or demangles to something endless. */
void demangle(const char *name, char *buf, size_t cap);

#endif
