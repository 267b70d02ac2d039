/* image.c - an ELF file opened with libelf. */
#include <fcntl.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cspy/image.h"
#include "image_elf.h"

enum {
	SEGMENTS_MAX = 128,
};
/* Of a file, and of a section that is read into memory: a sparse file may claim any size. */
static const uint64_t FILE_BYTES = 4ull << 30, SECTION_BYTES = 512ull << 20;

struct image {
	int fd;
	char *name;
	Elf *elf;
	struct image_segment segments[SEGMENTS_MAX];
	size_t segment_count;
	Elf_Scn *symtab, *dynsym;
	size_t shstrndx;
};

#if defined(__x86_64__)
enum { OUR_MACHINE = EM_X86_64 };
#elif defined(__aarch64__)
enum { OUR_MACHINE = EM_AARCH64 };
#endif

static struct err not_elf(void)
{
	return err_at(ERR_UNSUPPORTED, 0, "opening an ELF file of this machine");
}

static void read_segments(struct image *img)
{
	size_t n;

	if (elf_getphdrnum(img->elf, &n) != 0)
		return;
	for (size_t i = 0; i < n && img->segment_count < SEGMENTS_MAX; i++) {
		GElf_Phdr ph;

		if (!gelf_getphdr(img->elf, (int)i, &ph) || ph.p_type != PT_LOAD)
			continue;
		img->segments[img->segment_count++] = (struct image_segment){
			.svma = ph.p_vaddr,
			.file_size = ph.p_filesz,
			.mem_size = ph.p_memsz,
			.offset = ph.p_offset,
			.align = ph.p_align,
			.flags = ph.p_flags,
		};
	}
}

static void find_symbol_tables(struct image *img)
{
	Elf_Scn *scn = NULL;

	while ((scn = elf_nextscn(img->elf, scn)) != NULL) {
		GElf_Shdr sh;

		if (!gelf_getshdr(scn, &sh))
			continue;
		if (sh.sh_type == SHT_SYMTAB)
			img->symtab = scn;
		else if (sh.sh_type == SHT_DYNSYM)
			img->dynsym = scn;
	}
}

static struct err read_headers(struct image *img)
{
	GElf_Ehdr eh;

	if (!img->elf || elf_kind(img->elf) != ELF_K_ELF || !gelf_getehdr(img->elf, &eh))
		return not_elf();
	if (gelf_getclass(img->elf) != ELFCLASS64 || eh.e_ident[EI_DATA] != ELFDATA2LSB || eh.e_machine != OUR_MACHINE)
		return not_elf();
	if (elf_getshdrstrndx(img->elf, &img->shstrndx) != 0)
		img->shstrndx = 0;
	read_segments(img);
	find_symbol_tables(img);
	return img->segment_count ? OK : not_elf();
}

struct err image_open(int fd, const char *name, struct image **ret)
{
	struct image *img;
	struct stat st;
	struct err e;

	if (fstat(fd, &st) != 0 || (uint64_t)st.st_size > FILE_BYTES) {
		close(fd);
		return not_elf();
	}
	img = xcalloc(1, sizeof(*img));
	elf_version(EV_CURRENT);
	img->fd = fd;
	img->name = xstrdup(name);
	/* Read, not mapped: a file that shrinks while it is mapped would end cspy by SIGBUS. */
	img->elf = elf_begin(fd, ELF_C_READ, NULL);
	e = read_headers(img);
	if (failed(e)) {
		image_close(img);
		return e;
	}
	*ret = img;
	return OK;
}

void image_close(struct image *img)
{
	if (!img)
		return;
	if (img->elf)
		elf_end(img->elf);
	close(img->fd);
	free(img->name);
	free(img);
}

const char *image_name(const struct image *img)
{
	return img->name;
}

Elf *image_elf(struct image *img)
{
	return img->elf;
}

static bool find_in_table(struct image *img, Elf_Scn *scn, const char *name, struct image_sym *ret)
{
	Elf_Data *data;
	GElf_Shdr sh;
	size_t n;

	if (!scn || !gelf_getshdr(scn, &sh) || !sh.sh_entsize || sh.sh_size > SECTION_BYTES)
		return false;
	data = elf_getdata(scn, NULL);
	if (!data)
		return false;
	n = data->d_size / sh.sh_entsize;
	for (size_t i = 0; i < n; i++) {
		GElf_Sym sym;
		const char *found;

		if (!gelf_getsym(data, (int)i, &sym) || sym.st_shndx == SHN_UNDEF)
			continue;
		found = elf_strptr(img->elf, sh.sh_link, sym.st_name);
		if (found && !strcmp(found, name)) {
			*ret = (struct image_sym){ found, sym.st_value, sym.st_size };
			return true;
		}
	}
	return false;
}

bool image_symbol(struct image *img, const char *name, struct image_sym *ret)
{
	return find_in_table(img, img->symtab, name, ret) || find_in_table(img, img->dynsym, name, ret);
}

bool image_section(struct image *img, const char *name, uint64_t *svma, const void **bytes, size_t *len)
{
	Elf_Scn *scn = NULL;

	while ((scn = elf_nextscn(img->elf, scn)) != NULL) {
		GElf_Shdr sh;
		const char *found;
		const Elf_Data *data;

		if (!gelf_getshdr(scn, &sh))
			continue;
		found = elf_strptr(img->elf, img->shstrndx, sh.sh_name);
		if (!found || strcmp(found, name) != 0)
			continue;
		*svma = sh.sh_addr;
		*len = sh.sh_size;
		*bytes = NULL;
		if (sh.sh_type == SHT_NOBITS)
			return true;
		data = sh.sh_size <= SECTION_BYTES ? elf_rawdata(scn, NULL) : NULL;
		if (!data || !data->d_buf)
			return false;
		*bytes = data->d_buf;
		*len = data->d_size;
		return true;
	}
	return false;
}

size_t image_segments(struct image *img, const struct image_segment **ret)
{
	*ret = img->segments;
	return img->segment_count;
}

bool image_build_id(struct image *img, const void **bytes, size_t *len)
{
	uint64_t svma;
	const void *notes;
	size_t size, at = 0;

	if (!image_section(img, ".note.gnu.build-id", &svma, &notes, &size) || !notes)
		return false;
	while (at + sizeof(GElf_Nhdr) <= size) {
		GElf_Nhdr nh;
		size_t name_at = at + sizeof(nh), desc_at;

		memcpy(&nh, (const char *)notes + at, sizeof(nh));
		desc_at = name_at + (((size_t)nh.n_namesz + 3) & ~3ul);
		if (desc_at > size || nh.n_descsz > size - desc_at)
			return false;
		if (nh.n_type == NT_GNU_BUILD_ID) {
			*bytes = (const char *)notes + desc_at;
			*len = nh.n_descsz;
			return true;
		}
		at = desc_at + (((size_t)nh.n_descsz + 3) & ~3ul);
	}
	return false;
}
