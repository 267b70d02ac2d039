/* layouts.c - the rows of layouts/, and which of them fits a version. */
#include "layout.h"

/* In version order: the Makefile lists the files so. */
static const struct rby_layout rows[] = {
#include "ruby_layouts.inc"
};

const struct rby_layout *rby_layout_at(size_t index)
{
	return index < countof(rows) ? &rows[index] : NULL;
}

static unsigned number(unsigned major, unsigned minor, unsigned patch)
{
	return (major * 100 + minor) * 1000 + patch;
}

/* Of a minor version without row, the newest row before it is the best guess:
 * layouts change little by little. */
const struct rby_layout *rby_layout_find(unsigned major, unsigned minor, unsigned patch, bool *exact)
{
	const struct rby_layout *best = NULL;

	for (size_t i = 0; i < countof(rows); i++) {
		const struct rby_layout *l = &rows[i];

		if (number(l->major, l->minor, l->patch) > number(major, minor, patch))
			continue;
		if (!best || number(l->major, l->minor, l->patch) > number(best->major, best->minor, best->patch))
			best = l;
	}
	*exact = best && best->major == major && best->minor == minor && patch <= best->known;
	return best;
}
