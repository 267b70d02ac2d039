/* locals.c - arguments, local variables, cells and free variables of one frame. */
#include <string.h>

#include "objects.h"

enum {
	LOCALS_MAX = 512, /* variables of one frame that are shown */
	NAME_CAP = 256,
	VALUE_CAP = 512,
	/* co_flags: one more argument each */
	CO_VARARGS = 4,
	CO_VARKEYWORDS = 8,
	/* co_localspluskinds, 3.11+ */
	FAST_HIDDEN = 0x10, /* of a comprehension that was compiled in place */
	FAST_CELL = 0x40,
	FAST_FREE = 0x80,
	/* 3.14+: the low bits of a local say who owns the reference; both set: no object but an int */
	REF_BITS = 3,
	REF_INT = 3,
};

struct variables {
	raddr_t names[LOCALS_MAX];
	char kinds[LOCALS_MAX]; /* 'a', 'l', 'c', 'f', or 0: not to be shown */
	size_t count;
};

static struct err tuple_length(struct memory *m, const struct cpy_layout *l, raddr_t tuple, size_t room, size_t *ret)
{
	uint64_t count;
	struct err e = memory_u64(m, tuple + l->var_size, &count);

	if (failed(e))
		return e;
	*ret = count < room ? count : room;
	return OK;
}

/* Appends the names of a tuple, all of one kind. */
static struct err add_names(struct memory *m, const struct cpy_layout *l, raddr_t tuple, char kind,
			    struct variables *vars)
{
	size_t count;
	struct err e = tuple_length(m, l, tuple, LOCALS_MAX - vars->count, &count);

	if (!failed(e) && count)
		e = memory_read(m, tuple + l->tuple_items, vars->names + vars->count, count * sizeof(raddr_t));
	if (failed(e))
		return e;
	memset(vars->kinds + vars->count, kind, count);
	vars->count += count;
	return OK;
}

static struct err count_arguments(struct memory *m, const struct cpy_layout *l, raddr_t code, size_t *ret)
{
	uint32_t positional, keyword = 0, flags;
	struct memory_range ranges[] = {
		{ code + l->code_argcount, &positional, sizeof(positional) },
		{ code + l->code_flags, &flags, sizeof(flags) },
		{ code + l->code_kwonly, &keyword, sizeof(keyword) },
	};
	struct err e = memory_readv(m, ranges, cpy_has(l->code_kwonly) ? 3 : 2, NULL);

	if (failed(e))
		return e;
	*ret = (size_t)positional + keyword + !!(flags & CO_VARARGS) + !!(flags & CO_VARKEYWORDS);
	return OK;
}

/* An argument that is a cell has two places. Python 2 leaves its first value in the other one: hide that. */
static void hide_arguments_in_cells(struct variables *vars)
{
	for (size_t i = 0; i < vars->count; i++) {
		for (size_t j = i + 1; vars->kinds[i] == 'l' && j < vars->count; j++) {
			if (vars->kinds[j] == 'c' && vars->names[j] == vars->names[i]) /* names are interned */
				vars->kinds[i] = 0;
		}
	}
}

/* To 3.10: three tuples, whose variables follow each other in the frame. */
static struct err three_tuples(struct memory *m, const struct cpy_layout *l, raddr_t code, struct variables *ret)
{
	const struct {
		int32_t field;
		char kind;
	} parts[] = { { l->code_varnames, 'l' }, { l->code_cellvars, 'c' }, { l->code_freevars, 'f' } };

	for (size_t i = 0; i < countof(parts); i++) {
		raddr_t tuple;
		struct err e = memory_ptr(m, code + parts[i].field, &tuple);

		if (!failed(e))
			e = add_names(m, l, tuple, parts[i].kind, ret);
		if (failed(e))
			return e;
	}
	hide_arguments_in_cells(ret);
	return OK;
}

/* 3.11+: one tuple of names, and a byte for each that says what it is. */
static struct err names_and_kinds(struct memory *m, const struct cpy_layout *l, raddr_t code, struct variables *ret)
{
	uint8_t kinds[LOCALS_MAX];
	raddr_t names, bytes;
	size_t count;
	struct memory_range ranges[] = {
		{ code + l->code_localsplusnames, &names, sizeof(names) },
		{ code + l->code_localspluskinds, &bytes, sizeof(bytes) },
	};
	struct err e = memory_readv(m, ranges, countof(ranges), NULL);

	if (!failed(e))
		e = add_names(m, l, names, 'l', ret);
	if (!failed(e))
		e = tuple_length(m, l, bytes, ret->count, &count); /* bytes state their length where tuples do */
	if (failed(e))
		return e;
	ret->count = count;
	e = count ? memory_read(m, bytes + l->bytes_data, kinds, count) : OK;
	for (size_t i = 0; i < count && !failed(e); i++)
		ret->kinds[i] = kinds[i] & FAST_HIDDEN ? 0
				: kinds[i] & FAST_FREE ? 'f'
				: kinds[i] & FAST_CELL ? 'c'
						       : 'l';
	return e;
}

static struct err list_variables(struct memory *m, const struct cpy_layout *l, raddr_t code, struct variables *ret)
{
	size_t arguments;
	struct err e =
		cpy_has(l->code_localsplusnames) ? names_and_kinds(m, l, code, ret) : three_tuples(m, l, code, ret);

	if (!failed(e))
		e = count_arguments(m, l, code, &arguments);
	if (failed(e))
		return e;
	for (size_t i = 0; i < ret->count && i < arguments; i++) {
		if (ret->kinds[i] == 'l')
			ret->kinds[i] = 'a';
	}
	return OK;
}

/* What a cell holds. Until the function has begun, the value itself stands where the cell will be. */
static struct err open_cell(struct memory *m, const struct cpy_layout *l, raddr_t *object)
{
	struct cpy_type type;
	struct err e = cpy_type_of(m, l, *object, &type);

	if (failed(e) || strcmp(type.name, "cell") != 0)
		return e;
	return memory_ptr(m, *object + l->cell_ref, object);
}

static void show(struct memory *m, const struct cpy_layout *l, raddr_t name_at, raddr_t word, char kind,
		 rt_local_fn *fn, void *arg)
{
	char name[NAME_CAP], value[VALUE_CAP];
	raddr_t object = word & ~(raddr_t)REF_BITS;

	if (failed(cpy_string(m, l, name_at, name, sizeof(name))))
		return;
	if ((word & REF_BITS) == REF_INT) {
		snprintf(value, sizeof(value), "%lld", (long long)((int64_t)word >> 2));
	} else {
		/* A cell that can't be opened is shown as what it is. */
		if ((kind == 'c' || kind == 'f') && object && failed(open_cell(m, l, &object)))
			object = word & ~(raddr_t)REF_BITS;
		if (!object) /* not bound yet, or deleted */
			return;
		cpy_repr(m, l, object, value, sizeof(value));
	}
	fn(arg, &(struct rt_local){ .name = name, .value = value, .kind = kind });
}

struct err cpy_locals(struct memory *m, const struct cpy_layout *l, raddr_t frame, raddr_t code, rt_local_fn *fn,
		      void *arg)
{
	struct variables vars = { .count = 0 };
	raddr_t words[LOCALS_MAX];
	struct err e = list_variables(m, l, code, &vars);

	if (!failed(e) && vars.count)
		e = memory_read(m, frame + l->frame_locals, words, vars.count * sizeof(words[0]));
	if (failed(e))
		return e;
	for (size_t i = 0; i < vars.count; i++) {
		if (vars.kinds[i])
			show(m, l, vars.names[i], words[i], vars.kinds[i], fn, arg);
	}
	return OK;
}
