/* layouts.c - the rows of layouts/, and how a row changes when object headers are longer. */
#include <string.h>

#include "layout.h"

/* In version order: the Makefile lists the files so. */
static const struct cpy_layout rows[] = {
#include "cpython_layouts.inc"
};

const struct cpy_layout *cpy_layout_find(unsigned major, unsigned minor, bool free_threaded)
{
	for (size_t i = 0; i < countof(rows); i++)
		if (rows[i].major == major && rows[i].minor == minor && rows[i].free_threaded == free_threaded)
			return &rows[i];
	return NULL;
}

const struct cpy_layout *cpy_layout_newest(void)
{
	return &rows[countof(rows) - 1];
}

const struct cpy_layout *cpy_layout_at(size_t index)
{
	return index < countof(rows) ? &rows[index] : NULL;
}

const struct cpy_layout_field cpy_layout_fields[] = {
#define X(field, path) { #field, path, offsetof(struct cpy_layout, field) },
	CPY_FIELDS(X)
#undef X
};

const size_t cpy_layout_field_count = countof(cpy_layout_fields);

/* These begin with no PyObject. */
static const char *const plain_structs[] = {
	"_PyRuntimeState", "pyruntimestate",  "_is",	     "_gil_runtime_state", "_ts", "_PyCFrame",
	"_stack_chunk",	   "_dictkeysobject", "_dictvalues",
};

static bool is_in_object(const struct cpy_layout *l, const struct cpy_layout_field *f)
{
	const char *path = f->path;
	if (strncmp(path, "sizeof ", 7) == 0)
		path += 7;
	size_t len = strcspn(path, ". ");
	/* Where that struct is missing, its fields are those of the frames on the heap, which are objects. */
	if (strncmp(path, "_PyInterpreterFrame", len) == 0)
		return l->frames == FRAMES_HEAP;
	for (size_t i = 0; i < countof(plain_structs); i++)
		if (strlen(plain_structs[i]) == len && memcmp(plain_structs[i], path, len) == 0)
			return false;
	return true;
}

void cpy_layout_lengthen(struct cpy_layout *l, int32_t by)
{
	for (size_t i = 0; i < countof(cpy_layout_fields); i++) {
		int32_t *field = cpy_layout_field(l, &cpy_layout_fields[i]);
		if (cpy_has(*field) && is_in_object(l, &cpy_layout_fields[i]))
			*field += by;
	}
}
