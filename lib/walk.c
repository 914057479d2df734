/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A walk, its results, who waits for them, and who watches the workers' clocks. */
#include "walk.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define LOOK_NS UINT64_C(50000000) /* how often clocks and a cancel are looked at */
#define END_NS UINT64_C(200000000) /* for what is going on when a walk ends */
#define LOST_ON_DEVICE 2	   /* files given up, and nothing more there is touched */

/* ---- items */

struct nr_walked *nr_walked_new(const struct nr_walk *walk, const char *address, const char *path)
{
	size_t values = 3 * walk->nnodes * sizeof(uint64_t), a = strlen(address) + 1;
	size_t p = path ? strlen(path) + 1 : 0;
	struct nr_walked *item = calloc(1, sizeof(*item) + values + a + p);

	if (!item)
		return NULL;
	item->cache.node = item->values;
	item->left.node = item->values + walk->nnodes;
	item->allow = item->values + 2 * walk->nnodes;
	item->address = (char *)item->values + values;
	memcpy(item->address, address, a);
	item->path = path ? memcpy(item->address + a, path, p) : item->address;
	return item;
}

void nr_walk_add_item(struct nr_walk *walk, struct nr_walked *item)
{
	*walk->items_last = item;
	walk->items_last = &item->next;
	if (++walk->nitems >= NR_WALK_ITEMS / 2)
		pthread_cond_signal(&walk->news);
}

static void add_error(struct nr_walk *walk, const char *path, size_t index, int error)
{
	struct nr_walked *item = nr_walked_new(walk, path, NULL);

	if (!item) {
		walk->error = -ENOMEM;
		return;
	}
	item->index = index;
	item->error = error;
	item->why = nr_file_why(error);
	nr_walk_add_item(walk, item);
}

void nr_walk_add_error(struct nr_worker *worker, int error)
{
	add_error(worker->walk, worker->path, worker->index, error);
}

/* All that wait, so that who takes them and the workers seldom meet. */
static void take_items(struct nr_walk *walk)
{
	walk->taken = walk->items;
	walk->items = NULL;
	walk->items_last = &walk->items;
	if (walk->nitems >= NR_WALK_ITEMS)
		pthread_cond_broadcast(&walk->work);
	walk->nitems = 0;
}

static void free_items(struct nr_walked *item)
{
	struct nr_walked *next;

	for (; item; item = next) {
		next = item->next;
		free(item);
	}
}

bool nr_walk_is_dead(const struct nr_walk *walk, dev_t dev)
{
	unsigned int i, n = 0;

	for (i = 0; i < walk->nlost; i++)
		n += dev && walk->lost[i] == dev;
	return n >= LOST_ON_DEVICE;
}

/* ---- the walk as an object */

static void free_batches(struct nr_batch *batch)
{
	struct nr_batch *next;

	for (; batch; batch = next) {
		next = batch->next;
		free(batch);
	}
}

/* Without the lock: nobody else has the walk. */
static void walk_free(struct nr_walk *walk)
{
	struct nr_batch *batch;

	for (batch = walk->first; batch; batch = batch->next)
		nr_folder_put(batch->folder);
	free_batches(walk->first);
	free_batches(walk->folders);
	while (walk->levels) {
		nr_folder_put(walk->level[--walk->levels].folder);
		free(walk->level[walk->levels].names);
	}
	free_items(walk->items);
	free_items(walk->taken);
	free(walk->given);
	nr_inodes_clear(&walk->inodes);
	nr_set_free(walk->drop);
	nr_set_free(walk->asked);
	free(walk->budget);
	nr_set_free(walk->cpus);
	if (walk->fds >= 0)
		close(walk->fds);
	nr_close(walk->ctx);
	pthread_cond_destroy(&walk->news);
	pthread_cond_destroy(&walk->work);
	pthread_mutex_destroy(&walk->lock);
	free(walk);
}

void nr_walk_put(struct nr_walk *walk)
{
	bool last = --walk->refs == 0;

	pthread_mutex_unlock(&walk->lock);
	if (last)
		walk_free(walk);
}

/* ---- who waits for results */

static bool is_done(const struct nr_walk *walk)
{
	return !walk->busy && !walk->grouped &&
	       (nr_budget_is_spent(walk) || (!walk->first && !nr_scout_has_work(walk)));
}

/* Gives a worker up: from now on it only cleans up after itself. */
static void lose(struct nr_walk *walk, struct nr_worker **slot)
{
	struct nr_worker *worker = *slot;
	size_t i;

	nr_walk_add_error(worker, -ETIME);
	/* The first one of a group at work is that one */
	for (i = worker->in_group; i < worker->ngroup; i++)
		add_error(walk, worker->group[i].item->address, worker->group[i].item->index,
			  -ETIME);
	if (walk->nlost < NR_WALK_LOST)
		walk->lost[walk->nlost++] = worker->dev;
	if (walk->scout == worker) {
		walk->scout = NULL;
		nr_scout_lost(worker);
	}
	if (walk->mapper == worker)
		walk->mapper = NULL;
	pthread_cond_broadcast(&walk->work);
	/* What it may still drop is not given to others */
	for (i = worker->in_group; i <= worker->ngroup; i++)
		nr_budget_settle(walk, NULL);
	walk->busy--;
	walk->grouped -= worker->ngroup;
	worker->lost = true;
	atomic_store(&worker->stop, true);
	pthread_detach(worker->thread);
	*slot = NULL;
}

/* Loses those who have worked on one thing since before @since. */
static void lose_hanging(struct nr_walk *walk, uint64_t since)
{
	unsigned int i;

	for (i = 0; i < walk->workers; i++)
		if (walk->worker[i] && walk->worker[i]->since && walk->worker[i]->since < since)
			lose(walk, &walk->worker[i]);
}

/* A worker looks at its clock itself between calls of the kernel, and stops in time. Who is still
 * there after twice the time hangs in one. */
static void watch(struct nr_walk *walk)
{
	uint64_t now = nr_now();
	unsigned int i;

	if (now > 2 * walk->options.timeout)
		lose_hanging(walk, now - 2 * walk->options.timeout);
	for (i = 0; i < walk->workers && !walk->error; i++) {
		if (walk->worker[i])
			continue;
		walk->error = walk->nlost < NR_WALK_LOST ? nr_worker_start(walk, &walk->worker[i])
							 : -EIO;
	}
}

static void wait_news(struct nr_walk *walk, uint64_t deadline)
{
	uint64_t until = nr_now() + LOOK_NS;
	struct timespec ts;

	until = until < deadline ? until : deadline;
	ts = (struct timespec){ (time_t)(until / 1000000000), (long)(until % 1000000000) };
	pthread_cond_timedwait(&walk->news, &walk->lock, &ts);
}

/* Waits until something has been taken, or will not be. */
static int wait_items(struct nr_walk *walk, const struct nr_ctx *ctx, uint64_t deadline)
{
	int err = -EAGAIN;

	pthread_mutex_lock(&walk->lock);
	for (;;) {
		take_items(walk);
		if (atomic_load(&ctx->cancel))
			err = -ECANCELED;
		else if (walk->taken)
			err = 1;
		else if (walk->error)
			err = walk->error;
		else if (is_done(walk))
			err = 0;
		else if (nr_now() >= deadline)
			err = -ETIME;
		if (err != -EAGAIN)
			break;
		wait_news(walk, deadline);
		watch(walk);
	}
	pthread_mutex_unlock(&walk->lock);
	return err;
}

int nr_walk_next(struct nr_walk *walk, struct nr_ctx *ctx, uint64_t deadline,
		 const struct nr_walked **item)
{
	int err = atomic_load(&ctx->cancel) ? -ECANCELED : 1;

	free(walk->given);
	walk->given = NULL;
	if (!walk->taken && err == 1)
		err = wait_items(walk, ctx, deadline);
	if (err == 1) {
		walk->given = walk->taken;
		walk->taken = walk->given->next;
	}
	*item = walk->given;
	return err;
}

void nr_walk_end(struct nr_walk *walk)
{
	uint64_t end = nr_now() + END_NS;
	unsigned int i, running;

	if (!walk)
		return;
	pthread_mutex_lock(&walk->lock);
	for (i = 0; i < walk->workers; i++)
		if (walk->worker[i])
			atomic_store(&walk->worker[i]->stop, true);
	pthread_cond_broadcast(&walk->work);
	for (;;) {
		running = 0;
		for (i = 0; i < walk->workers; i++)
			running += walk->worker[i] && !walk->worker[i]->ended;
		if (!running)
			break;
		wait_news(walk, UINT64_MAX);
		if (nr_now() >= end)
			lose_hanging(walk, UINT64_MAX);
	}
	pthread_mutex_unlock(&walk->lock);
	for (i = 0; i < walk->workers; i++)
		if (walk->worker[i]) {
			pthread_join(walk->worker[i]->thread, NULL);
			nr_worker_free(walk->worker[i]);
		}
	pthread_mutex_lock(&walk->lock);
	nr_walk_put(walk);
}

static unsigned int count_nodes(struct nr_ctx *ctx)
{
	struct bitmask *possible = nr_set_new(NR_MAX_NODES);
	unsigned int i, n = 1;

	if (possible && nr_sys_read_set(ctx, possible, "sys/devices/system/node/possible") == 0)
		for (i = 0; i < NR_MAX_NODES; i++)
			if (numa_bitmask_isbitset(possible, i))
				n = i + 1;
	nr_set_free(possible);
	return n;
}

static unsigned int count_workers(const struct bitmask *cpus)
{
	cpu_set_t own;
	unsigned int n = NR_WALK_WORKERS;

	if (cpus)
		n = numa_bitmask_weight(cpus);
	else if (sched_getaffinity(0, sizeof(own), &own) == 0)
		n = (unsigned int)CPU_COUNT(&own);
	return n < 1 ? 1 : n < NR_WALK_WORKERS ? n : NR_WALK_WORKERS;
}

/* A copy; NULL without @set or without memory. */
static struct bitmask *copy_set(const struct bitmask *set)
{
	struct bitmask *copy = set ? nr_set_new((unsigned int)set->size) : NULL;

	if (copy)
		copy_bitmask_to_bitmask((struct bitmask *)set, copy);
	return copy;
}

static int prepare(struct nr_walk *walk)
{
	const struct nr_walk_options *options = &walk->options;
	unsigned int i;
	int err = nr_open(&walk->ctx, NULL);

	if (err)
		return err;
	walk->fds = nr_sys_folder(walk->ctx, "proc/self/fd");
	if (walk->fds < 0)
		return walk->fds;
	walk->nnodes = count_nodes(walk->ctx);
	walk->drop = copy_set(options->drop);
	walk->cpus = copy_set(options->cpus);
	if ((options->drop && !walk->drop) || (options->cpus && !walk->cpus))
		return -ENOMEM;
	if (options->budget) {
		walk->budget = calloc(walk->nnodes, sizeof(*walk->budget));
		walk->asked = copy_set(options->drop);
		if (!walk->budget || !walk->asked)
			return -ENOMEM;
		memcpy(walk->budget, options->budget, walk->nnodes * sizeof(*walk->budget));
	}
	if (!walk->options.survey)
		nr_walk_find_leases(walk);
	walk->workers = count_workers(options->cpus);
	for (i = 0; i < walk->workers && !err; i++)
		err = nr_worker_start(walk, &walk->worker[i]);
	return err;
}

int nr_walk_start(struct nr_ctx *ctx, const struct nr_walk_options *options, struct nr_walk **out)
{
	struct nr_walk *walk;
	pthread_condattr_t attr;
	int err;

	*out = NULL;
	if (ctx->recorded)
		return -EROFS;
	walk = calloc(1, sizeof(*walk));
	if (!walk)
		return -ENOMEM;
	pthread_mutex_init(&walk->lock, NULL);
	pthread_cond_init(&walk->work, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&walk->news, &attr);
	pthread_condattr_destroy(&attr);
	walk->refs = 1;
	walk->fds = -1;
	walk->options = *options;
	walk->all_inodes = options->open || options->npaths > 1;
	walk->processes_due = options->open || options->pid;
	walk->last = &walk->first;
	walk->items_last = &walk->items;
	pthread_mutex_lock(&walk->lock);
	err = prepare(walk);
	pthread_mutex_unlock(&walk->lock);
	if (err)
		nr_walk_end(walk);
	else
		*out = walk;
	return err;
}

unsigned int nr_walk_nodes(const struct nr_walk *walk)
{
	return walk->nnodes;
}

size_t nr_walk_begun(struct nr_walk *walk)
{
	size_t n;

	pthread_mutex_lock(&walk->lock);
	n = walk->first ? walk->first->index : walk->next_path;
	pthread_mutex_unlock(&walk->lock);
	return n;
}
