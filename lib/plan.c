/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* How much to free on each NUMA node, and why. Pure: no I/O, no clock. */
#include "internal.h"

#include <errno.h>
#include <stdlib.h>

/* a × b / c without overflow; c is not 0. */
static uint64_t scale(uint64_t a, uint64_t b, uint64_t c)
{
	unsigned __int128 v = (unsigned __int128)a * b / c;

	return v > UINT64_MAX ? UINT64_MAX : (uint64_t)v;
}

/* The most that can ever be allocatable: all that the zones manage, above watermarks and reserves.
 */
static uint64_t capacity(const struct nr_node *node)
{
	uint64_t bytes = 0;
	size_t i;

	for (i = 0; i < node->nzones; i++)
		bytes += nr_sub(node->zones[i].managed,
				node->zones[i].low + node->zones[i].reserve);
	return bytes;
}

/* Part of a NUMA node's memory that the kernel and the system keep for themselves, in percent. What
 * a job was given is counted without it: Slurm gives the host's whole memory to a job that names
 * none where no default is configured, and no NUMA node can have all of its own free. */
#define SYSTEM_PERCENT 5

#define SLACK_MAX (UINT64_C(64) << 20)

/* CPUs of the job and of the host, over all NUMA nodes; of the job on those that it is served on.
 */
struct cpus {
	uint64_t job, host, served;
};

static uint64_t auto_need(const struct nr_node *node, const struct nr_binding *binding,
			  uint64_t given, const struct cpus *all)
{
	uint64_t job = binding->ncpus[node->nid], host = binding->node_cpus[node->nid];
	uint64_t most = capacity(node) / 100 * (100 - SYSTEM_PERCENT), need;

	if (given) {
		/* With nodes= only CPU-less NUMA nodes may be left. */
		need = all->served ? scale(given, job, all->job)
				   : given / numa_bitmask_weight(binding->nodes);
		return need < most ? need : most;
	}
	/* A CPU-less NUMA node is shared by all CPUs of the host. */
	if (!host) {
		job = all->job;
		host = all->host;
	}
	if (!host || job > host)
		job = host = 1;
	return scale(most, job, host);
}

static uint64_t need_of(const struct nr_spec *spec, const struct nr_node *node,
			const struct nr_binding *binding, uint64_t given, const struct cpus *all)
{
	switch (spec->goal) {
	case NR_GOAL_SIZE:
		return spec->bytes;
	case NR_GOAL_PERCENT:
		return scale(nr_counter_or_zero(node, NR_TOTAL), spec->percent, 100);
	case NR_GOAL_ALL:
		return nr_counter_or_zero(node, NR_ALLOCATABLE) +
		       nr_counter_or_zero(node, NR_CLEAN);
	case NR_GOAL_AUTO:
		break;
	}
	return auto_need(node, binding, given, all);
}

/* What is on the lists of the job's CPUs: of each at most its share of the need, since a task that
 * needs more than its share cannot take it from another CPU's list. */
uint64_t nr_plan_on_lists(const struct nr_node *node, const struct nr_binding *binding,
			  uint64_t need)
{
	unsigned int cpus = binding->ncpus[node->nid];
	uint64_t share, bytes = 0;
	size_t i;

	if (!cpus)
		cpus = numa_bitmask_weight(binding->cpus);
	if (!cpus)
		return 0;
	share = need / cpus;
	for (i = 0; i < node->npcp; i++)
		if (numa_bitmask_isbitset(binding->cpus, node->pcp[i].cpu))
			bytes += node->pcp[i].bytes < share ? node->pcp[i].bytes : share;
	return bytes;
}

/* Freed pages go to the zones as the cache lies in them; where the kernel does not say, as their
 * size. */
static uint64_t zone_weight(const struct nr_zone *zone, bool by_file)
{
	return by_file ? zone->file : zone->managed;
}

uint64_t nr_plan_allocatable(const struct nr_node *node, const struct nr_binding *binding,
			     uint64_t need, uint64_t freed)
{
	uint64_t bytes = nr_plan_on_lists(node, binding, need), total = 0, more;
	bool by_file = false;
	size_t i;

	for (i = 0; i < node->nzones; i++)
		by_file = by_file || node->zones[i].file;
	for (i = 0; i < node->nzones; i++)
		total += zone_weight(&node->zones[i], by_file);
	for (i = 0; i < node->nzones; i++) {
		const struct nr_zone *zone = &node->zones[i];

		more = freed ? scale(freed, zone_weight(zone, by_file), total ? total : 1) : 0;
		bytes += nr_sub(zone->free + more, zone->low + zone->reserve);
	}
	return bytes;
}

/* A quarter of a percent more than is short: less, and a few pages that others take in the same
 * moment make it short again; more would cost cache that nobody asked for. */
uint64_t nr_plan_slack(uint64_t to_free)
{
	return to_free / 400 < SLACK_MAX ? to_free / 400 : SLACK_MAX;
}

/* Part of what is freed only lifts zones to their watermarks, so the amount is searched for. */
uint64_t nr_plan_to_free(const struct nr_node *node, const struct nr_binding *binding,
			 uint64_t need, uint64_t extra)
{
	uint64_t low = 0, high = nr_counter_or_zero(node, NR_TOTAL), mid;
	const uint64_t goal = need + extra > need ? need + extra : need;

	if (nr_plan_allocatable(node, binding, need, 0) >= goal)
		return 0;
	while (low + 1 < high) {
		mid = low + (high - low) / 2;
		if (nr_plan_allocatable(node, binding, need, mid) >= goal)
			high = mid;
		else
			low = mid;
	}
	return high;
}

static void plan_node(const struct nr_spec *spec, const struct nr_node *node,
		      const struct nr_binding *binding, uint64_t given, const struct cpus *all,
		      struct nr_plan_node *out)
{
	const uint64_t at_most = nr_clean_at_most(node);

	out->nid = node->nid;
	out->clean = nr_counter_or_zero(node, NR_CLEAN);
	out->need = need_of(spec, node, binding, given, all);
	out->allocatable = nr_plan_allocatable(node, binding, out->need, 0);
	if (!(node->have >> NR_ALLOCATABLE & 1) || !(node->have >> NR_CLEAN & 1)) {
		out->verdict = NR_VERDICT_UNKNOWN;
		return;
	}
	if (spec->goal == NR_GOAL_ALL) {
		out->to_free = out->clean;
		out->to_try = at_most;
		out->verdict = out->clean ? NR_VERDICT_FREE : NR_VERDICT_MET;
		return;
	}
	out->to_free = nr_plan_to_free(node, binding, out->need, 0);
	out->to_free += nr_plan_slack(out->to_free);
	out->to_try = out->to_free < at_most ? out->to_free : at_most;
	if (out->to_free > out->clean)
		out->to_free = out->clean;
	out->missing = nr_sub(out->need, nr_plan_allocatable(node, binding, out->need, out->clean));
	out->verdict = out->missing   ? NR_VERDICT_SHORT
		       : out->to_free ? NR_VERDICT_FREE
				      : NR_VERDICT_MET;
}

NR_EXPORT int nr_plan_make(const struct nr_spec *spec, const struct nr_snapshot *snap,
			   const struct nr_binding *binding, uint64_t given, struct nr_plan **out)
{
	struct cpus all = { 0, 0, 0 };
	const struct nr_node *node;
	struct nr_plan *plan;
	size_t i, n = nr_snapshot_count(snap);

	*out = NULL;
	plan = calloc(1, sizeof(*plan) + n * sizeof(plan->node[0]));
	if (!plan)
		return -ENOMEM;
	plan->goal = spec->goal;
	for (i = 0; i < NR_MAX_NODES; i++) {
		all.job += binding->ncpus[i];
		all.host += binding->node_cpus[i];
		if (numa_bitmask_isbitset(binding->nodes, (unsigned int)i))
			all.served += binding->ncpus[i];
	}
	for (i = 0; i < n; i++) {
		node = nr_snapshot_at(snap, i);
		if (numa_bitmask_isbitset(binding->nodes, (unsigned int)node->nid))
			plan_node(spec, node, binding, given, &all, &plan->node[plan->n++]);
	}
	*out = plan;
	return 0;
}

NR_EXPORT void nr_plan_free(struct nr_plan *plan)
{
	free(plan);
}

NR_EXPORT size_t nr_plan_count(const struct nr_plan *plan)
{
	return plan->n;
}

NR_EXPORT const struct nr_plan_node *nr_plan_at(const struct nr_plan *plan, size_t i)
{
	return i < plan->n ? &plan->node[i] : NULL;
}
