/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The whole flow in one call: snapshot, plan, reclaim, snapshot, result. */
#include "internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

NR_EXPORT const char *nr_stop_name(enum nr_stop stop)
{
	static const char *const names[] = {
		[NR_STOP_NOTHING] = "nothing",	     [NR_STOP_DONE] = "done",
		[NR_STOP_EXHAUSTED] = "exhausted",   [NR_STOP_DEADLINE] = "deadline",
		[NR_STOP_CANCELLED] = "cancelled",   [NR_STOP_SWAP] = "swap",
		[NR_STOP_MAPPED] = "mapped",	     [NR_STOP_OFFLINE] = "offline",
		[NR_STOP_NO_BACKEND] = "no_backend", [NR_STOP_ERROR] = "error",
		[NR_STOP_DRY_RUN] = "dry_run",
	};

	return (size_t)stop < sizeof(names) / sizeof(*names) ? names[stop] : NULL;
}

/* Takes the snapshot and makes the plan into a result. */
static int prepare(struct nr_ctx *ctx, const struct nr_spec *spec, const struct nr_binding *binding,
		   uint64_t given, struct nr_result **out)
{
	struct nr_snapshot *snap;
	struct nr_result *result;
	struct nr_plan *plan;
	size_t i;
	int err;

	*out = NULL;
	err = nr_snapshot_take(ctx, &snap);
	if (err)
		return err;
	err = nr_plan_make(spec, snap, binding, given, &plan);
	if (err) {
		nr_snapshot_free(snap);
		return err;
	}
	result = calloc(1, sizeof(*result) + plan->n * sizeof(result->node[0]));
	if (!result) {
		nr_plan_free(plan);
		nr_snapshot_free(snap);
		return -ENOMEM;
	}
	result->before = snap;
	result->goal = spec->goal;
	result->n = plan->n;
	for (i = 0; i < plan->n; i++) {
		result->node[i].plan = plan->node[i];
		if (plan->node[i].verdict == NR_VERDICT_UNKNOWN) {
			result->node[i].stop = NR_STOP_ERROR;
			result->node[i].error = -EOPNOTSUPP;
		}
	}
	nr_plan_free(plan);
	*out = result;
	return 0;
}

static void write_back(int fd)
{
	(void)fd;
	sync();
}

/* Would pages help that are dirty now? */
static bool wants_writeback(const struct nr_spec *spec, const struct nr_result *result)
{
	const struct nr_node *node;
	size_t i;

	if (spec->dirty != NR_DIRTY_SYNC)
		return false;
	for (i = 0; i < result->n; i++) {
		node = nr_snapshot_find(result->before, result->node[i].plan.nid);
		if ((spec->goal == NR_GOAL_ALL ||
		     result->node[i].plan.verdict == NR_VERDICT_SHORT) &&
		    nr_counter_or_zero(node, NR_DIRTY_PAGES))
			return true;
	}
	return false;
}

static bool has_work(const struct nr_result *result)
{
	size_t i;

	for (i = 0; i < result->n; i++)
		if (result->node[i].plan.to_try)
			return true;
	return false;
}

static int64_t difference(uint64_t after, uint64_t before)
{
	return after >= before ? (int64_t)(after - before) : -(int64_t)(before - after);
}

/* With NR_GOAL_ALL: cache that is surely clean and left though the backend reaches it. The kernel
 * keeps a few pages busy at any moment, so up to 1 % of what was there does not count. */
static uint64_t all_missing(struct nr_ctx *ctx, const struct nr_result *result,
			    const struct nr_result_node *worked, const struct nr_node *node)
{
	const struct nr_plan_node *plan = &worked->plan;
	const struct nr_backend *backend = worked->backend
						   ? nr_backend_named(worked->backend)
						   : nr_backend_choose(ctx, plan->nid, NULL, NULL);
	uint64_t reach = backend ? backend->reach(node, nr_snapshot_host(result->before))
				 : UINT64_MAX;
	uint64_t left = nr_counter_or_zero(node, NR_CLEAN);

	if (left > reach)
		left = reach;
	return left > plan->clean / 100 ? left : 0;
}

/* Fills in what the counters say now. */
static void measure(struct nr_ctx *ctx, struct nr_result *result, const struct nr_binding *binding)
{
	const struct nr_snapshot *now = nr_result_after(result);
	const struct nr_node *before, *after;
	struct nr_result_node *node;
	size_t i;

	for (i = 0; i < result->n; i++) {
		node = &result->node[i];
		before = nr_snapshot_find(result->before, node->plan.nid);
		after = nr_snapshot_find(now, node->plan.nid);
		if (!after) {
			node->stop = NR_STOP_OFFLINE;
			node->missing = node->plan.need;
			continue;
		}
		node->freed = difference(nr_free_and_lists(after), nr_free_and_lists(before));
		node->allocatable = nr_plan_allocatable(after, binding, node->plan.need, 0);
		if (result->dry_run)
			node->missing = node->plan.missing;
		else if (result->goal == NR_GOAL_ALL)
			node->missing = all_missing(ctx, result, node, after);
		else
			node->missing = nr_sub(node->plan.need, node->allocatable);
		if (node->stop == NR_STOP_EXHAUSTED && !node->missing)
			node->stop = NR_STOP_DONE;
	}
}

/* Is a NUMA node short because nothing can free its cache alone? */
static bool without_backend(const struct nr_result *result)
{
	size_t i;

	for (i = 0; i < result->n; i++)
		if (result->node[i].missing && result->node[i].stop == NR_STOP_NO_BACKEND)
			return true;
	return false;
}

/* By how much free memory of a NUMA node rose from one snapshot to the next, bytes. */
static uint64_t rise(const struct nr_snapshot *from, const struct nr_snapshot *to, int nid)
{
	const struct nr_node *before = nr_snapshot_find(from, nid);
	const struct nr_node *after = nr_snapshot_find(to, nid);

	return before && after ? nr_sub(nr_free_and_lists(after), nr_free_and_lists(before)) : 0;
}

/* Empties the whole host's cache. Returns 0 or -errno of the counters. */
static int last_resort(struct nr_work *work, struct nr_result *result)
{
	const struct nr_backend *backend = &nr_backend_drop_caches;
	struct nr_ctx *ctx = work->ctx;
	struct nr_result_node *node;
	struct nr_snapshot *now;
	char why[128];
	size_t i;
	int err;

	err = backend->probe(ctx, 0, why, sizeof(why));
	if (!err)
		err = backend->reclaim(work, 0, 0);
	if (err) {
		nr_log(ctx, LOG_WARNING, "backend %s: %s", backend->name, strerror(-err));
		return 0;
	}
	err = nr_snapshot_take(ctx, &now);
	if (err)
		return err;
	for (i = 0; i < result->n; i++) {
		node = &result->node[i];
		if (node->stop != NR_STOP_NO_BACKEND)
			continue;
		node->backend = backend->name;
		node->stop = NR_STOP_EXHAUSTED;
		node->by[nr_backend_index(backend)] = rise(result->after, now, node->plan.nid);
	}
	nr_snapshot_free(result->after);
	result->after = now;
	return 0;
}

static int execute(struct nr_ctx *ctx, const struct nr_spec *spec, const struct nr_binding *binding,
		   const struct nr_options *opt, uint64_t deadline, struct nr_result *result)
{
	struct nr_work work = {
		.ctx = ctx,
		.binding = binding,
		.before = result->before,
		.opt = opt,
		.goal = spec->goal,
		.compact = spec->compact,
		.deadline = deadline,
		.n = result->n,
		.node = result->node,
	};
	int err = nr_reclaim(&work);

	if (!err)
		err = nr_snapshot_take(ctx, &result->after);
	if (err || !opt->allow_drop_caches)
		return err;
	measure(ctx, result, binding);
	if (!without_backend(result) || nr_now() >= deadline || atomic_load(&ctx->cancel))
		return 0;
	return last_resort(&work, result);
}

NR_EXPORT int nr_run(struct nr_ctx *ctx, const struct nr_spec *spec, struct nr_binding *binding,
		     uint64_t given, const struct nr_options *opt, struct nr_result **out)
{
	static const struct nr_options defaults;
	uint64_t start = nr_now(), deadline;
	struct nr_result *result;
	size_t i;
	int err;

	*out = NULL;
	opt = opt ? opt : &defaults;
	if (ctx->recorded && !opt->dry_run)
		return -EROFS;
	if (opt->backend && !nr_backend_named(opt->backend)) {
		nr_log(ctx, LOG_ERR, "backend=: none of that name");
		return -EINVAL;
	}
	deadline = start + (opt->timeout_ms ? opt->timeout_ms * UINT64_C(1000000)
					    : spec->timeout * UINT64_C(1000000000));
	if (spec->nodes) {
		err = nr_binding_limit(binding, spec->nodes);
		if (err) {
			nr_log(ctx, LOG_ERR, "nodes=: outside of the job's own NUMA nodes");
			return err;
		}
	}
	err = prepare(ctx, spec, binding, given, &result);
	if (err)
		return err;
	if (!opt->dry_run && wants_writeback(spec, result)) {
		if (nr_bounded(ctx, write_back, -1, deadline))
			nr_log(ctx, LOG_WARNING, "dirty=sync: not all written back in time");
		nr_result_free(result);
		err = prepare(ctx, spec, binding, given, &result);
		if (err)
			return err;
	}
	result->dry_run = opt->dry_run;
	for (i = 0; opt->dry_run && i < result->n; i++)
		if (result->node[i].stop == NR_STOP_NOTHING && result->node[i].plan.to_try)
			result->node[i].stop = NR_STOP_DRY_RUN;
	if (!opt->dry_run && has_work(result))
		err = execute(ctx, spec, binding, opt, deadline, result);
	atomic_store(&ctx->cancel, false);
	if (err) {
		nr_result_free(result);
		return err;
	}
	measure(ctx, result, binding);
	result->seconds = (double)(nr_now() - start) / 1e9;
	*out = result;
	return 0;
}

NR_EXPORT void nr_result_free(struct nr_result *result)
{
	if (!result)
		return;
	nr_snapshot_free(result->before);
	nr_snapshot_free(result->after);
	free(result);
}

NR_EXPORT size_t nr_result_count(const struct nr_result *result)
{
	return result->n;
}

NR_EXPORT const struct nr_result_node *nr_result_at(const struct nr_result *result, size_t i)
{
	return i < result->n ? &result->node[i] : NULL;
}

NR_EXPORT const struct nr_snapshot *nr_result_before(const struct nr_result *result)
{
	return result->before;
}

NR_EXPORT const struct nr_snapshot *nr_result_after(const struct nr_result *result)
{
	return result->after ? result->after : result->before;
}

NR_EXPORT uint64_t nr_result_missing(const struct nr_result *result)
{
	uint64_t bytes = 0;
	size_t i;

	for (i = 0; i < result->n; i++)
		bytes += result->node[i].missing;
	return bytes;
}
