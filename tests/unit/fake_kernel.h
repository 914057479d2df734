/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A host that obeys nodeN/reclaim, nodeN/compact and drop_caches, as files in a temporary folder.
 * The library thinks that it is the running system. All sizes are MB.
 */
#ifndef NR_FAKE_KERNEL_H
#define NR_FAKE_KERNEL_H

#include "unit.h"

#define FAKE_NODES 128

/* What a write to nodeN/reclaim does beside freeing clean cache */
enum fake_mood {
	FAKE_GOOD,
	FAKE_HALF,	/* frees half of what is asked, and EAGAIN */
	FAKE_STUCK,	/* frees nothing, and EAGAIN */
	FAKE_SILENT,	/* frees nothing, and no error */
	FAKE_BUSY,	/* EBUSY three times, then good */
	FAKE_DENIED,	/* EPERM */
	FAKE_SWAPS,	/* swaps anonymous pages as well */
	FAKE_UNMAPS,	/* takes mapped pages as well */
	FAKE_LEAVES,	/* the NUMA node goes offline at the third write */
	FAKE_SLAB,	/* frees as much slab as cache */
	FAKE_NEIGHBOUR, /* good, while other processes unmap more than is freed */
};

struct fake_node {
	uint64_t total, free, file, mapped, dirty, anon, slab; /* kB */
	enum fake_mood mood;
	bool movable;	     /* all of it is ZONE_MOVABLE */
	unsigned int delay;  /* each write takes that many ms */
	uint64_t rate;	     /* at most so many kB a write, 0: all */
	unsigned int writes; /* to nodeN/reclaim */
	unsigned int compacts;
	unsigned int too_much; /* writes for more than is clean above min_unmapped_ratio */
	bool gone;
};

struct fake {
	char root[64];
	unsigned int n;
	struct fake_node node[FAKE_NODES];
	uint64_t swapped_out;	    /* pages */
	unsigned int drops;	    /* writes to drop_caches */
	unsigned int compact_delay; /* ms */
	unsigned int meet; /* so many NUMA nodes wait for each other in their first write */
	unsigned int waiting;
	bool met; /* they did */
	struct nr_ctx *ctx;
	struct messages messages;
};

/* @n NUMA nodes of 8 GB with 2 CPUs each: 512 MB free, 6 GB of cache of which 100 MB are mapped and
 * 50 MB dirty. Change fake.node[] and then call fake_start(). There is one at a time. */
extern struct fake fake;
void fake_make(unsigned int n);
void fake_start(void);
void fake_stop(void);

/* The same folder, without the files that it does not have */
void fake_without(const char *file);

#endif
