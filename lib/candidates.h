/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Files that backend "files" may drop: a pool of bounded size, the best first (candidates.c). */
#ifndef NR_CANDIDATES_H
#define NR_CANDIDATES_H

#include "internal.h"

#define NR_FILES_NS UINT64_C(5000000000) /* for one file */

struct nr_candidate {
	uint64_t key;	/* the largest goes first */
	uint64_t bytes; /* the most that it has in the cache */
	uint64_t nodes; /* nr_plan_bit() of the NUMA nodes on which it may have pages */
	uint64_t at;	/* nothing is left before this, on those of at_nodes */
	uint64_t at_nodes;
	bool done; /* in this batch */
	char address[];
};

struct nr_pool;
/* @with_open: files that processes have open are candidates too, after all others. NULL: no memory.
 */
struct nr_pool *nr_pool_new(bool with_open);
void nr_pool_free(struct nr_pool *pool);
/* Takes the best @max of those that may have pages on the NUMA nodes @asked: how many; 0, there are
 * none, or the deadline or a cancel came; -errno of a search that cannot start. They live until the
 * next call. */
int nr_pool_best(struct nr_pool *pool, struct nr_work *work, uint64_t asked,
		 struct nr_candidate *best[], size_t max);
/* What processes have open or mapped, found now: 0, -ETIME, -ECANCELED, -errno. */
int nr_pool_open_files(struct nr_pool *pool, struct nr_work *work, const struct nr_inodes **out);

/* A bit for the @i-th NUMA node of a plan; beyond the 64th they share them. */
static inline uint64_t nr_plan_bit(size_t i)
{
	return UINT64_C(1) << i % 64;
}
bool nr_work_must_stop(const struct nr_work *work);
/* A line in the log for a file that cannot be worked on. */
void nr_files_tell(const struct nr_work *work, const struct nr_walked *file);

#endif
