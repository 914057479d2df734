/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The threads of a walk, their queue and their results, and who watches their clocks. */
#include "walk.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define ITEMS_MAX 256		   /* results that wait for the caller */
#define QUEUE_LOW (16u << 10)	   /* bytes of names; a batch has 32 kB at the most */
#define LOOK_NS UINT64_C(50000000) /* how often clocks and a cancel are looked at */
#define END_NS UINT64_C(200000000) /* for what is going on when a walk ends */
#define LOST_ON_DEVICE 2	   /* files given up, and nothing more there is touched */

/* ---- items */

struct nr_walked *nr_walked_new(const struct nr_walk *walk, const char *address, const char *path)
{
	size_t values = 2 * walk->nnodes * sizeof(uint64_t), a = strlen(address) + 1;
	size_t p = path ? strlen(path) + 1 : 0;
	struct nr_walked *item = calloc(1, sizeof(*item) + values + a + p);

	if (!item)
		return NULL;
	item->cache.node = item->values;
	item->left.node = item->values + walk->nnodes;
	item->address = (char *)item->values + values;
	memcpy(item->address, address, a);
	item->path = path ? memcpy(item->address + a, path, p) : item->address;
	return item;
}

void nr_walk_add_item(struct nr_walk *walk, struct nr_walked *item)
{
	*walk->items_last = item;
	walk->items_last = &item->next;
	if (++walk->nitems >= ITEMS_MAX / 2)
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

static struct nr_walked *next_item(struct nr_walk *walk)
{
	struct nr_walked *item = walk->items;

	if (!item)
		return NULL;
	walk->items = item->next;
	if (!walk->items)
		walk->items_last = &walk->items;
	if (--walk->nitems == ITEMS_MAX / 2)
		pthread_cond_broadcast(&walk->work);
	return item;
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

static void put_folder(struct nr_folder *folder)
{
	if (folder && --folder->refs == 0) {
		close(folder->fd);
		free(folder);
	}
}

/* Without the lock: nobody else has the walk. */
static void walk_free(struct nr_walk *walk)
{
	struct nr_batch *batch;
	struct nr_walked *item;

	for (batch = walk->first; batch; batch = batch->next)
		put_folder(batch->folder);
	free_batches(walk->first);
	free_batches(walk->folders);
	while (walk->levels) {
		put_folder(walk->level[--walk->levels].folder);
		free(walk->level[walk->levels].names);
	}
	while ((item = next_item(walk)))
		free(item);
	free(walk->given);
	nr_inodes_clear(&walk->inodes);
	nr_set_free(walk->drop);
	nr_set_free(walk->cpus);
	nr_close(walk->ctx);
	pthread_cond_destroy(&walk->news);
	pthread_cond_destroy(&walk->work);
	pthread_mutex_destroy(&walk->lock);
	free(walk);
}

/* Takes the lock, which it is called with. */
static void walk_put(struct nr_walk *walk)
{
	bool last = --walk->refs == 0;

	pthread_mutex_unlock(&walk->lock);
	if (last)
		walk_free(walk);
}

static void worker_free(struct nr_worker *worker)
{
	size_t i;

	for (i = 0; i < worker->ngroup; i++) {
		close(worker->group[i].work.fd);
		free(worker->group[i].item);
	}
	nr_tools_free(worker->tools);
	free(worker);
}

/* ---- a worker */

void nr_walk_begin(struct nr_worker *me, struct nr_folder *folder, const char *name, dev_t dev)
{
	size_t len = 0;

	me->folder = folder;
	me->dev = dev;
	if (folder) {
		len = strlen(folder->path);
		memcpy(me->path, folder->path, len);
		if (name && me->path[len - 1] != '/')
			me->path[len++] = '/';
	}
	snprintf(me->path + len, sizeof(me->path) - len, "%s", name ? name : "");
	me->since = nr_now();
	me->walk->busy++;
}

/* The clock stops. The last reference to a folder closes it, which may take its time as well. */
static void finish(struct nr_worker *me)
{
	struct nr_walk *walk = me->walk;
	struct nr_folder *folder = me->folder;

	me->folder = NULL;
	if (folder && folder->refs == 1) {
		pthread_mutex_unlock(&walk->lock);
		put_folder(folder);
		pthread_mutex_lock(&walk->lock);
	} else if (folder) {
		folder->refs--;
	}
	if (!me->lost && me->since) {
		me->since = 0;
		walk->busy--;
	}
}

static bool is_spent(const struct nr_walk *walk)
{
	return walk->options.budget && !atomic_load(&walk->budget);
}

/* Takes the next name of the queue. */
static void take(struct nr_worker *me)
{
	struct nr_walk *walk = me->walk;
	struct nr_batch *batch = walk->first;
	struct nr_folder *folder = batch->folder;
	const char *name = batch->names + batch->at;
	size_t len = strlen(name) + 1;

	me->listed = !folder;
	me->index = batch->index++;
	me->start = !folder && walk->options.starts ? walk->options.starts[me->index] : 0;
	if (folder)
		folder->refs++;
	nr_walk_begin(me, folder, name, folder ? folder->dev : 0);
	batch->at += len;
	walk->queued -= len;
	if (batch->at < batch->len)
		return;
	walk->first = batch->next;
	if (!walk->first)
		walk->last = &walk->first;
	if (folder)
		folder->refs--;
	free(batch);
}

static void do_file(struct nr_worker *me)
{
	struct nr_walk *walk = me->walk;
	struct nr_walked *item;
	bool joined;

	take(me);
	if (strlen(me->path) >= PATH_MAX - 1) {
		nr_walk_add_error(me, -ENAMETOOLONG);
		return;
	}
	if (nr_walk_is_dead(walk, me->dev)) {
		nr_walk_add_error(me, -ETIME);
		return;
	}
	pthread_mutex_unlock(&walk->lock);
	item = nr_walk_file(me, &joined);
	pthread_mutex_lock(&walk->lock);
	me->ngroup += joined;
	if (!me->lost)
		walk->grouped += joined;
	if (item && !me->lost)
		nr_walk_add_item(walk, item);
	else
		free(item);
}

static void do_group(struct nr_worker *me)
{
	struct nr_walk *walk = me->walk;
	size_t i;

	nr_walk_begin(me, NULL, me->group[0].item->address, 0);
	me->index = me->group[0].item->index;
	me->in_group = true;
	pthread_mutex_unlock(&walk->lock);
	nr_walk_group(me);
	pthread_mutex_lock(&walk->lock);
	me->in_group = false;
	for (i = 0; i < me->ngroup; i++)
		if (me->lost)
			free(me->group[i].item);
		else
			nr_walk_add_item(walk, me->group[i].item);
	if (!me->lost)
		walk->grouped -= me->ngroup;
	me->ngroup = 0;
}

/* Is the group to be worked on before anything else is? What may hang must not keep it waiting. */
static bool group_is_due(const struct nr_worker *me)
{
	const struct nr_walk *walk = me->walk;
	const struct nr_level *level = walk->levels ? &walk->level[walk->levels - 1] : NULL;
	const struct nr_folder *folder;

	if (!me->ngroup)
		return false;
	if (me->ngroup == NR_GROUP_FILES || me->group_pages > NR_GROUP_PAGES / 4 * 3 ||
	    is_spent(walk))
		return true;
	if (walk->first) {
		folder = walk->first->folder;
		return folder ? !nr_is_local(folder->dev) : !walk->options.addresses;
	}
	/* It goes on in the folders, if it is the scout */
	return walk->scout || !level || !level->folder || !nr_is_local(level->folder->dev);
}

/* One piece of work. False: there is none for now. */
static bool work(struct nr_worker *me)
{
	struct nr_walk *walk = me->walk;

	if (group_is_due(me)) {
		do_group(me);
		finish(me);
		return true;
	}
	if (walk->nitems >= ITEMS_MAX || is_spent(walk))
		return false;
	if (!walk->scout && walk->queued < QUEUE_LOW && nr_scout_has_work(walk)) {
		walk->scout = me;
		nr_scout_step(me);
		finish(me);
		if (!me->lost)
			walk->scout = NULL;
		if (walk->first && walk->idle)
			pthread_cond_broadcast(&walk->work);
		return true;
	}
	if (!walk->first)
		return false;
	do_file(me);
	finish(me);
	return true;
}

static bool is_done(const struct nr_walk *walk)
{
	return !walk->busy && !walk->grouped &&
	       (is_spent(walk) || (!walk->first && !nr_scout_has_work(walk)));
}

static void *run(void *data)
{
	struct nr_worker *me = data;
	struct nr_walk *walk = me->walk;
	bool lost;

	if (walk->cpus)
		numa_sched_setaffinity(0, walk->cpus);
	pthread_mutex_lock(&walk->lock);
	while (!me->stop) {
		if (work(me))
			continue;
		walk->idle++;
		pthread_cond_signal(&walk->news);
		pthread_cond_wait(&walk->work, &walk->lock);
		walk->idle--;
	}
	me->ended = true;
	lost = me->lost;
	pthread_cond_signal(&walk->news);
	walk_put(walk);
	if (lost)
		worker_free(me);
	return NULL;
}

/* With the lock. */
static int start_worker(struct nr_walk *walk, struct nr_worker **slot)
{
	struct nr_worker *worker = calloc(1, sizeof(*worker));
	sigset_t all, old;
	int err;

	*slot = NULL;
	if (!worker)
		return -ENOMEM;
	worker->walk = walk;
	worker->tools = nr_tools_new(walk->ctx, walk->nnodes);
	if (!worker->tools) {
		worker_free(worker);
		return -ENOMEM;
	}
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	err = pthread_create(&worker->thread, NULL, run, worker);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (err) {
		worker_free(worker);
		return -err;
	}
	walk->refs++;
	*slot = worker;
	return 0;
}

/* ---- who waits for results */

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
		walk->error = walk->nlost < NR_WALK_LOST ? start_worker(walk, &walk->worker[i])
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

int nr_walk_next(struct nr_walk *walk, struct nr_ctx *ctx, uint64_t deadline,
		 const struct nr_walked **item)
{
	int err;

	pthread_mutex_lock(&walk->lock);
	free(walk->given);
	for (;;) {
		walk->given = next_item(walk);
		if (atomic_load(&ctx->cancel))
			err = -ECANCELED;
		else if (walk->given)
			err = 1;
		else if (walk->error)
			err = walk->error;
		else if (is_done(walk))
			err = 0;
		else if (nr_now() >= deadline)
			err = -ETIME;
		else
			err = -EAGAIN;
		if (err != -EAGAIN)
			break;
		wait_news(walk, deadline);
		watch(walk);
	}
	pthread_mutex_unlock(&walk->lock);
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
			worker_free(walk->worker[i]);
		}
	pthread_mutex_lock(&walk->lock);
	walk_put(walk);
}

/* A line of /proc/locks: "1: LEASE  ACTIVE    WRITE 123 08:01:4567 0 EOF" */
static void read_lease(void *data, const char *line, size_t len)
{
	struct nr_walk *walk = data;
	char copy[128], type[16], how[16], device[64];
	unsigned long long ino;

	snprintf(copy, sizeof(copy), "%.*s", (int)len, line);
	if (walk->nleases == NR_WALK_LEASES ||
	    sscanf(copy, "%*s %15s %*s %15s %*s %63s", type, how, device) != 3 ||
	    sscanf(device, "%*x:%*x:%llu", &ino) != 1)
		return;
	if ((!strcmp(type, "LEASE") || !strcmp(type, "DELEG")) && strcmp(how, "READ"))
		walk->lease[walk->nleases++] = (ino_t)ino;
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
	walk->nnodes = count_nodes(walk->ctx);
	walk->drop = copy_set(options->drop);
	walk->cpus = copy_set(options->cpus);
	if ((options->drop && !walk->drop) || (options->cpus && !walk->cpus))
		return -ENOMEM;
	if (!walk->options.survey)
		nr_sys_lines(walk->ctx, read_lease, walk, "proc/locks");
	walk->workers = count_workers(options->cpus);
	for (i = 0; i < walk->workers && !err; i++)
		err = start_worker(walk, &walk->worker[i]);
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
	walk->options = *options;
	walk->budget = options->budget;
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
