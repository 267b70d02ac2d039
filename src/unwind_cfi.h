/* unwind_cfi.h - rules out of the call frame information of ELF files, as libdw reads it. */
#ifndef CSPY_UNWIND_CFI_H
#define CSPY_UNWIND_CFI_H

#include "modules.h"
#include "unwind_expr.h"
#include "unwind_rule.h"

struct cfi;

/* Of one file; borrows the image. */
struct cfi *cfi_new(struct image *img);
void cfi_free(struct cfi *c); /* accepts NULL; before the image is closed */
/* The sections that its rules are in, as words; NULL: there are none, and frame pointers have to do. */
const char *cfi_source(struct cfi *c);
/*
 * The rule at an address of the file, which is the same up to *end. False: none is there. (libdw tells a start as well,
 * which is too low behind a DW_CFA_restore_state.)
 */
bool cfi_rule(struct cfi *c, struct exprs *exprs, uint64_t svma, struct rule *ret, uint64_t *end);

#endif
