/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Which files backend "files" takes, and in which order.
 *
 * A survey finds files without opening them and fills the pool until there are POOL files in it.
 * What is taken makes room for the next ones; below half, the survey goes on. The best of the pool
 * come first: those that no process has open, of these the longest unused, of these the largest. So
 * for up to POOL files this is the order of all; of more it is that of the first POOL found, then
 * of what is left of these with the next ones. How long unused is in steps of four: 1, 4, 16, 64
 * minutes and so on since the later of the last use and the last change.
 *
 * The NUMA nodes of a plan share the pool. A file stays in it until each of them has had its part.
 */
#include "candidates.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define POOL 65536u
#define POOL_OPEN (POOL / 4)	       /* of these, files that processes have open */
#define POOL_BYTES (UINT64_C(8) << 20) /* of addresses */
#define PASSES 4		       /* surveys, if the pool was too small */

enum source { OPEN_FILES, TREES, ALL_FOUND };

struct nr_pool {
	enum source source;
	struct nr_walk *survey;
	struct nr_inodes open;
	struct nr_candidate *file[POOL];
	size_t n, nopen;
	uint64_t bytes; /* of addresses */
	unsigned int passes;
	bool with_open;
	bool thrown; /* some left the pool for lack of room, since the survey began */
};

/* Files in use come after all others; then how long unused, then size. */
#define KEY_CLOSED (UINT64_C(1) << 63)
#define KEY_AGE 58
#define KEY_BYTES ((UINT64_C(1) << KEY_AGE) - 1)

static bool is_open(const struct nr_candidate *c)
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
	const struct nr_candidate *x = *(struct nr_candidate *const *)a;
	const struct nr_candidate *y = *(struct nr_candidate *const *)b;

	return x->key < y->key ? 1 : x->key > y->key ? -1 : 0;
}

/* Those of the NUMA nodes from which something is to go. */
static uint64_t plan_bits(const struct nr_work *work)
{
	uint64_t bits = 0;
	size_t i;

	for (i = 0; i < work->n; i++)
		if (work->node[i].plan.to_try)
			bits |= nr_plan_bit(i);
	return bits;
}

bool nr_work_must_stop(const struct nr_work *work)
{
	return nr_now() >= work->deadline || atomic_load(&work->ctx->cancel);
}

/* A warning for what the site has listed. */
void nr_files_tell(const struct nr_work *work, const struct nr_walked *file)
{
	size_t i = 0;

	while (i < work->opt->nfiles_from && strcmp(work->opt->files_from[i], file->path))
		i++;
	nr_log(work->ctx, i < work->opt->nfiles_from ? LOG_WARNING : LOG_INFO, "files: %s: %s",
	       file->path, file->why);
}

static void add(struct nr_pool *pool, const struct nr_work *work, const struct nr_walked *file)
{
	const bool open = pool->source == OPEN_FILES;
	size_t len = strlen(file->address) + 1;
	struct nr_candidate *c;

	if (open)
		nr_inodes_add(&pool->open, file->dev, file->ino);
	else if (nr_inodes_has(&pool->open, file->dev, file->ino))
		return;
	if (!file->size || (open && !pool->with_open))
		return;
	if (open && pool->nopen >= POOL_OPEN) {
		pool->thrown = true;
		return;
	}
	c = malloc(sizeof(*c) + len);
	if (!c)
		return;
	*c = (struct nr_candidate){ .key = key_of(file, open), .nodes = plan_bits(work) };
	c->bytes = file->size + work->ctx->page_size;
	memcpy(c->address, file->address, len);
	pool->file[pool->n++] = c;
	pool->nopen += open;
	pool->bytes += len;
}

/* Starts what is next to be surveyed. */
static int survey(struct nr_pool *pool, struct nr_work *work)
{
	struct nr_walk_options options = {
		.survey = true,
		.open = pool->source == OPEN_FILES,
		.timeout = NR_FILES_NS,
		.cpus = work->binding->cpus,
	};

	if (!options.open && !work->opt->nfiles_from) {
		pool->source = ALL_FOUND;
		return 0;
	}
	if (!options.open) {
		options.paths = work->opt->files_from;
		options.npaths = work->opt->nfiles_from;
	}
	return nr_walk_start(work->ctx, &options, &pool->survey);
}

/* One source is done: the other, or both once more if the pool was too small. */
static void next_source(struct nr_pool *pool, const struct nr_work *work, int err)
{
	if (err)
		nr_log(work->ctx, LOG_WARNING, "files: the search ended: %s", strerror(-err));
	nr_walk_end(pool->survey);
	pool->survey = NULL;
	if (++pool->source < ALL_FOUND || !pool->thrown || ++pool->passes >= PASSES)
		return;
	pool->thrown = false;
	pool->source = OPEN_FILES;
}

/* Finds files of one source until the pool is full: 0, -ETIME, -ECANCELED, -errno of a survey that
 * cannot start. */
static int find(struct nr_pool *pool, struct nr_work *work)
{
	const struct nr_walked *file;
	int err;

	if (!pool->survey) {
		err = survey(pool, work);
		if (err || !pool->survey)
			return err;
	}
	while (pool->n < POOL && pool->bytes < POOL_BYTES) {
		err = nr_walk_next(pool->survey, work->ctx, work->deadline, &file);
		if (err == -ETIME || err == -ECANCELED)
			return err;
		if (err != 1) {
			next_source(pool, work, err);
			return 0;
		}
		if (file->error)
			nr_files_tell(work, file);
		else
			add(pool, work, file);
	}
	return 0;
}

static int fill(struct nr_pool *pool, struct nr_work *work)
{
	int err = 0;

	while (!err && pool->n < POOL && pool->bytes < POOL_BYTES && pool->source != ALL_FOUND)
		err = find(pool, work);
	if (pool->n)
		qsort(pool->file, pool->n, sizeof(pool->file[0]), better_first);
	return err;
}

/* Takes out what none of these NUMA nodes can use. */
static void sweep(struct nr_pool *pool, uint64_t bits)
{
	size_t i, n = 0;

	for (i = 0; i < pool->n; i++) {
		struct nr_candidate *c = pool->file[i];

		if (c->nodes & bits) {
			pool->file[n++] = c;
			continue;
		}
		pool->thrown |= c->nodes != 0;
		pool->nopen -= is_open(c);
		pool->bytes -= strlen(c->address) + 1;
		free(c);
	}
	pool->n = n;
}

/* Files in use only when all are found. */
static size_t take(const struct nr_pool *pool, uint64_t asked, struct nr_candidate *best[],
		   size_t max)
{
	size_t i, n = 0;

	for (i = 0; i < pool->n && n < max; i++) {
		struct nr_candidate *c = pool->file[i];

		if (is_open(c) && pool->source != ALL_FOUND)
			break;
		if (c->nodes & asked)
			best[n++] = c;
	}
	return n;
}

int nr_pool_best(struct nr_pool *pool, struct nr_work *work, uint64_t asked,
		 struct nr_candidate *best[], size_t max)
{
	uint64_t keep = plan_bits(work);
	size_t n = 0;
	int err = 0;

	while (!n && !err && !nr_work_must_stop(work)) {
		sweep(pool, keep);
		if (pool->n < POOL / 2 && pool->bytes < POOL_BYTES / 2)
			err = fill(pool, work);
		n = err ? 0 : take(pool, asked, best, max);
		if (pool->source == ALL_FOUND)
			break;
		/* What others may still use makes room if there is nothing else */
		keep = asked;
	}
	if (err == -ETIME || err == -ECANCELED)
		return 0;
	return err ? err : (int)n;
}

int nr_pool_open_files(struct nr_pool *pool, struct nr_work *work, const struct nr_inodes **out)
{
	int err = 0;

	*out = &pool->open;
	while (!err && pool->source == OPEN_FILES && pool->n < POOL)
		err = find(pool, work);
	return err;
}

struct nr_pool *nr_pool_new(bool with_open)
{
	struct nr_pool *pool = calloc(1, sizeof(*pool));

	if (pool)
		pool->with_open = with_open;
	return pool;
}

void nr_pool_free(struct nr_pool *pool)
{
	if (!pool)
		return;
	nr_walk_end(pool->survey);
	sweep(pool, 0);
	nr_inodes_clear(&pool->open);
	free(pool);
}
