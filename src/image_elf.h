/* image_elf.h - the libelf handle of an image, for those that give it to another library. */
#ifndef CSPY_IMAGE_ELF_H
#define CSPY_IMAGE_ELF_H

#include <libelf.h>

#include "cspy/image.h"

/* Borrowed: lives as long as the image. */
Elf *image_elf(struct image *img);

#endif
