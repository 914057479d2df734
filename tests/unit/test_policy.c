// SPDX-License-Identifier: GPL-2.0-or-later
#include "unit.h"

#include <numaif.h>
#include <unistd.h>

static struct nr_ctx *running_system(void)
{
	struct nr_ctx *ctx;
	int mode;

	if (get_mempolicy(&mode, NULL, 0, NULL, 0))
		return NULL; /* no NUMA, or a sandbox */
	ck_assert_int_eq(nr_open(&ctx, NULL), 0);
	return ctx;
}

static struct bitmask *own_nodes(struct nr_ctx *ctx)
{
	struct bitmask *nodes = nr_set_new(NR_MAX_NODES);
	struct nr_binding *binding;

	ck_assert_int_eq(nr_binding_from_pid(ctx, 0, &binding), 0);
	copy_bitmask_to_bitmask(binding->nodes, nodes);
	nr_binding_free(binding);
	return nodes;
}

static int mode_now(void)
{
	int mode = -1;

	ck_assert_int_eq(get_mempolicy(&mode, NULL, 0, NULL, 0), 0);
	return mode;
}

static void reset(void)
{
	set_mempolicy(MPOL_DEFAULT, NULL, 0);
}

START_TEST(none)
{
	struct nr_ctx *ctx = running_system();

	if (!ctx)
		return;
	ck_assert_int_eq(nr_policy_apply(ctx, NR_POLICY_NONE, NULL), 0);
	ck_assert_int_eq(mode_now(), MPOL_DEFAULT);
	assert_err(nr_policy_apply(ctx, NR_POLICY_LOCAL, NULL), EOPNOTSUPP);
	ck_assert_int_eq(mode_now(), MPOL_DEFAULT);
	nr_close(ctx);
}
END_TEST

START_TEST(bind_to_own)
{
	struct nr_ctx *ctx = running_system();
	struct bitmask *nodes, *got;

	if (!ctx)
		return;
	nodes = own_nodes(ctx);
	ck_assert_int_eq(nr_policy_apply(ctx, NR_POLICY_BIND, nodes), 0);
	got = numa_allocate_nodemask();
	int mode;
	ck_assert_int_eq(get_mempolicy(&mode, got->maskp, got->size + 1, NULL, 0), 0);
	ck_assert_int_eq(mode, MPOL_BIND);
	for (unsigned int i = 0; i < got->size; i++)
		ck_assert_int_eq(numa_bitmask_isbitset(got, i), numa_bitmask_isbitset(nodes, i));
	numa_bitmask_free(got);
	/* What somebody chose stays */
	assert_err(nr_policy_apply(ctx, NR_POLICY_BIND, nodes), EALREADY);
	ck_assert_int_eq(mode_now(), MPOL_BIND);
	nr_set_free(nodes);
	nr_close(ctx);
}
END_TEST

START_TEST(keeps_anothers)
{
	struct nr_ctx *ctx = running_system();
	struct bitmask *nodes;

	if (!ctx)
		return;
	nodes = own_nodes(ctx);
	ck_assert_int_eq(set_mempolicy(MPOL_INTERLEAVE, nodes->maskp, nodes->size + 1), 0);
	assert_err(nr_policy_apply(ctx, NR_POLICY_BIND, nodes), EALREADY);
	ck_assert_int_eq(mode_now(), MPOL_INTERLEAVE);
	nr_set_free(nodes);
	nr_close(ctx);
}
END_TEST

START_TEST(bad_nodes)
{
	struct nr_ctx *ctx = running_system();
	struct bitmask *nodes = nr_set_new(NR_MAX_NODES);

	if (!ctx)
		return;
	ck_assert_int_lt(nr_policy_apply(ctx, NR_POLICY_BIND, NULL), 0);
	ck_assert_int_lt(nr_policy_apply(ctx, NR_POLICY_BIND, nodes), 0); /* empty */
	numa_bitmask_setbit(nodes, 1023);				  /* hardly there */
	if (access("/sys/devices/system/node/node1023", F_OK))
		ck_assert_int_lt(nr_policy_apply(ctx, NR_POLICY_BIND, nodes), 0);
	ck_assert_int_eq(mode_now(), MPOL_DEFAULT);
	nr_set_free(nodes);
	nr_close(ctx);
}
END_TEST

Suite *suite(void)
{
	Suite *s = suite_create("policy");
	TCase *t = unit_case("policy");

	tcase_add_checked_fixture(t, reset, reset);
	tcase_add_test(t, none);
	tcase_add_test(t, bind_to_own);
	tcase_add_test(t, keeps_anothers);
	tcase_add_test(t, bad_nodes);
	suite_add_tcase(s, t);
	return s;
}
