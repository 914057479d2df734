/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What of an open file is in the page cache, on which NUMA nodes, and dropping it from some: a
 * window at a time is mapped and worked on (window.c). Where cachestat(2) tells that nothing of a
 * part is cached, that part is passed by.
 *
 * Small files are worked on in groups, mapped side by side: most of what a small file costs is to
 * map and to unmap it.
 */
#include "filecache.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SPAN_MAX (UINT64_C(1) << 62) /* bytes */

#ifndef SYS_cachestat
#define SYS_cachestat 451
#endif

struct cachestat_range {
	uint64_t off, len;
};
struct cachestat {
	uint64_t cached, dirty, writeback, evicted, recently_evicted;
};

struct nr_tools *nr_tools_new(struct nr_ctx *ctx, unsigned int nnodes)
{
	struct nr_tools *tools = calloc(1, sizeof(*tools));

	if (!tools)
		return NULL;
	tools->page = ctx->page_size;
	tools->nnodes = nnodes;
	tools->area = mmap(NULL, NR_GROUP_PAGES * tools->page, PROT_NONE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (tools->area == MAP_FAILED) {
		free(tools);
		return NULL;
	}
	tools->pagemap = nr_sys_pagemap(ctx);
	return tools;
}

void nr_tools_free(struct nr_tools *tools)
{
	if (!tools)
		return;
	munmap(tools->area, NR_GROUP_PAGES * tools->page);
	if (tools->pagemap >= 0)
		close(tools->pagemap);
	free(tools);
}

static bool must_stop(const struct nr_file_work *work)
{
	return nr_now() >= work->deadline || atomic_load(work->stop);
}

/* Cached pages of a part of the file, with those that are not clean: 0, -EPERM, -EOPNOTSUPP. */
static int cachestat(struct nr_tools *tools, const struct nr_file_work *work, uint64_t bytes,
		     uint64_t *cached, uint64_t *dirty)
{
	struct cachestat_range range = { work->at, bytes };
	struct cachestat stat;

	if (tools->no_cachestat)
		return -EOPNOTSUPP;
	if (syscall(SYS_cachestat, work->fd, &range, &stat, 0)) {
		tools->no_cachestat = errno == ENOSYS;
		return errno == EPERM ? -EPERM : -EOPNOTSUPP;
	}
	*cached = stat.cached * tools->page;
	*dirty = (stat.dirty + stat.writeback) * tools->page;
	return 0;
}

static int write_back(const struct nr_file_work *work, uint64_t bytes)
{
	const unsigned int flags = SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE |
				   SYNC_FILE_RANGE_WAIT_AFTER;

	return sync_file_range(work->fd, (off_t)work->at, (off_t)bytes, flags) ? -errno : 0;
}

/* Counts what is not clean of a part that is dropped. */
static void count_dirty(struct nr_tools *tools, struct nr_file_work *work, uint64_t bytes,
			uint64_t was)
{
	uint64_t cached, dirty = was;

	if (was && work->drop && cachestat(tools, work, bytes, &cached, &dirty))
		dirty = 0;
	work->cache.dirty += was;
	work->left.dirty += dirty;
}

/* A part with something cached; @dirty as found, where cachestat(2) tells. */
static int do_window(struct nr_tools *tools, struct nr_file_work *work, uint64_t bytes, bool known,
		     uint64_t dirty)
{
	struct nr_window w = { .tools = tools, .work = &work, .n = 1 };
	size_t len;
	int err;

	err = work->sync && (dirty || !known) ? write_back(work, bytes) : 0;
	if (err)
		return err;
	w.pages = (size_t)((bytes + tools->page - 1) / tools->page);
	len = w.pages * tools->page;
	w.mem = mmap(NULL, len, PROT_READ, MAP_SHARED, work->fd, (off_t)work->at);
	if (w.mem == MAP_FAILED)
		return -errno;
	err = nr_window_do(&w);
	munmap(w.mem, len);
	count_dirty(tools, work, bytes, dirty);
	return err;
}

static void clear(struct nr_tally *tally, unsigned int nnodes, bool have_dirty)
{
	memset(tally->node, 0, nnodes * sizeof(*tally->node));
	tally->cached = tally->unplaced = tally->dirty = 0;
	tally->have_dirty = have_dirty;
}

static void begin(struct nr_tools *tools, struct nr_file_work *work)
{
	work->rest = UINT64_MAX;
	clear(&work->cache, tools->nnodes, true);
	clear(&work->left, tools->nnodes, true);
}

/* 1: something of this part may be cached; 0: nothing; -EPERM. */
static int first_look(struct nr_tools *tools, struct nr_file_work *work, uint64_t bytes,
		      bool *known, uint64_t *dirty)
{
	uint64_t cached;
	int err = cachestat(tools, work, bytes, &cached, dirty);

	if (err == -EPERM)
		return err;
	*known = err == 0;
	if (*known)
		return cached != 0;
	*dirty = 0;
	work->cache.have_dirty = work->left.have_dirty = false;
	return 1;
}

/* May nothing more go? */
static bool is_spent(const struct nr_tools *tools, const struct nr_file_work *work)
{
	unsigned int i;

	for (i = 0; work->allow && i < tools->nnodes; i++)
		if (work->allow[i])
			return false;
	return work->allow != NULL;
}

int nr_file_cache(struct nr_tools *tools, struct nr_file_work *work)
{
	const uint64_t bytes_max = NR_WINDOW * tools->page;
	uint64_t span = bytes_max, bytes, dirty;
	bool known;
	int err = 0;

	begin(tools, work);
	while (!err && work->at < work->size) {
		if (must_stop(work))
			return -ETIME;
		if (is_spent(tools, work)) {
			work->rest = work->rest < work->at ? work->rest : work->at;
			break;
		}
		/* A window may have been cut the last time */
		bytes = work->at % bytes_max ? bytes_max - work->at % bytes_max : span;
		bytes = work->size - work->at < bytes ? work->size - work->at : bytes;
		err = first_look(tools, work, bytes, &known, &dirty);
		if (err < 0)
			return err;
		if (err == 0) {
			/* Holes: ever larger parts, until there is something */
			work->at += bytes;
			span = span < SPAN_MAX ? span * 2 : span;
			continue;
		}
		err = 0;
		if (bytes > bytes_max) {
			span = span / 2;
			continue;
		}
		err = do_window(tools, work, bytes, known, dirty);
		work->at += bytes;
		span = bytes_max;
	}
	return err;
}

/* Maps the next file of a group, if there may be something of it in the cache. */
static bool map_next(struct nr_window *w, struct nr_file_work *work, uint64_t *dirty)
{
	struct nr_tools *t = w->tools;
	const size_t pages = (size_t)((work->size + t->page - 1) / t->page);
	bool known;

	begin(t, work);
	work->error = first_look(t, work, work->size, &known, dirty);
	if (work->error <= 0)
		return false;
	work->error = work->sync && (*dirty || !known) ? write_back(work, work->size) : 0;
	if (!work->error && mmap(t->area + w->pages * t->page, pages * t->page, PROT_READ,
				 MAP_SHARED | MAP_FIXED, work->fd, 0) == MAP_FAILED)
		work->error = -errno;
	if (work->error)
		return false;
	t->first[w->n] = w->pages;
	memset(t->owner + w->pages, (int)w->n, pages);
	w->pages += pages;
	return true;
}

void nr_file_group(struct nr_tools *tools, struct nr_file_work *const *works, size_t n)
{
	struct nr_file_work *mapped[NR_GROUP_FILES];
	uint64_t dirty[NR_GROUP_FILES];
	struct nr_window w = { .tools = tools, .work = mapped, .mem = tools->area };
	size_t i;
	int err;

	for (i = 0; i < n; i++)
		if (map_next(&w, works[i], &dirty[w.n]))
			mapped[w.n++] = works[i];
	if (!w.n)
		return;
	err = nr_window_do(&w);
	/* Reserved again */
	if (mmap(tools->area, w.pages * tools->page, PROT_NONE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) == MAP_FAILED)
		err = -errno;
	for (i = 0; i < w.n; i++) {
		mapped[i]->error = err;
		count_dirty(tools, mapped[i], mapped[i]->size, dirty[i]);
		mapped[i]->at = mapped[i]->size;
	}
}
