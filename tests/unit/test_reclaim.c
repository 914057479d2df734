// SPDX-License-Identifier: GPL-2.0-or-later
#include "fake_kernel.h"

#include <fcntl.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#define NODE_DIR "sys/devices/system/node"
/* Of a fake NUMA node: free above the low watermark */
#define ALLOCATABLE (MB(512) - 5120 * KB(4))
#define CLEAN MB(6144 - 150)
#define GATE (MB(8192) / 100) /* vm.min_unmapped_ratio */

/* The backends that free on one NUMA node; what they have in common is tested with each */
static const struct {
	const char *name;
	bool patched;
	uint64_t keeps; /* of a NUMA node's clean cache, at the most */
} each[] = {
	/* The kernel stops at min_unmapped_ratio */
	{ "sysfs", false, GATE + MB(2) },
	{ "syscall", true, KB(4) },
};

static void make_for(int i, unsigned int n)
{
	fake_make(n);
	fake.patched = each[i].patched;
}

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

START_TEST(just_enough)
{
	struct nr_result *result;
	char *text;

	make_for(_i, 2);
	fake.node[1].free = 4 << 20;
	fake.node[1].file = 2 << 20;
	fake_start();
	result = run("2G", NULL);
	ck_assert_uint_eq(nr_result_missing(result), 0);
	assert_stop(result, 0, NR_STOP_DONE);
	ck_assert_str_eq(node(result, 0)->backend, each[_i].name);
	ck_assert_int_ge(node(result, 0)->freed, GB(2) - ALLOCATABLE);
	ck_assert_int_le(node(result, 0)->freed, (GB(2) - ALLOCATABLE) / 100 * 101);
	ck_assert_uint_ge(node(result, 0)->allocatable, GB(2));
	ck_assert_uint_gt(fake.node[0].writes, 1); /* slices */
	ck_assert_uint_eq(fake.node[0].tosses, fake.patched ? fake.node[0].writes : 0);
	check_harmless(0);
	/* Node 1 has enough */
	assert_stop(result, 1, NR_STOP_NOTHING);
	ck_assert_ptr_null(node(result, 1)->backend);
	ck_assert_uint_eq(fake.node[1].writes, 0);
	ck_assert_int_eq(node(result, 1)->freed, 0);
	ck_assert_int_eq(nr_report_json(result, &text), 0);
	ck_assert(json_ok(text));
	free(text);
	nr_result_free(result);

	/* Once more: nothing to do */
	fake.node[0].writes = 0;
	result = run("2G", NULL);
	ck_assert_uint_eq(fake.node[0].writes, 0);
	assert_stop(result, 0, NR_STOP_NOTHING);
	nr_result_free(result);
	ck_assert_msg(fake.messages.count == 0, "%s", fake.messages.text);
	fake_stop();
}
END_TEST

START_TEST(more_than_there_is)
{
	struct nr_result *result;
	char *text;

	make_for(_i, 1);
	fake_start();
	result = run("7G", NULL);
	assert_stop(result, 0, NR_STOP_EXHAUSTED);
	ck_assert_uint_gt(nr_result_missing(result), 0);
	ck_assert_uint_eq(nr_result_missing(result), GB(7) - node(result, 0)->allocatable);
	ck_assert_int_ge(node(result, 0)->freed, CLEAN - each[_i].keeps);
	check_harmless(0);
	ck_assert_int_eq(nr_report_short(result, &text), 0);
	ck_assert_msg(strstr(text, "NUMA node 0") != NULL, "%s", text);
	free(text);
	nr_result_free(result);
	fake_stop();
}
END_TEST

START_TEST(all)
{
	struct nr_result *result;

	make_for(_i, 2);
	/* No wall for the call; for nodeN/reclaim see movable */
	fake.node[1].movable = fake.patched;
	fake_start();
	result = run("all", NULL);
	for (int nid = 0; nid < 2; nid++) {
		assert_stop(result, nid, NR_STOP_DONE);
		ck_assert_int_ge(node(result, nid)->freed, CLEAN - each[_i].keeps);
		check_harmless((unsigned int)nid);
	}
	ck_assert_uint_eq(nr_result_missing(result), 0);
	nr_result_free(result);
	fake_stop();
}
END_TEST

/* What a kernel says is not what it did */
static const struct {
	enum fake_mood mood;
	enum nr_stop stop;
	bool met;
} moods[] = {
	{ FAKE_HALF, NR_STOP_DONE, true },	   { FAKE_BUSY, NR_STOP_DONE, true },
	{ FAKE_SLAB, NR_STOP_DONE, true },	   { FAKE_SIGNALS, NR_STOP_DONE, true },
	{ FAKE_MODEST, NR_STOP_DONE, true },	   { FAKE_STUCK, NR_STOP_EXHAUSTED, false },
	{ FAKE_SILENT, NR_STOP_EXHAUSTED, false }, { FAKE_DENIED, NR_STOP_ERROR, false },
	{ FAKE_SWAPS, NR_STOP_SWAP, false },	   { FAKE_UNMAPS, NR_STOP_MAPPED, false },
	{ FAKE_LEAVES, NR_STOP_OFFLINE, false },   { FAKE_NEIGHBOUR, NR_STOP_DONE, true },
};

START_TEST(kernel_mood)
{
	int backend = _i % (int)ARRAY_SIZE(each), i = _i / (int)ARRAY_SIZE(each);
	struct nr_options opt = { .timeout_ms = 600000 };
	double start = now();
	struct nr_result *result;

	make_for(backend, 2);
	fake.node[0].mood = moods[i].mood;
	fake_start();
	result = run("3G", &opt);
	ck_assert_double_lt(now() - start, 300.0); /* and not the time limit */
	assert_stop(result, 0, moods[i].stop);
	ck_assert_int_eq(node(result, 0)->missing == 0, moods[i].met);
	if (moods[i].mood == FAKE_DENIED)
		assert_err(node(result, 0)->error, EPERM);
	else
		ck_assert_str_eq(node(result, 0)->backend, each[backend].name);
	if (moods[i].mood == FAKE_SILENT || moods[i].mood == FAKE_STUCK)
		ck_assert_int_eq(node(result, 0)->freed, 0);
	/* Work on the other NUMA node is not disturbed */
	assert_stop(result, 1, NR_STOP_DONE);
	ck_assert_uint_eq(node(result, 1)->missing, 0);
	check_harmless(1);
	nr_result_free(result);
	fake_stop();
}
END_TEST

/* At the first sign of harm: at most a few slices */
START_TEST(little_harm)
{
	struct nr_effect effect;
	struct nr_result *result;

	fake_make(1);
	fake.node[0].mood = FAKE_SWAPS;
	fake_start();
	result = run("all", NULL);
	assert_stop(result, 0, NR_STOP_SWAP);
	ck_assert_uint_eq(fake.node[0].writes, 1);
	nr_result_effect(result, &effect);
	ck_assert_uint_eq(effect.swapped_out, fake.swapped_out);
	ck_assert_uint_gt(effect.swapped_out, 0);
	nr_result_free(result);
	fake_stop();

	fake_make(1);
	fake.node[0].mood = FAKE_UNMAPS;
	fake_start();
	result = run("all", NULL);
	assert_stop(result, 0, NR_STOP_MAPPED);
	ck_assert_uint_le(fake.node[0].writes, 2);
	ck_assert_uint_ge(fake.node[0].mapped, 80 << 10);
	nr_result_free(result);
	fake_stop();
}
END_TEST

START_TEST(deadline)
{
	struct nr_options opt = { .timeout_ms = 400 };
	struct nr_result *result;
	double start;

	fake_make(2);
	fake.node[0].delay = 30;
	fake.node[0].rate = 16 << 10;
	fake_start();
	start = now();
	result = run("5G", &opt);
	ck_assert_double_lt(now() - start, 5.0); /* all of it would take 9 s */
	ck_assert_double_ge(now() - start, 0.35);
	assert_stop(result, 0, NR_STOP_DEADLINE);
	ck_assert_int_gt(node(result, 0)->freed, 0);
	ck_assert_uint_gt(node(result, 0)->missing, 0);
	assert_stop(result, 1, NR_STOP_DONE);
	nr_result_free(result);
	fake_stop();
}
END_TEST

/* The time limit of the spec, where the caller has none of its own */
START_TEST(deadline_of_spec)
{
	struct nr_result *result;
	double start;

	make_for(_i, 1);
	fake.node[0].delay = 30;
	fake.node[0].rate = 4 << 10;
	fake_start();
	start = now();
	result = run("5G,timeout=1", NULL);
	ck_assert_double_lt(now() - start, 10.0); /* all of it would take 36 s */
	ck_assert_double_ge(now() - start, 0.9);
	assert_stop(result, 0, NR_STOP_DEADLINE);
	ck_assert_uint_gt(node(result, 0)->missing, 0);
	nr_result_free(result);
	fake_stop();
}
END_TEST

/* A request takes its time however small it is: small ones would take for ever */
START_TEST(dear_requests)
{
	const struct nr_options opt = { .timeout_ms = 600000 };
	struct nr_result *result;

	make_for(_i, 1);
	fake.node[0].delay = 120;
	fake_start();
	result = run("5G", &opt);
	assert_stop(result, 0, NR_STOP_DONE);
	ck_assert_uint_lt(fake.node[0].writes, 500); /* in small ones there would be 5,000 */
	nr_result_free(result);
	fake_stop();
}
END_TEST

struct watch {
	unsigned int calls, cancel_at, inside;
	uint64_t last[FAKE_NODES], last_all;
};

static int watch(void *data, const struct nr_progress *p)
{
	struct watch *w = data;

	/* Never by two threads at once */
	ck_assert_uint_eq(__atomic_fetch_add(&w->inside, 1, __ATOMIC_SEQ_CST), 0);
	ck_assert_uint_ge(p->freed, w->last[p->nid]);
	ck_assert_uint_ge(p->all_freed, w->last_all);
	ck_assert_uint_ge(p->all_freed, p->freed);
	ck_assert_uint_ge(p->all_to_free, p->to_free);
	ck_assert_uint_gt(p->to_free, 0);
	w->last[p->nid] = p->freed;
	w->last_all = p->all_freed;
	w->calls++;
	__atomic_fetch_sub(&w->inside, 1, __ATOMIC_SEQ_CST);
	return w->calls == w->cancel_at;
}

START_TEST(progress)
{
	struct watch w = { 0 };
	struct nr_options opt = { .progress = watch, .data = &w };
	struct nr_result *result;
	uint64_t sum = 0;

	fake_make(8);
	fake_start();
	result = run("4G", &opt);
	ck_assert_uint_eq(nr_result_missing(result), 0);
	ck_assert_uint_ge(w.calls, 8);
	for (int nid = 0; nid < 8; nid++) {
		ck_assert_uint_gt(w.last[nid], 0);
		sum += w.last[nid];
	}
	ck_assert_uint_eq(sum, w.last_all);
	nr_result_free(result);
	fake_stop();
}
END_TEST

START_TEST(cancel_by_progress)
{
	struct watch w = { .cancel_at = 3 };
	struct nr_options opt = { .progress = watch, .data = &w };
	struct nr_result *result;

	fake_make(1);
	fake_start();
	result = run("5G", &opt);
	assert_stop(result, 0, NR_STOP_CANCELLED);
	ck_assert_uint_eq(w.calls, 3);
	ck_assert_int_gt(node(result, 0)->freed, 0); /* what is freed stays freed */
	ck_assert_uint_gt(nr_result_missing(result), 0);
	nr_result_free(result);
	/* It is over with that run */
	result = run("5G", NULL);
	assert_stop(result, 0, NR_STOP_DONE);
	nr_result_free(result);
	fake_stop();
}
END_TEST

START_TEST(cancel_before)
{
	struct nr_result *result;

	fake_make(1);
	fake_start();
	nr_cancel(fake.ctx);
	result = run("5G", NULL);
	assert_stop(result, 0, NR_STOP_CANCELLED);
	ck_assert_uint_eq(fake.node[0].writes, 0);
	nr_result_free(result);
	fake_stop();
}
END_TEST

/* NUMA nodes side by side, also more of them than threads */
START_TEST(side_by_side)
{
	static const unsigned int counts[] = { 1, 8, 100 };
	struct nr_result *result;
	unsigned int i;

	fake_make(counts[_i]);
	/* Up to 64 threads: each waits in its first write for all others */
	fake.meet = counts[_i] < 64 ? counts[_i] : 64;
	for (i = 0; i < fake.n; i++) {
		fake.node[i].free = 2 << 20;
		fake.node[i].file = 4 << 20;
	}
	fake_start();
	result = run("2100M,timeout=600", NULL); /* a slice or few for each */
	ck_assert_uint_eq(nr_result_missing(result), 0);
	for (i = 0; i < fake.n; i++)
		assert_stop(result, (int)i, NR_STOP_DONE);
	ck_assert(fake.met);
	nr_result_free(result);
	fake_stop();
}
END_TEST

START_TEST(only_these_nodes)
{
	struct nr_binding *binding;
	struct nr_spec *spec = spec_of("all,nodes=1,3");
	struct nr_result *result = (void *)1;

	fake_make(4);
	fake_start();
	ck_assert_int_eq(nr_binding_from_nodes(fake.ctx, "1-3", &binding), 0);
	ck_assert_int_eq(nr_run(fake.ctx, spec, binding, 0, NULL, &result), 0);
	ck_assert_uint_eq(nr_result_count(result), 2);
	ck_assert_uint_eq(fake.node[0].writes + fake.node[2].writes, 0);
	ck_assert_uint_gt(fake.node[1].writes, 0);
	ck_assert_uint_gt(fake.node[3].writes, 0);
	nr_result_free(result);
	nr_binding_free(binding);

	/* One that is not the job's: nothing happens */
	ck_assert_int_eq(nr_binding_from_nodes(fake.ctx, "0-1", &binding), 0);
	fake.node[1].writes = 0;
	assert_err(nr_run(fake.ctx, spec, binding, 0, NULL, &result), ERANGE);
	ck_assert_ptr_null(result);
	ck_assert_uint_eq(fake.node[1].writes, 0);
	ck_assert_uint_eq(fake.messages.count, 1);
	nr_binding_free(binding);
	nr_spec_free(spec);
	fake_stop();
}
END_TEST

/* Without nodeN/reclaim: nothing, unless the caller allows more */
START_TEST(drop_caches)
{
	struct nr_options opt = { .allow_drop_caches = true };
	struct nr_result *result;

	fake_make(2);
	fake.node[1].free = 7 << 20;
	fake.node[1].file = 1 << 18;
	fake_start();
	fake_without(NODE_DIR "/node0/reclaim");
	fake_without(NODE_DIR "/node1/reclaim");
	result = run("2G", NULL);
	assert_stop(result, 0, NR_STOP_NO_BACKEND);
	ck_assert_uint_eq(fake.drops, 0);
	ck_assert_uint_eq(node(result, 0)->missing, GB(2) - ALLOCATABLE);
	nr_result_free(result);

	result = run("2G", &opt);
	ck_assert_uint_eq(fake.drops, 1);
	ck_assert_str_eq(node(result, 0)->backend, "drop_caches");
	ck_assert_uint_eq(nr_result_missing(result), 0);
	ck_assert_int_ge(node(result, 0)->freed, CLEAN);
	ck_assert_uint_eq(node(result, 0)->by[NR_BACKENDS - 1], node(result, 0)->freed);
	nr_result_free(result);

	/* Met now: not again */
	result = run("2G", &opt);
	ck_assert_uint_eq(fake.drops, 1);
	nr_result_free(result);
	fake_stop();
}
END_TEST

/* The host's effect: what was freed where it was wanted, and what others lost by it */
START_TEST(effect_on_host)
{
	struct nr_options opt = { .allow_drop_caches = true };
	struct nr_binding *binding;
	struct nr_spec *spec = spec_of("2G");
	struct nr_effect effect;
	struct nr_result *result;

	fake_make(2);
	fake_start();
	result = run("2G", NULL);
	nr_result_effect(result, &effect);
	ck_assert_int_eq((int64_t)effect.freed, node(result, 0)->freed + node(result, 1)->freed);
	ck_assert_uint_eq(effect.others_lost, 0);
	ck_assert_uint_eq(effect.swapped_out, 0);
	ck_assert_double_gt(effect.seconds, 0);
	nr_result_free(result);
	fake_stop();

	fake_make(2);
	fake_start();
	fake_without(NODE_DIR "/node0/reclaim");
	ck_assert_int_eq(nr_binding_from_nodes(fake.ctx, "0", &binding), 0);
	ck_assert_int_eq(nr_run(fake.ctx, spec, binding, 0, &opt, &result), 0);
	nr_result_effect(result, &effect);
	ck_assert_uint_eq(effect.freed, CLEAN);
	ck_assert_uint_eq(effect.others_lost, CLEAN);
	nr_result_free(result);
	nr_binding_free(binding);
	nr_spec_free(spec);
	fake_stop();
}
END_TEST

/* Allowed is not wanted: the better backend was enough */
START_TEST(drop_caches_last)
{
	struct nr_options opt = { .allow_drop_caches = true };
	struct nr_result *result;

	fake_make(1);
	fake_start();
	result = run("2G", &opt);
	ck_assert_uint_eq(fake.drops, 0);
	ck_assert_str_eq(node(result, 0)->backend, "sysfs");
	nr_result_free(result);
	fake_stop();
}
END_TEST

/* nodeN/reclaim does not reach ZONE_MOVABLE */
START_TEST(movable)
{
	struct nr_result *result;

	fake_make(1);
	fake.node[0].movable = true;
	fake_start();
	result = run("2G", NULL);
	ck_assert_uint_eq(fake.node[0].writes, 0);
	assert_stop(result, 0, NR_STOP_EXHAUSTED);
	ck_assert_uint_gt(nr_result_missing(result), 0);
	nr_result_free(result);
	fake_stop();
}
END_TEST

START_TEST(compact)
{
	struct nr_result *result;

	fake_make(2);
	fake.node[1].free = 7 << 20;
	fake.node[1].file = 1 << 18;
	fake_start();
	result = run("2G,compact", NULL);
	ck_assert_uint_eq(fake.node[0].compacts, 1);
	/* Where nothing is freed nothing is touched */
	ck_assert_uint_eq(fake.node[1].compacts, 0);
	ck_assert_uint_eq(fake.node[1].writes, 0);
	nr_result_free(result);
	result = run("2G", NULL);
	ck_assert_uint_eq(fake.node[0].compacts, 1);
	nr_result_free(result);
	fake_stop();
}
END_TEST

/* A compaction that the kernel does not come back from neither holds up the caller nor spoils the
 * result */
START_TEST(slow_compact)
{
	struct nr_options opt = { .timeout_ms = 300 };
	struct nr_result *result;
	double start;

	fake_make(1);
	fake.compact_delay = 20000;
	fake_start();
	start = now();
	result = run("1G,compact", &opt);
	ck_assert_double_lt(now() - start, 10.0);
	ck_assert_uint_eq(nr_result_missing(result), 0);
	assert_stop(result, 0, NR_STOP_DONE);
	nr_result_free(result);
	fake_stop();
}
END_TEST

/* While another process works on the NUMA node, this one waits, whatever the backends. A kernel
 * without compaction has another file to lock. */
START_TEST(one_at_a_time)
{
	struct nr_options opt = { .timeout_ms = 300 };
	struct nr_result *result;
	int backend = _i % (int)ARRAY_SIZE(each);
	char path[512];
	int fd;

	make_for(backend, 1);
	fake_start();
	snprintf(path, sizeof(path), "%s/" NODE_DIR "/node0/compact", fake.root);
	if (_i >= (int)ARRAY_SIZE(each)) {
		ck_assert_int_eq(unlink(path), 0);
		snprintf(path, sizeof(path), "%s/" NODE_DIR "/node0/reclaim", fake.root);
	}
	fd = open(path, O_WRONLY);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(flock(fd, LOCK_EX), 0);
	result = run("1G", &opt);
	assert_stop(result, 0, NR_STOP_DEADLINE);
	ck_assert_uint_eq(fake.node[0].writes, 0);
	nr_result_free(result);
	close(fd);
	result = run("1G", NULL);
	assert_stop(result, 0, NR_STOP_DONE);
	ck_assert_str_eq(node(result, 0)->backend, each[backend].name);
	nr_result_free(result);
	fake_stop();
}
END_TEST

/* Where a backend works, what it cannot free is no reason to empty the whole host's cache */
START_TEST(no_drop_caches_beside)
{
	struct nr_options opt = { .allow_drop_caches = true };
	struct nr_result *result;

	fake_make(2);
	fake_start();
	result = run("7900M", &opt);
	ck_assert_uint_gt(nr_result_missing(result), 0);
	ck_assert_uint_eq(fake.drops, 0);
	nr_result_free(result);
	fake_stop();
}
END_TEST

START_TEST(dry_run)
{
	struct nr_options opt = { .dry_run = true, .allow_drop_caches = true };
	struct nr_result *result;

	fake_make(2);
	fake.node[1].free = 7 << 20;
	fake.node[1].file = 1 << 18;
	fake_start();
	result = run("2G,compact", &opt);
	assert_stop(result, 0, NR_STOP_DRY_RUN);
	assert_stop(result, 1, NR_STOP_NOTHING);
	ck_assert_uint_ge(node(result, 0)->plan.to_free, GB(2) - ALLOCATABLE);
	ck_assert_uint_eq(nr_result_missing(result), 0); /* clean cache would be enough */
	ck_assert_uint_eq(fake.node[0].writes + fake.node[0].compacts + fake.drops, 0);
	ck_assert_ptr_eq(nr_result_after(result), nr_result_before(result));
	ck_assert_ptr_null(nr_result_at(result, 2));
	nr_result_free(result);
	nr_result_free(NULL);
	result = run("7G", &opt);
	ck_assert_uint_gt(node(result, 0)->missing, 0);
	ck_assert_uint_eq(node(result, 0)->missing, node(result, 0)->plan.missing);
	nr_result_free(result);
	fake_stop();
}
END_TEST

/* A recorded tree is only read */
START_TEST(recorded)
{
	struct nr_options opt = { .dry_run = true };
	struct nr_binding *binding = binding_of("cxl", NULL);
	struct nr_spec *spec = spec_of("20G");
	struct nr_ctx *ctx = open_tree("cxl");
	struct nr_result *result = (void *)1;

	assert_err(nr_run(ctx, spec, binding, 0, NULL, &result), EROFS);
	ck_assert_ptr_null(result);
	ck_assert_int_eq(nr_run(ctx, spec, binding, 0, &opt, &result), 0);
	ck_assert_uint_eq(nr_result_count(result), 3);
	assert_stop(result, 0, NR_STOP_DRY_RUN);
	assert_stop(result, 1, NR_STOP_NOTHING);
	ck_assert_uint_eq(node(result, 0)->plan.need, GB(20));
	nr_result_free(result);
	nr_close(ctx);
	nr_spec_free(spec);
	nr_binding_free(binding);
}
END_TEST

START_TEST(backends)
{
	static const char *const names[] = { "syscall", "sysfs", "files", "pressure",
					     "drop_caches" };
	struct nr_backend_info info;
	struct nr_ctx *ctx = open_tree("cxl");

	ck_assert_uint_eq(nr_backend_count(), ARRAY_SIZE(names));
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		ck_assert_int_eq(nr_backend_probe(ctx, i, 0, &info), 0);
		ck_assert_str_eq(info.name, names[i]);
		ck_assert_str_eq(nr_backend_name(i), names[i]);
		ck_assert_int_eq(info.whole_host, !strcmp(names[i], "drop_caches"));
		if (strcmp(names[i], "files"))
			assert_err(info.error, i == 0 ? EOPNOTSUPP : 0);
	}
	assert_err(nr_backend_probe(ctx, ARRAY_SIZE(names), 0, &info), ERANGE);
	ck_assert_ptr_null(nr_backend_name(ARRAY_SIZE(names)));
	/* A NUMA node that is not there */
	ck_assert_int_eq(nr_backend_probe(ctx, 1, 77, &info), 0);
	ck_assert_int_ne(info.error, 0);
	nr_close(ctx);

	/* A kernel that has no nodeN/reclaim: says which ones have */
	ctx = open_tree("two-sockets");
	ck_assert_int_eq(nr_backend_probe(ctx, 1, 0, &info), 0);
	assert_err(info.error, ENOENT);
	ck_assert_msg(strstr(info.why, "6.17") != NULL, "%s", info.why);
	nr_close(ctx);
}
END_TEST

Suite *suite(void)
{
	Suite *s = suite_create("reclaim");
	TCase *t = unit_case("reclaim");

	tcase_add_loop_test(t, just_enough, 0, ARRAY_SIZE(each));
	tcase_add_loop_test(t, more_than_there_is, 0, ARRAY_SIZE(each));
	tcase_add_loop_test(t, all, 0, ARRAY_SIZE(each));
	tcase_add_loop_test(t, kernel_mood, 0, ARRAY_SIZE(moods) * ARRAY_SIZE(each));
	tcase_add_test(t, little_harm);
	tcase_add_test(t, deadline);
	tcase_add_loop_test(t, deadline_of_spec, 0, ARRAY_SIZE(each));
	tcase_add_loop_test(t, dear_requests, 0, ARRAY_SIZE(each));
	tcase_add_test(t, progress);
	tcase_add_test(t, cancel_by_progress);
	tcase_add_test(t, cancel_before);
	tcase_add_loop_test(t, side_by_side, 0, 3);
	tcase_add_test(t, only_these_nodes);
	tcase_add_test(t, drop_caches);
	tcase_add_test(t, effect_on_host);
	tcase_add_test(t, drop_caches_last);
	tcase_add_test(t, movable);
	tcase_add_test(t, compact);
	tcase_add_test(t, slow_compact);
	tcase_add_loop_test(t, one_at_a_time, 0, 2 * ARRAY_SIZE(each));
	tcase_add_test(t, no_drop_caches_beside);
	tcase_add_test(t, dry_run);
	tcase_add_test(t, recorded);
	tcase_add_test(t, backends);
	suite_add_tcase(s, t);
	return s;
}
