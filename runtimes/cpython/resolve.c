/* resolve.c - frames to names. */
#include <stdlib.h>
#include <string.h>

#include "resolve.h"

enum {
	FIRST_CAP = 256,
	TLBC_MAX = 4096, /* copies of one function's bytecode: one a thread */
};

static void forget_all(struct resolver *r)
{
	for (size_t i = 0; i < r->cap; i++)
		if (r->list[i].at)
			cpy_code_free(&r->list[i].code);
	free(r->list);
	r->list = NULL;
	r->cap = r->used = 0;
}

void resolver_free(struct resolver *r)
{
	forget_all(r);
}

static struct resolved *slot_of(struct resolved *list, size_t cap, raddr_t at, uint32_t stamp)
{
	size_t i = ((at >> 4) ^ stamp) * 0x9E3779B97F4A7C15ull >> 20 & (cap - 1);

	while (list[i].at && (list[i].at != at || list[i].stamp != stamp))
		i = (i + 1) & (cap - 1);
	return &list[i];
}

static void make_room(struct resolver *r)
{
	size_t cap = r->cap ? r->cap * 2 : FIRST_CAP;
	struct resolved *list;

	if (r->used >= RESOLVED_MAX) {
		forget_all(r);
		cap = FIRST_CAP;
	} else if (r->cap && r->used * 2 < r->cap) {
		return;
	}
	list = xcalloc(cap, sizeof(*list));
	for (size_t i = 0; i < r->cap; i++)
		if (r->list[i].at)
			*slot_of(list, cap, r->list[i].at, r->list[i].stamp) = r->list[i];
	free(r->list);
	r->list = list;
	r->cap = cap;
}

/* Is there a code object at all? Its type is compared by address once the type's name was seen. */
static struct err check_type(struct resolver *r, struct memory *m, const struct cpy_layout *l, raddr_t at)
{
	raddr_t type, name_at;
	char name[8];
	struct err e = memory_ptr(m, at + (raddr_t)l->object_type, &type);

	if (failed(e))
		return e;
	if (r->code_type)
		return type == r->code_type ? OK : err_at(ERR_CORRUPT, at, "reading a code object");
	e = memory_ptr(m, type + (raddr_t)l->type_name, &name_at);
	if (!failed(e))
		e = memory_str(m, name_at, name, sizeof(name));
	if (failed(e))
		return e;
	if (strcmp(name, "code") != 0)
		return err_at(ERR_CORRUPT, at, "reading a code object");
	r->code_type = type;
	return OK;
}

static struct err read_code(struct resolver *r, struct codes *codes, struct memory *m, const struct cpy_layout *l,
			    const struct raw_frame *f, struct resolved **ret)
{
	struct resolved fresh = { .at = f->code, .stamp = f->stamp };
	struct err e;

	make_room(r);
	*ret = slot_of(r->list, r->cap, f->code, f->stamp);
	if ((*ret)->at)
		return OK;
	e = check_type(r, m, l, f->code);
	if (!failed(e))
		e = cpy_code_read(m, l, f->code, &fresh.code);
	if (failed(e))
		return e;
	/* It has to be the same object still, or what was read may belong to another one. */
	if (!codes_is(codes, m, f->code, f->stamp)) {
		cpy_code_free(&fresh.code);
		return err_at(ERR_CORRUPT, f->code, "reading a code object: it is another one by now");
	}
	**ret = fresh;
	r->used++;
	return OK;
}

/* Free-threaded builds give every thread a copy of the bytecode: which of them does the pointer lie in? */
static struct err offset_of(struct memory *m, const struct cpy_layout *l, const struct raw_frame *f,
			    const struct cpy_code *code, uint64_t *ret)
{
	raddr_t base = f->code + (raddr_t)l->code_adaptive, array, entries[64];
	uint64_t n;
	struct err e;

	*ret = f->pos;
	if (!l->free_threaded || !cpy_has(l->code_tlbc))
		return OK;
	*ret = f->pos + 2 == base ? 0 : f->pos - base;
	if (*ret < code->code_len)
		return OK;
	e = memory_ptr(m, f->code + (raddr_t)l->code_tlbc, &array);
	if (!failed(e))
		e = memory_u64(m, array, &n);
	if (failed(e))
		return e;
	for (uint64_t i = 0; i < n && i < TLBC_MAX; i += countof(entries)) {
		size_t some = n - i < countof(entries) ? n - i : countof(entries);

		e = memory_read(m, array + 8 + i * 8, entries, some * 8);
		if (failed(e))
			return e;
		for (size_t k = 0; k < some; k++) {
			*ret = f->pos + 2 == entries[k] ? 0 : f->pos - entries[k];
			if (entries[k] && *ret < code->code_len)
				return OK;
		}
	}
	return err_at(ERR_CORRUPT, f->code, "reading a code object's copies");
}

static bool is_library(const char *file)
{
	return file[0] == '<' || strstr(file, "/site-packages/") || strstr(file, "/dist-packages/") ||
	       strstr(file, "/lib/python");
}

/* The stub below the __init__ of a new object (3.12+): tracebacks leave it out. */
static bool is_internal(const struct cpy_code *code)
{
	return !strcmp(code->filename, "__init__") && !strcmp(code->name, "__init__");
}

static str_id intern(struct strings *s, const char *text)
{
	return strings_add(s, text, strlen(text));
}

struct err cpy_resolve(struct resolver *r, struct codes *codes, struct memory *m, const struct cpy_layout *l,
		       const struct raw_frame *frame, struct strings *strings, struct frame_info *ret)
{
	struct resolved *found;
	const struct cpy_code *code;
	uint64_t offset;
	struct err e = read_code(r, codes, m, l, frame, &found);

	if (failed(e))
		return e;
	code = &found->code;
	e = offset_of(m, l, frame, code, &offset);
	if (failed(e))
		return e;
	*ret = (struct frame_info){ .kind = FRAME_PYTHON, .first_line = code->first_line };
	if (!cpy_line_at(l, code, offset, &ret->line, &ret->column))
		return err_at(ERR_CORRUPT, frame->code, "finding a line");
	if (is_internal(code))
		return OK; /* no function: not to be shown */
	ret->function = intern(strings, code->qualname);
	ret->name = intern(strings, code->name);
	ret->file = intern(strings, code->filename);
	ret->library = is_library(code->filename);
	return OK;
}
