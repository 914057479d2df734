// SPDX-License-Identifier: GPL-2.0-or-later
/* Backend pressure: how far it goes, how it ends, and where it is not used. What its processes do
 * is in tests/numa/pressure.bats. */
#include "fake_kernel.h"

#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "internal.h"

#define NODE_DIR "sys/devices/system/node"
#define RECLAIM NODE_DIR "/node0/reclaim"
#define ALLOCATABLE (MB(512) - MB(20))
#define CLEAN MB(6144 - 150)
#define KEPT MB(32 + 64 + 1) /* 100 MB are mapped */
#define MIN_TO_HIGH MB(8)

/* One NUMA node that the kernel cannot be asked to free */
static void start(void)
{
	fake.pressure = true;
	fake_start();
	fake_without(RECLAIM);
}

static void stop(void)
{
	ck_assert_uint_eq(fake.node[0].held, 0);
	ck_assert_uint_eq(fake.node[0].too_much, 0);
	fake_stop();
}

START_TEST(just_enough)
{
	struct nr_result *result;

	fake_make(1);
	fake.swap = 1 << 20;
	start();
	result = run("2G", NULL);
	assert_stop(result, 0, NR_STOP_DONE);
	ck_assert_str_eq(node(result, 0)->backend, "pressure");
	ck_assert_uint_eq(nr_result_missing(result), 0);
	ck_assert_int_ge(node(result, 0)->freed, GB(2) - ALLOCATABLE);
	ck_assert_int_le(node(result, 0)->freed, (GB(2) - ALLOCATABLE) / 1000 * 1005);
	ck_assert_uint_eq(fake.node[0].presses, 1);
	/* No more than was free and was to be freed */
	ck_assert_uint_le(fake.node[0].most, (GB(2) + MB(32)) / 1024);
	check_harmless(0);
	nr_result_free(result);

	result = run("2G", NULL);
	assert_stop(result, 0, NR_STOP_NOTHING);
	ck_assert_uint_eq(fake.node[0].presses, 1);
	nr_result_free(result);
	stop();
}
END_TEST

/* What waits on the list of a CPU is of no use to a task on another, so as much more is freed. */
START_TEST(lists)
{
	struct nr_result *result;

	fake_make(1);
	fake.node[0].spill = 60 << 10;
	start();
	result = run("2G", NULL);
	assert_stop(result, 0, NR_STOP_DONE);
	ck_assert_uint_ge(fake.node[0].free, (2048 + 20) << 10);
	ck_assert_uint_le(fake.node[0].free, (2048 + 20 + 10) << 10);
	ck_assert_uint_eq(fake.node[0].presses, 2);
	check_harmless(0);
	nr_result_free(result);
	result = run("2G", NULL);
	assert_stop(result, 0, NR_STOP_NOTHING);
	nr_result_free(result);
	stop();
}
END_TEST

/* What is free goes in huge pages, as far as there are blocks; what has to be freed never */
START_TEST(huge_pages)
{
	struct nr_result *result;
	bool pages = _i & 1, blocks = _i & 2;

	fake_make(1);
	start();
	fake_with(
		"proc/buddyinfo",
		blocks ? "Node 0, zone      DMA      1      0      0\n"
			 "Node 0, zone   Normal      9      9      9      9      9      9      9      9      "
			 "9    240      0\n"
			 "Node 1, zone   Normal      9      9      9      9      9      9      9      9      "
			 "9   9999   9999\n"
		       : "Node 0, zone   Normal      9      9      9      9      9      9      9      9      "
			 "9      0      0\n");
	if (pages) {
		fake_with("sys/kernel/mm/transparent_hugepage/hpage_pmd_size", "2097152\n");
	}
	result = run("2G", NULL);
	assert_stop(result, 0, NR_STOP_DONE);
	if (pages && blocks)
		ck_assert_uint_ge(fake.node[0].huge, 240 << 10);
	else
		ck_assert_uint_eq(fake.node[0].huge, 0);
	ck_assert_uint_lt(fake.node[0].huge, 512 << 10);
	nr_result_free(result);
	stop();
}
END_TEST

/* It ends before the last of the cache, where the kernel would turn to mapped pages */
START_TEST(keeps_the_last)
{
	struct nr_result *result;

	fake_make(1);
	fake.swap = 1 << 20;
	fake.node[0].active = 0;
	start();
	result = run(_i ? "all" : "7G", NULL);
	assert_stop(result, 0, _i ? NR_STOP_DONE : NR_STOP_EXHAUSTED);
	ck_assert_int_le(node(result, 0)->freed, CLEAN - KEPT);
	ck_assert_int_ge(node(result, 0)->freed, CLEAN - KEPT - MIN_TO_HIGH - MB(4));
	check_harmless(0);
	nr_result_free(result);
	stop();
}
END_TEST

/* Hostile NUMA nodes: nothing is begun, or next to nothing */
static const struct {
	uint64_t file, dirty, anon, mapped; /* MB */
} full[] = {
	{ 300, 300, 7000, 0 },	 /* all of it dirty */
	{ 60, 0, 7500, 0 },	 /* next to no cache */
	{ 6000, 0, 1000, 5950 }, /* mapped */
};

START_TEST(nothing_to_take)
{
	struct nr_result *result;

	fake_make(1);
	fake.node[0].file = full[_i].file << 10;
	fake.node[0].dirty = full[_i].dirty << 10;
	fake.node[0].anon = full[_i].anon << 10;
	fake.node[0].mapped = full[_i].mapped << 10;
	fake.swap = 1 << 20;
	start();
	result = run("2G", NULL);
	ck_assert_uint_gt(nr_result_missing(result), 0);
	ck_assert_uint_eq(fake.node[0].takes, 0);
	nr_result_free(result);
	stop();
}
END_TEST

/* The classic LRU with little inactive cache swaps; not without swap, and the multi-gen LRU not */
START_TEST(active_cache)
{
	static const char *const lrus[] = { NULL, "0x0000\n", "0x0007\n" };
	struct nr_result *result;
	bool swap = _i & 1;
	const char *lru = lrus[_i / 2];
	bool takes = !swap || (lru && lru[5] == '7');

	fake_make(1);
	fake.node[0].active = 92;
	fake.swap = swap ? 1 << 20 : 0;
	start();
	if (lru)
		fake_with("sys/kernel/mm/lru_gen/enabled", lru);
	result = run("1G", NULL);
	assert_stop(result, 0, takes ? NR_STOP_DONE : NR_STOP_EXHAUSTED);
	ck_assert_int_eq(fake.node[0].takes > 0, takes);
	nr_result_free(result);
	stop();
}
END_TEST

/* At the first sign of harm */
static const struct {
	enum fake_mood mood;
	bool zeros;
	enum nr_stop stop;
} harms[] = {
	{ FAKE_SWAPS, false, NR_STOP_SWAP },	   { FAKE_SWAPS, true, NR_STOP_SWAP },
	{ FAKE_UNMAPS, false, NR_STOP_EXHAUSTED }, { FAKE_STUCK, false, NR_STOP_EXHAUSTED },
	{ FAKE_DIES, false, NR_STOP_ERROR },	   { FAKE_DENIED, false, NR_STOP_ERROR },
	{ FAKE_LEAVES, false, NR_STOP_OFFLINE },
};

START_TEST(harm)
{
	struct nr_result *result;

	fake_make(1);
	fake.node[0].mood = harms[_i].mood;
	fake.swap = 1 << 20;
	fake.zeros = harms[_i].zeros;
	start();
	result = run("3G", NULL);
	assert_stop(result, 0, harms[_i].stop);
	ck_assert_uint_gt(nr_result_missing(result), 0);
	ck_assert_uint_ge(fake.node[0].anon, (1 << 20) - 4096);
	ck_assert_uint_ge(fake.node[0].mapped, (100 - 16) << 10);
	nr_result_free(result);
	stop();
}
END_TEST

/* What is taken is given back within the time limit */
START_TEST(deadline)
{
	struct nr_options opt = { .timeout_ms = 2000 };
	struct timespec a, b;
	struct nr_result *result;

	fake_make(1);
	fake.node[0].free = 40 << 10;
	fake.node[0].delay = 20;
	start();
	clock_gettime(CLOCK_MONOTONIC, &a);
	result = run("5G", &opt); /* steps of 8 MB */
	clock_gettime(CLOCK_MONOTONIC, &b);
	ck_assert_int_le(b.tv_sec - a.tv_sec, 8);
	assert_stop(result, 0, NR_STOP_DEADLINE);
	ck_assert_int_gt(node(result, 0)->freed, 0);
	ck_assert_uint_eq(fake.node[0].presses, 1);
	check_harmless(0);
	nr_result_free(result);
	stop();
}
END_TEST

/* To take first what is free would take longer than there is time: given up early */
START_TEST(too_much_is_free)
{
	struct nr_options opt = { .timeout_ms = 4000 };
	struct nr_result *result;

	fake_make(1);
	fake.node[0].total = 808 << 20;
	fake.node[0].free = 800 << 20;
	fake.node[0].delay = 20;
	start();
	result = run("801G", &opt);
	assert_stop(result, 0, NR_STOP_DEADLINE);
	ck_assert_uint_lt(fake.node[0].takes, 100);
	nr_result_free(result);
	stop();
}
END_TEST

/* Where the kernel can be asked, it is */
START_TEST(after_others)
{
	struct nr_result *result;

	fake_make(1);
	fake.pressure = true;
	fake_start();
	result = run("2G", NULL);
	ck_assert_str_eq(node(result, 0)->backend, "sysfs");
	ck_assert_uint_eq(fake.node[0].presses, 0);
	nr_result_free(result);
	stop();
}
END_TEST

/* ---------------------------------------------------------------- where it can be used */

static const struct {
	const char *file, *text, *file2, *text2;
	int err;
} groups[] = {
	/* Version 2: at the top, below it with and without the right to leave, in a name space */
	{ "proc/thread-self/cgroup", "0::/\n", NULL, NULL, 0 },
	{ "proc/thread-self/cgroup", "0::/job_1\n", "sys/fs/cgroup/cgroup.procs", "", 0 },
	{ "proc/thread-self/cgroup", "0::/job_1\n", NULL, NULL, ENOENT },
	{ "proc/thread-self/cgroup", "0::/\n", "sys/fs/cgroup/cgroup.events", "", EPERM },
	/* Version 1, alone and beside version 2 */
	{ "proc/thread-self/cgroup", "4:cpuset:/a\n3:cpu,memory:/\n0::/\n",
	  "sys/fs/cgroup/memory/cgroup.sane_behavior", "0\n", 0 },
	{ "proc/thread-self/cgroup", "3:memory:/\n", "sys/fs/cgroup/memory/cgroup.procs", "",
	  EPERM },
	{ "proc/thread-self/cgroup", "3:memory:/\n", NULL, NULL, ENOENT },
	{ "proc/thread-self/cgroup", "3:memory:/job:1\n",
	  "sys/fs/cgroup/memory/cgroup.sane_behavior", "0\n", ENOENT },
	/* No control group of memory */
	{ "proc/thread-self/cgroup", "3:memory2,xmemory:/a\n", NULL, NULL, 0 },
	{ "proc/thread-self/cgroup", "", NULL, NULL, 0 },
};

static void probe_of(struct nr_ctx *ctx, int nid, struct nr_backend_info *info)
{
	size_t i = 0;

	do
		ck_assert_int_eq(nr_backend_probe(ctx, i++, nid, info), 0);
	while (strcmp(info->name, "pressure"));
	ck_assert(!info->whole_host);
}

START_TEST(control_groups)
{
	struct nr_backend_info info;

	fake_make(1);
	fake.pressure = true;
	fake_start();
	fake_with(groups[_i].file, groups[_i].text);
	if (groups[_i].file2)
		fake_with(groups[_i].file2, groups[_i].text2);
	probe_of(fake.ctx, 0, &info);
	assert_err(info.error, groups[_i].err);
	fake_stop();
}
END_TEST

START_TEST(probe)
{
	struct nr_backend_info info;
	struct nr_ctx *ctx;

	fake_make(1);
	start();
	probe_of(fake.ctx, 0, &info);
	ck_assert_msg(info.error == 0, "%s", info.why);
	probe_of(fake.ctx, 1, &info);
	ck_assert_int_ne(info.error, 0);
	fake_with("proc/thread-self/cgroup", "0::/job\n");
	probe_of(fake.ctx, 0, &info);
	assert_err(info.error, ENOENT);
	ck_assert_msg(strstr(info.why, "memory control group") != NULL, "%s", info.why);
	/* Without it two at once could not be kept apart */
	fake_without(NODE_DIR "/node0/compact");
	probe_of(fake.ctx, 0, &info);
	assert_err(info.error, ENOENT);
	ck_assert_msg(strstr(info.why, "CONFIG_COMPACTION") != NULL, "%s", info.why);
	fake_stop();

	ctx = open_tree("two-sockets");
	probe_of(ctx, 0, &info);
	ck_assert_msg(info.error == 0, "%s", info.why);
	nr_close(ctx);
}
END_TEST

Suite *suite(void)
{
	Suite *s = suite_create("pressure");
	TCase *t = unit_case("pressure");

	tcase_add_test(t, just_enough);
	tcase_add_test(t, lists);
	tcase_add_loop_test(t, huge_pages, 0, 4);
	tcase_add_loop_test(t, keeps_the_last, 0, 2);
	tcase_add_loop_test(t, nothing_to_take, 0, ARRAY_SIZE(full));
	tcase_add_loop_test(t, active_cache, 0, 6);
	tcase_add_loop_test(t, harm, 0, ARRAY_SIZE(harms));
	tcase_add_test(t, deadline);
	tcase_add_test(t, too_much_is_free);
	tcase_add_test(t, after_others);
	tcase_add_loop_test(t, control_groups, 0, ARRAY_SIZE(groups));
	tcase_add_test(t, probe);
	suite_add_tcase(s, t);
	return s;
}
