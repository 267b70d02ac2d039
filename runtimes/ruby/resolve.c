/* resolve.c - frames to names. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "resolve.h"

enum { FIRST_CAP = 256, NESTED_MAX = 64 };

static void forget_all(struct rby_resolver *r)
{
	for (size_t i = 0; i < r->cap; i++)
		rby_lines_free(&r->list[i].lines);
	free(r->list);
	r->list = NULL;
	r->cap = r->used = 0;
}

void rby_resolver_init(struct rby_resolver *r, struct memory *m, const struct rby_layout *l, raddr_t vm,
		       raddr_t symbols)
{
	*r = (struct rby_resolver){ .objects = { .m = m, .l = l, .vm = vm, .symbols = symbols } };
}

void rby_resolver_free(struct rby_resolver *r)
{
	forget_all(r);
}

static struct rby_named *slot_of(struct rby_named *list, size_t cap, raddr_t at, uint32_t stamp)
{
	size_t i = ((at >> 3) ^ stamp) * 0x9E3779B97F4A7C15ull >> 20 & (cap - 1);

	while (list[i].at && (list[i].at != at || list[i].stamp != stamp))
		i = (i + 1) & (cap - 1);
	return &list[i];
}

static void make_room(struct rby_resolver *r)
{
	size_t cap = r->cap ? r->cap * 2 : FIRST_CAP;
	struct rby_named *list;

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

static str_id intern(struct strings *s, const char *text)
{
	return strings_add(s, text, strlen(text));
}

/* "Foo#" or "Foo.", as far as the class has a name; "" else. */
static void owner_prefix(struct rby_objects *o, raddr_t method, char *buf, size_t cap)
{
	raddr_t owner;
	bool singleton;
	size_t len;

	buf[0] = 0;
	if (!method || failed(memory_ptr(o->m, method + METHOD_OWNER, &owner)) ||
	    failed(rby_class_name(o, owner, buf, cap - 1, &singleton)) || !buf[0]) {
		buf[0] = 0;
		return;
	}
	len = strlen(buf);
	buf[len] = singleton ? '.' : '#';
	buf[len + 1] = 0;
}

/* A label ends with its base label: "block in foo" and "foo". The method's
 * class goes between the two. */
static str_id qualified(struct strings *s, const char *prefix, const char *label, const char *base)
{
	size_t len = strlen(label), base_len = strlen(base), lead = len - base_len;
	CLEANUP(cleanup_free) char *text = NULL;

	if (!prefix[0] || base_len > len || strcmp(label + lead, base) != 0)
		return intern(s, label);
	text = xasprintf("%.*s%s%s", (int)lead, label, prefix, base);
	return intern(s, text);
}

static bool is_library(const char *path)
{
	return strncmp(path, "<internal:", 10) == 0 || strstr(path, "/gems/") || strstr(path, "/lib/ruby/");
}

/* A string, or [path as it was given, absolute path or nil]. */
static struct err read_path(struct rby_objects *o, raddr_t at, char *buf, size_t cap)
{
	raddr_t path;

	if (!failed(rby_element(o, at, 1, &path)) && path != o->l->nil && !failed(rby_string(o, path, buf, cap)))
		return OK;
	if (!failed(rby_element(o, at, 0, &path)))
		at = path;
	return rby_string(o, at, buf, cap);
}

/* What was evaluated bears the label of what surrounds it; from 3.4 on it has
 * none of its own. Body of the one to ask.
 */
static raddr_t labelled_body(const struct rby_objects *o, raddr_t body)
{
	uint32_t type;
	raddr_t parent;

	for (int i = 0; i < NESTED_MAX; i++) {
		if (failed(memory_u32(o->m, body, &type)) || type != ISEQ_EVAL ||
		    failed(memory_ptr(o->m, body + (raddr_t)o->l->body_parent, &parent)) || !parent ||
		    failed(memory_ptr(o->m, parent + ISEQ_BODY, &parent)))
			break;
		body = parent;
	}
	return body;
}

static struct err read_iseq(struct rby_resolver *r, const struct rby_code *code, struct strings *strings,
			    struct rby_named *ret)
{
	struct rby_objects *o = &r->objects;
	char label[NAME_BYTES], base[NAME_BYTES], prefix[NAME_BYTES], path[PATH_BYTES];
	raddr_t label_at = 0, base_at = 0, path_at = 0, labelled = labelled_body(o, code->body);
	uint64_t first = 0;
	struct memory_range ranges[] = {
		{ code->body + BODY_PATH, &path_at, 8 },
		{ labelled + BODY_BASE_LABEL, &base_at, 8 },
		{ labelled + BODY_LABEL, &label_at, 8 },
		{ code->body + BODY_FIRST_LINE, &first, 4 },
	};
	struct err e = memory_readv(o->m, ranges, countof(ranges), NULL);

	if (!failed(e))
		e = rby_string(o, label_at, label, sizeof(label));
	if (!failed(e))
		e = rby_string(o, base_at, base, sizeof(base));
	if (!failed(e))
		e = read_path(o, path_at, path, sizeof(path));
	if (!failed(e))
		e = rby_lines_read(o->m, o->l, code->body, code->words, &ret->lines);
	if (failed(e))
		return e;
	ret->first_line = (uint32_t)(o->l->first_line == FIRST_LINE_FIXNUM ? first >> 1 : first);
	owner_prefix(o, code->method, prefix, sizeof(prefix));
	ret->function = qualified(strings, prefix, label, base);
	ret->name = intern(strings, label);
	ret->file = intern(strings, path);
	ret->library = is_library(path);
	return OK;
}

/* The file that a C function is in: Ruby itself, or an extension. */
static str_id module_of(struct target *t, struct strings *strings, raddr_t function)
{
	const struct mapping *m = maps_find(&t->maps, function);
	const char *slash;

	if ((!m || !m->path[0]) && !failed(target_refresh_maps(t)))
		m = maps_find(&t->maps, function);
	slash = m ? strrchr(m->path, '/') : NULL;
	return slash ? intern(strings, slash + 1) : 0;
}

static struct err read_method(struct rby_resolver *r, struct target *t, raddr_t method, struct strings *strings,
			      struct rby_named *ret)
{
	struct rby_objects *o = &r->objects;
	char name[NAME_BYTES], prefix[NAME_BYTES];
	CLEANUP(cleanup_free) char *full = NULL;
	raddr_t definition;
	uint64_t words[5];
	struct err e = memory_ptr(o->m, method + METHOD_DEFINITION, &definition);

	if (!failed(e))
		e = memory_read(o->m, definition, words, sizeof(words));
	if (failed(e))
		return e;
	if (failed(rby_id_name(o, words[DEFINITION_ORIGINAL_ID / 8], name, sizeof(name))))
		snprintf(name, sizeof(name), "[C function]");
	owner_prefix(o, method, prefix, sizeof(prefix));
	full = xasprintf("%s%s", prefix, name);
	ret->function = intern(strings, full);
	ret->name = intern(strings, name);
	if ((words[0] & METHOD_TYPE_MASK) == METHOD_CFUNC)
		ret->module = module_of(t, strings, words[DEFINITION_BODY / 8]);
	ret->library = true;
	return OK;
}

static struct err read_code(struct rby_resolver *r, struct rby_codes *codes, struct target *t,
			    const struct raw_frame *f, struct strings *strings, struct rby_named **ret)
{
	struct rby_named fresh = { .at = f->code, .stamp = f->stamp };
	const struct rby_code *code = rby_codes_find(codes, f->code);
	struct err e;

	make_room(r);
	*ret = slot_of(r->list, r->cap, f->code, f->stamp);
	if ((*ret)->at)
		return OK;
	if (!code || code->stamp != f->stamp)
		return err_at(ERR_CORRUPT, f->code, "reading a code object: it is another one by now");
	e = f->pos == RBY_POS_C ? read_method(r, t, f->code, strings, &fresh) : read_iseq(r, code, strings, &fresh);
	/* It has to be the same object still, or what was read may belong to another
	 * one. */
	if (!failed(e) && !rby_codes_is(codes, r->objects.m, f->code, f->stamp))
		e = err_at(ERR_CORRUPT, f->code, "reading a code object: it is another one by now");
	if (failed(e)) {
		rby_lines_free(&fresh.lines);
		return e;
	}
	**ret = fresh;
	r->used++;
	return OK;
}

struct err rby_resolve(struct rby_resolver *r, struct rby_codes *codes, struct target *t, const struct raw_frame *frame,
		       struct strings *strings, struct frame_info *ret)
{
	struct rby_named *found;
	struct err e;

	if (frame->pos == RBY_POS_GC) {
		str_id name = intern(strings, "[garbage collection]");

		*ret = (struct frame_info){ .function = name, .name = name, .kind = FRAME_GC };
		return OK;
	}
	e = read_code(r, codes, t, frame, strings, &found);
	if (failed(e))
		return e;
	*ret = (struct frame_info){
		.function = found->function,
		.name = found->name,
		.file = found->file,
		.module = found->module,
		.first_line = found->first_line,
		.kind = FRAME_RUBY,
		.library = found->library,
	};
	if (frame->pos == RBY_POS_START)
		ret->line = found->first_line;
	else if (frame->pos != RBY_POS_C)
		ret->line = rby_line_at(&found->lines, frame->pos);
	return OK;
}
