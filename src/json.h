/* json.h - write JSON to a stream: strings that are always valid, numbers without locale. */
#ifndef CSPY_JSON_H
#define CSPY_JSON_H

#include <stdio.h>

#include "cspy/base.h"

/* Quoted and escaped; bytes that are not UTF-8 become U+FFFD, so that any reader takes it. (A json_string()
 * here would take the place of libjansson's in the whole program.) */
void json_text(FILE *out, const char *s);
/* `"key":` */
void json_key(FILE *out, const char *key);
/* A finite number in the shortest form that keeps 6 digits; never inf or nan. */
void json_number(FILE *out, double v);

#endif
