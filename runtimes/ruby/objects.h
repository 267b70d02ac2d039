/* objects.h - read Ruby objects: strings, arrays, names of ids, names of
 * classes. Cold. */
#ifndef RUBY_OBJECTS_H
#define RUBY_OBJECTS_H

#include "cspy/memory.h"
#include "layout.h"

enum { NAME_BYTES = 1024, PATH_BYTES = 4096 };

/* What is needed to read them, and what was learnt on the way. */
struct rby_objects {
	struct memory *m;
	const struct rby_layout *l;
	raddr_t vm, symbols;
	/* but for CLASS_PATH_EXT: the ids of __classpath__ and __attached__; 0: not met
	 * yet. */
	uint64_t id_path, id_attached;
};

/* A String's bytes, cut at cap - 1. ERR_CORRUPT when it is none. */
MUST_CHECK struct err rby_string(const struct rby_objects *o, raddr_t at, char *buf, size_t cap);
/* An Array's element; ERR_CORRUPT when there is none. */
MUST_CHECK struct err rby_element(const struct rby_objects *o, raddr_t array, uint64_t index, raddr_t *ret);
/* The name of a method, variable or constant. */
MUST_CHECK struct err rby_id_name(const struct rby_objects *o, uint64_t id, char *buf, size_t cap);
/*
 * A class's name, and whether it is the singleton of the class or module with
 * that name. ERR_UNSUPPORTED: it has none, or this version keeps it where we
 * can't see it.
 */
MUST_CHECK struct err rby_class_name(struct rby_objects *o, raddr_t class, char *buf, size_t cap, bool *singleton);

#endif
