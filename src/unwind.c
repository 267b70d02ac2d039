/* unwind.c - walk a native stack: registers and one copy of the stack in, addresses out. */
#include <stdlib.h>

#include "modules.h"
#include "regs.h"
#include "unwind_cfi.h"
#include "unwind_rows.h"

enum {
	CODE_BEFORE = 1,  /* bytes that tell whether a push was done */
	CODE_AHEAD = 96,  /* bytes of some instructions */
	SIGNALS_MAX = 16, /* signal frames in one stack */
	CODE_PAGE = 4096,
};

struct unwinder {
	struct target *target; /* borrowed, as are the modules */
	struct modules *modules;
	struct cfi **cfi; /* by number of the module */
	size_t cfi_cap;
	struct exprs exprs;
	struct rows rows;
	uint64_t generation; /* of the mappings that the rows are for */
	size_t disassembler; /* 0: none yet */
};

struct unwinder *unwinder_new(struct target *t, struct modules *m)
{
	struct unwinder *u = xcalloc(1, sizeof(*u));

	u->target = t;
	u->modules = m;
	return u;
}

void unwinder_free(struct unwinder *u)
{
	if (!u)
		return;
	for (size_t i = 0; i < u->cfi_cap; i++)
		cfi_free(u->cfi[i]);
	free(u->cfi);
	rows_free(&u->rows);
	exprs_free(&u->exprs);
	regs_settle_close(&u->disassembler);
	free(u);
}

void regs_of_sleeper(raddr_t pc, raddr_t sp, struct regs *ret)
{
	*ret = (struct regs){ .known = 1ull << regs_sp, .pc = pc, .sp = sp };
	ret->v[regs_sp] = sp;
}

static struct cfi *cfi_of(struct unwinder *u, const struct code_map *map, const struct module *module)
{
	xgrow(&u->cfi, &u->cfi_cap, map->module + 1, sizeof(struct cfi *));
	if (!u->cfi[map->module])
		u->cfi[map->module] = cfi_new(module->image);
	return u->cfi[map->module];
}

static bool rule_of_file(struct unwinder *u, const struct code_map *map, raddr_t at, struct rule *ret, raddr_t *end)
{
	const struct module *module = modules_open(u->modules, map);
	uint64_t svma;

	if (!module || !modules_svma(module, map, at, &svma))
		return false;
	if (!cfi_rule(cfi_of(u, map, module), &u->exprs, svma, ret, end))
		return false;
	*end = at + (*end - svma) < map->end ? at + (*end - svma) : map->end;
	return true;
}

static void forget_if_changed(struct unwinder *u)
{
	if (u->generation == modules_generation(u->modules))
		return;
	u->generation = modules_generation(u->modules);
	rows_forget(&u->rows);
}

/* The rule at an address, looked up where it belongs. NULL: not in code. */
static const struct rule *find_rule(struct unwinder *u, raddr_t at)
{
	const struct rule *known = rows_find(&u->rows, at);
	const struct code_map *map;
	raddr_t end = at + 1;
	struct rule rule;

	if (known)
		return known;
	map = modules_map(u->modules, at);
	forget_if_changed(u);
	if (!map)
		return NULL;
	if (!rule_of_file(u, map, at, &rule, &end)) {
		regs_frame_rule(&rule);
		if (map->module == MODULE_NONE)
			end = map->end;
	}
	rule.module = map->module == MODULE_NONE ? 0 : map->module + 1;
	return rows_add(&u->rows, at, end, &rule);
}

/* A leaf without CFI may be anywhere in its function. Its code is read now, and may be new every time: no row. */
static void settle(struct unwinder *u, raddr_t pc, struct rule *ret)
{
	uint8_t code[CODE_BEFORE + CODE_AHEAD];
	size_t before = pc % CODE_PAGE ? CODE_BEFORE : 0; /* the page before may be none */
	size_t left = CODE_PAGE - pc % CODE_PAGE, len = CODE_AHEAD;

	if (failed(memory_read(u->target->memory, pc - before, code, before + len))) {
		len = left < CODE_AHEAD ? left : CODE_AHEAD;
		if (failed(memory_read(u->target->memory, pc - before, code, before + len)))
			return;
	}
	regs_settle(&u->disassembler, code, before, len, pc, ret);
}

enum step { STEPPED, STEP_ROOT, STEP_SHORT, STEP_LOST };

struct walk {
	const struct exprs *exprs;
	const struct stack_copy *stack;
	struct regs regs;
	raddr_t highest; /* of the stack that was needed */
};

static bool place_value(struct walk *w, const struct place *p, const struct expr_context *c, uint64_t *ret,
			raddr_t *missed)
{
	uint64_t at = c->cfa + (uint64_t)(int64_t)p->off;

	switch ((enum place_kind)p->kind) {
	case PLACE_IS:
		*ret = at;
		return true;
	case PLACE_REG:
		*ret = w->regs.v[p->off];
		return w->regs.known >> p->off & 1;
	case PLACE_VALUE:
		return expr_value(w->exprs, p->off, c, ret);
	case PLACE_EXPR:
		if (!expr_value(w->exprs, p->off, c, &at))
			return false;
		break;
	case PLACE_AT:
		break;
	}
	*missed = at;
	if (!stack_word(w->stack, at, ret))
		return false;
	if (at > w->highest)
		w->highest = at;
	return true;
}

static bool frame_address(struct walk *w, const struct rule *rule, raddr_t *ret)
{
	struct expr_context c = { &w->regs, w->stack, 0 };

	if (rule->cfa_is_expr)
		return expr_value(w->exprs, rule->cfa_off, &c, ret);
	*ret = w->regs.v[rule->cfa_reg] + (uint64_t)(int64_t)rule->cfa_off;
	return w->regs.known >> rule->cfa_reg & 1;
}

/* Above what was copied, though the stack may go on there. */
static bool is_beyond(const struct stack_copy *s, raddr_t at)
{
	return at >= s->at + s->len - sizeof(uint64_t) && at < s->at + s->len + STACK_BYTES_MAX;
}

static enum step step(struct walk *w, const struct rule *rule)
{
	struct expr_context c = { &w->regs, w->stack, 0 };
	struct regs next;
	raddr_t missed = 0;

	if (rule->kind == RULE_ROOT)
		return STEP_ROOT;
	if (rule->kind != RULE_STEP || !frame_address(w, rule, &c.cfa))
		return STEP_LOST;
	if (rule->guessed && !w->regs.v[rule->cfa_reg])
		return STEP_ROOT; /* who starts a thread without CFI clears its frame pointer */
	next = w->regs;
	next.known = (w->regs.known & rule->keep) | 1ull << regs_sp;
	next.v[regs_sp] = c.cfa;
	for (size_t i = 0; i < rule->count; i++) {
		const struct place *p = &rule->saved[i];

		if (place_value(w, p, &c, &next.v[p->reg], &missed))
			next.known |= 1ull << p->reg;
		else
			next.known &= ~(1ull << p->reg);
	}
	if (!(next.known >> regs_return & 1))
		return is_beyond(w->stack, missed) ? STEP_SHORT : STEP_LOST;
	next.pc = next.v[regs_return];
	next.sp = next.v[regs_sp];
	w->regs = next;
	return next.pc ? STEPPED : STEP_ROOT;
}

static enum unwind_end end_of(enum step s)
{
	return s == STEP_ROOT ? UNWIND_ROOT : s == STEP_SHORT ? UNWIND_SHORT : UNWIND_LOST;
}

/* Stacks grow down: a caller's frame lies above. Only a signal may have interrupted another stack. */
static bool goes_on(raddr_t sp, const struct walk *w, bool leaf, bool signal, size_t *signals)
{
	if (signal)
		return ++*signals <= SIGNALS_MAX;
	return w->regs.sp > sp || (leaf && w->regs.sp == sp);
}

size_t unwind(struct unwinder *u, const struct regs *regs, const struct stack_copy *stack, struct code_addr *out,
	      size_t cap, enum unwind_end *end, size_t *used)
{
	struct walk w = { &u->exprs, stack, *regs, regs->sp };
	bool is_return = false;
	size_t n = 0, signals = 0;

	modules_refresh(u->modules);
	forget_if_changed(u);
	*end = UNWIND_DEEP;
	while (n < cap) {
		struct code_addr a = { w.regs.pc, is_return, 0, 0 };
		const struct rule *rule = find_rule(u, code_addr_lookup(a));
		raddr_t sp = w.regs.sp;
		struct rule settled;
		enum step s;

		*end = UNWIND_LOST;
		if (!rule && n)
			break; /* no code, so no return address either */
		a.module = rule ? rule->module : 0;
		out[n++] = a;
		if (!rule)
			break;
		if (rule->guessed && !is_return) {
			settled = *rule;
			settle(u, a.at, &settled);
			rule = &settled;
		}
		s = step(&w, rule);
		out[n - 1].cfa = s == STEPPED ? w.regs.sp : 0;
		*end = s == STEPPED ? UNWIND_DEEP : end_of(s);
		if (s != STEPPED)
			break;
		if (!goes_on(sp, &w, n == 1, rule->signal, &signals)) {
			*end = UNWIND_LOST;
			break;
		}
		is_return = !rule->signal;
	}
	*used = w.highest >= stack->at ? w.highest - stack->at + sizeof(uint64_t) : 0;
	return n;
}
