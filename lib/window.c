/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Pages of files that are mapped: on which NUMA nodes they are, and dropping them from some.
 *
 * mincore(2) says which pages are cached. Only these are touched, so that the page table has them
 * and move_pages(2) can tell their NUMA nodes. posix_fadvise(2) then drops runs of pages.
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
 * The kernel does not drop a folio of which only a part is asked for. A window has whole folios,
 * and a folio is on one NUMA node, so a run of pages of one NUMA node has whole folios only.
 */
#include "filecache.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CUT NR_FILE_CUT		/* where a run is cut that is longer than what may be dropped */
#define TOUCH_REACH (64u << 10) /* bytes: fault_around_bytes, the kernel's default */

/* A page that is dealt with is SETTLED; else a NUMA node */
enum { ABSENT = -1, UNPLACED = -2, MAPPED = -3, SETTLED = -4 };

/* An entry of pagemap (Linux 4.2): this process is the only one that has the page mapped */
#define EXCLUSIVE (UINT64_C(1) << 56)

static struct nr_file_work *work_of(const struct nr_window *w, size_t page)
{
	return w->work[w->n == 1 ? 0 : w->tools->owner[page]];
}

/* Where a page is in its file, bytes. */
static off_t offset_of(const struct nr_window *w, size_t page)
{
	const struct nr_tools *t = w->tools;

	if (w->n == 1)
		return (off_t)(w->work[0]->at + page * t->page);
	return (off_t)((page - t->first[t->owner[page]]) * t->page);
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
static int place(struct nr_window *w, size_t n)
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
static int look_at_chunk(struct nr_window *w, size_t from, size_t pages)
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

static bool is_target(const struct nr_window *w, size_t page)
{
	const struct bitmask *drop = w->work[0]->drop;
	int nid = w->tools->nid[page];

	return nid >= 0 && numa_bitmask_isbitset(drop, (unsigned int)nid);
}

/* To ask for what others have mapped is of no use, and slow: the kernel then empties the batches of
 * every CPU. */
static void leave_mapped(struct nr_window *w)
{
	struct nr_tools *t = w->tools;
	size_t from, i, n;
	ssize_t got;

	for (from = 0; from < w->pages; from += n) {
		n = w->pages - from < NR_CHUNK ? w->pages - from : NR_CHUNK;
		got = pread(t->pagemap, t->entry, n * sizeof(t->entry[0]),
			    (off_t)(((uintptr_t)w->mem / t->page + from) * sizeof(t->entry[0])));
		if (got != (ssize_t)(n * sizeof(t->entry[0])))
			return;
		for (i = 0; i < n; i++)
			if (is_target(w, from + i) && !(t->entry[i] & EXCLUSIVE))
				t->nid[from + i] = MAPPED;
	}
}

/* How many pages from @page on are in one file and on one NUMA node. */
static size_t run_length(const struct nr_window *w, size_t page)
{
	const int16_t *nid = w->tools->nid;
	size_t end = page + 1;

	while (end < w->pages && nid[end] == nid[page] && work_of(w, end) == work_of(w, page))
		end++;
	return end - page;
}

/* Takes the target pages that are gone off the count; gives how many are not. They are targets no
 * more. */
static size_t settle(struct nr_window *w, size_t from, size_t to)
{
	struct nr_tools *t = w->tools;
	struct nr_file_work *work;
	size_t i, left = 0;
	bool gone;

	if (from == to)
		return 0;
	if (mincore(w->mem + from * t->page, (to - from) * t->page, t->resident + from))
		memset(t->resident + from, 1, to - from);
	for (i = from; i < to; i++) {
		if (!is_target(w, i))
			continue;
		work = work_of(w, i);
		gone = !(t->resident[i] & 1);
		if (gone) {
			work->left.node[t->nid[i]] -= t->page;
			work->left.cached -= t->page;
		} else if (work->allow) {
			work->allow[t->nid[i]] += t->page;
		}
		left += !gone;
		t->nid[i] = SETTLED;
	}
	return left;
}

/* The kernel itself empties per-CPU batches and tries again where not all of a run goes
 * (mm/fadvise.c). */
static void ask(const struct nr_window *w, size_t page, size_t pages)
{
	posix_fadvise(work_of(w, page)->fd, offset_of(w, page), (off_t)(pages * w->tools->page),
		      POSIX_FADV_DONTNEED);
}

/* Leaves pages to a later call. */
static void deny(struct nr_window *w, size_t page, size_t pages)
{
	struct nr_file_work *work = work_of(w, page);
	uint64_t at = (uint64_t)offset_of(w, page);

	at -= at % (CUT * w->tools->page);
	work->rest = work->rest < at ? work->rest : at;
	while (pages--)
		w->tools->nid[page++] = SETTLED;
}

/* A run that is about all that may still go: as much of it as that, with the rest of the folio that
 * it ends in. Gives how many pages are done with. */
static size_t drop_last(struct nr_window *w, size_t page, size_t pages)
{
	const uint64_t size = w->tools->page, first = (uint64_t)offset_of(w, page) / size;
	uint64_t *allow = &work_of(w, page)->allow[w->tools->nid[page]], was = *allow, end;
	size_t gone;

	if (!was) {
		deny(w, page, pages);
		return pages;
	}
	end = (first + (was + size - 1) / size + CUT - 1) / CUT * CUT - first;
	pages = end < pages ? (size_t)end : pages;
	ask(w, page, pages);
	gone = pages - settle(w, page, page + pages);
	*allow = nr_sub(was, gone * size);
	return pages;
}

/* What was asked for and is still there, somebody has mapped, or it is not clean. For that others
 * may go. */
static void drop(struct nr_window *w)
{
	const uint64_t size = w->tools->page;
	uint64_t *allow;
	size_t at, n;

	if (w->work[0]->in_use)
		leave_mapped(w);
	/* Not to be mapped itself */
	madvise(w->mem, w->pages * size, MADV_DONTNEED);
	for (at = 0; at < w->pages; at += n) {
		n = 1;
		if (!is_target(w, at))
			continue;
		n = run_length(w, at);
		allow = work_of(w, at)->allow;
		allow = allow ? &allow[w->tools->nid[at]] : NULL;
		if (allow && *allow <= n * size) {
			n = drop_last(w, at, n);
			continue;
		}
		ask(w, at, n);
		if (allow)
			*allow -= n * size;
	}
	settle(w, 0, w->pages);
}

static void count_found(struct nr_window *w)
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

int nr_window_do(struct nr_window *w)
{
	const size_t len = w->pages * w->tools->page;
	size_t from, pages;
	int err = 0;

	madvise(w->mem, len, MADV_RANDOM);
	for (from = 0; from < w->pages && !err; from += pages) {
		pages = w->pages - from < NR_CHUNK ? w->pages - from : NR_CHUNK;
		err = look_at_chunk(w, from, pages);
	}
	madvise(w->mem, len, MADV_SEQUENTIAL);
	if (err)
		return err;
	count_found(w);
	if (w->work[0]->drop)
		drop(w);
	return 0;
}
