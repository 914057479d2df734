// SPDX-License-Identifier: GPL-2.0-or-later
#include "unit.h"

#include <numaif.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "internal.h"

#define FLAG_FILE "sys/kernel/mm/node_reclaim/mpol_f_localreclaim"
#define FLAG 0x400 /* not what the patches have: it must be read */
#define STATIC 0x8000
#define RELATIVE 0x4000
#define BALANCING 0x2000
#define WEIGHTED_INTERLEAVE 6

/* A task of a kernel with MPOL_F_LOCALRECLAIM. */
static struct {
	bool on; /* else the running kernel is asked */
	enum {
		GOOD,
		REFUSES,  /* EINVAL for the flag */
		FORGETS,  /* takes the flag and does not keep it */
		SPREADS,  /* adds a NUMA node */
		TWISTS,	  /* drops another mode flag */
		GOES_DUMB /* get_mempolicy() fails after the first time */
	} mood;
	int mode;
	unsigned long nodes; /* 0 to 63 */
	unsigned int gets, sets;
} task;

/* These two stand before libnuma's */
long get_mempolicy(int *mode, unsigned long *nmask, unsigned long maxnode, void *addr,
		   unsigned int flags)
{
	if (!task.on)
		return syscall(SYS_get_mempolicy, mode, nmask, maxnode, addr, flags);
	ck_assert_uint_eq(flags, 0);
	if (task.gets++ && task.mood == GOES_DUMB) {
		errno = EPERM;
		return -1;
	}
	*mode = task.mode;
	if (nmask) {
		/* As the kernel: all NUMA nodes that it may have must fit */
		ck_assert_uint_eq(maxnode, NR_MAX_NODES + 1);
		memset(nmask, 0, NR_MAX_NODES / 8);
		nmask[0] = task.nodes;
	}
	return 0;
}

long set_mempolicy(int mode, const unsigned long *nmask, unsigned long maxnode)
{
	const unsigned long nodes = nmask ? nmask[0] : 0;
	const int base = mode & 0xff;
	bool good;

	if (!task.on)
		return syscall(SYS_set_mempolicy, mode, nmask, maxnode);
	ck_assert_uint_eq(maxnode, NR_MAX_NODES + 1);
	for (unsigned int i = 1; i < NR_MAX_NODES / (8 * sizeof(long)); i++)
		ck_assert_uint_eq(nmask[i], 0);
	task.sets++;
	good = base == MPOL_DEFAULT || base == MPOL_LOCAL ? !nodes : nodes != 0;
	if (mode & FLAG)
		good = good && task.mood != REFUSES &&
		       (base == MPOL_LOCAL || base == MPOL_PREFERRED || base == MPOL_BIND ||
			base == MPOL_PREFERRED_MANY);
	if (!good) {
		errno = EINVAL;
		return -1;
	}
	task.mode = mode;
	task.nodes = nodes;
	if (!(mode & FLAG))
		return 0;
	if (task.mood == FORGETS)
		task.mode &= ~FLAG;
	if (task.mood == TWISTS)
		task.mode &= ~STATIC;
	if (task.mood == SPREADS)
		task.nodes |= 1 << 5;
	return 0;
}

/* A tree that the library takes for the running system */
static struct nr_ctx *patched_kernel(struct messages *messages, const char *flag)
{
	char *root = copy_tree("patched");
	struct nr_ctx *ctx;

	if (flag)
		put(root, FLAG_FILE, flag);
	else
		drop(root, FLAG_FILE);
	ctx = open_tree(root);
	ctx->recorded = false;
	keep_messages(ctx, messages);
	memset(&task, 0, sizeof(task));
	task.on = true;
	return ctx;
}

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
	task.on = false;
	set_mempolicy(MPOL_DEFAULT, NULL, 0);
}

START_TEST(none)
{
	struct nr_ctx *ctx = running_system();

	if (!ctx)
		return;
	ck_assert_int_eq(nr_policy_apply(ctx, NR_POLICY_NONE, NULL), 0);
	ck_assert_int_eq(mode_now(), MPOL_DEFAULT);
	nr_close(ctx);
}
END_TEST

/* The kernel at hand: it has the flag and it works, or it has not */
START_TEST(local_here)
{
	struct nr_ctx *ctx = running_system();
	unsigned int flag = 0;
	FILE *f;

	if (!ctx)
		return;
	f = fopen("/" FLAG_FILE, "r");
	if (f) {
		ck_assert_int_eq(fscanf(f, "%x", &flag), 1);
		fclose(f);
		ck_assert_int_eq(nr_policy_apply(ctx, NR_POLICY_LOCAL, NULL), 0);
		ck_assert_int_eq(mode_now(), (int)(MPOL_LOCAL | flag));
	} else {
		assert_err(nr_policy_apply(ctx, NR_POLICY_LOCAL, NULL), EOPNOTSUPP);
		ck_assert_int_eq(mode_now(), MPOL_DEFAULT);
	}
	nr_close(ctx);
}
END_TEST

static const struct {
	int mode;
	unsigned long nodes;
	int err, want;
} policies[] = {
	{ MPOL_DEFAULT, 0, 0, MPOL_LOCAL | FLAG },
	{ MPOL_LOCAL, 0, 0, MPOL_LOCAL | FLAG },
	{ MPOL_PREFERRED, 1 << 1, 0, MPOL_PREFERRED | FLAG },
	{ MPOL_PREFERRED | STATIC, 1 << 1, 0, MPOL_PREFERRED | STATIC | FLAG },
	{ MPOL_PREFERRED_MANY, 3, 0, MPOL_PREFERRED_MANY | FLAG },
	{ MPOL_PREFERRED_MANY | RELATIVE, 3, 0, MPOL_PREFERRED_MANY | RELATIVE | FLAG },
	{ MPOL_BIND, 1ul << 63 | 1, 0, MPOL_BIND | FLAG },
	{ MPOL_BIND | STATIC, 6, 0, MPOL_BIND | STATIC | FLAG },
	{ MPOL_BIND | BALANCING, 6, 0, MPOL_BIND | BALANCING | FLAG },
	{ MPOL_BIND | BALANCING | RELATIVE, 6, 0, MPOL_BIND | BALANCING | RELATIVE | FLAG },
	/* Spread by choice, and what is not known */
	{ MPOL_INTERLEAVE, 3, -EALREADY, MPOL_INTERLEAVE },
	{ MPOL_INTERLEAVE | STATIC, 3, -EALREADY, MPOL_INTERLEAVE | STATIC },
	{ WEIGHTED_INTERLEAVE, 3, -EALREADY, WEIGHTED_INTERLEAVE },
	{ 7, 3, -EALREADY, 7 },
	/* A second time, in a step inside of a step */
	{ MPOL_LOCAL | FLAG, 0, 0, MPOL_LOCAL | FLAG },
	{ MPOL_BIND | STATIC | FLAG, 2, 0, MPOL_BIND | STATIC | FLAG },
};

START_TEST(adds_the_flag)
{
	struct messages messages;
	struct nr_ctx *ctx = patched_kernel(&messages, "0x400\n");

	task.mode = policies[_i].mode;
	task.nodes = policies[_i].nodes;
	ck_assert_int_eq(nr_policy_apply(ctx, NR_POLICY_LOCAL, NULL), policies[_i].err);
	ck_assert_int_eq(task.mode, policies[_i].want);
	ck_assert_uint_eq(task.nodes, policies[_i].nodes);
	/* What is as it should be is not touched */
	ck_assert_uint_eq(task.sets, policies[_i].mode != policies[_i].want);
	ck_assert_msg(messages.count == 0, "%s", messages.text);
	nr_close(ctx);
}
END_TEST

static const struct {
	int mood, err;
	unsigned int sets;
} failures[] = {
	{ REFUSES, EINVAL, 1 }, { FORGETS, EPROTO, 2 },	 { SPREADS, EPROTO, 2 },
	{ TWISTS, EPROTO, 2 },	{ GOES_DUMB, EPERM, 2 },
};

/* The kernel does something else: the task has the policy that it had */
START_TEST(restores)
{
	struct messages messages;
	struct nr_ctx *ctx = patched_kernel(&messages, "0x400\n");

	task.mode = MPOL_BIND | STATIC;
	task.nodes = 6;
	task.mood = failures[_i].mood;
	assert_err(nr_policy_apply(ctx, NR_POLICY_LOCAL, NULL), failures[_i].err);
	ck_assert_int_eq(task.mode, MPOL_BIND | STATIC);
	ck_assert_uint_eq(task.nodes, 6);
	ck_assert_uint_eq(task.sets, failures[_i].sets);
	ck_assert_msg(messages.count == 1, "%s", messages.text);
	ck_assert_msg(strstr(messages.text, "mempolicy") != NULL, "%s", messages.text);
	nr_close(ctx);
}
END_TEST

static const char *const no_flags[] = { NULL,	    "",		"0x0\n",   "0x80\n",	"0x8000\n",
					"0x4000\n", "0x2000\n", "0x300\n", "0x10000\n", "-0x400\n",
					"1024\n",   "400\n",	"0x\n",	   "0x400 \n",	"0X400\n",
					"0x 400\n", "0x0x400\n" };

/* No flag, or one that cannot be */
START_TEST(no_flag)
{
	struct messages messages;
	struct nr_ctx *ctx = patched_kernel(&messages, no_flags[_i]);

	assert_err(nr_policy_apply(ctx, NR_POLICY_LOCAL, NULL), EOPNOTSUPP);
	assert_err(nr_policy_apply(ctx, NR_POLICY_LOCAL, NULL), EOPNOTSUPP);
	ck_assert_uint_eq(task.gets + task.sets, 0);
	ck_assert_uint_eq(messages.count, no_flags[_i] != NULL);
	if (no_flags[_i])
		ck_assert_msg(strstr(messages.text, FLAG_FILE) != NULL, "%s", messages.text);
	nr_close(ctx);
}
END_TEST

/* The flag of a recorded tree is not for the running kernel */
START_TEST(not_of_a_tree)
{
	struct nr_ctx *ctx = open_tree("patched");

	memset(&task, 0, sizeof(task));
	task.on = true;
	assert_err(nr_policy_apply(ctx, NR_POLICY_LOCAL, NULL), EROFS);
	ck_assert_uint_eq(task.gets + task.sets, 0);
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

/* ---- the whole host */

#define MODE_FILE "proc/sys/vm/zone_reclaim_mode"
#define LRU_FOLDER "sys/kernel/mm/lru_gen"

static const struct {
	const char *mode, *lru;
	int err;
	const char *why;
} hosts[] = {
	{ "0\n", NULL, 0, NULL },
	{ "0\n", "0x0000\n", 0, NULL },
	{ "7\n", "0x0006\n", 0, NULL }, /* bit 0 is the switch */
	{ "0\n", "0x0007\n", EOPNOTSUPP, "multi-gen LRU" },
	{ "0\n", "0x0001\n", EOPNOTSUPP, "multi-gen LRU" },
	{ NULL, "0x0000\n", EOPNOTSUPP, "this kernel has no vm.zone_reclaim_mode" },
	{ NULL, "0x0007\n", EOPNOTSUPP, "this kernel has no vm.zone_reclaim_mode" },
	{ "much\n", NULL, EBADMSG, NULL },
};

START_TEST(whole_host)
{
	char *root = copy_tree("two-sockets"), folder[256], why[256] = "";
	struct nr_ctx *ctx;
	uint64_t bits = 99;
	int err;

	if (hosts[_i].mode)
		put(root, MODE_FILE, hosts[_i].mode);
	else
		drop(root, MODE_FILE);
	snprintf(folder, sizeof(folder), "%s/" LRU_FOLDER, root);
	ck_assert_int_eq(mkdir(folder, 0755), 0);
	if (hosts[_i].lru)
		put(root, LRU_FOLDER "/enabled", hosts[_i].lru);
	ctx = open_tree(root);
	err = nr_policy_host(ctx, &bits, why, sizeof(why));
	ck_assert_int_eq(err, -hosts[_i].err);
	/* Never 2 and 4, which write and swap */
	ck_assert_uint_eq(bits, err ? 99 : 1);
	ck_assert_msg(!hosts[_i].why == !*why, "%s", why);
	ck_assert_msg(!hosts[_i].why || strstr(why, hosts[_i].why), "%s", why);
	nr_close(ctx);
}
END_TEST

Suite *suite(void)
{
	Suite *s = suite_create("policy");
	TCase *t = unit_case("policy");

	tcase_add_checked_fixture(t, reset, reset);
	tcase_add_test(t, none);
	tcase_add_test(t, local_here);
	tcase_add_loop_test(t, adds_the_flag, 0, ARRAY_SIZE(policies));
	tcase_add_loop_test(t, restores, 0, ARRAY_SIZE(failures));
	tcase_add_loop_test(t, no_flag, 0, ARRAY_SIZE(no_flags));
	tcase_add_test(t, not_of_a_tree);
	tcase_add_test(t, bind_to_own);
	tcase_add_test(t, keeps_anothers);
	tcase_add_test(t, bad_nodes);
	tcase_add_loop_test(t, whole_host, 0, ARRAY_SIZE(hosts));
	suite_add_tcase(s, t);
	return s;
}
