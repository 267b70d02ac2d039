/* names.c - the names that the threading module gave to threads. */
#include "objects.h"

/* Module `threading` keeps every thread it knows in the dict _active, by ident. */
static struct err threads_by_ident(struct memory *m, const struct cpy_layout *l, raddr_t interp, raddr_t *ret)
{
	raddr_t modules, module, dict;
	struct err e = memory_ptr(m, interp + l->interp_modules, &modules);

	if (!failed(e))
		e = cpy_dict_get(m, l, modules, "threading", &module);
	if (!failed(e))
		e = memory_ptr(m, module + l->module_dict, &dict);
	if (!failed(e))
		e = cpy_dict_get(m, l, dict, "_active", ret);
	return e;
}

struct err cpy_thread_name(struct memory *m, const struct cpy_layout *l, raddr_t interp, uint64_t ident, raddr_t *known,
			   char *buf, size_t cap)
{
	/* The second is the first as Python 2 mangles it. */
	static const char *const attributes[] = { "_name", "_Thread__name" };
	raddr_t thread, name;
	struct err e = *known ? OK : threads_by_ident(m, l, interp, known);

	if (failed(e))
		*known = 0;
	else
		e = cpy_dict_get_int(m, l, *known, ident, &thread);
	if (failed(e))
		return e;
	for (size_t i = 0; i < countof(attributes); i++) {
		e = cpy_attribute(m, l, thread, attributes[i], &name);
		if (e.code != ERR_UNSUPPORTED)
			break;
	}
	return failed(e) ? e : cpy_string(m, l, name, buf, cap);
}
