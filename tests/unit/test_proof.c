/* test_proof.c - which part of a stack that was read while its thread ran is believed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "proof.h"

enum { FRAMES = 16 };

/* Frames by the letters of their functions, leaf first: "leaf" = e..., position 1 each; a capital is at position 2. */
static size_t stack(const char *letters, struct raw_frame *ret)
{
	size_t n = 0;

	for (const char *c = letters; *c; c++) {
		bool other = *c >= 'A' && *c <= 'Z';

		ret[n++] = (struct raw_frame){
			.code = 0x1000 + (raddr_t)(*c | 0x20) * 0x100,
			.pos = other ? 2 : 1,
			.stamp = 7,
		};
	}
	return n;
}

static void learn(struct proof *p, const char *letters, bool deep)
{
	struct raw_frame f[FRAMES];

	proof_learn(p, f, stack(letters, f), deep);
}

static size_t unproven(struct proof *p, const char *letters, bool deep)
{
	struct raw_frame f[FRAMES];

	return proof_unproven(p, f, stack(letters, f), deep);
}

static void a_stack_that_was_learnt_is_proven_and_no_other_is(void **state)
{
	struct proof p;

	proof_init(&p, *(enum proof_by *)*state);
	assert_int_equal(unproven(&p, "edcba", false), 5);
	learn(&p, "edcba", false);
	assert_int_equal(unproven(&p, "edcba", false), 0);
	assert_int_equal(unproven(&p, "dcba", false), 0); /* the same without its leaf */
	assert_int_equal(unproven(&p, "xdcba", false), 1);
	assert_int_equal(unproven(&p, "edcbx", false), 5);
	proof_free(&p);
}

static void the_leaf_may_stand_anywhere_but_callers_may_not(void **state)
{
	struct proof p;

	proof_init(&p, *(enum proof_by *)*state);
	learn(&p, "edcba", false);
	assert_int_equal(unproven(&p, "Edcba", false), 0);
	assert_int_equal(unproven(&p, "eDcba", false), 1); /* d's own context holds, e's caller is elsewhere */
	proof_free(&p);
}

static void a_torn_stack_is_cut_where_its_parts_meet(void **state)
{
	struct proof p;

	proof_init(&p, *(enum proof_by *)*state);
	learn(&p, "fedcba", false);
	learn(&p, "zyxwa", false);
	/* leaf's end of the one on the root's end of the other */
	assert_int_equal(unproven(&p, "fedxwa", false), 3);
	assert_int_equal(unproven(&p, "zycba", false), 2);
	proof_free(&p);
}

/* main -> dispatcher -> handler: both ways lead through the same two frames d, c at the same places. */
static void a_shared_dispatcher_does_not_hide_a_tear_behind_it(void **state)
{
	struct proof p;

	proof_init(&p, *(enum proof_by *)*state);
	learn(&p, "fdca", false); /* a -> c -> d -> f */
	learn(&p, "gdcb", false); /* b -> c -> d -> g */
	assert_int_equal(unproven(&p, "fdca", false), 0);
	assert_int_equal(unproven(&p, "fdcb", false), 1); /* f was never under b: its third caller tells */
	assert_int_equal(unproven(&p, "gdca", false), 1);
	proof_free(&p);
}

static void a_tear_behind_many_shared_callers_is_seen_by_path_only(void **state)
{
	enum proof_by by = *(enum proof_by *)*state;
	struct proof p;

	proof_init(&p, by);
	learn(&p, "fedca", false);
	learn(&p, "gedcb", false);
	/* by callers: the limit of the method, stated so that a change of it is noticed */
	assert_int_equal(unproven(&p, "fedcb", false), by == PROOF_BY_PATH ? 1 : 0);
	proof_free(&p);
}

static void the_root_is_part_of_a_context(void **state)
{
	struct proof p;

	proof_init(&p, *(enum proof_by *)*state);
	learn(&p, "cba", false);
	assert_int_equal(unproven(&p, "cb", false), 2); /* b was never a root */
	assert_int_equal(unproven(&p, "cbab", false), 4);
	proof_free(&p);
}

static void callers_cut_off_by_depth_are_no_root(void **state)
{
	struct proof p;

	proof_init(&p, *(enum proof_by *)*state);
	learn(&p, "cba", false);
	assert_int_equal(unproven(&p, "cba", true), 3);
	learn(&p, "cba", true);
	assert_int_equal(unproven(&p, "cba", true), 0);
	assert_int_equal(unproven(&p, "cba", false), 0);
	learn(&p, "gfedcba", true);
	assert_int_equal(unproven(&p, "gfed", false), 4);
	proof_free(&p);
}

static void another_function_at_the_same_address_is_not_proven(void **state)
{
	struct raw_frame f[FRAMES];
	size_t n = stack("edcba", f);
	struct proof p;

	proof_init(&p, *(enum proof_by *)*state);
	proof_learn(&p, f, n, false);
	f[2].stamp = 8;
	assert_int_equal(proof_unproven(&p, f, n, false), 3);
	proof_free(&p);
}

static void witness(struct proof *p, const char *letters, size_t agreed, unsigned times)
{
	struct raw_frame f[FRAMES];
	size_t n = stack(letters, f);

	for (unsigned i = 0; i < times; i++)
		proof_witness(p, f, n, false, agreed);
}

static void what_a_second_read_keeps_finding_is_believed(void **state)
{
	struct proof p;

	proof_init(&p, *(enum proof_by *)*state);
	witness(&p, "edcba", 5, 3); /* three times may be chance */
	assert_int_equal(unproven(&p, "edcba", false), 5);
	witness(&p, "edcba", 5, 60);
	assert_int_equal(unproven(&p, "edcba", false), 0);
	proof_free(&p);
}

static void what_a_second_read_does_not_find_is_not_believed(void **state)
{
	struct proof p;

	proof_init(&p, *(enum proof_by *)*state);
	/* The leaf is gone at each second look; its callers stay. */
	witness(&p, "edcba", 4, 1000);
	assert_int_equal(unproven(&p, "edcba", false), 1);
	proof_free(&p);
}

static void found_again_half_the_time_is_not_enough(void **state)
{
	struct proof p;

	proof_init(&p, *(enum proof_by *)*state);
	for (int i = 0; i < 1000; i++)
		witness(&p, "edcba", i % 2 ? 5 : 4, 1);
	assert_int_equal(unproven(&p, "edcba", false), 1);
	/* nine times of ten is */
	for (int i = 0; i < 1000; i++)
		witness(&p, "edcba", i % 10 ? 5 : 4, 1);
	assert_int_equal(unproven(&p, "edcba", false), 0);
	proof_free(&p);
}

static void an_empty_stack_is_proven(void **state)
{
	struct proof p;

	proof_init(&p, *(enum proof_by *)*state);
	assert_int_equal(proof_unproven(&p, NULL, 0, false), 0);
	proof_learn(&p, NULL, 0, false);
	proof_free(&p);
}

#define EITHER_WAY(f) cmocka_unit_test_prestate(f, &by_path), cmocka_unit_test_prestate(f, &by_callers)

int main(void)
{
	static enum proof_by by_path = PROOF_BY_PATH, by_callers = PROOF_BY_CALLERS;
	const struct CMUnitTest tests[] = {
		EITHER_WAY(a_stack_that_was_learnt_is_proven_and_no_other_is),
		EITHER_WAY(the_leaf_may_stand_anywhere_but_callers_may_not),
		EITHER_WAY(a_torn_stack_is_cut_where_its_parts_meet),
		EITHER_WAY(a_shared_dispatcher_does_not_hide_a_tear_behind_it),
		EITHER_WAY(a_tear_behind_many_shared_callers_is_seen_by_path_only),
		EITHER_WAY(the_root_is_part_of_a_context),
		EITHER_WAY(callers_cut_off_by_depth_are_no_root),
		EITHER_WAY(another_function_at_the_same_address_is_not_proven),
		EITHER_WAY(what_a_second_read_keeps_finding_is_believed),
		EITHER_WAY(what_a_second_read_does_not_find_is_not_believed),
		EITHER_WAY(found_again_half_the_time_is_not_enough),
		EITHER_WAY(an_empty_stack_is_proven),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
