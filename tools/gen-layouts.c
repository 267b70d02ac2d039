/* gen-layouts.c - print one row of runtimes/cpython/layouts from the DWARF of a CPython build. */
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "layout.h"

enum { MAX_STRUCTS = 64, MAX_NAME = 64 };

/* The structs named in CPY_FIELDS, and where this build defines them. */
struct structs {
	struct {
		char name[MAX_NAME];
		Dwarf_Die die;
		bool found;
	} list[MAX_STRUCTS];
	size_t count;
};

static const struct {
	const char *field, *paths;
} fields[] = {
#define X(field, paths) { #field, paths },
	CPY_FIELDS(X)
#undef X
};

/* Structs that tell a behaviour, and whose members are no offsets that cspy reads. */
static const char *const extra[] = { "PyDictOrValues", "_PyStackRef", "_frameowner" };

static Dwarf_Die *structs_find(struct structs *s, const char *name, size_t len)
{
	for (size_t i = 0; i < s->count; i++)
		if (strlen(s->list[i].name) == len && memcmp(s->list[i].name, name, len) == 0)
			return s->list[i].found ? &s->list[i].die : NULL;
	return NULL;
}

static void structs_want(struct structs *s, const char *name, size_t len)
{
	for (size_t i = 0; i < s->count; i++)
		if (strlen(s->list[i].name) == len && memcmp(s->list[i].name, name, len) == 0)
			return;
	if (s->count == MAX_STRUCTS || len >= MAX_NAME) {
		fprintf(stderr, "gen-layouts: too many structs, or a name too long: %.*s\n", (int)len, name);
		exit(1);
	}
	memcpy(s->list[s->count++].name, name, len);
}

static void structs_init(struct structs *s)
{
	memset(s, 0, sizeof *s);
	for (size_t i = 0; i < countof(fields); i++)
		for (const char *p = fields[i].paths; *p; p += strspn(p, " ")) {
			if (strncmp(p, "sizeof ", 7) == 0)
				p += 7;
			structs_want(s, p, strcspn(p, ". "));
			p += strcspn(p, " ");
		}
	for (size_t i = 0; i < countof(extra); i++)
		structs_want(s, extra[i], strlen(extra[i]));
}

/* The type behind typedefs and qualifiers. */
static bool peel(Dwarf_Die *die, Dwarf_Die *ret)
{
	*ret = *die;
	for (int depth = 0; depth < 16; depth++) {
		int tag = dwarf_tag(ret);
		if (tag != DW_TAG_typedef && tag != DW_TAG_const_type && tag != DW_TAG_volatile_type &&
		    tag != DW_TAG_atomic_type)
			return true;
		Dwarf_Attribute a;
		Dwarf_Die next;
		if (!dwarf_attr_integrate(ret, DW_AT_type, &a) || !dwarf_formref_die(&a, &next))
			return false;
		*ret = next;
	}
	return false;
}

static bool is_definition(Dwarf_Die *die)
{
	int tag = dwarf_tag(die);
	return (tag == DW_TAG_structure_type || tag == DW_TAG_union_type || tag == DW_TAG_enumeration_type) &&
	       !dwarf_hasattr(die, DW_AT_declaration);
}

static void structs_look(struct structs *s, Dwarf_Die *die)
{
	const char *name = dwarf_diename(die);
	Dwarf_Die type;
	if (!name)
		return;
	for (size_t i = 0; i < s->count; i++) {
		if (s->list[i].found || strcmp(s->list[i].name, name) != 0)
			continue;
		if (!peel(die, &type) || !is_definition(&type))
			return;
		s->list[i].die = type;
		s->list[i].found = true;
		return;
	}
}

static void structs_read(struct structs *s, Dwarf *dw)
{
	Dwarf_Off off = 0, next;
	size_t header;
	for (; dwarf_nextcu(dw, off, &next, &header, NULL, NULL, NULL) == 0; off = next) {
		Dwarf_Die cu, die;
		if (!dwarf_offdie(dw, off + header, &cu) || dwarf_child(&cu, &die) != 0)
			continue;
		do {
			int tag = dwarf_tag(&die);
			if (tag == DW_TAG_typedef || is_definition(&die))
				structs_look(s, &die);
		} while (dwarf_siblingof(&die, &die) == 0);
	}
}

/* Offset of a member, looked for in anonymous structs and unions too; *type is what it is. */
static bool member(Dwarf_Die *in, const char *name, size_t len, long *offset, Dwarf_Die *type)
{
	Dwarf_Die die, inner;
	if (dwarf_child(in, &die) != 0)
		return false;
	do {
		if (dwarf_tag(&die) != DW_TAG_member)
			continue;
		Dwarf_Attribute a;
		Dwarf_Word at = 0;
		if (dwarf_attr_integrate(&die, DW_AT_data_member_location, &a))
			dwarf_formudata(&a, &at);
		if (!dwarf_attr_integrate(&die, DW_AT_type, &a) || !dwarf_formref_die(&a, &inner))
			continue;
		const char *found = dwarf_diename(&die);
		long below = 0;
		if (found && strlen(found) == len && memcmp(found, name, len) == 0) {
			*offset = (long)at;
			*type = inner;
			return true;
		}
		if (!found && peel(&inner, &inner) && member(&inner, name, len, &below, type)) {
			*offset = (long)at + below;
			return true;
		}
	} while (dwarf_siblingof(&die, &die) == 0);
	return false;
}

/* STRUCT.member[.member] or "sizeof STRUCT": NO_FIELD when this build has no such thing. */
static long path_offset(struct structs *s, const char *path, size_t len)
{
	const char *end = path + len;
	bool size = len > 7 && memcmp(path, "sizeof ", 7) == 0;
	if (size)
		path += 7;
	size_t part = strcspn(path, ". ");
	Dwarf_Die *found = structs_find(s, path, part), type;
	if (!found)
		return NO_FIELD;
	if (size)
		return dwarf_bytesize(found);
	type = *found;
	long total = 0, offset;
	for (path += part; path < end; path += part) {
		path++; /* the dot */
		part = strcspn(path, ". ");
		if (!peel(&type, &type) || !member(&type, path, part, &offset, &type))
			return NO_FIELD;
		total += offset;
	}
	return total;
}

static long paths_offset(struct structs *s, const char *paths)
{
	while (*paths) {
		size_t word = strncmp(paths, "sizeof ", 7) == 0 ? 7 : 0;
		size_t len = word + strcspn(paths + word, " ");
		long offset = path_offset(s, paths, len);
		if (offset != NO_FIELD)
			return offset;
		paths += len;
		paths += strspn(paths, " ");
	}
	return NO_FIELD;
}

static bool has(struct structs *s, const char *path)
{
	return path_offset(s, path, strlen(path)) != NO_FIELD;
}

static bool has_struct(struct structs *s, const char *name)
{
	return structs_find(s, name, strlen(name)) != NULL;
}

/* Frame owners from this one up are no Python frames: the one after FRAME_OWNED_BY_FRAME_OBJECT, if there is one. */
static unsigned owner_skip(struct structs *s)
{
	Dwarf_Die *e = structs_find(s, "_frameowner", strlen("_frameowner")), die;
	Dwarf_Attribute a;
	Dwarf_Word value, last = 0, largest = 0;
	if (!e || dwarf_child(e, &die) != 0)
		return has(s, "_PyInterpreterFrame.owner") ? 3 : 0;
	do {
		const char *name = dwarf_diename(&die);
		if (!name || !dwarf_attr(&die, DW_AT_const_value, &a) || dwarf_formudata(&a, &value) != 0)
			continue;
		if (strcmp(name, "FRAME_OWNED_BY_FRAME_OBJECT") == 0)
			last = value;
		if (value > largest)
			largest = value;
	} while (dwarf_siblingof(&die, &die) == 0);
	return largest > last ? (unsigned)last + 1 : 0;
}

/* A reference on the interpreter's stack is a struct of tagged bits, where it is no plain pointer. */
static bool code_is_tagged(struct structs *s)
{
	Dwarf_Die *frame = structs_find(s, "_PyInterpreterFrame", strlen("_PyInterpreterFrame")), type;
	long offset;
	return frame && member(frame, "f_executable", strlen("f_executable"), &offset, &type) && peel(&type, &type) &&
	       dwarf_tag(&type) != DW_TAG_pointer_type;
}

static void print_behaviours(struct structs *s)
{
	bool py2 = has_struct(s, "PyStringObject"), heap = has(s, "_ts.frame");
	bool table = has(s, "PyCodeObject.co_linetable");
	const char *lines = py2	     ? "LINES_LNOTAB_UNSIGNED"
			    : !table ? "LINES_LNOTAB"
			    : heap   ? "LINES_310"
				     : "LINES_LOCATIONS";
	const char *frames = heap ? "FRAMES_HEAP" : has(s, "_ts.current_frame") ? "FRAMES_STACK" : "FRAMES_CFRAME";
	const char *position = !heap ? "POS_POINTER" : table ? "POS_LASTI_UNITS" : "POS_LASTI_BYTES";
	const char *ints = py2 ? "INTS_PY2" : has(s, "_longobject.long_value.lv_tag") ? "INTS_LV_TAG" : "INTS_OB_SIZE";
	bool dict311 = has(s, "_dictkeysobject.dk_log2_size");
	const char *dict = has(s, "_dictobject.ma_table") ? "DICT_PY2" : dict311 ? "DICT_KEYS311" : "DICT_KEYS36";
	const char *attrs = has(s, "_dictvalues.embedded")    ? "ATTRS_INLINE"
			    : has_struct(s, "PyDictOrValues") ? "ATTRS_312"
			    : dict311			      ? "ATTRS_311"
							      : "ATTRS_DICTOFFSET";
	const char *gil = has(s, "_is.ceval.gil")			     ? "GIL_INTERPRETER"
			  : has(s, "pyruntimestate.gilstate.tstate_current") ? "GIL_RUNTIME"
									     : "GIL_CURRENT";

	printf("\t.lines = %s,\n\t.frames = %s,\n\t.position = %s,\n", lines, frames, position);
	printf("\t.strings = %s,\n\t.ints = %s,\n", py2 ? "STRINGS_PY2" : "STRINGS_PEP393", ints);
	printf("\t.dict = %s,\n\t.attrs = %s,\n\t.gil = %s,\n", dict, attrs, gil);
	/* A flag, and in 3.10 a state: FRAME_EXECUTING is 0 and FRAME_UNWINDING 2. */
	printf("\t.executing = %s,\n", has(s, "_frame.f_executing") ? "1 << 1"
				       : has(s, "_frame.f_state")   ? "1 << 0 | 1 << 2"
								    : "0");
	printf("\t.owner_skip = %u,\n\t.code_tag_mask = %d,\n", owner_skip(s), code_is_tagged(s) ? 3 : 0);
}

static void print_row(struct structs *s, unsigned major, unsigned minor, const char *source)
{
	printf("/* CPython %u.%u for 64-bit machines, printed by tools/gen-layouts from the DWARF of %s. "
	       "*/\n",
	       major, minor, source);
	printf("{\n\t.major = %u,\n\t.minor = %u,\n\t.source = \"%s\",\n", major, minor, source);
	print_behaviours(s);
	for (size_t i = 0; i < countof(fields); i++) {
		long offset = paths_offset(s, fields[i].paths);
		if (offset == NO_FIELD)
			printf("\t.%s = NO_FIELD,\n", fields[i].field);
		else
			printf("\t.%s = %ld,\n", fields[i].field, offset);
	}
	printf("},\n");
}

int main(int argc, char **argv)
{
	static struct structs s;
	unsigned major, minor;
	const char *source = argc > 2 ? argv[2] : "";
	if (argc != 3 || sscanf(source, "v%u.%u", &major, &minor) != 2) {
		fputs("usage: gen-layouts FILE TAG > runtimes/cpython/layouts/X.Y.inc\n"
		      "FILE  libpythonX.Y.so, pythonX.Y or their .debug file, with DWARF\n"
		      "TAG   what it was built from: v3.12.1, \"v3.14.0 (Debian)\"\n",
		      stderr);
		return 2;
	}
	int fd = open(argv[1], O_RDONLY | O_CLOEXEC);
	Dwarf *dw = fd >= 0 ? dwarf_begin(fd, DWARF_C_READ) : NULL;
	if (!dw) {
		fprintf(stderr, "gen-layouts: %s: %s\n", argv[1], fd < 0 ? "cannot be opened" : "has no DWARF");
		return 1;
	}
	structs_init(&s);
	structs_read(&s, dw);
	if (!has_struct(&s, "_ts") || !has_struct(&s, "PyCodeObject")) {
		fprintf(stderr, "gen-layouts: %s: no PyThreadState or PyCodeObject in its DWARF\n", argv[1]);
		return 1;
	}
	print_row(&s, major, minor, source);
	dwarf_end(dw);
	close(fd);
	return 0;
}
