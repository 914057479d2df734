/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What filecache.c and window.c share: a part of the page cache that is mapped. */
#ifndef NR_FILECACHE_H
#define NR_FILECACHE_H

#include "internal.h"

/* Pages. A window has whole folios: the largest of a page cache is 2048 pages (MAX_XAS_ORDER). */
#define NR_WINDOW (1u << 14)
#define NR_CHUNK (1u << 10) /* looked at by one call each, so that little happens in between */

struct nr_tools {
	uint64_t page;
	int pagemap;
	unsigned int nnodes;
	bool no_cachestat;
	unsigned char resident[NR_WINDOW];
	int16_t nid[NR_WINDOW];
	/* Of a group */
	char *area; /* reserved */
	uint8_t owner[NR_GROUP_PAGES];
	size_t first[NR_GROUP_FILES]; /* page of each file */
	/* Of a chunk */
	void *address[NR_CHUNK];
	int status[NR_CHUNK];
	uint32_t index[NR_CHUNK];
	uint64_t entry[NR_CHUNK];
};

/* What is mapped at once: a part of one file from work->at on, or small files in whole. */
struct nr_window {
	struct nr_tools *tools;
	struct nr_file_work *const *work;
	size_t n, pages;
	char *mem;
};

/* window.c. Looks at what is mapped, adds it to the works' tallies, and drops what is to go: 0,
 * -errno of mincore(2) or move_pages(2). */
int nr_window_do(struct nr_window *w);

#endif
