/* debug_info.c - source lines and inlined functions of one ELF file, out of its DWARF. */
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>

#include "debug_info.h"
#include "image_elf.h"

enum {
	SECTION_MAX = 1 << 30, /* unpacked */
	UNITS_MAX = 1 << 20,
	UNIT_RANGES_MAX = 1 << 16, /* of one unit or function */
	FUNCTIONS_MAX = 1 << 22,
	ENTRIES_MAX = 1 << 22, /* looked at in one unit, or in one function: links between them may lie */
	SPACES_MAX = 16,       /* namespaces and classes within each other */
	BLOCKS_MAX = 256,      /* within each other, inlined functions or not */
};

/* Code of a unit or a function: where its entry is. */
struct range {
	uint64_t start, end;
	Dwarf_Off entry;
};

struct ranges {
	struct range *list; /* ascending, once sorted */
	size_t count, cap;
};

struct debug_info {
	Dwarf *dwarf;
	bool listed; /* the units */
	struct ranges units, functions;
	struct ranges read; /* units whose functions are known: their entries alone */
};

/* libdw looks for a string's end even behind its section's. */
static bool has_ends(Elf_Scn *scn, const char *name, bool packed)
{
	const Elf_Data *data;

	if (strcmp(name, ".debug_str") != 0 && strcmp(name, ".debug_line_str") != 0)
		return true;
	if (packed && elf_compress(scn, 0, 0) < 0)
		return false;
	data = elf_getdata(scn, NULL);
	return !data || !data->d_size || (data->d_buf && !((const char *)data->d_buf)[data->d_size - 1]);
}

/* Debug information in other files would be looked for wherever this one says. */
static bool is_here(Elf *elf)
{
	Elf_Scn *scn = NULL;
	bool found = false;
	size_t names;

	if (elf_getshdrstrndx(elf, &names) != 0)
		return false;
	while ((scn = elf_nextscn(elf, scn)) != NULL) {
		GElf_Shdr sh;
		GElf_Chdr packed;
		const char *name;

		if (!gelf_getshdr(scn, &sh) || !(name = elf_strptr(elf, names, sh.sh_name)))
			continue;
		if (!strcmp(name, ".gnu_debugaltlink") || !strcmp(name, ".debug_sup") || !strncmp(name, ".zdebug", 7))
			return false;
		if (strncmp(name, ".debug_", 7) != 0 || sh.sh_type == SHT_NOBITS)
			continue;
		if (sh.sh_size > SECTION_MAX ||
		    ((sh.sh_flags & SHF_COMPRESSED) && gelf_getchdr(scn, &packed) && packed.ch_size > SECTION_MAX) ||
		    !has_ends(scn, name, sh.sh_flags & SHF_COMPRESSED))
			return false;
		found = found || !strcmp(name, ".debug_info");
	}
	return found;
}

struct debug_info *debug_info_new(struct image *img)
{
	struct debug_info *d;
	Dwarf *dwarf = is_here(image_elf(img)) ? dwarf_begin_elf(image_elf(img), DWARF_C_READ, NULL) : NULL;

	if (!dwarf)
		return NULL;
	d = xcalloc(1, sizeof(*d));
	d->dwarf = dwarf;
	return d;
}

void debug_info_free(struct debug_info *d)
{
	if (!d)
		return;
	dwarf_end(d->dwarf);
	free(d->units.list);
	free(d->functions.list);
	free(d->read.list);
	free(d);
}

/* ---- Which unit, which function ---- */

static void add_ranges(struct ranges *r, Dwarf_Die *die, size_t max)
{
	Dwarf_Addr base = 0, start, end;
	ptrdiff_t at = 0;

	for (size_t i = 0; i < UNIT_RANGES_MAX && r->count < max; i++) {
		at = dwarf_ranges(die, at, &base, &start, &end);
		if (at <= 0)
			return;
		if (start >= end || !start) /* 0: the linker left it out */
			continue;
		xgrow(&r->list, &r->cap, r->count + 1, sizeof(*r->list));
		r->list[r->count++] = (struct range){ start, end, dwarf_dieoffset(die) };
	}
}

static int by_start(const void *a, const void *b)
{
	const struct range *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

static void sort(struct ranges *r)
{
	if (r->count)
		qsort(r->list, r->count, sizeof(*r->list), by_start);
}

static const struct range *find(const struct ranges *r, uint64_t svma)
{
	size_t low = 0, high = r->count;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (r->list[mid].start <= svma)
			low = mid + 1;
		else
			high = mid;
	}
	return low && svma < r->list[low - 1].end ? &r->list[low - 1] : NULL;
}

/* What lies in a file of its own is left there. */
static bool is_split(Dwarf_Die *unit)
{
	return dwarf_hasattr(unit, DW_AT_dwo_name) || dwarf_hasattr(unit, DW_AT_GNU_dwo_name);
}

static void list_units(struct debug_info *d)
{
	Dwarf_Off at = 0, next;
	size_t head;

	d->listed = true;
	for (size_t i = 0; i < UNITS_MAX && dwarf_nextcu(d->dwarf, at, &next, &head, NULL, NULL, NULL) == 0; i++) {
		Dwarf_Die unit;

		if (dwarf_offdie(d->dwarf, at + head, &unit) && !is_split(&unit))
			add_ranges(&d->units, &unit, UNITS_MAX);
		if (next <= at)
			break;
		at = next;
	}
	sort(&d->units);
}

static bool is_space(int tag)
{
	return tag == DW_TAG_namespace || tag == DW_TAG_structure_type || tag == DW_TAG_class_type ||
	       tag == DW_TAG_union_type || tag == DW_TAG_enumeration_type || tag == DW_TAG_module;
}

/* All functions of a unit that have code of their own. */
static void read_functions(struct debug_info *d, Dwarf_Die *unit)
{
	Dwarf_Die path[SPACES_MAX];
	size_t depth = 0;
	int more = dwarf_child(unit, &path[0]);

	for (size_t i = 0; i < ENTRIES_MAX; i++) {
		int tag;

		while (more != 0) { /* no more of them, or nonsense: on behind the space that they are in */
			if (depth == 0)
				return;
			depth--;
			more = dwarf_siblingof(&path[depth], &path[depth]);
		}
		tag = dwarf_tag(&path[depth]);
		if (tag == DW_TAG_subprogram)
			add_ranges(&d->functions, &path[depth], FUNCTIONS_MAX);
		if (is_space(tag) && depth + 1 < SPACES_MAX && dwarf_child(&path[depth], &path[depth + 1]) == 0)
			depth++;
		else
			more = dwarf_siblingof(&path[depth], &path[depth]);
	}
}

static bool was_read(struct debug_info *d, Dwarf_Off unit)
{
	for (size_t i = 0; i < d->read.count; i++)
		if (d->read.list[i].entry == unit)
			return true;
	xgrow(&d->read.list, &d->read.cap, d->read.count + 1, sizeof(*d->read.list));
	d->read.list[d->read.count++] = (struct range){ .entry = unit };
	return false;
}

static bool find_function(struct debug_info *d, uint64_t svma, Dwarf_Die *unit, Dwarf_Die *ret)
{
	const struct range *r;

	if (!d->listed)
		list_units(d);
	r = find(&d->units, svma);
	if (!r || !dwarf_offdie(d->dwarf, r->entry, unit))
		return false;
	if (!was_read(d, r->entry)) {
		read_functions(d, unit);
		sort(&d->functions);
	}
	r = find(&d->functions, svma);
	return r && dwarf_offdie(d->dwarf, r->entry, ret) != NULL;
}

/* ---- What is inlined there ---- */

static bool is_block(int tag)
{
	return tag == DW_TAG_inlined_subroutine || tag == DW_TAG_lexical_block || tag == DW_TAG_try_block ||
	       tag == DW_TAG_catch_block;
}

/* The block within `die` that the address is in. */
static bool find_block(Dwarf_Die *die, uint64_t svma, size_t *entries, Dwarf_Die *ret)
{
	for (int more = dwarf_child(die, ret); more == 0; more = dwarf_siblingof(ret, ret)) {
		if (++*entries > ENTRIES_MAX)
			return false;
		if (is_block(dwarf_tag(ret)) && dwarf_haspc(ret, svma) > 0)
			return true;
	}
	return false;
}

/* Outermost first. */
static size_t find_inlined(Dwarf_Die *function, uint64_t svma, Dwarf_Die ret[INLINED_MAX])
{
	Dwarf_Die at = *function, block;
	size_t n = 0, entries = 0;

	for (size_t i = 0; i < BLOCKS_MAX && n < INLINED_MAX && find_block(&at, svma, &entries, &block); i++) {
		if (dwarf_tag(&block) == DW_TAG_inlined_subroutine)
			ret[n++] = block;
		at = block;
	}
	return n;
}

static uint32_t number(Dwarf_Die *die, unsigned attribute)
{
	Dwarf_Attribute a;
	Dwarf_Word v;

	if (!dwarf_attr_integrate(die, attribute, &a) || dwarf_formudata(&a, &v) != 0 || v > UINT32_MAX)
		return 0;
	return (uint32_t)v;
}

static const char *name_of(Dwarf_Die *die)
{
	Dwarf_Attribute a;
	const char *name = NULL;

	if (dwarf_attr_integrate(die, DW_AT_linkage_name, &a) || dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &a))
		name = dwarf_formstring(&a);
	return name ? name : dwarf_diename(die);
}

static void line_at(Dwarf_Die *unit, uint64_t svma, struct debug_place *ret)
{
	Dwarf_Line *line = dwarf_getsrc_die(unit, svma);
	int n;

	if (!line)
		return;
	ret->file = dwarf_linesrc(line, NULL, NULL);
	if (dwarf_lineno(line, &n) == 0 && n > 0)
		ret->line = (uint32_t)n;
}

/* Where an inlined function was called. */
static void call_of(Dwarf_Die *unit, Dwarf_Die *inlined, struct debug_place *ret)
{
	Dwarf_Files *files;
	size_t n;
	uint32_t file = number(inlined, DW_AT_call_file);

	ret->line = number(inlined, DW_AT_call_line);
	if (dwarf_getsrcfiles(unit, &files, &n) == 0 && file < n)
		ret->file = dwarf_filesrc(files, file, NULL, NULL);
}

size_t debug_info_at(struct debug_info *d, uint64_t svma, struct debug_place ret[INLINED_MAX + 1])
{
	Dwarf_Die unit, function, inlined[INLINED_MAX];
	size_t n;

	if (!find_function(d, svma, &unit, &function))
		return 0;
	n = find_inlined(&function, svma, inlined);
	for (size_t i = 0; i <= n; i++) {
		Dwarf_Die *die = i < n ? &inlined[n - 1 - i] : &function;

		ret[i] = (struct debug_place){ .first_line = number(die, DW_AT_decl_line) };
		if (i < n)
			ret[i].function = name_of(die);
		if (i == 0)
			line_at(&unit, svma, &ret[i]);
		else
			call_of(&unit, &inlined[n - i], &ret[i]);
	}
	return n + 1;
}
