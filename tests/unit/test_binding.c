// SPDX-License-Identifier: GPL-2.0-or-later
#include "unit.h"

#include <unistd.h>

#define NODE_DIR "sys/devices/system/node/"

/* What bindings of the trees are: from a process (pid) or a CPU list. "12@0" = 12 CPUs served by
 * NUMA node 0. */
static const struct {
	const char *tree;
	int pid;
	const char *list; /* CPUs, if no pid */
	const char *cpus, *nodes, *reachable, *ncpus;
} good[] = {
	{ "one-node", 1, NULL, "0-1", "0", "0", "2@0" },
	{ "one-node", 0, "1", "1", "0", "0", "1@0" },
	{ "two-sockets", 1, NULL, "0-63", "0-1", "0-1", "32@0 32@1" },
	{ "two-sockets", 100, NULL, "16-19,48-51", "1", "1", "8@1" },
	{ "two-sockets", 0, "15-16", "15-16", "0-1", "0-1", "1@0 1@1" },
	/* Allowed NUMA nodes narrow it: CPUs of node 0 that may use node 1 only, and the reverse */
	{ "two-sockets", 200, NULL, "0-3", "1", "1", "4@1" },
	{ "two-sockets", 300, NULL, "0-63", "0", "0", "64@0" },
	{ "eight-nodes", 1, NULL, "0-255", "0-7", "0-7",
	  "32@0 32@1 32@2 32@3 32@4 32@5 32@6 32@7" },
	{ "eight-nodes", 100, NULL, "0-31", "0-1", "0-1", "16@0 16@1" },
	{ "eight-nodes", 200, NULL, "12-19,60-63", "0-1,3", "0-1,3", "4@0 4@1 4@3" },
	{ "eight-nodes", 0, "255", "255", "7", "7", "1@7" },
	/* All CPUs on a NUMA node without memory */
	{ "ibm-power730", 100, NULL, "3", "1", "1", "1@1" },
	{ "ibm-power730", 0, "3", "3", "1", "1", "1@1" },
	{ "ibm-power730", 1, NULL, "0-31", "1", "1", "32@1" },
	/* A tie goes to the lowest number; the nearest wins over it */
	{ "memoryless", 0, "8-15", "8-15", "0", "0", "8@0" },
	{ "memoryless", 0, "24-31", "24-31", "2", "2", "8@2" },
	{ "memoryless", 100, NULL, "8-15", "0", "0", "8@0" },
	{ "memoryless", 200, NULL, "8-15", "2", "2", "8@2" },
	{ "memoryless", 1, NULL, "0-31", "0,2", "0,2", "16@0 16@2" },
	/* CPU-less NUMA nodes are reachable from the nearest CPUs, and never chosen */
	{ "cxl", 1, NULL, "0-95", "0-1", "0-2", "48@0 48@1" },
	{ "cxl", 0, "0-3", "0-3", "0", "0,2", "4@0" },
	{ "cxl", 0, "48-51", "48-51", "1", "1", "4@1" },
	{ "cxl", 100, NULL, "0-47", "0", "0", "48@0" }, /* not allowed */
	{ "cxl", 200, NULL, "48-51", "1", "1", "4@1" },
	{ "hbm", 0, "0-55", "0-55", "0", "0,2", "56@0" },
	{ "hbm", 0, "56-57", "56-57", "1", "1,3", "2@1" },
	{ "hbm", 0, "0,56", "0,56", "0-1", "0-3", "1@0 1@1" },
	/* Only allowed to use a NUMA node without CPUs */
	{ "hbm", 100, NULL, "0-55", "2", "2", "56@2" },
	/* Holes; GPU memory is equally far from both sockets, so both reach it */
	{ "holes", 1, NULL, "0-175", "0,8", "0,8,252-255", "88@0 88@8" },
	{ "holes", 0, "88", "88", "8", "8,252-255", "1@8" },
	{ "holes", 0, "0", "0", "0", "0,252-255", "1@0" },
	{ "holes", 100, NULL, "88-91", "8", "8", "4@8" },
	/* Offline CPUs do not count */
	{ "offline", 1, NULL, "0-7,12-31,48-59,61-63", "0-1,3", "0-1,3", "12@0 16@1 15@3" },
	{ "offline", 100, NULL, "12", "0", "0", "1@0" },
	{ "offline", 0, "8-12", "12", "0", "0", "1@0" },
	{ "offline", 0, "48-59", "48-59", "3", "3", "12@3" },
	{ "old-kernel", 1, NULL, "0-47", "0-1", "0-1", "24@0 24@1" },
	{ "nodes-1024", 0, "0-8191", "0-8191", "0-1023", "0-1023", NULL },
	{ "nodes-1024", 100, NULL, "8184-8191", "1023", "1023", "8@1023" },
	{ "nodes-1024", 200, NULL, "0-7,4096-4103", "0,512", "0,512", "8@0 8@512" },
};

static void check_counts(const struct nr_binding *binding, const char *want)
{
	unsigned int sum = 0;
	char text[256] = "";
	size_t i;

	for (i = 0; i < NR_MAX_NODES; i++) {
		sum += binding->ncpus[i];
		ck_assert_uint_le(binding->ncpus[i], NR_MAX_CPUS);
		if (binding->ncpus[i])
			ck_assert(numa_bitmask_isbitset(binding->nodes, i));
		if (binding->ncpus[i] && strlen(text) < 200)
			sprintf(text + strlen(text), "%s%u@%zu", *text ? " " : "",
				binding->ncpus[i], i);
	}
	ck_assert_uint_eq(sum, numa_bitmask_weight(binding->cpus));
	if (want)
		ck_assert_str_eq(text, want);
}

START_TEST(bindings)
{
	struct nr_ctx *ctx = open_tree(good[_i].tree);
	struct nr_binding *binding;
	struct messages m;
	int rc;

	keep_messages(ctx, &m);
	rc = good[_i].pid ? nr_binding_from_pid(ctx, good[_i].pid, &binding)
			  : nr_binding_from_cpus(ctx, good[_i].list, &binding);
	ck_assert_msg(rc == 0, "%s: %d %s", good[_i].tree, rc, m.text);
	ck_assert_uint_eq(m.count, 0);
	assert_set(binding->cpus, good[_i].cpus);
	assert_set(binding->nodes, good[_i].nodes);
	assert_set(binding->reachable, good[_i].reachable);
	check_counts(binding, good[_i].ncpus);
	nr_binding_free(binding);
	nr_close(ctx);
}
END_TEST

static const struct {
	const char *tree;
	int pid;
	const char *list;
	int err;
} bad[] = {
	{ "two-sockets", 0, "64", ERANGE },
	{ "two-sockets", 0, "0-64", ERANGE },
	{ "two-sockets", 0, "8191", ERANGE },
	{ "two-sockets", 0, "8192", ERANGE },
	{ "two-sockets", 0, "99999999999", ERANGE },
	{ "two-sockets", 0, "a", EINVAL },
	{ "two-sockets", 0, "3-1", EINVAL },
	{ "two-sockets", 0, "0,", EINVAL },
	{ "two-sockets", 0, "-1", EINVAL },
	{ "two-sockets", 0, "", ENODEV },
	{ "two-sockets", 4242, NULL, ESRCH },
	{ "two-sockets", -1, NULL, ESRCH },
	/* All of its CPUs are offline */
	{ "offline", 0, "8-11", ENODEV },
	{ "offline", 0, "32-47", ENODEV },
	{ "offline", 0, "64", ERANGE },
	{ "offline", 200, NULL, ENODEV },
	{ "offline", 300, NULL, ENODEV },
};

START_TEST(bad_bindings)
{
	struct nr_ctx *ctx = open_tree(bad[_i].tree);
	struct nr_binding *binding = (void *)1;
	struct messages m;
	int rc;

	keep_messages(ctx, &m);
	rc = bad[_i].pid ? nr_binding_from_pid(ctx, bad[_i].pid, &binding)
			 : nr_binding_from_cpus(ctx, bad[_i].list, &binding);
	ck_assert_msg(rc == -bad[_i].err, "%s %d %s: %d %s", bad[_i].tree, bad[_i].pid,
		      bad[_i].list, rc, m.text);
	ck_assert_ptr_null(binding);
	if (rc != -ENODEV)
		ck_assert_msg(m.count == 1, "%zu messages: %s", m.count, m.text);
	nr_close(ctx);
}
END_TEST

static const struct {
	const char *tree, *list;
	int err;
	const char *nodes, *ncpus;
} lists[] = {
	{ "two-sockets", NULL, 0, "0-1", "32@0 32@1" },
	{ "two-sockets", "1", 0, "1", "32@1" },
	{ "two-sockets", "0-1\n", 0, "0-1", "32@0 32@1" },
	{ "two-sockets", "2", ERANGE, NULL, NULL },
	{ "two-sockets", "0-1023", ERANGE, NULL, NULL },
	{ "two-sockets", "1024", ERANGE, NULL, NULL },
	{ "two-sockets", "x", EINVAL, NULL, NULL },
	{ "two-sockets", "1-0", EINVAL, NULL, NULL },
	{ "two-sockets", "", ENODEV, NULL, NULL },
	{ "ibm-power730", NULL, 0, "1", "32@1" },
	{ "ibm-power730", "0", ERANGE, NULL, NULL },
	{ "ibm-power730", "0-1", ERANGE, NULL, NULL },
	{ "memoryless", NULL, 0, "0,2", "16@0 16@2" },
	{ "memoryless", "2", 0, "2", "16@2" },
	{ "memoryless", "1", ERANGE, NULL, NULL },
	{ "cxl", NULL, 0, "0-2", "48@0 48@1" },
	{ "cxl", "2", 0, "2", "" },
	{ "holes", NULL, 0, "0,8,252-255", "88@0 88@8" },
	{ "holes", "0-8", ERANGE, NULL, NULL },
	{ "offline", NULL, 0, "0-1,3", "12@0 16@1 15@3" },
	{ "offline", "2", ERANGE, NULL, NULL },
	{ "nodes-1024", NULL, 0, "0-1023", NULL },
	{ "nodes-1024", "1023", 0, "1023", "8@1023" },
};

START_TEST(from_nodes)
{
	struct nr_ctx *ctx = open_tree(lists[_i].tree);
	struct nr_binding *binding = (void *)1;
	struct messages m;
	unsigned int i;
	int rc;

	keep_messages(ctx, &m);
	rc = nr_binding_from_nodes(ctx, lists[_i].list, &binding);
	ck_assert_msg(rc == -lists[_i].err, "%s %s: %d %s", lists[_i].tree, lists[_i].list, rc,
		      m.text);
	if (rc) {
		ck_assert_ptr_null(binding);
		if (rc != -ENODEV)
			ck_assert_uint_eq(m.count, 1);
	} else {
		assert_set(binding->nodes, lists[_i].nodes);
		assert_set(binding->reachable, lists[_i].nodes);
		check_counts(binding, lists[_i].ncpus);
		for (i = 0; i < NR_MAX_NODES; i++)
			if (binding->ncpus[i])
				ck_assert_uint_eq(binding->ncpus[i], binding->node_cpus[i]);
	}
	nr_binding_free(binding);
	nr_close(ctx);
}
END_TEST

/* node_cpus is the host's, whatever the job has */
START_TEST(node_cpus)
{
	struct nr_ctx *ctx = open_tree("memoryless");
	struct nr_binding *binding;

	ck_assert_int_eq(nr_binding_from_cpus(ctx, "8", &binding), 0);
	ck_assert_uint_eq(binding->ncpus[0], 1);
	ck_assert_uint_eq(binding->node_cpus[0], 16); /* its own 8 and those of node 1 */
	ck_assert_uint_eq(binding->node_cpus[1], 0);
	ck_assert_uint_eq(binding->node_cpus[2], 16);
	ck_assert_uint_eq(binding->node_cpus[3], 0);
	nr_binding_free(binding);
	nr_close(ctx);

	ctx = open_tree("ibm-power730");
	ck_assert_int_eq(nr_binding_from_cpus(ctx, "0-3", &binding), 0);
	ck_assert_uint_eq(binding->ncpus[1], 4);
	ck_assert_uint_eq(binding->node_cpus[1], 32);
	nr_binding_free(binding);
	nr_close(ctx);
}
END_TEST

static const struct {
	const char *tree, *cpus, *limit;
	int err;
	const char *nodes;
} limits[] = {
	{ "eight-nodes", "0-63", "0", 0, "0" },
	{ "eight-nodes", "0-63", "1,3", 0, "1,3" },
	{ "eight-nodes", "0-63", "0-3", 0, "0-3" },
	{ "eight-nodes", "0-63", "3-4", ERANGE, "0-3" },
	{ "eight-nodes", "0-63", "7", ERANGE, "0-3" },
	{ "eight-nodes", "0-63", "1023", ERANGE, "0-3" },
	{ "hbm", "0-55", "2", 0, "2" },
	{ "hbm", "0-55", "0,2", 0, "0,2" },
	{ "hbm", "0-55", "3", ERANGE, "0" },
	{ "cxl", "0", "2", 0, "2" },
	{ "cxl", "48", "2", ERANGE, "1" },
	{ "holes", "88", "252-255", 0, "252-255" },
	{ "holes", "88", "0", ERANGE, "8" },
	{ "ibm-power730", "3", "1", 0, "1" },
	{ "ibm-power730", "3", "0", ERANGE, "1" },
	{ "nodes-1024", "8184-8191", "1023", 0, "1023" },
	{ "nodes-1024", "8184-8191", "1022-1023", ERANGE, "1023" },
};

START_TEST(limit)
{
	struct nr_ctx *ctx = open_tree(limits[_i].tree);
	struct bitmask *set = nr_set_new(NR_MAX_NODES);
	struct nr_binding *binding;

	ck_assert_int_eq(nr_binding_from_cpus(ctx, limits[_i].cpus, &binding), 0);
	ck_assert_int_eq(nr_set_parse(limits[_i].limit, set, NULL), 0);
	assert_err(nr_binding_limit(binding, set), limits[_i].err);
	assert_set(binding->nodes, limits[_i].nodes);
	nr_set_free(set);
	nr_binding_free(binding);
	nr_close(ctx);
}
END_TEST

/* A job on every other CPU of a big host: the list in /proc/PID/status is 20 kB long */
START_TEST(long_cpu_list)
{
	char *root = copy_tree("nodes-1024"), *status;
	struct bitmask *set = nr_set_new(NR_MAX_CPUS);
	static char list[65536];
	struct nr_binding *binding;
	struct nr_ctx *ctx = open_tree(root);
	unsigned int i;

	for (i = 0; i < NR_MAX_CPUS; i += 2)
		numa_bitmask_setbit(set, i);
	nr_set_format(set, list, sizeof(list));
	ck_assert_int_ge(
		asprintf(&status, "Cpus_allowed_list:\t%s\nMems_allowed_list:\t0-1023\n", list), 0);
	put(root, "proc/1/status", status);
	ck_assert_int_eq(nr_binding_from_pid(ctx, 1, &binding), 0);
	ck_assert(numa_bitmask_equal(set, binding->cpus));
	assert_set(binding->nodes, "0-1023");
	for (i = 0; i < NR_MAX_NODES; i++)
		ck_assert_uint_eq(binding->ncpus[i], 4);
	nr_binding_free(binding);
	free(status);
	nr_set_free(set);
	nr_close(ctx);
}
END_TEST

/* Files that are missing or odd */
START_TEST(without_mems_allowed)
{
	char *root = copy_tree("two-sockets");
	struct nr_ctx *ctx = open_tree(root);
	struct nr_binding *binding;

	put(root, "proc/200/status", "Name:\tx\nCpus_allowed_list:\t0-3\n");
	ck_assert_int_eq(nr_binding_from_pid(ctx, 200, &binding), 0);
	assert_set(binding->nodes, "0");
	nr_binding_free(binding);
	put(root, "proc/200/status", "Name:\tx\n");
	ck_assert_int_lt(nr_binding_from_pid(ctx, 200, &binding), 0);
	ck_assert_ptr_null(binding);
	put(root, "proc/200/status", "Cpus_allowed_list:\t0-\n");
	ck_assert_int_lt(nr_binding_from_pid(ctx, 200, &binding), 0);
	ck_assert_ptr_null(binding);
	nr_close(ctx);
}
END_TEST

START_TEST(without_has_memory)
{
	char *root = copy_tree("ibm-power730");
	struct nr_ctx *ctx = open_tree(root);
	struct nr_binding *binding;

	drop(root, NODE_DIR "has_memory");
	ck_assert_int_eq(nr_binding_from_cpus(ctx, "3", &binding), 0);
	assert_set(binding->nodes, "1");
	nr_binding_free(binding);
	nr_close(ctx);
}
END_TEST

START_TEST(without_distances)
{
	char *root = copy_tree("memoryless");
	struct nr_ctx *ctx = open_tree(root);
	struct nr_binding *binding;
	struct messages m;

	/* Unreadable or short: the lowest number, and CPUs with memory are not affected */
	put(root, NODE_DIR "node3/distance", "rubbish\n");
	ck_assert_int_eq(nr_binding_from_cpus(ctx, "24", &binding), 0);
	assert_set(binding->nodes, "0");
	nr_binding_free(binding);
	drop(root, NODE_DIR "node3/distance");
	keep_messages(ctx, &m);
	ck_assert_int_eq(nr_binding_from_cpus(ctx, "24", &binding), 0);
	assert_set(binding->nodes, "0");
	ck_assert_uint_ge(m.count, 1);
	nr_binding_free(binding);
	nr_close(ctx);
}
END_TEST

START_TEST(nothing_there)
{
	char *root = copy_tree("two-sockets");
	struct nr_ctx *ctx = open_tree(root);
	struct nr_binding *binding = (void *)1;
	struct messages m;

	keep_messages(ctx, &m);
	drop(root, NODE_DIR "online");
	assert_err(nr_binding_from_cpus(ctx, "0", &binding), ENOENT);
	ck_assert_ptr_null(binding);
	ck_assert_msg(strstr(m.text, "online"), "%s", m.text);
	put(root, NODE_DIR "online", "0-1\n");
	put(root, NODE_DIR "has_memory", "\n");
	assert_err(nr_binding_from_cpus(ctx, "0", &binding), ENODEV);
	assert_err(nr_binding_from_nodes(ctx, NULL, &binding), ENODEV);
	ck_assert_ptr_null(binding);
	nr_close(ctx);
}
END_TEST

START_TEST(cpuset_needs_the_running_system)
{
	struct nr_ctx *ctx = open_tree("two-sockets");
	struct nr_binding *binding = (void *)1;

	assert_err(nr_binding_from_cpuset(ctx, "/", &binding), EOPNOTSUPP);
	ck_assert_ptr_null(binding);
	nr_close(ctx);
}
END_TEST

/* On the running system: this process is somewhere */
START_TEST(this_process)
{
	struct nr_ctx *ctx;
	struct nr_binding *binding;

	if (access("/sys/devices/system/node/online", R_OK))
		return;
	ck_assert_int_eq(nr_open(&ctx, NULL), 0);
	ck_assert_int_eq(nr_binding_from_pid(ctx, 0, &binding), 0);
	ck_assert_uint_gt(numa_bitmask_weight(binding->nodes), 0);
	check_counts(binding, NULL);
	nr_binding_free(binding);
	assert_err(nr_binding_from_cpuset(ctx, "relative", &binding), EINVAL);
	assert_err(nr_binding_from_cpuset(ctx, "/../../etc", &binding), EINVAL);
	assert_err(nr_binding_from_cpuset(ctx, "/a/./b", &binding), EINVAL);
	assert_err(nr_binding_from_cpuset(ctx, "/no/such/cpuset", &binding), ENOENT);
	nr_close(ctx);
}
END_TEST

START_TEST(no_root)
{
	struct nr_ctx *ctx = (void *)1;

	assert_err(nr_open(&ctx, "/no/such/folder"), ENOENT);
	ck_assert_ptr_null(ctx);
	assert_err(nr_open(&ctx, "/etc/passwd"), ENOTDIR);
	ck_assert_ptr_null(ctx);
	nr_close(NULL);
	nr_binding_free(NULL);
}
END_TEST

Suite *suite(void)
{
	Suite *s = suite_create("binding");
	TCase *t = unit_case("binding");

	tcase_add_loop_test(t, bindings, 0, ARRAY_SIZE(good));
	tcase_add_loop_test(t, bad_bindings, 0, ARRAY_SIZE(bad));
	tcase_add_loop_test(t, from_nodes, 0, ARRAY_SIZE(lists));
	tcase_add_test(t, node_cpus);
	tcase_add_loop_test(t, limit, 0, ARRAY_SIZE(limits));
	tcase_add_test(t, long_cpu_list);
	tcase_add_test(t, without_mems_allowed);
	tcase_add_test(t, without_has_memory);
	tcase_add_test(t, without_distances);
	tcase_add_test(t, nothing_there);
	tcase_add_test(t, cpuset_needs_the_running_system);
	tcase_add_test(t, this_process);
	tcase_add_test(t, no_root);
	suite_add_tcase(s, t);
	return s;
}
