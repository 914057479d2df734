/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Drops the pages of known files that are on one NUMA node: of the files that the site lists, and
 * of those that processes have open or mapped. Needs nothing of the kernel but what Linux has had
 * for long.
 *
 * The NUMA nodes of a plan are served together, so that each file is opened once for all of them:
 * one of their threads does what all have asked for, and the others wait. If all is to go, files
 * are dropped as they are found. Else the best candidates go first (candidates.c), and as soon as a
 * NUMA node has what it asked for, nothing more of it goes.
 *
 * Files that processes have open are left to the next backend, if there is one: the kernel knows
 * which of their pages are in use.
 */
#include "candidates.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define BATCH 8192u /* files that are given to a walk at once */

struct nr_files_state {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool busy; /* a thread has what follows, but for want */
	bool all_dropped;
	bool with_open;
	struct nr_pool *pool;
	struct nr_candidate *best[BATCH];
	const char *paths[BATCH];
	uint64_t starts[BATCH], bounds[BATCH];
	uint64_t want[]; /* with the lock: of each NUMA node of the plan, bytes that are to go */
};

/* What NUMA nodes ask for now. */
struct demand {
	uint64_t bits; /* nr_plan_bit() */
	struct bitmask *nodes;
	uint64_t budget[NR_MAX_NODES];
};

static struct demand *demand_new(struct nr_files_state *files, const struct nr_work *work)
{
	struct demand *demand = calloc(1, sizeof(*demand));
	size_t i;

	if (!demand)
		return NULL;
	demand->nodes = nr_set_new(NR_MAX_NODES);
	if (!demand->nodes) {
		free(demand);
		return NULL;
	}
	pthread_mutex_lock(&files->lock);
	for (i = 0; i < work->n; i++) {
		if (!(work->goal == NR_GOAL_ALL ? work->node[i].plan.to_try : files->want[i]))
			continue;
		demand->bits |= nr_plan_bit(i);
		demand->budget[work->node[i].plan.nid] = files->want[i];
		numa_bitmask_setbit(demand->nodes, (unsigned int)work->node[i].plan.nid);
	}
	pthread_mutex_unlock(&files->lock);
	return demand;
}

static void demand_free(struct demand *demand)
{
	nr_set_free(demand->nodes);
	free(demand);
}

/* May a NUMA node have more of this file? */
static bool has_more(const struct nr_candidate *c, const struct nr_walked *file, bool asked,
		     int nid)
{
	const bool complete = file->end >= file->size;
	const uint64_t left = file->left.node[nid];

	if (file->error == -ETIME)
		return !asked || left < file->cache.node[nid];
	if (file->error)
		return false;
	if (asked)
		return !complete && !file->allow[nid];
	return !complete || left || (c->at_nodes && c->at);
}

/* What is known of a candidate after work on it. */
static void learn(struct nr_files_state *files, const struct nr_work *work, struct nr_candidate *c,
		  const struct demand *demand, const struct nr_walked *file)
{
	uint64_t more = 0;
	size_t i;

	c->done = true;
	pthread_mutex_lock(&files->lock);
	for (i = 0; i < work->n; i++) {
		int nid = work->node[i].plan.nid;
		bool asked = numa_bitmask_isbitset(demand->nodes, (unsigned int)nid);

		files->want[i] = nr_sub(files->want[i],
					file->cache.node[nid] - file->left.node[nid]);
		if (has_more(c, file, asked, nid))
			more |= nr_plan_bit(i);
	}
	pthread_mutex_unlock(&files->lock);
	c->nodes &= more;
	c->at = file->end;
	c->at_nodes = work->n > 64 ? 0 : demand->bits;
}

/* Drops what NUMA nodes ask for of the best @n files. */
static int drop_best(struct nr_files_state *files, struct nr_work *work,
		     const struct demand *demand, size_t n)
{
	struct nr_walk_options options = {
		.paths = files->paths,
		.npaths = n,
		.addresses = true,
		.starts = files->starts,
		.bounds = files->bounds,
		.drop = demand->nodes,
		.budget = demand->budget,
		.timeout = NR_FILES_NS,
		.cpus = work->binding->cpus,
	};
	const struct nr_walked *file;
	struct nr_walk *walk;
	size_t i;
	int err;

	for (i = 0; i < n; i++) {
		struct nr_candidate *c = files->best[i];

		files->paths[i] = c->address;
		files->starts[i] = demand->bits & ~c->at_nodes ? 0 : c->at;
		files->bounds[i] = c->bytes;
		c->done = false;
		if (!files->starts[i])
			c->at_nodes = 0;
	}
	err = nr_walk_start(work->ctx, &options, &walk);
	if (err)
		return err;
	while ((err = nr_walk_next(walk, work->ctx, work->deadline, &file)) == 1)
		learn(files, work, files->best[file->index], demand, file);
	/* Those that are not told are other names of files that are */
	n = err ? 0 : nr_walk_begun(walk);
	for (i = 0; i < n; i++)
		if (!files->best[i]->done)
			files->best[i]->nodes = 0;
	nr_walk_end(walk);
	return err;
}

/* Drops what it finds, in no order: -ENODATA, that was all; 0, a file takes more than one turn. */
static int drop_found(struct nr_files_state *files, struct nr_work *work,
		      const struct demand *demand)
{
	struct nr_walk_options options = {
		.paths = work->opt->files_from,
		.npaths = work->opt->nfiles_from,
		.open = files->with_open,
		.drop = demand->nodes,
		.timeout = NR_FILES_NS,
		.cpus = work->binding->cpus,
	};
	const struct nr_walked *file;
	struct nr_walk *walk;
	bool again = false;
	int err = 0;

	if (!files->with_open)
		err = nr_pool_open_files(files->pool, work, &options.skip);
	if (!err)
		err = nr_walk_start(work->ctx, &options, &walk);
	if (err)
		return err;
	while ((err = nr_walk_next(walk, work->ctx, work->deadline, &file)) == 1)
		if (file->error == -ETIME && file->left.cached < file->cache.cached)
			again = true;
		else if (file->error)
			nr_files_tell(work, file);
	nr_walk_end(walk);
	files->all_dropped = !err && !again;
	return files->all_dropped ? -ENODATA : err;
}

/* For all NUMA nodes that ask now: 0; -ENODATA, nothing is left; -errno. */
static int serve(struct nr_files_state *files, struct nr_work *work)
{
	struct demand *demand;
	int err;

	if (files->all_dropped)
		return -ENODATA;
	demand = demand_new(files, work);
	if (!demand)
		return -ENOMEM;
	if (work->goal == NR_GOAL_ALL) {
		err = drop_found(files, work, demand);
	} else {
		err = nr_pool_best(files->pool, work, demand->bits, files->best, BATCH);
		if (err > 0)
			err = drop_best(files, work, demand, (size_t)err);
		else if (!err && !nr_work_must_stop(work))
			err = -ENODATA;
	}
	demand_free(demand);
	return err;
}

/* Waits a moment for the thread that serves. */
static void wait_for(struct nr_files_state *files)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec++;
	pthread_cond_timedwait(&files->changed, &files->lock, &until);
}

static struct nr_files_state *state_new(struct nr_work *work, int nid)
{
	struct nr_files_state *files = calloc(1, sizeof(*files) + work->n * sizeof(files->want[0]));

	if (!files)
		return NULL;
	files->with_open = !nr_backend_choose(work->ctx, nid, &nr_backend_files,
					      work->opt->backend);
	files->pool = nr_pool_new(files->with_open);
	if (!files->pool) {
		free(files);
		return NULL;
	}
	pthread_mutex_init(&files->lock, NULL);
	pthread_cond_init(&files->changed, NULL);
	return files;
}

void nr_files_state_free(struct nr_files_state *files)
{
	if (!files)
		return;
	nr_pool_free(files->pool);
	pthread_cond_destroy(&files->changed);
	pthread_mutex_destroy(&files->lock);
	free(files);
}

static int reclaim(struct nr_work *work, int nid, uint64_t bytes)
{
	struct nr_files_state *files;
	size_t me = 0;
	int err = 0;

	while (work->node[me].plan.nid != nid)
		me++;
	pthread_mutex_lock(&work->lock);
	if (!work->files)
		work->files = state_new(work, nid);
	files = work->files;
	pthread_mutex_unlock(&work->lock);
	if (!files)
		return -ENOMEM;
	pthread_mutex_lock(&files->lock);
	files->want[me] = bytes;
	while (!err && files->want[me] && !nr_work_must_stop(work)) {
		if (files->busy) {
			wait_for(files);
			continue;
		}
		files->busy = true;
		pthread_mutex_unlock(&files->lock);
		err = serve(files, work);
		pthread_mutex_lock(&files->lock);
		files->busy = false;
		pthread_cond_broadcast(&files->changed);
	}
	files->want[me] = 0;
	pthread_mutex_unlock(&files->lock);
	/* Who asked looks at the clock as well */
	return err == -ETIME || err == -ECANCELED ? 0 : err;
}

static int probe(struct nr_ctx *ctx, int nid, char *why, size_t size)
{
	int fd;

	(void)nid;
	if (ctx->recorded) {
		snprintf(why, size, "works on the running system only");
		return -EROFS;
	}
	if (geteuid()) {
		snprintf(why, size, "needs root");
		return -EPERM;
	}
	fd = nr_sys_folder(ctx, "proc/self/map_files");
	if (fd < 0) {
		snprintf(why, size, "/proc/self/map_files: %s", strerror(-fd));
		return fd;
	}
	close(fd);
	snprintf(why, size, "drops pages of known files, one NUMA node");
	return 0;
}

static uint64_t reach(const struct nr_node *node, const struct nr_host *host)
{
	(void)host;
	return nr_clean_at_most(node);
}

const struct nr_backend nr_backend_files = {
	.name = "files",
	.probe = probe,
	.at_once = true,
	.reach = reach,
	.reclaim = reclaim,
};
