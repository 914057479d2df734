/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the listed files of a walk may drop of each NUMA node. Workers work on several at once, and
 * yet it comes out as if they had been worked on one after the other: a file begins with as much as
 * it can use at the most, and if that is not there any more, it waits for what the files before it
 * leave of theirs.
 */
#include "walk.h"

static bool is_asked(const struct nr_walk *walk, unsigned int nid)
{
	return numa_bitmask_isbitset(walk->asked, nid);
}

bool nr_budget_waits(const struct nr_walk *walk)
{
	unsigned int i;

	if (!walk->budget || !walk->unsettled || !walk->first)
		return false;
	for (i = 0; i < walk->nnodes; i++)
		if (is_asked(walk, i) && walk->budget[i] < walk->options.bounds[walk->first->index])
			return true;
	return false;
}

bool nr_budget_is_spent(const struct nr_walk *walk)
{
	return walk->budget && !numa_bitmask_weight(walk->asked);
}

void nr_budget_take(struct nr_worker *me, uint64_t bound)
{
	struct nr_walk *walk = me->walk;
	unsigned int i;

	for (i = 0; i < walk->nnodes; i++) {
		me->allow[i] = 0;
		if (!is_asked(walk, i))
			continue;
		me->allow[i] = walk->budget[i] < bound ? walk->budget[i] : bound;
		walk->budget[i] -= me->allow[i];
	}
	walk->unsettled++;
}

void nr_budget_settle(struct nr_walk *walk, const uint64_t *left)
{
	unsigned int i;

	if (!walk->budget)
		return;
	walk->unsettled--;
	for (i = 0; i < walk->nnodes; i++) {
		walk->budget[i] += left ? left[i] : 0;
		/* Nobody has any of it that may come back */
		if (!walk->unsettled && !walk->budget[i] && is_asked(walk, i))
			numa_bitmask_clearbit(walk->asked, i);
	}
	if (walk->idle)
		pthread_cond_broadcast(&walk->work);
}
