/* image.h - one ELF file mapped in a target: symbols, sections, segments. */
#ifndef CSPY_IMAGE_H
#define CSPY_IMAGE_H

#include "cspy/base.h"

struct image;

struct image_sym {
	const char *name; /* lives as long as the image */
	uint64_t svma;	  /* address as stated in the file */
	uint64_t size;	  /* 0 when the file does not say */
};

/* A PT_LOAD segment. */
struct image_segment {
	uint64_t svma, file_size, mem_size, offset, align;
	uint32_t flags; /* PF_R, PF_W, PF_X */
};

/* Takes the descriptor over (closed by image_close, and on failure). Anything but a 64-bit little-endian ELF file
 * of this machine is ERR_UNSUPPORTED. `name` is kept for messages. */
MUST_CHECK struct err image_open(int fd, const char *name, struct image **ret);
void image_close(struct image *img); /* accepts NULL */
const char *image_name(const struct image *img);
/* Exact name in .symtab, else in .dynsym. */
bool image_symbol(struct image *img, const char *name, struct image_sym *ret);
/* Bytes are NULL for SHT_NOBITS; valid while the image is open. */
bool image_section(struct image *img, const char *name, uint64_t *svma, const void **bytes, size_t *len);
size_t image_segments(struct image *img, const struct image_segment **ret);
bool image_build_id(struct image *img, const void **bytes, size_t *len);

#endif
