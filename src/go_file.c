/* go_file.c - find the table of functions in the file of a Go program. */
#include <elf.h>
#include <gelf.h>
#include <string.h>

#include "go_file.h"
#include "image_elf.h"

static const uint64_t SCAN_BYTES = 256 << 20; /* of one segment */
enum {
	ALIGN = 8,
	/* Of Go's own data of a module: its table comes first, and where its text begins is said there (1.16 to 1.26).
	 */
	MODULE_TEXT = 0xb0,
	MODULE_STEP = 8,
	TEXT_ALIGN = 4096,
};

/* Where it lies in the file. */
struct found {
	const uint8_t *bytes;
	size_t len;
	uint64_t svma;
};

static bool by_section(struct image *img, struct found *ret)
{
	static const char *const names[] = { ".gopclntab", ".data.rel.ro.gopclntab" };

	for (size_t i = 0; i < countof(names); i++) {
		const void *bytes;

		if (image_section(img, names[i], &ret->svma, &bytes, &ret->len) && bytes) {
			ret->bytes = bytes;
			return true;
		}
	}
	return false;
}

static const uint8_t *segment_bytes(struct image *img, const struct image_segment *s, size_t *len)
{
	uint64_t want = s->file_size < SCAN_BYTES ? s->file_size : SCAN_BYTES;
	Elf_Data *d = s->offset <= INT64_MAX && want
			      ? elf_getdata_rawchunk(image_elf(img), (int64_t)s->offset, want, ELF_T_BYTE)
			      : NULL;

	*len = d && d->d_buf ? d->d_size : 0;
	return *len ? d->d_buf : NULL;
}

static bool in_segment(struct image *img, const struct image_segment *s, struct found *ret)
{
	size_t len;
	const uint8_t *bytes = segment_bytes(img, s, &len);

	for (size_t at = 0; len >= GO_MAGIC_BYTES && at <= len - GO_MAGIC_BYTES; at += ALIGN) {
		struct go_table *t = go_table_begins(bytes + at) ? go_table_new(bytes + at, len - at) : NULL;

		if (!t)
			continue;
		go_table_free(t);
		*ret = (struct found){ bytes + at, len - at, s->svma + at };
		return true;
	}
	return false;
}

/* A file without the names of its sections. */
static bool by_scan(struct image *img, struct found *ret)
{
	const struct image_segment *s;
	size_t n = image_segments(img, &s), sections;

	if (elf_getshdrnum(image_elf(img), &sections) != 0 || sections)
		return false;
	for (size_t i = 0; i < n; i++)
		if (!(s[i].flags & PF_X) && in_segment(img, &s[i], ret))
			return true;
	return false;
}

static bool is_code(struct image *img, uint64_t svma)
{
	const struct image_segment *s;
	size_t n = image_segments(img, &s);

	for (size_t i = 0; i < n; i++)
		if (s[i].flags & PF_X && svma >= s[i].svma && svma - s[i].svma < s[i].mem_size)
			return true;
	return false;
}

static uint64_t word_at(const uint8_t *bytes)
{
	uint64_t ret;

	memcpy(&ret, bytes, sizeof(ret));
	return ret;
}

/* Go's data of the module says it: words that point to the table, and to the text. */
static uint64_t text_by_module(struct image *img, uint64_t table)
{
	const struct image_segment *s;
	size_t n = image_segments(img, &s);

	for (size_t i = 0; i < n; i++) {
		size_t len;
		const uint8_t *bytes = s[i].flags & PF_W ? segment_bytes(img, &s[i], &len) : NULL;

		for (size_t at = 0; bytes && len - at >= MODULE_TEXT + 8; at += MODULE_STEP)
			if (word_at(bytes + at) == table && is_code(img, word_at(bytes + at + MODULE_TEXT)))
				return word_at(bytes + at + MODULE_TEXT);
	}
	return 0;
}

/* In a file that may lie anywhere, the words are those that the loader is told to write. */
static uint64_t text_by_relocations(struct image *img, uint64_t table)
{
	const void *bytes;
	uint64_t svma, module = 0;
	size_t len;

	if (!image_section(img, ".rela.dyn", &svma, &bytes, &len) && !image_section(img, ".rela", &svma, &bytes, &len))
		return 0;
	for (unsigned round = 0; round < 2 && bytes; round++) {
		for (size_t at = 0; len - at >= sizeof(Elf64_Rela); at += sizeof(Elf64_Rela)) {
			Elf64_Rela r;

			memcpy(&r, (const uint8_t *)bytes + at, sizeof(r));
			if (!module && (uint64_t)r.r_addend == table)
				module = r.r_offset;
			else if (module && r.r_offset == module + MODULE_TEXT)
				return is_code(img, (uint64_t)r.r_addend) ? (uint64_t)r.r_addend : 0;
		}
	}
	return 0;
}

/* Where nothing but Go is in the program it begins in Go's own code, which begins at a page. */
static uint64_t text_by_entry(struct image *img, const struct go_table *t)
{
	GElf_Ehdr eh;
	uint64_t off, text;

	if (!gelf_getehdr(image_elf(img), &eh) || !go_table_entry(t, &off) || off > eh.e_entry)
		return 0;
	text = eh.e_entry - off;
	return text % TEXT_ALIGN == 0 && is_code(img, text) ? text : 0;
}

static uint64_t text_of(struct image *img, const struct go_table *t, uint64_t table)
{
	uint64_t text = go_table_text(t);

	if (is_code(img, text))
		return text;
	text = text_by_module(img, table);
	if (!text)
		text = text_by_relocations(img, table);
	return text ? text : text_by_entry(img, t);
}

struct go_table *go_file_table(struct image *img)
{
	struct found found;
	struct go_table *t;

	if (!by_section(img, &found) && !by_scan(img, &found))
		return NULL;
	t = go_table_new(found.bytes, found.len);
	if (!t || !go_table_needs_text(t))
		return t;
	go_table_set_text(t, text_of(img, t, found.svma));
	if (go_table_text(t))
		return t;
	go_table_free(t);
	return NULL;
}
