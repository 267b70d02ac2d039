/* symbol_table.c - the functions that one ELF file names, by address. */
#include <gelf.h>
#include <stdlib.h>

#include "image_elf.h"
#include "symbol_table.h"

enum {
	NESTED_MAX = 16, /* functions that begin between another's start and an address in it */
	RANK_SIZED = 4,
	RANK_GLOBAL = 2,
	RANK_WEAK = 1,
};

void symbol_table_free(struct symbol_table *t)
{
	free(t->list);
	*t = (struct symbol_table){ 0 };
}

static bool is_function(const GElf_Sym *sym)
{
	unsigned type = GELF_ST_TYPE(sym->st_info);

	/* Hand-written code often has no type. */
	return sym->st_shndx != SHN_UNDEF && sym->st_shndx < SHN_LORESERVE && sym->st_value &&
	       (type == STT_FUNC || type == STT_GNU_IFUNC || type == STT_NOTYPE);
}

static uint8_t rank_of(const GElf_Sym *sym)
{
	unsigned bind = GELF_ST_BIND(sym->st_info);
	unsigned rank = sym->st_size && GELF_ST_TYPE(sym->st_info) != STT_NOTYPE ? RANK_SIZED : 0;

	return (uint8_t)(rank + (bind == STB_GLOBAL ? RANK_GLOBAL : bind == STB_WEAK ? RANK_WEAK : 0));
}

static void add_section(struct symbol_table *t, Elf *elf, Elf_Scn *scn, const GElf_Shdr *sh)
{
	Elf_Data *data = elf_getdata(scn, NULL);
	size_t n = data && sh->sh_entsize ? data->d_size / sh->sh_entsize : 0;

	for (size_t i = 0; i < n && t->count < SYMBOLS_MAX; i++) {
		GElf_Sym sym;
		const char *name;

		if (!gelf_getsym(data, (int)i, &sym) || !is_function(&sym))
			continue;
		name = elf_strptr(elf, sh->sh_link, sym.st_name);
		if (!name || !*name || *name == '$' || *name == '.')
			continue;
		xgrow(&t->list, &t->cap, t->count + 1, sizeof(*t->list));
		t->list[t->count++] = (struct symbol){ sym.st_value, sym.st_size, name, rank_of(&sym) };
	}
}

void symbol_table_add(struct symbol_table *t, struct image *img)
{
	Elf *elf = image_elf(img);
	Elf_Scn *scn = NULL;

	while ((scn = elf_nextscn(elf, scn)) != NULL) {
		GElf_Shdr sh;

		if (gelf_getshdr(scn, &sh) && (sh.sh_type == SHT_SYMTAB || sh.sh_type == SHT_DYNSYM))
			add_section(t, elf, scn, &sh);
	}
}

/* Of one address, the name to be shown comes last. */
static int by_start(const void *a, const void *b)
{
	const struct symbol *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->rank - y->rank;
}

void symbol_table_sort(struct symbol_table *t)
{
	if (t->count)
		qsort(t->list, t->count, sizeof(*t->list), by_start);
}

static bool holds(const struct symbol_table *t, size_t i, uint64_t svma)
{
	const struct symbol *s = &t->list[i];

	if (s->size)
		return svma - s->start < s->size;
	/* As far as the next one, when that is the one in question. */
	return i + 1 == t->count || svma < t->list[i + 1].start || t->list[i + 1].start == s->start;
}

const struct symbol *symbol_table_find(const struct symbol_table *t, uint64_t svma)
{
	size_t low = 0, high = t->count;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (t->list[mid].start <= svma)
			low = mid + 1;
		else
			high = mid;
	}
	for (size_t i = low, k = 0; i-- > 0 && k < NESTED_MAX; k++)
		if (holds(t, i, svma))
			return &t->list[i];
	return NULL;
}
