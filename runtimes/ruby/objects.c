/* objects.c - read Ruby objects. */
#include <string.h>

#include "objects.h"

enum {
	STRING_MAX = 1 << 30,
	ARRAY_MAX = 1 << 28,
	VARIABLES_MAX = 4096, /* of one class */
	SHAPES_MAX = 1 << 24,
	CHAIN_MAX = 8, /* singletons of singletons, copies of modules */
};

static struct err no_name(raddr_t at)
{
	return err_at(ERR_UNSUPPORTED, at, "reading a class's name");
}

struct err rby_string(const struct rby_objects *o, raddr_t at, char *buf, size_t cap)
{
	uint64_t head[3], len;
	raddr_t from = at + (o->l->strings == STRINGS_FLAGS ? STRING_EMBEDDED : STRING_EMBEDDED_32);
	struct err e = at && at % 8 == 0 ? memory_read(o->m, at, head, sizeof(head))
					 : err_at(ERR_CORRUPT, at, "reading a string");

	if (failed(e))
		return e;
	if ((head[0] & TYPE_MASK) != TYPE_STRING)
		return err_at(ERR_CORRUPT, at, "reading a string");
	len = head[STRING_LEN / 8];
	if (head[0] & STRING_NOEMBED) {
		e = memory_ptr(o->m, at + STRING_PTR, &from);
		if (failed(e))
			return e;
	} else if (o->l->strings == STRINGS_FLAGS) {
		len = head[0] >> STRING_EMBED_SHIFT & STRING_EMBED_MASK;
	}
	if (len > STRING_MAX)
		return err_at(ERR_CORRUPT, at, "reading a string");
	if (len > cap - 1)
		len = cap - 1;
	e = len ? memory_read(o->m, from, buf, len) : OK;
	buf[failed(e) ? 0 : len] = 0;
	return e;
}

struct err rby_element(const struct rby_objects *o, raddr_t array, uint64_t index, raddr_t *ret)
{
	uint64_t flags, len;
	raddr_t from = array + ARRAY_EMBEDDED;
	struct err e = array && array % 8 == 0 ? memory_u64(o->m, array, &flags)
					       : err_at(ERR_CORRUPT, array, "reading an array");

	if (failed(e))
		return e;
	if ((flags & TYPE_MASK) != TYPE_ARRAY)
		return err_at(ERR_CORRUPT, array, "reading an array");
	if (flags & ARRAY_EMBED) {
		len = (flags & o->l->array_len_mask) >> ARRAY_LEN_SHIFT;
	} else {
		e = memory_u64(o->m, array + ARRAY_LEN, &len);
		if (!failed(e))
			e = memory_ptr(o->m, array + ARRAY_PTR, &from);
		if (failed(e))
			return e;
	}
	if (len > ARRAY_MAX || index >= len)
		return err_at(ERR_CORRUPT, array, "reading an array");
	return memory_ptr(o->m, from + index * 8, ret);
}

/* Names lie in an array of arrays, two words a name: the name and its Symbol.
 */
struct err rby_id_name(const struct rby_objects *o, uint64_t id, char *buf, size_t cap)
{
	uint64_t serial = id <= o->l->last_op_id ? id : id >> ID_SCOPE_SHIFT;
	raddr_t ids, names, name;
	struct err e = o->symbols ? memory_ptr(o->m, o->symbols + SYMBOLS_IDS, &ids)
				  : err_at(ERR_UNSUPPORTED, 0, "reading a name: Ruby's table of names was not found");

	if (!failed(e))
		e = rby_element(o, ids, serial / SYMBOLS_UNIT, &names);
	if (!failed(e))
		e = rby_element(o, names, serial % SYMBOLS_UNIT * 2, &name);
	return failed(e) ? e : rby_string(o, name, buf, cap);
}

/* The class variable with this id; where the id is not known yet, the one with
 * this name. */
static struct err class_variable(const struct rby_objects *o, raddr_t class, const char *name, uint64_t *id,
				 raddr_t *ret)
{
	raddr_t rest, table, entries, entry[TABLE_ENTRY / 8];
	uint64_t bound;
	char buf[32];
	struct err e = memory_ptr(o->m, class + CLASS_PTR, &rest);

	if (!failed(e))
		e = memory_ptr(o->m, rest + CLASS_IV_TABLE, &table);
	if (!failed(e) && !table)
		return no_name(class);
	if (!failed(e))
		e = memory_u64(o->m, table + TABLE_ENTRIES_BOUND, &bound);
	if (!failed(e))
		e = memory_ptr(o->m, table + TABLE_ENTRIES, &entries);
	for (uint64_t i = 0; !failed(e) && i < bound && i < VARIABLES_MAX; i++) {
		e = memory_read(o->m, entries + i * TABLE_ENTRY, entry, sizeof(entry));
		if (failed(e))
			return e;
		if (!*id && !failed(rby_id_name(o, entry[1], buf, sizeof(buf))) && strcmp(buf, name) == 0)
			*id = entry[1];
		if (*id && entry[1] == *id) {
			*ret = entry[2];
			return OK;
		}
	}
	return failed(e) ? e : no_name(class);
}

/* A class's shape is a chain: each adds a variable, or something else, to its parent's. */
static struct err shaped_variable(const struct rby_objects *o, raddr_t class, const char *name, uint64_t *id,
				  raddr_t *ret)
{
	raddr_t shapes, values;
	uint64_t number = 0, key;
	char buf[32];
	struct err e = memory_ptr(o->m, o->vm + (raddr_t)o->l->vm_shapes, &shapes);

	if (!failed(e))
		e = memory_ptr(o->m, class + (raddr_t)o->l->class_ext + CLASS_VARIABLES, &values);
	if (!failed(e))
		e = memory_u64(o->m, class, &number);
	number >>= CLASS_SHAPE_SHIFT;
	for (int i = 0; !failed(e) && i < VARIABLES_MAX && number < SHAPES_MAX; i++) {
		uint8_t shape[SHAPE_SIZE];
		uint32_t index, parent;

		e = memory_read(o->m, shapes + number * SHAPE_SIZE, shape, sizeof(shape));
		if (failed(e) || shape[SHAPE_TYPE] == SHAPE_ROOT)
			break;
		memcpy(&key, shape + SHAPE_NAME, sizeof(key));
		memcpy(&index, shape + SHAPE_NEXT_INDEX, sizeof(index));
		memcpy(&parent, shape + SHAPE_PARENT, sizeof(parent));
		number = parent;
		if (shape[SHAPE_TYPE] != SHAPE_VARIABLE || !index || index > VARIABLES_MAX)
			continue;
		if (!*id && !failed(rby_id_name(o, key, buf, sizeof(buf))) && strcmp(buf, name) == 0)
			*id = key;
		if (*id && key == *id)
			return memory_ptr(o->m, values + (raddr_t)(index - 1) * sizeof(values), ret);
	}
	return failed(e) ? e : no_name(class);
}

static struct err variable_of(const struct rby_objects *o, raddr_t class, const char *name, uint64_t *id, raddr_t *ret)
{
	return o->l->class_path == CLASS_PATH_SHAPES ? shaped_variable(o, class, name, id, ret)
						     : class_variable(o, class, name, id, ret);
}

static struct err path_of(struct rby_objects *o, raddr_t class, char *buf, size_t cap)
{
	raddr_t path = 0;
	struct err e;

	if (o->l->class_path != CLASS_PATH_EXT)
		e = variable_of(o, class, "__classpath__", &o->id_path, &path);
	else
		e = memory_ptr(o->m, class + (raddr_t)o->l->class_ext + (raddr_t)o->l->class_path_at, &path);
	if (!failed(e) && (!path || path == o->l->nil))
		e = no_name(class);
	return failed(e) ? e : rby_string(o, path, buf, cap);
}

static struct err attached_of(struct rby_objects *o, raddr_t class, raddr_t *ret)
{
	if (o->l->class_path != CLASS_PATH_EXT)
		return variable_of(o, class, "__attached__", &o->id_attached, ret);
	return memory_ptr(o->m, class + (raddr_t)o->l->class_ext + (raddr_t)o->l->class_attached, ret);
}

struct err rby_class_name(struct rby_objects *o, raddr_t class, char *buf, size_t cap, bool *singleton)
{
	*singleton = false;
	for (int i = 0; i < CHAIN_MAX; i++) {
		uint64_t flags;
		struct err e = class && class % 8 == 0 ? memory_u64(o->m, class, &flags) : no_name(class);

		if (failed(e))
			return e;
		switch (flags & TYPE_MASK) {
		case TYPE_ICLASS: /* a module's stand-in among the ancestors of a class */
			e = memory_ptr(o->m, class + OBJECT_CLASS, &class);
			break;
		case TYPE_CLASS:
		case TYPE_MODULE:
			if ((flags & TYPE_MASK) == TYPE_MODULE || !(flags & o->l->singleton_flag))
				return path_of(o, class, buf, cap);
			/* The singleton of a singleton, or of another object, has no name of its
			 * own. */
			if (*singleton)
				return no_name(class);
			*singleton = true;
			e = attached_of(o, class, &class);
			break;
		default:
			return no_name(class);
		}
		if (failed(e))
			return e;
	}
	return no_name(class);
}
