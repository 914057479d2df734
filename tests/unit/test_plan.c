// SPDX-License-Identifier: GPL-2.0-or-later
#include "unit.h"

static const char *const trees[] = { "one-node",   "two-sockets", "eight-nodes", "ibm-power730",
				     "memoryless", "cxl",	  "holes",	 "hbm",
				     "offline",	   "old-kernel",  "patched" };

/* A plan and what it was made from */
struct made {
	struct nr_spec *spec;
	struct nr_snapshot *snap;
	struct nr_binding *binding;
	struct nr_plan *plan;
};

/* @cpus: NULL for each NUMA node that has memory. spec->nodes limits, as nr_run() does. */
static struct made make(const char *root, const char *cpus, const char *spec, uint64_t given)
{
	struct nr_ctx *ctx = open_tree(root);
	struct made m;

	m.spec = spec_of(spec);
	m.snap = snapshot_of(root);
	ck_assert_int_eq(cpus ? nr_binding_from_cpus(ctx, cpus, &m.binding)
			      : nr_binding_from_nodes(ctx, NULL, &m.binding),
			 0);
	if (m.spec->nodes)
		ck_assert_int_eq(nr_binding_limit(m.binding, m.spec->nodes), 0);
	ck_assert_int_eq(nr_plan_make(m.spec, m.snap, m.binding, given, &m.plan), 0);
	nr_close(ctx);
	return m;
}

static void unmake(struct made *m)
{
	nr_plan_free(m->plan);
	nr_binding_free(m->binding);
	nr_snapshot_free(m->snap);
	nr_spec_free(m->spec);
}

static const struct nr_plan_node *at(const struct made *m, int nid)
{
	size_t i;

	for (i = 0; i < nr_plan_count(m->plan); i++)
		if (nr_plan_at(m->plan, i)->nid == nid)
			return nr_plan_at(m->plan, i);
	ck_abort_msg("NUMA node %d is not in the plan", nid);
	return NULL;
}

static uint64_t sum_of_needs(const struct made *m)
{
	uint64_t sum = 0;
	size_t i;

	for (i = 0; i < nr_plan_count(m->plan); i++)
		sum += nr_plan_at(m->plan, i)->need;
	return sum;
}

/* The file LRUs less what is dirty and what of the mapped pages cannot be shmem */
static uint64_t clean_at_most(const struct made *m, int nid)
{
	uint64_t file = value_of(m->snap, nid, NR_ACTIVE_FILE) +
			value_of(m->snap, nid, NR_INACTIVE_FILE);
	uint64_t mapped = value_of(m->snap, nid, NR_MAPPED);
	uint64_t shmem = value_of(m->snap, nid, NR_SHMEM);
	uint64_t busy = value_of(m->snap, nid, NR_DIRTY_PAGES) +
			value_of(m->snap, nid, NR_WRITEBACK) +
			(mapped > shmem ? mapped - shmem : 0);

	return file > busy ? file - busy : 0;
}

/* What is allocatable after @freed bytes, which go to the zones as their cache does */
static uint64_t after(const struct made *m, const struct nr_plan_node *p, uint64_t freed)
{
	const struct nr_node *node = nr_snapshot_find(m->snap, p->nid);
	uint64_t now = value_of(m->snap, p->nid, NR_ALLOCATABLE), file = 0, sum = 0;
	size_t i;

	for (i = 0; i < node->nzones; i++)
		file += node->zones[i].file;
	for (i = 0; i < node->nzones; i++) {
		const struct nr_zone *z = &node->zones[i];
		double have = (double)z->free;

		if (file)
			have += (double)freed * (double)z->file / (double)file;
		have -= (double)(z->low + z->reserve);
		sum += have > 0 ? (uint64_t)have : 0;
	}
	return sum + (p->allocatable - now); /* per-CPU lists */
}

/* What holds for every NUMA node of every plan but that of "all" */
static void check_node(const struct made *m, const struct nr_plan_node *p)
{
	uint64_t shortfall = p->need > p->allocatable ? p->need - p->allocatable : 0;

	ck_assert_uint_eq(p->clean, value_of(m->snap, p->nid, NR_CLEAN));
	ck_assert_uint_ge(p->to_try, p->to_free);
	ck_assert_uint_le(p->to_try, clean_at_most(m, p->nid));
	ck_assert_uint_ge(p->allocatable, value_of(m->snap, p->nid, NR_ALLOCATABLE));
	ck_assert_uint_le(p->allocatable, value_of(m->snap, p->nid, NR_ALLOCATABLE) +
						  value_of(m->snap, p->nid, NR_PER_CPU));
	ck_assert_uint_le(p->to_free, p->clean);
	switch (p->verdict) {
	case NR_VERDICT_MET:
		ck_assert_uint_eq(shortfall, 0);
		ck_assert_uint_eq(p->to_free, 0);
		ck_assert_uint_eq(p->missing, 0);
		break;
	case NR_VERDICT_FREE:
		ck_assert_uint_gt(shortfall, 0);
		ck_assert_uint_ge(p->to_free, shortfall);
		ck_assert_uint_eq(p->missing, 0);
		/* Enough, and a percent less would not be */
		ck_assert_uint_ge(after(m, p, p->to_free) + KB(1), p->need);
		ck_assert_uint_le(after(m, p, p->to_free - p->to_free / 100), p->need + KB(1));
		break;
	case NR_VERDICT_SHORT:
		ck_assert_uint_eq(p->to_free, p->clean);
		ck_assert_uint_gt(p->missing, 0);
		ck_assert_uint_le(p->missing, p->need - after(m, p, p->clean) + KB(1));
		ck_assert_uint_ge(p->missing + KB(1), p->need - after(m, p, p->clean));
		break;
	default:
		ck_abort_msg("verdict %d", p->verdict);
	}
}

START_TEST(verdicts)
{
	struct made m = make("eight-nodes", NULL, "10G", 0);

	ck_assert_uint_eq(nr_plan_count(m.plan), 8);
	for (int nid = 0; nid < 8; nid++) {
		ck_assert_int_eq(nr_plan_at(m.plan, (size_t)nid)->nid, nid);
		ck_assert_uint_eq(at(&m, nid)->need, GB(10));
		check_node(&m, at(&m, nid));
	}
	ck_assert_ptr_null(nr_plan_at(m.plan, 8));
	ck_assert_int_eq(at(&m, 0)->verdict, NR_VERDICT_FREE);	/* full of clean cache */
	ck_assert_int_eq(at(&m, 2)->verdict, NR_VERDICT_MET);	/* half full */
	ck_assert_int_eq(at(&m, 3)->verdict, NR_VERDICT_SHORT); /* anonymous memory */
	ck_assert_int_eq(at(&m, 4)->verdict, NR_VERDICT_FREE);	/* half of the cache is dirty */
	ck_assert_int_eq(at(&m, 7)->verdict, NR_VERDICT_MET);	/* idle */
	unmake(&m);

	m = make("eight-nodes", NULL, "30G", 0);
	ck_assert_int_eq(at(&m, 0)->verdict, NR_VERDICT_FREE);
	ck_assert_int_eq(at(&m, 4)->verdict, NR_VERDICT_SHORT); /* dirty pages are in the way */
	unmake(&m);
}
END_TEST

/* Any need on any host: the plan is neither too much nor too little */
START_TEST(any_need)
{
	static const char *const needs[] = { "1K",  "4K",  "100K", "1M",  "300M", "900M",
					     "1G",  "2G",  "3G",   "7G",  "16G",  "31G",
					     "64G", "95G", "200G", "1T",  "1%",	  "10%",
					     "33%", "50%", "90%",  "99%", "100%" };
	struct made m;
	size_t i, k;

	for (i = 0; i < ARRAY_SIZE(needs); i++) {
		m = make(trees[_i], NULL, needs[i], 0);
		ck_assert_uint_gt(nr_plan_count(m.plan), 0);
		for (k = 0; k < nr_plan_count(m.plan); k++)
			check_node(&m, nr_plan_at(m.plan, k));
		unmake(&m);
	}
}
END_TEST

/* MemFree is not what can be allocated: watermarks and reserves are not for the job */
START_TEST(above_watermarks)
{
	struct made m = make("two-sockets", "0", "1154M", 0); /* MemFree is 1154.03 MB */

	ck_assert_uint_gt(value_of(m.snap, 0, NR_FREE), at(&m, 0)->need);
	ck_assert_int_eq(at(&m, 0)->verdict, NR_VERDICT_FREE);
	unmake(&m);
}
END_TEST

START_TEST(percent)
{
	struct made m = make("two-sockets", NULL, "50%", 0);

	ck_assert_uint_eq(at(&m, 0)->need, KB(98481152) / 2);
	ck_assert_uint_eq(at(&m, 1)->need, MB(96768) / 2);
	unmake(&m);
	m = make("ibm-power730", "3", "100%", 0);
	ck_assert_uint_eq(nr_plan_count(m.plan), 1);
	ck_assert_uint_eq(at(&m, 1)->need, MB(12288));
	ck_assert_int_eq(at(&m, 1)->verdict, NR_VERDICT_SHORT);
	unmake(&m);
}
END_TEST

START_TEST(all)
{
	struct made m = make(trees[_i], NULL, "all", 0);
	const struct nr_plan_node *p;
	size_t i;

	for (i = 0; i < nr_plan_count(m.plan); i++) {
		p = nr_plan_at(m.plan, i);
		ck_assert_int_eq(p->verdict, p->clean ? NR_VERDICT_FREE : NR_VERDICT_MET);
		ck_assert_uint_eq(p->to_free, p->clean);
		ck_assert_uint_eq(p->clean, value_of(m.snap, p->nid, NR_CLEAN));
		ck_assert_uint_eq(p->to_try, clean_at_most(&m, p->nid));
		ck_assert_uint_eq(p->need, value_of(m.snap, p->nid, NR_ALLOCATABLE) + p->clean);
		ck_assert_uint_eq(p->missing, 0);
	}
	unmake(&m);
}
END_TEST

/* auto: what the job was given, split by its CPUs on each NUMA node */
static const struct {
	const char *tree, *cpus;
	uint64_t given_mb;
	int nid[2];
	uint64_t need_mb[2];
} splits[] = {
	{ "two-sockets", "0-3", 8192, { 0, -1 }, { 8192 } },
	{ "two-sockets", "0,16", 8192, { 0, 1 }, { 4096, 4096 } },
	{ "two-sockets", "0-2,16", 8192, { 0, 1 }, { 6144, 2048 } },
	{ "eight-nodes", "0-11,16-19", 16384, { 0, 1 }, { 12288, 4096 } },
	{ "eight-nodes", "12-16", 10240, { 0, 1 }, { 8192, 2048 } },
	{ "eight-nodes", "0-255", 262144, { 0, 7 }, { 32768, 32768 } },
	/* CPUs of NUMA nodes without memory count where they are served */
	{ "ibm-power730", "3", 2048, { 1, -1 }, { 2048 } },
	{ "memoryless", "8-15,16-17", 10240, { 0, 2 }, { 8192, 2048 } },
	{ "memoryless", "0,8,24", 3072, { 0, 2 }, { 2048, 1024 } },
	{ "holes", "0,88", 4096, { 0, 8 }, { 2048, 2048 } },
	{ "offline", "12,16", 4096, { 0, 1 }, { 2048, 2048 } },
	{ "nodes-1024", "0-8191", 1048576, { 0, 1023 }, { 1024, 1024 } },
};

START_TEST(auto_given)
{
	struct made m = make(splits[_i].tree, splits[_i].cpus, NULL, MB(splits[_i].given_mb));

	for (int i = 0; i < 2 && splits[_i].nid[i] >= 0; i++)
		ck_assert_uint_eq(at(&m, splits[_i].nid[i])->need, MB(splits[_i].need_mb[i]));
	ck_assert_uint_le(sum_of_needs(&m), MB(splits[_i].given_mb));
	ck_assert_uint_ge(sum_of_needs(&m), MB(splits[_i].given_mb) - nr_plan_count(m.plan));
	unmake(&m);
}
END_TEST

/* Less than a byte for each CPU, all there is, and more than there is */
START_TEST(auto_given_extremes)
{
	struct made m = make("two-sockets", "0-31", NULL, 1);

	for (size_t i = 0; i < nr_plan_count(m.plan); i++)
		ck_assert_int_eq(nr_plan_at(m.plan, i)->verdict, NR_VERDICT_MET);
	unmake(&m);
	/* Slurm gives a job that names none all of RealMemory: more than can be free is no promise
	 */
	m = make("two-sockets", "0-31", NULL, UINT64_MAX);
	for (size_t i = 0; i < nr_plan_count(m.plan); i++) {
		const struct nr_plan_node *p = nr_plan_at(m.plan, i);
		uint64_t total = value_of(m.snap, p->nid, NR_TOTAL);

		check_node(&m, p);
		ck_assert_uint_le(p->need, total);
		ck_assert_uint_ge(p->need, total / 100 * 90);
	}
	unmake(&m);
}
END_TEST

/* nodes= a CPU-less NUMA node: the memory that the job was given is wanted there */
START_TEST(auto_given_without_cpus)
{
	struct made m = make("hbm", "0-55", "auto,nodes=2", GB(50));

	ck_assert_uint_eq(nr_plan_count(m.plan), 1);
	ck_assert_uint_eq(at(&m, 2)->need, GB(50));
	unmake(&m);
	m = make("hbm", "0,56", "auto,nodes=2-3", GB(50));
	ck_assert_uint_eq(at(&m, 2)->need, GB(25));
	ck_assert_uint_eq(at(&m, 3)->need, GB(25));
	unmake(&m);
}
END_TEST

/* auto without a limit: the job's share of the CPUs is its share of the memory */
START_TEST(auto_share)
{
	uint64_t whole, total;
	struct made m = make("two-sockets", "0-63", NULL, 0);

	whole = at(&m, 1)->need;
	total = value_of(m.snap, 1, NR_TOTAL);
	ck_assert_uint_le(whole, total);
	ck_assert_uint_ge(whole, total / 100 * 90);
	check_node(&m, at(&m, 0));
	check_node(&m, at(&m, 1));
	unmake(&m);

	m = make("two-sockets", "16-31", NULL, 0); /* half of the CPUs of node 1 */
	ck_assert_uint_eq(nr_plan_count(m.plan), 1);
	ck_assert_uint_eq(at(&m, 1)->need, whole / 2);
	unmake(&m);

	m = make("two-sockets", "16", NULL, 0);
	ck_assert_uint_eq(at(&m, 1)->need, whole / 32);
	unmake(&m);

	/* 16 CPUs are served by node 0 of this one, half of them from elsewhere */
	m = make("memoryless", "0-15", NULL, 0);
	whole = at(&m, 0)->need;
	unmake(&m);
	m = make("memoryless", "8", NULL, 0);
	ck_assert_uint_eq(at(&m, 0)->need, whole / 16);
	unmake(&m);

	m = make("ibm-power730", "0-7", NULL, 0);
	ck_assert_uint_le(at(&m, 1)->need, MB(12288) / 4);
	ck_assert_uint_ge(at(&m, 1)->need, MB(12288) / 4 / 100 * 90);
	unmake(&m);

	/* An idle NUMA node can give a whole host's job what it wants */
	m = make("eight-nodes", "112-127,240-255", NULL, 0);
	check_node(&m, at(&m, 7));
	ck_assert_int_ne(at(&m, 7)->verdict, NR_VERDICT_SHORT);
	unmake(&m);

	/* CPU-less: a NUMA node that all CPUs share */
	m = make("cxl", "0-47", "auto,nodes=2", 0);
	ck_assert_uint_le(at(&m, 2)->need, MB(262144) / 2);
	ck_assert_uint_ge(at(&m, 2)->need, MB(262144) / 2 / 100 * 90);
	unmake(&m);
}
END_TEST

/* What the kernel does not say is not guessed */
START_TEST(unknown)
{
	char *root = copy_tree("two-sockets");
	struct made m;

	put_line(root, "sys/devices/system/node/node1/meminfo", "Node 1 Mapped:", NULL);
	m = make(root, NULL, "2G", 0);
	check_node(&m, at(&m, 0));
	ck_assert_int_eq(at(&m, 1)->verdict, NR_VERDICT_UNKNOWN);
	ck_assert_uint_eq(at(&m, 1)->to_free, 0);
	unmake(&m);
	drop(root, "proc/zoneinfo");
	m = make(root, NULL, "2G", 0);
	ck_assert_int_eq(at(&m, 0)->verdict, NR_VERDICT_UNKNOWN);
	ck_assert_uint_eq(at(&m, 0)->to_free, 0);
	unmake(&m);
}
END_TEST

/* Mapped shmem, as of a job's shared segments, does not hide clean cache */
START_TEST(mapped_shmem)
{
	const char *meminfo = "sys/devices/system/node/node1/meminfo";
	char *root = copy_tree("two-sockets");
	struct made m;
	uint64_t clean;

	put_line(root, meminfo, "Node 1 Mapped:", "Node 1 Mapped: 0 kB");
	put_line(root, meminfo, "Node 1 Shmem:", "Node 1 Shmem: 0 kB");
	m = make(root, NULL, "all", 0);
	clean = at(&m, 1)->clean;
	ck_assert_uint_gt(clean, GB(1));
	ck_assert_uint_eq(at(&m, 1)->to_try, clean);
	unmake(&m);
	put_line(root, meminfo, "Node 1 Mapped:", "Node 1 Mapped: 1048576000 kB");
	m = make(root, NULL, "all", 0);
	ck_assert_uint_eq(at(&m, 1)->to_try, 0);
	unmake(&m);
	/* It may be all of what is mapped: promised is nothing, and yet it is tried */
	put_line(root, meminfo, "Node 1 Shmem:", "Node 1 Shmem: 1048576000 kB");
	m = make(root, NULL, "all", 0);
	ck_assert_uint_eq(at(&m, 1)->to_free, 0);
	ck_assert_uint_eq(at(&m, 1)->to_try, clean);
	unmake(&m);
	m = make(root, NULL, "8000T", 0);
	ck_assert_int_eq(at(&m, 1)->verdict, NR_VERDICT_SHORT);
	ck_assert_uint_eq(at(&m, 1)->to_free, 0);
	ck_assert_uint_eq(at(&m, 1)->to_try, clean);
	unmake(&m);
}
END_TEST

START_TEST(huge_numbers)
{
	char *root = copy_tree("two-sockets");
	struct made m = make(root, NULL, "8388607T", 0);

	check_node(&m, at(&m, 0));
	ck_assert_int_eq(at(&m, 0)->verdict, NR_VERDICT_SHORT);
	unmake(&m);
	put_line(root, "sys/devices/system/node/node0/meminfo",
		 "Node 0 MemTotal:", "Node 0 MemTotal: 18014398509481983 kB");
	m = make(root, NULL, "100%", 0);
	ck_assert_int_ne(at(&m, 0)->verdict, NR_VERDICT_MET);
	ck_assert_uint_le(at(&m, 0)->to_free, at(&m, 0)->clean);
	check_node(&m, at(&m, 1));
	unmake(&m);
	/* Watermarks above all memory: nothing is allocatable */
	put(root, "proc/zoneinfo",
	    "Node 0, zone   Normal\n  pages free     100\n        min      4503599627370495\n"
	    "        low      4503599627370495\n        high     4503599627370495\n"
	    "        present  24617000\n        managed  24617000\n        protection: (0, 0, 0, 0, 0)\n");
	m = make(root, NULL, "1G", 0);
	ck_assert_uint_eq(at(&m, 0)->allocatable, 0);
	ck_assert_int_ne(at(&m, 0)->verdict, NR_VERDICT_MET);
	unmake(&m);
}
END_TEST

/* A NUMA node of the job that is gone is not in the plan */
START_TEST(node_gone)
{
	char *root = copy_tree("eight-nodes");
	struct nr_binding *binding = binding_of(root, NULL);
	struct nr_spec *spec = spec_of("1G");
	struct nr_snapshot *snap;
	struct nr_plan *plan;

	drop(root, "sys/devices/system/node/node5");
	snap = snapshot_of(root);
	ck_assert_int_eq(nr_plan_make(spec, snap, binding, 0, &plan), 0);
	ck_assert_uint_eq(nr_plan_count(plan), 7);
	ck_assert_int_eq(nr_plan_at(plan, 5)->nid, 6);
	nr_plan_free(plan);
	nr_plan_free(NULL);
	nr_snapshot_free(snap);
	nr_spec_free(spec);
	nr_binding_free(binding);
}
END_TEST

/* A CPU's own list of free pages counts up to its share of the need, others' lists do not */
START_TEST(per_cpu_lists)
{
	struct made m = make("eight-nodes", "17", "1G", 0);
	uint64_t base = value_of(m.snap, 1, NR_ALLOCATABLE);

	ck_assert_uint_eq(at(&m, 1)->allocatable, base + (17 * 29 + 1) % 378 * 4096);
	unmake(&m);
	m = make("eight-nodes", "17", "64K", 0);
	ck_assert_uint_eq(at(&m, 1)->allocatable, base + KB(64));
	unmake(&m);
	m = make("eight-nodes", "17-18", "64K", 0);
	ck_assert_uint_eq(at(&m, 1)->allocatable, base + KB(64));
	unmake(&m);
}
END_TEST

START_TEST(thousand)
{
	struct made m = make("nodes-1024", NULL, "1G", 0);
	size_t i;

	ck_assert_uint_eq(nr_plan_count(m.plan), 1024);
	for (i = 0; i < 1024; i++) {
		ck_assert_int_eq(nr_plan_at(m.plan, i)->nid, (int)i);
		check_node(&m, nr_plan_at(m.plan, i));
	}
	ck_assert_int_eq(at(&m, 4)->verdict, NR_VERDICT_FREE);
	ck_assert_int_eq(at(&m, 6)->verdict, NR_VERDICT_MET);
	ck_assert_int_eq(at(&m, 7)->verdict, NR_VERDICT_SHORT);
	unmake(&m);
}
END_TEST

Suite *suite(void)
{
	Suite *s = suite_create("plan");
	TCase *t = unit_case("plan");

	tcase_add_test(t, verdicts);
	tcase_add_loop_test(t, any_need, 0, ARRAY_SIZE(trees));
	tcase_add_test(t, above_watermarks);
	tcase_add_test(t, percent);
	tcase_add_loop_test(t, all, 0, ARRAY_SIZE(trees));
	tcase_add_loop_test(t, auto_given, 0, ARRAY_SIZE(splits));
	tcase_add_test(t, auto_given_extremes);
	tcase_add_test(t, auto_given_without_cpus);
	tcase_add_test(t, auto_share);
	tcase_add_test(t, unknown);
	tcase_add_test(t, mapped_shmem);
	tcase_add_test(t, huge_numbers);
	tcase_add_test(t, node_gone);
	tcase_add_test(t, per_cpu_lists);
	tcase_add_test(t, thousand);
	suite_add_tcase(s, t);
	return s;
}
