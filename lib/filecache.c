/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What of one open file is in the page cache, on which NUMA nodes, and dropping it from some.
 *
 * The file is mapped, a window at a time. mincore(2) says which pages are cached. Only these are
 * touched, so that the page table has them and move_pages(2) can tell their NUMA nodes.
 * posix_fadvise(2) then drops runs of pages.
 *
 * What keeps this from changing anything (mm/filemap.c, mm/memory.c, mm/gup.c, Linux 6.1 to 6.18):
 *  - A touch maps all cached pages of 64 kB around it. MADV_POPULATE_READ and process_vm_readv(2)
 *    would mark each page as accessed (FOLL_TOUCH), and the classic LRU moves it to its active list
 *    the second time.
 *  - The kernel itself touches, in futex(2): where a file has become shorter that is EFAULT, and
 *    no SIGBUS.
 *  - MADV_RANDOM: no read-ahead, which a touched page may start if it was the last of one. A page
 *    that was evicted after mincore() looked is read again, alone.
 *  - MADV_SEQUENTIAL, before the pages are unmapped: the accessed bits of the page table do not
 *    become uses (Linux 6.1; since 6.3 MADV_RANDOM does it as well).
 *
 * Small files are worked on in groups, mapped side by side: most of what a small file costs is to
 * map and to unmap it.
 *
 * Windows begin and end where every folio does, since the kernel does not drop a folio of which
 * only a part is asked for. A folio is on one NUMA node, so a run of pages of one NUMA node has
 * whole folios only.
 */
#include "internal.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Pages. A window has whole folios: the largest of a page cache is 2048 pages (MAX_XAS_ORDER). */
#define WINDOW (1u << 14)
#define CHUNK (1u << 10)	/* looked at by one call each, so that little happens in between */
#define CUT NR_FILE_CUT		/* where a run is cut that is longer than what may be dropped */
#define TOUCH_REACH (64u << 10) /* bytes: fault_around_bytes, the kernel's default */
#define SPAN_MAX (UINT64_C(1) << 62) /* bytes */

#ifndef SYS_cachestat
#define SYS_cachestat 451
#endif

enum { ABSENT = -1, UNPLACED = -2, MAPPED = -3 }; /* else a NUMA node */

/* An entry of pagemap (Linux 4.2): this process is the only one that has the page mapped */
#define EXCLUSIVE (UINT64_C(1) << 56)

struct nr_tools {
	uint64_t page;
	int pagemap;
	unsigned int nnodes;
	bool no_cachestat;
	unsigned char resident[WINDOW];
	int16_t nid[WINDOW];
	/* Of a group */
	char *area; /* reserved */
	uint8_t owner[NR_GROUP_PAGES];
	size_t first[NR_GROUP_FILES]; /* page of each file */
	/* Of a chunk */
	void *address[CHUNK];
	int status[CHUNK];
	uint32_t index[CHUNK];
	uint64_t entry[CHUNK];
};

struct cachestat_range {
	uint64_t off, len;
};
struct cachestat {
	uint64_t cached, dirty, writeback, evicted, recently_evicted;
};

/* What is mapped at once: a part of one file, or small files in whole. */
struct window {
	struct nr_tools *tools;
	struct nr_file_work *const *work;
	size_t n, pages;
	char *mem;
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

static struct nr_file_work *work_of(const struct window *w, size_t page)
{
	return w->work[w->n == 1 ? 0 : w->tools->owner[page]];
}

/* Where a page is in its file, bytes. */
static off_t offset_of(const struct window *w, size_t page)
{
	const struct nr_tools *t = w->tools;

	if (w->n == 1)
		return (off_t)(w->work[0]->at + page * t->page);
	return (off_t)((page - t->first[t->owner[page]]) * t->page);
}

static bool must_stop(const struct nr_file_work *work)
{
	return nr_now() >= work->deadline || atomic_load(work->stop);
}

/* Has the page mapped if it is there: 0, -EFAULT. Compares a word, and does nothing else. */
static int touch(const void *address)
{
	static uint32_t other;
	long err = syscall(SYS_futex, address, FUTEX_CMP_REQUEUE_PRIVATE, 0, NULL, &other,
			   0x5ac3e1b7u);

	return err < 0 && errno != EAGAIN ? -errno : 0;
}

/* Fills in the NUMA nodes of the pages that index[] names. */
static int place(struct window *w, size_t n)
{
	struct nr_tools *t = w->tools;
	size_t i;

	for (i = 0; i < n; i++)
		t->address[i] = w->mem + t->index[i] * t->page;
	if (syscall(SYS_move_pages, 0, n, t->address, NULL, t->status, 0) < 0) {
		if (errno != ENOSYS)
			return -errno;
		/* A kernel that cannot move pages; with one NUMA node it need not say which */
		for (i = 0; i < n; i++)
			t->status[i] = t->nnodes == 1 ? 0 : -ENOSYS;
	}
	for (i = 0; i < n; i++)
		t->nid[t->index[i]] = t->status[i] >= 0 && t->status[i] < (int)t->nnodes
					      ? (int16_t)t->status[i]
					      : UNPLACED;
	return 0;
}

/* Finds the cached pages of a chunk and their NUMA nodes. */
static int look_at_chunk(struct window *w, size_t from, size_t pages)
{
	struct nr_tools *t = w->tools;
	size_t i, n = 0, left = 0;
	struct nr_file_work *work, *last_work = NULL;
	uintptr_t block, last = 0;
	int err;

	if (mincore(w->mem + from * t->page, pages * t->page, t->resident + from))
		return -errno;
	for (i = from; i < from + pages; i++) {
		t->nid[i] = ABSENT;
		if (!(t->resident[i] & 1))
			continue;
		block = (uintptr_t)(w->mem + i * t->page) / TOUCH_REACH;
		work = work_of(w, i);
		if (block != last || work != last_work)
			touch(w->mem + i * t->page);
		last = block;
		last_work = work;
		t->index[n++] = (uint32_t)i;
	}
	err = n ? place(w, n) : 0;
	if (err)
		return err;
	/* A touch leaves out pages that are locked or mark the end of a read-ahead. */
	for (i = 0; i < n; i++)
		if (t->nid[t->index[i]] == UNPLACED && touch(w->mem + t->index[i] * t->page) == 0)
			t->index[left++] = t->index[i];
	return left ? place(w, left) : 0;
}

static bool is_target(const struct window *w, size_t page)
{
	const struct bitmask *drop = w->work[0]->drop;
	int nid = w->tools->nid[page];

	return nid >= 0 && numa_bitmask_isbitset(drop, (unsigned int)nid);
}

/* Takes up to @pages pages from what may be dropped; gives how many, more by less than CUT. */
static size_t take_budget(const struct window *w, size_t page, size_t pages)
{
	_Atomic uint64_t *budget = w->work[0]->budget;
	const uint64_t size = w->tools->page;
	uint64_t have, end;

	if (!budget)
		return pages;
	have = atomic_load(budget);
	do {
		end = pages;
		if (!have)
			return 0;
		if (have < pages * size) {
			end = page + (have + size - 1) / size;
			end = (end + CUT - 1) / CUT * CUT - page;
			end = end < pages ? end : pages;
		}
	} while (!atomic_compare_exchange_weak(budget, &have, nr_sub(have, end * size)));
	return end;
}

/* Asks for the runs of target pages from *@at on, as far as the budget goes, and moves *@at to
 * where that is. Gives how many pages. The kernel itself empties per-CPU batches and tries again
 * where not all of a run goes (mm/fadvise.c). */
static size_t drop_runs(struct window *w, size_t *at)
{
	struct nr_tools *t = w->tools;
	size_t end, take, asked = 0;
	struct nr_file_work *work;

	while (*at < w->pages) {
		if (!is_target(w, *at)) {
			(*at)++;
			continue;
		}
		work = work_of(w, *at);
		for (end = *at + 1;
		     end < w->pages && t->nid[end] == t->nid[*at] && work_of(w, end) == work; end++)
			;
		take = take_budget(w, *at, end - *at);
		if (take)
			posix_fadvise(work->fd, offset_of(w, *at), (off_t)(take * t->page),
				      POSIX_FADV_DONTNEED);
		asked += take;
		*at += take;
		if (*at < end)
			break;
	}
	return asked;
}

/* Takes the target pages that are gone off the count; gives how many. */
static size_t count_gone(struct window *w, size_t from, size_t to)
{
	struct nr_tools *t = w->tools;
	size_t i, gone = 0;

	if (mincore(w->mem + from * t->page, (to - from) * t->page, t->resident + from))
		return 0;
	for (i = from; i < to; i++) {
		if (!is_target(w, i) || (t->resident[i] & 1))
			continue;
		work_of(w, i)->left.node[t->nid[i]] -= t->page;
		work_of(w, i)->left.cached -= t->page;
		gone++;
	}
	return gone;
}

/* To ask for what others have mapped is of no use, and slow: the kernel then empties the batches of
 * every CPU. */
static void leave_mapped(struct window *w)
{
	struct nr_tools *t = w->tools;
	size_t from, i, n;
	ssize_t got;

	for (from = 0; from < w->pages; from += n) {
		n = w->pages - from < CHUNK ? w->pages - from : CHUNK;
		got = pread(t->pagemap, t->entry, n * sizeof(t->entry[0]),
			    (off_t)(((uintptr_t)w->mem / t->page + from) * sizeof(t->entry[0])));
		if (got != (ssize_t)(n * sizeof(t->entry[0])))
			return;
		for (i = 0; i < n; i++)
			if (is_target(w, from + i) && !(t->entry[i] & EXCLUSIVE))
				t->nid[from + i] = MAPPED;
	}
}

/* What was asked for and is still there, somebody has mapped, or it is not clean. For that others
 * may go. */
static void drop_window(struct window *w)
{
	_Atomic uint64_t *budget = w->work[0]->budget;
	size_t from, at = 0, asked, gone;

	if (w->work[0]->in_use)
		leave_mapped(w);
	/* Not to be mapped itself */
	madvise(w->mem, w->pages * w->tools->page, MADV_DONTNEED);
	do {
		from = at;
		asked = drop_runs(w, &at);
		gone = asked ? count_gone(w, from, at) : 0;
		if (budget && asked > gone)
			atomic_fetch_add(budget, (asked - gone) * w->tools->page);
	} while (asked && at < w->pages && !must_stop(w->work[0]));
	if (w->n == 1 && at < w->pages)
		w->work[0]->at += at / CUT * CUT * w->tools->page;
	for (; at < w->pages; at++)
		if (is_target(w, at))
			work_of(w, at)->more = true;
}

static void count_found(struct window *w)
{
	struct nr_tools *t = w->tools;
	struct nr_file_work *work;
	size_t i;

	for (i = 0; i < w->pages; i++) {
		if (t->nid[i] == ABSENT)
			continue;
		work = work_of(w, i);
		if (t->nid[i] == UNPLACED) {
			work->cache.unplaced += t->page;
			work->left.unplaced += t->page;
		} else {
			work->cache.node[t->nid[i]] += t->page;
			work->left.node[t->nid[i]] += t->page;
		}
		work->cache.cached += t->page;
		work->left.cached += t->page;
	}
}

/* Looks at what is mapped, and drops what is to go. */
static int do_mapped(struct window *w)
{
	const size_t len = w->pages * w->tools->page;
	size_t from, pages;
	int err = 0;

	madvise(w->mem, len, MADV_RANDOM);
	for (from = 0; from < w->pages && !err; from += pages) {
		pages = w->pages - from < CHUNK ? w->pages - from : CHUNK;
		err = look_at_chunk(w, from, pages);
	}
	madvise(w->mem, len, MADV_SEQUENTIAL);
	if (err)
		return err;
	count_found(w);
	if (w->work[0]->drop)
		drop_window(w);
	return 0;
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
	struct window w = { .tools = tools, .work = &work, .n = 1 };
	const uint64_t at = work->at;
	uint64_t end;
	size_t len;
	int err;

	err = work->sync && (dirty || !known) ? write_back(work, bytes) : 0;
	if (err)
		return err;
	w.pages = (size_t)((bytes + tools->page - 1) / tools->page);
	len = w.pages * tools->page;
	w.mem = mmap(NULL, len, PROT_READ, MAP_SHARED, work->fd, (off_t)at);
	if (w.mem == MAP_FAILED)
		return -errno;
	err = do_mapped(&w);
	munmap(w.mem, len);
	end = work->at;
	work->at = at;
	count_dirty(tools, work, bytes, dirty);
	work->at = end;
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
	work->more = false;
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

int nr_file_cache(struct nr_tools *tools, struct nr_file_work *work)
{
	const uint64_t bytes_max = WINDOW * tools->page;
	uint64_t span = bytes_max, bytes, dirty;
	bool known;
	int err = 0;

	begin(tools, work);
	while (!err && work->at < work->size) {
		if (must_stop(work))
			return -ETIME;
		/* What is left of a window that the budget has cut */
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
		if (work->more)
			return err;
		work->at += bytes;
		span = bytes_max;
	}
	return err;
}

/* Maps the next file of a group, if there may be something of it in the cache. */
static bool map_next(struct window *w, struct nr_file_work *work, uint64_t *dirty)
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
	struct window w = { .tools = tools, .work = mapped, .mem = tools->area };
	size_t i;
	int err;

	for (i = 0; i < n; i++)
		if (map_next(&w, works[i], &dirty[w.n]))
			mapped[w.n++] = works[i];
	if (!w.n)
		return;
	err = do_mapped(&w);
	/* Reserved again */
	if (mmap(tools->area, w.pages * tools->page, PROT_NONE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) == MAP_FAILED)
		err = -errno;
	for (i = 0; i < w.n; i++) {
		mapped[i]->error = err;
		count_dirty(tools, mapped[i], mapped[i]->size, dirty[i]);
		if (!mapped[i]->more)
			mapped[i]->at = mapped[i]->size;
	}
}
