/* go_file.h - find the table of functions in the file of a Go program. */
#ifndef CSPY_GO_FILE_H
#define CSPY_GO_FILE_H

#include "cspy/image.h"
#include "go_table.h"

/* NULL: it has none. Borrows the image. */
struct go_table *go_file_table(struct image *img);

#endif
