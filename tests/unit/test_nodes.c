// SPDX-License-Identifier: GPL-2.0-or-later
#include "unit.h"

#include <sys/stat.h>
#include <unistd.h>

#define NODE_DIR "sys/devices/system/node/"

static const char *const trees[] = { "one-node",   "two-sockets", "eight-nodes", "ibm-power730",
				     "memoryless", "cxl",	  "holes",	 "hbm",
				     "offline",	   "old-kernel",  "patched",	 "nodes-1024" };

static uint64_t or_zero(const struct nr_node *node, enum nr_counter counter)
{
	uint64_t v;

	nr_node_get(node, counter, &v);
	return v;
}

/* Every number that the kernel prints for one NUMA node, and what follows from them */
START_TEST(counters)
{
	static const struct {
		enum nr_counter counter;
		uint64_t kb;
	} want[] = {
		{ NR_TOTAL, 98481152 },
		{ NR_FREE, 1181728 },
		{ NR_FILE, 89716368 },
		{ NR_ACTIVE_FILE, 26737644 },
		{ NR_INACTIVE_FILE, 62387840 },
		{ NR_ACTIVE_ANON, 689368 },
		{ NR_INACTIVE_ANON, 2757488 },
		{ NR_UNEVICTABLE, 196960 },
		{ NR_MLOCKED, 196960 },
		{ NR_DIRTY_PAGES, 295440 },
		{ NR_WRITEBACK, 98480 },
		{ NR_MAPPED, 1378732 },
		{ NR_ANON, 3052932 },
		{ NR_SHMEM, 590884 },
		{ NR_KERNEL_STACK, 98480 },
		{ NR_PAGE_TABLES, 196960 },
		{ NR_SLAB_RECLAIMABLE, 2363544 },
		{ NR_SLAB_UNRECLAIMABLE, 1083292 },
		{ NR_SWAP_CACHED, 0 },
		{ NR_ANON_HUGE, 0 },
		{ NR_HUGE_TOTAL, 0 },
		{ NR_HUGE_FREE, 0 },
		/* 26737644 + 62387840 - 1378732 - 295440 - 98480 */
		{ NR_CLEAN, 87352832 },
		/* The 15 MB and 1,950 MB zones are all reserve: (285679 - 35116) pages of 4 kB */
		{ NR_ALLOCATABLE, 1002252 },
		/* 5939 pages in DMA32 and Normal each */
		{ NR_PER_CPU, 47512 },
		{ NR_UNACCOUNTED, 787848 - 47512 },
	};
	struct nr_snapshot *snap = snapshot_of("two-sockets");
	size_t i;

	for (i = 0; i < ARRAY_SIZE(want); i++)
		ck_assert_msg(value_of(snap, 0, want[i].counter) == KB(want[i].kb), "%s: %ju kB",
			      nr_counter_name(want[i].counter),
			      (uintmax_t)value_of(snap, 0, want[i].counter) / 1024);
	nr_snapshot_free(snap);
}
END_TEST

START_TEST(zones)
{
	struct nr_snapshot *snap = snapshot_of("two-sockets");
	const struct nr_node *node = nr_snapshot_find(snap, 0);

	ck_assert_uint_eq(node->nzones, 3); /* not the two that are empty */
	ck_assert_str_eq(node->zones[0].name, "DMA");
	ck_assert_str_eq(node->zones[1].name, "DMA32");
	ck_assert_str_eq(node->zones[2].name, "Normal");
	ck_assert_uint_eq(node->zones[0].free, 3840 * 4096);
	ck_assert_uint_eq(node->zones[0].reserve, 96158 * UINT64_C(4096));
	ck_assert_uint_eq(node->zones[1].reserve, 94208 * UINT64_C(4096));
	ck_assert_uint_eq(node->zones[2].free, 285679 * UINT64_C(4096));
	ck_assert_uint_eq(node->zones[2].min, 10999 * UINT64_C(4096));
	ck_assert_uint_eq(node->zones[2].low, 35116 * UINT64_C(4096));
	ck_assert_uint_eq(node->zones[2].high, 59233 * UINT64_C(4096));
	ck_assert_uint_eq(node->zones[2].reserve, 0);
	ck_assert_uint_eq(node->zones[2].present, 24494080 * UINT64_C(4096));
	ck_assert_uint_eq(node->zones[2].managed, 24117248 * UINT64_C(4096));
	ck_assert_uint_eq(node->zones[2].file, (15280668 + 6548858) * UINT64_C(4096));
	node = nr_snapshot_find(snap, 1);
	ck_assert_uint_eq(node->nzones, 1);
	ck_assert_str_eq(node->zones[0].name, "Normal");
	nr_snapshot_free(snap);
}
END_TEST

/* In all trees: zones and classes add up, order and numbers are right */
START_TEST(consistent)
{
	struct nr_snapshot *snap = snapshot_of(trees[_i]);
	const struct nr_node *node;
	uint64_t managed, free, file;
	size_t i, z;
	int last = -1;

	for (i = 0; i < nr_snapshot_count(snap); i++) {
		node = nr_snapshot_at(snap, i);
		ck_assert_int_gt(node->nid, last);
		last = node->nid;
		ck_assert_ptr_eq(nr_snapshot_find(snap, node->nid), node);
		ck_assert_int_eq(node->has_memory, or_zero(node, NR_TOTAL) > 0);
		managed = free = file = 0;
		for (z = 0; z < node->nzones; z++) {
			const struct nr_zone *zone = &node->zones[z];

			managed += zone->managed;
			free += zone->free;
			file += zone->file;
			ck_assert_uint_le(zone->min, zone->low);
			ck_assert_uint_le(zone->low, zone->high);
			ck_assert_uint_ge(zone->free, zone->min);
			ck_assert_uint_ge(zone->present, zone->managed);
		}
		ck_assert_msg(managed == or_zero(node, NR_TOTAL),
			      "%s node %d: zones have %ju of %ju kB", trees[_i], node->nid,
			      (uintmax_t)managed / 1024, (uintmax_t)or_zero(node, NR_TOTAL) / 1024);
		if (_i) { /* the recorded tree was read file by file while it ran */
			ck_assert_uint_eq(free, or_zero(node, NR_FREE));
			ck_assert_uint_eq(file, or_zero(node, NR_ACTIVE_FILE) +
							or_zero(node, NR_INACTIVE_FILE));
			ck_assert_uint_ge(or_zero(node, NR_UNACCOUNTED) + or_zero(node, NR_PER_CPU),
					  or_zero(node, NR_TOTAL) / 1000);
		}
		ck_assert_uint_le(or_zero(node, NR_ALLOCATABLE), or_zero(node, NR_FREE));
		ck_assert_uint_le(or_zero(node, NR_CLEAN), or_zero(node, NR_FILE));
		ck_assert_uint_le(or_zero(node, NR_HUGE_FREE), or_zero(node, NR_HUGE_TOTAL));
	}
	nr_snapshot_free(snap);
}
END_TEST

START_TEST(numbering)
{
	static const struct {
		const char *tree;
		size_t count;
		int present, absent;
		unsigned int ncpus;
	} want[] = {
		{ "one-node", 1, 0, 1, 2 },
		{ "two-sockets", 2, 1, 2, 32 },
		{ "eight-nodes", 8, 7, 8, 32 },
		{ "ibm-power730", 2, 0, 2, 32 },
		{ "memoryless", 4, 1, 4, 8 },
		{ "cxl", 3, 2, 3, 0 },
		{ "holes", 6, 252, 1, 0 },
		{ "holes", 6, 8, 9, 88 },
		{ "offline", 3, 3, 2, 15 },
		{ "offline", 3, 0, 2, 12 },
		{ "nodes-1024", 1024, 1023, 1024, 8 },
	};
	struct nr_snapshot *snap;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(want); i++) {
		snap = snapshot_of(want[i].tree);
		ck_assert_uint_eq(nr_snapshot_count(snap), want[i].count);
		ck_assert_ptr_nonnull(nr_snapshot_find(snap, want[i].present));
		ck_assert_uint_eq(nr_snapshot_find(snap, want[i].present)->ncpus, want[i].ncpus);
		ck_assert_ptr_null(nr_snapshot_find(snap, want[i].absent));
		ck_assert_ptr_null(nr_snapshot_find(snap, -1));
		ck_assert_ptr_null(nr_snapshot_at(snap, want[i].count));
		nr_snapshot_free(snap);
	}
}
END_TEST

/* POWER has pages of 64 kB: what zoneinfo counts in pages fits to what meminfo says in kB */
START_TEST(pages_of_64_kb)
{
	struct nr_snapshot *snap = snapshot_of("ibm-power730");
	const struct nr_node *node = nr_snapshot_find(snap, 1);

	ck_assert_uint_eq(node->nzones, 1);
	ck_assert_str_eq(node->zones[0].name, "DMA");
	ck_assert_uint_eq(node->zones[0].managed, MB(12288));
	ck_assert_uint_eq(node->zones[0].low, 3520 * KB(64));
	ck_assert_uint_eq(value_of(snap, 1, NR_ALLOCATABLE),
			  value_of(snap, 1, NR_FREE) - 3520 * KB(64));
	ck_assert_uint_eq(nr_snapshot_find(snap, 0)->nzones, 0);
	ck_assert(!nr_snapshot_find(snap, 0)->has_memory);
	nr_snapshot_free(snap);

	snap = snapshot_of("holes");
	node = nr_snapshot_find(snap, 252);
	ck_assert_str_eq(node->zones[0].name, "Movable");
	ck_assert_uint_eq(node->zones[0].managed, MB(16128));
	nr_snapshot_free(snap);
}
END_TEST

START_TEST(movable_only)
{
	struct nr_snapshot *snap = snapshot_of("cxl");
	const struct nr_node *node = nr_snapshot_find(snap, 2);

	ck_assert(node->has_memory);
	ck_assert_uint_eq(node->nzones, 1);
	ck_assert_str_eq(node->zones[0].name, "Movable");
	ck_assert_uint_eq(value_of(snap, 2, NR_FREE_BLOCKS), 7537152 * UINT64_C(4096));
	ck_assert(nr_snapshot_host(snap)->demotion);
	nr_snapshot_free(snap);
}
END_TEST

START_TEST(huge_pages)
{
	struct nr_snapshot *snap = snapshot_of("eight-nodes");
	char *root;

	ck_assert_uint_eq(value_of(snap, 6, NR_HUGE_TOTAL), MB(2) * 16128);
	ck_assert_uint_eq(value_of(snap, 6, NR_HUGE_FREE), MB(2) * 12966);
	ck_assert_uint_eq(value_of(snap, 5, NR_HUGE_TOTAL), 0);
	nr_snapshot_free(snap);

	/* All sizes count, and what is no number does not */
	root = copy_tree("two-sockets");
	put(root, NODE_DIR "node0/hugepages/hugepages-2048kB/nr_hugepages", "100\n");
	put(root, NODE_DIR "node0/hugepages/hugepages-2048kB/free_hugepages", "60\n");
	put(root, NODE_DIR "node0/hugepages/hugepages-1048576kB/nr_hugepages", "3\n");
	put(root, NODE_DIR "node0/hugepages/hugepages-1048576kB/free_hugepages", "what\n");
	snap = snapshot_of(root);
	ck_assert_uint_eq(value_of(snap, 0, NR_HUGE_TOTAL), MB(200) + GB(3));
	ck_assert_uint_eq(value_of(snap, 0, NR_HUGE_FREE), MB(120));
	nr_snapshot_free(snap);
}
END_TEST

/* What a kernel does not have is absent, and 0 only in the value */
START_TEST(absent_names)
{
	static const enum nr_counter gone[] = { NR_SWAP_CACHED, NR_FREE_BLOCKS };
	struct nr_snapshot *snap = snapshot_of("old-kernel");
	const struct nr_node *node = nr_snapshot_find(snap, 1);
	uint64_t v;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(gone); i++) {
		v = 4711;
		ck_assert_msg(!nr_node_get(node, gone[i], &v), "%s", nr_counter_name(gone[i]));
		ck_assert_uint_eq(v, 0);
	}
	ck_assert(!node->have_reclaim && !node->have_demoted && !node->have_swapped);
	value_of(snap, 1, NR_CLEAN);
	value_of(snap, 1, NR_ALLOCATABLE);
	ck_assert(!nr_node_get(node, NR_COUNTERS, &v));
	ck_assert(!nr_node_get(node, -1, &v));
	nr_snapshot_free(snap);

	/* 6.12: SwapCached, but no free blocks; 6.18: both */
	snap = snapshot_of("two-sockets");
	ck_assert(!nr_node_get(nr_snapshot_find(snap, 0), NR_FREE_BLOCKS, &v));
	value_of(snap, 0, NR_SWAP_CACHED);
	nr_snapshot_free(snap);
	snap = snapshot_of("one-node");
	ck_assert_uint_eq(value_of(snap, 0, NR_FREE_BLOCKS),
			  (3584 + 761344 + 932864) * UINT64_C(4096));
	nr_snapshot_free(snap);
}
END_TEST

/* Lines that derived values need, taken away */
static const struct {
	const char *label;
	enum nr_counter counter;
	bool clean_goes;
} taken[] = {
	{ "Active(file)", NR_ACTIVE_FILE, true },
	{ "Inactive(file)", NR_INACTIVE_FILE, true },
	{ "Mapped", NR_MAPPED, true },
	{ "Dirty", NR_DIRTY_PAGES, true },
	{ "Shmem", NR_SHMEM, false },
	{ "Mlocked", NR_MLOCKED, false },
	{ "AnonPages", NR_ANON, false },
	{ "PageTables", NR_PAGE_TABLES, false },
	{ "MemFree", NR_FREE, false },
};

START_TEST(missing_lines)
{
	char *root = copy_tree("two-sockets"), start[64];
	const struct nr_node *node;
	struct nr_snapshot *snap;
	uint64_t v;

	snprintf(start, sizeof(start), "Node 0 %s:", taken[_i].label);
	put_line(root, NODE_DIR "node0/meminfo", start, NULL);
	snap = snapshot_of(root);
	node = nr_snapshot_find(snap, 0);
	ck_assert(!nr_node_get(node, taken[_i].counter, &v));
	ck_assert_int_eq(nr_node_get(node, NR_CLEAN, &v), !taken[_i].clean_goes);
	ck_assert(nr_node_get(nr_snapshot_find(snap, 1), taken[_i].counter, &v));
	nr_snapshot_free(snap);
}
END_TEST

static const char *const zoneinfos[] = { NULL, "", "rubbish\n", "Node 0, zone\n",
					 "Node 99999999999, zone DMA\n  pages free 1\n" };

START_TEST(without_zoneinfo)
{
	char *root = copy_tree("two-sockets");
	struct nr_snapshot *snap;
	uint64_t v;

	drop(root, "proc/zoneinfo");
	if (zoneinfos[_i])
		put(root, "proc/zoneinfo", zoneinfos[_i]);
	snap = snapshot_of(root);
	ck_assert_uint_eq(nr_snapshot_count(snap), 2);
	ck_assert(!nr_node_get(nr_snapshot_find(snap, 0), NR_ALLOCATABLE, &v));
	ck_assert_uint_eq(nr_snapshot_find(snap, 0)->nzones, 0);
	ck_assert_uint_eq(value_of(snap, 0, NR_CLEAN), KB(87352832));
	nr_snapshot_free(snap);
}
END_TEST

/* Numbers that no host has: nothing wraps around */
static const struct {
	const char *start, *line;
} odd[] = {
	{ "Node 0 Mapped:", "Node 0 Mapped:  99999999999 kB" },
	{ "Node 0 Dirty:", "Node 0 Dirty: 18446744073709551615 kB" },
	{ "Node 0 Dirty:", "Node 0 Dirty: 99999999999999999999999 kB" },
	{ "Node 0 Active(file):", "Node 0 Active(file): 18446744073709551615 kB" },
	{ "Node 0 MemFree:", "Node 0 MemFree: 18014398509481983 kB" },
	{ "Node 0 AnonPages:", "Node 0 AnonPages: -5 kB" },
	{ "Node 0 Shmem:", "Node 0 Shmem:" },
	{ "Node 0 Shmem:", "" },
};

START_TEST(odd_numbers)
{
	char *root = copy_tree("two-sockets");
	const struct nr_node *node;
	struct nr_snapshot *snap;
	uint64_t v;

	put_line(root, NODE_DIR "node0/meminfo", odd[_i].start, odd[_i].line);
	snap = snapshot_of(root);
	node = nr_snapshot_find(snap, 0);
	if (nr_node_get(node, NR_CLEAN, &v))
		ck_assert_uint_le(v, value_of(snap, 0, NR_TOTAL));
	if (nr_node_get(node, NR_UNACCOUNTED, &v))
		ck_assert_uint_le(v, value_of(snap, 0, NR_TOTAL));
	nr_snapshot_free(snap);
}
END_TEST

START_TEST(node_gone)
{
	char *root = copy_tree("eight-nodes");
	struct nr_snapshot *snap = (void *)1;
	struct messages m;
	struct nr_ctx *ctx;

	/* It went offline between the list and its files */
	drop(root, NODE_DIR "node3");
	snap = snapshot_of(root);
	ck_assert_uint_eq(nr_snapshot_count(snap), 7);
	ck_assert_ptr_null(nr_snapshot_find(snap, 3));
	ck_assert_int_eq(nr_snapshot_at(snap, 3)->nid, 4);
	nr_snapshot_free(snap);

	ctx = open_tree(root);
	keep_messages(ctx, &m);
	drop(root, NODE_DIR "online");
	assert_err(nr_snapshot_take(ctx, &snap), ENOENT);
	ck_assert_ptr_null(snap);
	ck_assert_uint_eq(m.count, 1);
	put(root, NODE_DIR "online", "0-7,x\n");
	ck_assert_int_lt(nr_snapshot_take(ctx, &snap), 0);
	put(root, NODE_DIR "online", "0-1024\n");
	ck_assert_int_lt(nr_snapshot_take(ctx, &snap), 0);
	ck_assert_ptr_null(snap);
	nr_close(ctx);
}
END_TEST

/* A FIFO or a folder in a recorded tree neither hangs nor breaks the reader */
START_TEST(not_a_file)
{
	char *root = copy_tree("two-sockets"), path[512];
	struct nr_snapshot *snap;
	struct nr_ctx *ctx = open_tree(root);

	drop(root, NODE_DIR "node1/meminfo");
	snprintf(path, sizeof(path), "%s/" NODE_DIR "node1/meminfo", root);
	ck_assert_int_eq(mkfifo(path, 0600), 0);
	ck_assert_int_lt(nr_snapshot_take(ctx, &snap), 0);
	ck_assert_ptr_null(snap);
	drop(root, NODE_DIR "node1/meminfo");
	ck_assert_int_eq(symlink("/etc/passwd", path), 0);
	ck_assert_int_lt(nr_snapshot_take(ctx, &snap), 0);
	ck_assert_ptr_null(snap);
	nr_close(ctx);
}
END_TEST

/* nodeN/vmstat: reclaim counts where the kernel has them for each NUMA node */
START_TEST(reclaim_counts)
{
	struct nr_snapshot *snap = snapshot_of("eight-nodes");
	const struct nr_node *node = nr_snapshot_find(snap, 2);

	ck_assert(node->have_reclaim);
	ck_assert_uint_eq(node->scanned, 4001 / 8 + 2);
	ck_assert_uint_eq(node->stolen, 3989 / 8 + 2);
	ck_assert(node->have_demoted);
	ck_assert_uint_eq(node->demoted, 0);
	nr_snapshot_free(snap);

	snap = snapshot_of("one-node"); /* 6.18 has them for the host only */
	ck_assert(!nr_snapshot_find(snap, 0)->have_reclaim);
	ck_assert(nr_snapshot_find(snap, 0)->have_demoted);
	nr_snapshot_free(snap);
}
END_TEST

/* Every scan and every stolen page counts once: not again by type, and no throttling */
START_TEST(host_counters)
{
	struct nr_snapshot *snap = snapshot_of("cxl");
	const struct nr_host *host = nr_snapshot_host(snap);

	ck_assert_uint_eq(host->scanned, 1000003 + 20011 + 307 + 4001);
	ck_assert_uint_eq(host->stolen, 900007 + 18013 + 211 + 3989);
	ck_assert_uint_eq(host->swapped_in, 1201);
	ck_assert_uint_eq(host->swapped_out, 4801);
	ck_assert_int_eq(host->zone_reclaim_mode, 0);
	ck_assert_uint_eq(host->min_unmapped_ratio, 1);
	nr_snapshot_free(snap);

	snap = snapshot_of("old-kernel");
	host = nr_snapshot_host(snap);
	ck_assert_uint_eq(host->scanned, 1000003 + 20011);
	ck_assert_uint_eq(host->stolen, 900007 + 18013);
	ck_assert(!host->demotion);
	nr_snapshot_free(snap);
}
END_TEST

START_TEST(host_settings)
{
	char *root = copy_tree("two-sockets");
	struct nr_snapshot *snap;

	put(root, "proc/sys/vm/zone_reclaim_mode", "7\n");
	put(root, "sys/kernel/mm/numa/demotion_enabled", "1\n");
	snap = snapshot_of(root);
	ck_assert_int_eq(nr_snapshot_host(snap)->zone_reclaim_mode, 7);
	ck_assert(nr_snapshot_host(snap)->demotion);
	nr_snapshot_free(snap);
	drop(root, "proc/sys/vm");
	drop(root, "sys/kernel");
	drop(root, "proc/vmstat");
	snap = snapshot_of(root);
	ck_assert_int_eq(nr_snapshot_host(snap)->zone_reclaim_mode, -1);
	ck_assert_uint_eq(nr_snapshot_host(snap)->min_unmapped_ratio, 0);
	ck_assert(!nr_snapshot_host(snap)->demotion);
	nr_snapshot_free(snap);
}
END_TEST

/* The lists of free pages of each CPU, over all zones of the NUMA node, nothing else called so */
START_TEST(per_cpu)
{
	struct nr_snapshot *snap = snapshot_of("one-node");
	const struct nr_node *node = nr_snapshot_find(snap, 0);
	uint64_t sum = 0;
	size_t i, k;

	for (i = 0; i < node->npcp; i++)
		sum += node->pcp[i].bytes;
	ck_assert_uint_eq(sum, value_of(snap, 0, NR_PER_CPU));
	nr_snapshot_free(snap);

	snap = snapshot_of("eight-nodes");
	for (k = 0; k < nr_snapshot_count(snap); k++) {
		node = nr_snapshot_at(snap, k);
		sum = 0;
		for (i = 0; i < node->npcp; i++) {
			ck_assert_uint_gt(node->pcp[i].bytes, 0);
			sum += node->pcp[i].bytes;
		}
		ck_assert_uint_eq(sum, value_of(snap, node->nid, NR_PER_CPU));
		ck_assert_uint_gt(sum, 0);
	}
	/* CPU 17 is at home on node 1, in one zone: (17 * 29 + 1) % 378 pages */
	node = nr_snapshot_find(snap, 1);
	for (i = 0; i < node->npcp && node->pcp[i].cpu != 17; i++)
		;
	ck_assert_uint_lt(i, node->npcp);
	ck_assert_uint_eq(node->pcp[i].bytes, (17 * 29 + 1) % 378 * 4096);
	/* CPU 1 is at home on node 0, in DMA32 and Normal */
	node = nr_snapshot_find(snap, 0);
	for (i = 0; i < node->npcp && node->pcp[i].cpu != 1; i++)
		;
	ck_assert_uint_lt(i, node->npcp);
	ck_assert_uint_eq(node->pcp[i].bytes, 2 * 29 * 4096);
	nr_snapshot_free(snap);
}
END_TEST

START_TEST(names)
{
	int i, k;

	for (i = 0; i < NR_COUNTERS; i++) {
		ck_assert_ptr_nonnull(nr_counter_name(i));
		for (k = 0; k < i; k++)
			ck_assert_str_ne(nr_counter_name(i), nr_counter_name(k));
	}
	ck_assert_ptr_null(nr_counter_name(NR_COUNTERS));
	ck_assert_str_eq(nr_counter_name(NR_FREE), "free");
	ck_assert_str_eq(nr_counter_name(NR_CLEAN), "clean");
	ck_assert_str_eq(nr_counter_name(NR_DIRTY_PAGES), "dirty");
}
END_TEST

/* The running system, if it has NUMA */
START_TEST(this_host)
{
	struct nr_snapshot *snap;
	struct nr_ctx *ctx;

	if (access("/" NODE_DIR "online", R_OK))
		return;
	ck_assert_int_eq(nr_open(&ctx, NULL), 0);
	ck_assert_int_eq(nr_snapshot_take(ctx, &snap), 0);
	ck_assert_uint_gt(nr_snapshot_count(snap), 0);
	nr_snapshot_free(snap);
	nr_snapshot_free(NULL);
	nr_close(ctx);
}
END_TEST

Suite *suite(void)
{
	Suite *s = suite_create("nodes");
	TCase *t = unit_case("nodes");

	tcase_add_test(t, counters);
	tcase_add_test(t, zones);
	tcase_add_loop_test(t, consistent, 0, ARRAY_SIZE(trees));
	tcase_add_test(t, numbering);
	tcase_add_test(t, pages_of_64_kb);
	tcase_add_test(t, movable_only);
	tcase_add_test(t, huge_pages);
	tcase_add_test(t, absent_names);
	tcase_add_loop_test(t, missing_lines, 0, ARRAY_SIZE(taken));
	tcase_add_loop_test(t, without_zoneinfo, 0, ARRAY_SIZE(zoneinfos));
	tcase_add_loop_test(t, odd_numbers, 0, ARRAY_SIZE(odd));
	tcase_add_test(t, node_gone);
	tcase_add_test(t, not_a_file);
	tcase_add_test(t, reclaim_counts);
	tcase_add_test(t, host_counters);
	tcase_add_test(t, host_settings);
	tcase_add_test(t, per_cpu);
	tcase_add_test(t, names);
	tcase_add_test(t, this_host);
	suite_add_tcase(s, t);
	return s;
}
