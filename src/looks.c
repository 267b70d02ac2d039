/* looks.c - what the runtime's memory says of threads. */
#include "looks.h"

void looks_note(struct profile_looks *thread, struct profile_looks *any, const struct raw_stack *stack, uint32_t looks)
{
	bool held = stack->state == RT_RUNNING, wanted = stack->state == RT_WANT_LOCK;

	thread->seen++;
	thread->held += held;
	thread->wanted += wanted ? looks : 0;
	thread->gc += stack->gc;
	any->seen = 1;
	any->held |= held;
	any->wanted |= wanted;
	any->gc |= stack->gc;
}

void looks_add(struct profile_looks *all, const struct profile_looks *any)
{
	all->seen += any->seen;
	all->held += any->held;
	all->wanted += any->wanted;
	all->gc += any->gc;
}
