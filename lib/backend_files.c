/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Drops the pages of known files that are on one NUMA node: of the files that the site lists, and
 * of those that processes have open or mapped. Needs nothing of the kernel but what Linux has had
 * for long.
 *
 * A survey finds files without opening them and fills a pool of bounded size. Out of that come the
 * best candidates first: those that no process has open, of these the longest unused, of these the
 * largest. What leaves the pool makes room for the next that the survey finds. The NUMA nodes of a
 * plan share the pool, and a file stays in it until each of them has had its part of it.
 *
 * Files that processes have open are left to the next backend, if there is one: the kernel knows
 * which of their pages are in use.
 */
#include "internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define POOL 8192u
#define POOL_OPEN (POOL / 4)	       /* of these, files that processes have open */
#define POOL_BYTES (UINT64_C(4) << 20) /* of addresses */
#define BATCH 2048u		       /* files that are given to a walk at once */
#define FILE_NS UINT64_C(5000000000)   /* for one file */
#define PASSES 4		       /* surveys, if the pool was too small */

struct candidate {
	uint64_t key;	/* the largest goes first */
	uint64_t bytes; /* that it may have in the cache */
	uint64_t nodes; /* a bit for each of the plan: it may have pages there */
	uint64_t at;	/* nothing is left before this, for the NUMA node of bit at_node */
	unsigned int at_node;
	bool taken; /* a thread works on it */
	bool done;  /* in this batch */
	char address[];
};

enum source { OPEN_FILES, TREES, ALL_FOUND };

struct nr_candidates {
	pthread_mutex_t lock;
	pthread_cond_t given_back;
	enum source source;
	struct nr_walk *survey;
	struct nr_inodes open;
	struct candidate *pool[POOL];
	size_t n, nopen, ntaken;
	uint64_t bytes; /* of addresses */
	unsigned int passes;
	bool with_open;
	bool thrown; /* some left the pool for lack of room, since the survey began */
};

/* Files in use come after all others; then coldness by powers of 4 minutes, then size. */
#define KEY_CLOSED (UINT64_C(1) << 63)
#define KEY_AGE 58
#define KEY_BYTES ((UINT64_C(1) << KEY_AGE) - 1)

static bool is_open(const struct candidate *c)
{
	return !(c->key & KEY_CLOSED);
}

static uint64_t key_of(const struct nr_walked *file, bool open)
{
	int64_t age = (int64_t)time(NULL) - file->used;
	uint64_t size = file->size < file->blocks ? file->size : file->blocks, unused = 0;

	for (; age >= 60 && unused < 31; age /= 4)
		unused++;
	return (open ? 0 : KEY_CLOSED) | unused << KEY_AGE | (size < KEY_BYTES ? size : KEY_BYTES);
}

static int better_first(const void *a, const void *b)
{
	const struct candidate *x = *(struct candidate *const *)a;
	const struct candidate *y = *(struct candidate *const *)b;

	return x->key < y->key ? 1 : x->key > y->key ? -1 : 0;
}

/* Bits of the NUMA nodes from which something is to go. */
static uint64_t wanted(const struct nr_work *work)
{
	uint64_t bits = 0;
	size_t i;

	for (i = 0; i < work->n; i++)
		if (work->node[i].plan.to_free)
			bits |= UINT64_C(1) << i % 64;
	return bits;
}

static void add(struct nr_candidates *all, const struct nr_work *work, const struct nr_walked *file)
{
	const bool open = all->source == OPEN_FILES;
	size_t len = strlen(file->address) + 1;
	struct candidate *c;

	if (open)
		nr_inodes_add(&all->open, file->dev, file->ino);
	else if (nr_inodes_has(&all->open, file->dev, file->ino))
		return;
	if (open && !all->with_open)
		return;
	if (open && all->nopen >= POOL_OPEN) {
		all->thrown = true;
		return;
	}
	c = malloc(sizeof(*c) + len);
	if (!c)
		return;
	*c = (struct candidate){ .key = key_of(file, open), .nodes = wanted(work) };
	c->bytes = file->size < file->blocks ? file->size : file->blocks;
	memcpy(c->address, file->address, len);
	all->pool[all->n++] = c;
	all->nopen += open;
	all->bytes += len;
}

/* Starts what is next to be surveyed. */
static int survey(struct nr_candidates *all, struct nr_work *work)
{
	struct nr_walk_options options = {
		.survey = true,
		.timeout = FILE_NS,
		.cpus = work->binding->cpus,
	};

	if (all->source == OPEN_FILES) {
		options.open = true;
	} else {
		if (!work->opt->nfiles_from) {
			all->source = ALL_FOUND;
			return 0;
		}
		options.paths = work->opt->files_from;
		options.npaths = work->opt->nfiles_from;
	}
	return nr_walk_start(work->ctx, &options, &all->survey);
}

/* One source is done: the other, or both once more if the pool was too small. */
static void next_source(struct nr_candidates *all, const struct nr_work *work, int err)
{
	if (err)
		nr_log(work->ctx, LOG_WARNING, "files: the search ended: %s", strerror(-err));
	nr_walk_end(all->survey);
	all->survey = NULL;
	if (++all->source < ALL_FOUND || !all->thrown || ++all->passes >= PASSES)
		return;
	all->thrown = false;
	all->source = OPEN_FILES;
}

static bool is_full(const struct nr_candidates *all)
{
	return all->n >= POOL || all->bytes >= POOL_BYTES;
}

/* A warning for what the site has listed. */
static void tell(const struct nr_work *work, const struct nr_walked *file)
{
	size_t i = 0;

	while (i < work->opt->nfiles_from && strcmp(work->opt->files_from[i], file->path))
		i++;
	nr_log(work->ctx, i < work->opt->nfiles_from ? LOG_WARNING : LOG_INFO, "files: %s: %s",
	       file->path, file->why);
}

/* Fills the pool: 0, -ETIME, -ECANCELED, -errno of a survey that cannot start. */
static int fill(struct nr_candidates *all, struct nr_work *work)
{
	const struct nr_walked *file;
	int err;

	while (!is_full(all) && all->source != ALL_FOUND) {
		if (!all->survey) {
			err = survey(all, work);
			if (err)
				return err;
			continue;
		}
		err = nr_walk_next(all->survey, work->ctx, work->deadline, &file);
		if (err == -ETIME || err == -ECANCELED)
			return err;
		if (err == 1 && file->error)
			tell(work, file);
		else if (err == 1)
			add(all, work, file);
		else
			next_source(all, work, err);
	}
	qsort(all->pool, all->n, sizeof(all->pool[0]), better_first);
	return 0;
}

/* Takes out what is of no more use to anybody, or to this NUMA node. */
static void sweep(struct nr_candidates *all, uint64_t bits)
{
	size_t i, n = 0;

	for (i = 0; i < all->n; i++) {
		struct candidate *c = all->pool[i];

		if (c->taken || c->nodes & bits) {
			all->pool[n++] = c;
			continue;
		}
		all->thrown |= c->nodes != 0;
		all->nopen -= is_open(c);
		all->bytes -= strlen(c->address) + 1;
		free(c);
	}
	all->n = n;
}

static unsigned int bit_of(const struct nr_work *work, int nid)
{
	size_t i = 0;

	while (work->node[i].plan.nid != nid)
		i++;
	return i % 64;
}

/* Takes the best that may have @bytes on this NUMA node. Files in use only when all are found. */
static size_t take(struct nr_candidates *all, unsigned int bit, uint64_t bytes,
		   struct candidate *batch[BATCH])
{
	uint64_t sum = 0;
	size_t i, n = 0;

	for (i = 0; i < all->n && n < BATCH && sum < bytes; i++) {
		struct candidate *c = all->pool[i];

		if (c->taken || !(c->nodes >> bit & 1))
			continue;
		if (is_open(c) && all->source != ALL_FOUND)
			break;
		c->taken = true;
		sum += c->bytes;
		batch[n++] = c;
	}
	all->ntaken += n;
	return n;
}

static void give_back(struct nr_candidates *all, struct candidate *batch[], size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		batch[i]->taken = false;
	all->ntaken -= n;
	pthread_cond_broadcast(&all->given_back);
}

/* Waits a moment for candidates that other threads have. */
static void wait_given_back(struct nr_candidates *all)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec++;
	pthread_cond_timedwait(&all->given_back, &all->lock, &until);
}

static bool must_stop(const struct nr_work *work)
{
	return nr_now() >= work->deadline || atomic_load(&work->ctx->cancel);
}

/* The next candidates for a NUMA node: their number; 0, there are none; -errno. */
static int next_batch(struct nr_candidates *all, struct nr_work *work, unsigned int bit,
		      uint64_t bytes, struct candidate *batch[BATCH])
{
	size_t n;
	int err = 0;

	pthread_mutex_lock(&all->lock);
	for (;;) {
		sweep(all, wanted(work));
		if (all->n < POOL / 2)
			err = fill(all, work);
		n = err ? 0 : take(all, bit, bytes, batch);
		if (n || err || must_stop(work))
			break;
		if (all->source != ALL_FOUND) {
			sweep(all, UINT64_C(1) << bit);
			if (all->n < POOL / 2)
				continue;
		}
		if (!all->ntaken)
			break;
		wait_given_back(all);
	}
	pthread_mutex_unlock(&all->lock);
	return err ? err : (int)n;
}

/* What is known of a candidate after work on it, from the byte @start on. Gives what was dropped.
 */
static uint64_t learn(const struct nr_work *work, struct candidate *c, unsigned int bit, int nid,
		      uint64_t start, const struct nr_walked *file)
{
	const bool whole = start == 0 && !file->more && file->error != -ETIME;
	size_t i;

	c->done = true;
	c->at = file->end;
	c->at_node = bit;
	if (!file->more)
		c->nodes &= ~(UINT64_C(1) << bit);
	for (i = 0; i < work->n && whole; i++)
		if (!file->left.node[work->node[i].plan.nid])
			c->nodes &= ~(UINT64_C(1) << i % 64);
	return file->cache.node[nid] - file->left.node[nid];
}

/* Drops up to @bytes of the batch on a NUMA node; gives how much went. */
static int drop(struct nr_work *work, int nid, unsigned int bit, uint64_t bytes,
		struct candidate *batch[], size_t n, uint64_t *dropped)
{
	const char **paths = calloc(n, sizeof(*paths));
	uint64_t *starts = calloc(n, sizeof(*starts));
	struct bitmask *set = nr_set_new(NR_MAX_NODES);
	struct nr_walk_options options = {
		.paths = paths,
		.npaths = n,
		.addresses = true,
		.starts = starts,
		.drop = set,
		.budget = bytes,
		.timeout = FILE_NS,
		.cpus = work->binding->cpus,
	};
	const struct nr_walked *file;
	struct nr_walk *walk = NULL;
	int err = -ENOMEM;
	size_t i;

	if (!paths || !starts || !set)
		goto out;
	numa_bitmask_setbit(set, (unsigned int)nid);
	for (i = 0; i < n; i++) {
		paths[i] = batch[i]->address;
		starts[i] = batch[i]->at_node == bit ? batch[i]->at : 0;
		batch[i]->done = false;
	}
	err = nr_walk_start(work->ctx, &options, &walk);
	if (err)
		goto out;
	while ((err = nr_walk_next(walk, work->ctx, work->deadline, &file)) == 1)
		*dropped += learn(work, batch[file->index], bit, nid, starts[file->index], file);
	/* All were worked on; those that are not files any more have not been told */
	for (i = 0; i < n && !err && *dropped < bytes; i++)
		if (!batch[i]->done)
			batch[i]->nodes = 0;
out:
	nr_walk_end(walk);
	nr_set_free(set);
	free(starts);
	free(paths);
	return err;
}

static struct nr_candidates *candidates(struct nr_work *work, int nid)
{
	const char *only = work->opt->backend;
	struct nr_candidates *all;

	pthread_mutex_lock(&work->lock);
	all = work->candidates;
	if (!all) {
		all = work->candidates = calloc(1, sizeof(*all));
		if (all) {
			pthread_mutex_init(&all->lock, NULL);
			pthread_cond_init(&all->given_back, NULL);
			all->with_open = !nr_backend_choose(work->ctx, nid, &nr_backend_files,
							    only);
		}
	}
	pthread_mutex_unlock(&work->lock);
	return all;
}

void nr_candidates_free(struct nr_candidates *all)
{
	if (!all)
		return;
	nr_walk_end(all->survey);
	sweep(all, 0);
	nr_inodes_clear(&all->open);
	pthread_cond_destroy(&all->given_back);
	pthread_mutex_destroy(&all->lock);
	free(all);
}

static int reclaim(struct nr_work *work, int nid, uint64_t bytes)
{
	struct nr_candidates *all = candidates(work, nid);
	struct candidate **batch = malloc(BATCH * sizeof(struct candidate *));
	const unsigned int bit = bit_of(work, nid);
	uint64_t dropped = 0;
	int n, err = 0;

	if (!all || !batch) {
		free(batch);
		return -ENOMEM;
	}
	while (!err && dropped < bytes && !must_stop(work)) {
		n = next_batch(all, work, bit, bytes - dropped, batch);
		if (n == 0 && !must_stop(work))
			err = -ENODATA;
		if (n < 0)
			err = n;
		if (n <= 0)
			continue;
		err = drop(work, nid, bit, bytes - dropped, batch, (size_t)n, &dropped);
		pthread_mutex_lock(&all->lock);
		give_back(all, batch, (size_t)n);
		pthread_mutex_unlock(&all->lock);
	}
	free(batch);
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
	return nr_counter_or_zero(node, NR_CLEAN);
}

const struct nr_backend nr_backend_files = {
	.name = "files",
	.probe = probe,
	.at_once = true,
	.reach = reach,
	.reclaim = reclaim,
};
