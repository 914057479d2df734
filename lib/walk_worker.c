/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A worker of a walk: takes files from the queue, works on them, small ones in groups, and is the
 * scout when the queue runs low. */
#include "walk.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define QUEUE_LOW (16u << 10) /* bytes of names; a batch has 32 kB at the most */

void nr_folder_put(struct nr_folder *folder)
{
	if (folder && --folder->refs == 0) {
		close(folder->fd);
		free(folder);
	}
}

void nr_worker_free(struct nr_worker *worker)
{
	size_t i;

	for (i = 0; i < worker->ngroup; i++) {
		close(worker->group[i].work.fd);
		free(worker->group[i].item);
	}
	nr_tools_free(worker->tools);
	free(worker);
}

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
		nr_folder_put(folder);
		pthread_mutex_lock(&walk->lock);
	} else if (folder) {
		folder->refs--;
	}
	if (!me->lost && me->since) {
		me->since = 0;
		walk->busy--;
	}
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
	if (walk->budget)
		nr_budget_take(me, walk->options.bounds[me->index]);
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

/* Without the lock for as long as it takes. */
static struct nr_walked *look_at(struct nr_worker *me, bool *joined)
{
	struct nr_walk *walk = me->walk;
	struct nr_walked *item;

	pthread_mutex_unlock(&walk->lock);
	item = nr_walk_file(me, joined);
	pthread_mutex_lock(&walk->lock);
	return item;
}

static void do_file(struct nr_worker *me)
{
	struct nr_walk *walk = me->walk;
	struct nr_walked *item = NULL;
	bool joined = false;

	take(me);
	if (strlen(me->path) >= PATH_MAX - 1)
		nr_walk_add_error(me, -ENAMETOOLONG);
	else if (nr_walk_is_dead(walk, me->dev))
		nr_walk_add_error(me, -ETIME);
	else
		item = look_at(me, &joined);
	me->ngroup += joined;
	if (me->lost) {
		free(item);
		return;
	}
	walk->grouped += joined;
	if (!joined)
		nr_budget_settle(walk, item ? item->allow : me->allow);
	if (item)
		nr_walk_add_item(walk, item);
}

static void do_group(struct nr_worker *me)
{
	struct nr_walk *walk = me->walk;
	size_t i;

	nr_walk_begin(me, NULL, me->group[0].item->address, 0);
	me->index = me->group[0].item->index;
	me->in_group = true;
	walk->mapper = me;
	pthread_mutex_unlock(&walk->lock);
	nr_walk_group(me);
	pthread_mutex_lock(&walk->lock);
	me->in_group = false;
	for (i = 0; i < me->ngroup; i++) {
		if (me->lost) {
			free(me->group[i].item);
			continue;
		}
		nr_budget_settle(walk, me->group[i].item->allow);
		nr_walk_add_item(walk, me->group[i].item);
	}
	if (!me->lost) {
		walk->grouped -= me->ngroup;
		walk->mapper = NULL;
		if (walk->idle)
			pthread_cond_broadcast(&walk->work);
	}
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
	    nr_budget_waits(walk))
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
		/* To map small files is to take a lock of the process again and again: two at once
		 * do it slower than one after the other */
		if (walk->mapper)
			return false;
		do_group(me);
		finish(me);
		return true;
	}
	if (walk->nitems >= NR_WALK_ITEMS || nr_budget_is_spent(walk) || nr_budget_waits(walk))
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
	nr_walk_put(walk);
	if (lost)
		nr_worker_free(me);
	return NULL;
}

int nr_worker_start(struct nr_walk *walk, struct nr_worker **slot)
{
	struct nr_worker *worker =
		calloc(1, sizeof(*worker) + walk->nnodes * sizeof(worker->allow[0]));
	sigset_t all, old;
	int err;

	*slot = NULL;
	if (!worker)
		return -ENOMEM;
	worker->walk = walk;
	worker->tools = nr_tools_new(walk->ctx, walk->nnodes);
	if (!worker->tools) {
		nr_worker_free(worker);
		return -ENOMEM;
	}
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	err = pthread_create(&worker->thread, NULL, run, worker);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (err) {
		nr_worker_free(worker);
		return -err;
	}
	walk->refs++;
	*slot = worker;
	return 0;
}
