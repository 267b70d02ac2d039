/* merge_loop.c - find the function that runs an interpreter's frames where nobody names it. */
#include "merge_loop.h"

static size_t count(const str_id *functions, size_t n, str_id function)
{
	size_t found = 0;

	for (size_t i = 0; i < n; i++)
		found += functions[i] == function;
	return found;
}

static bool fits(const str_id *functions, size_t n, str_id function, size_t entries)
{
	size_t found = count(functions, n, function);

	return found >= entries && found <= entries + 1;
}

static void begin(struct merge_loop *l, const str_id *functions, size_t n, size_t entries)
{
	for (size_t i = n; i-- > 0 && l->count < CANDIDATES_MAX;)
		if (functions[i] && !count(l->candidates, l->count, functions[i]) &&
		    fits(functions, n, functions[i], entries))
			l->candidates[l->count++] = functions[i];
}

str_id merge_loop_see(struct merge_loop *l, const str_id *functions, size_t n, size_t entries)
{
	size_t kept = 0;

	if (!entries)
		return 0;
	for (size_t i = 0; i < l->count; i++)
		if (fits(functions, n, l->candidates[i], entries))
			l->candidates[kept++] = l->candidates[i];
	l->count = kept;
	if (!l->count)
		begin(l, functions, n, entries);
	/* The one nearest to the root: what lies above it is the interpreter's as well, or what it called. */
	return l->count ? l->candidates[0] : 0;
}
