/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A host that obeys nodeN/reclaim, nodeN/compact and drop_caches, as files in a temporary folder,
 * toss_page_cache_node() and processes that take memory. The library thinks that it is the running
 * system.
 */
#ifndef NR_FAKE_KERNEL_H
#define NR_FAKE_KERNEL_H

#include "unit.h"

#define FAKE_NODES 128

/* What a request, a write to nodeN/reclaim or a toss, does beside freeing clean cache */
enum fake_mood {
	FAKE_GOOD,
	FAKE_HALF,	/* frees half of what is asked, and EAGAIN; a toss returns that */
	FAKE_STUCK,	/* frees nothing, and EAGAIN; a toss returns 0 */
	FAKE_SILENT,	/* frees nothing, and no error; a toss says that it freed all */
	FAKE_MODEST,	/* a toss says that it freed nothing, and did */
	FAKE_BUSY,	/* EBUSY three times, then good */
	FAKE_SIGNALS,	/* EINTR every other time, and nothing freed */
	FAKE_DENIED,	/* EPERM */
	FAKE_SWAPS,	/* swaps anonymous pages as well */
	FAKE_UNMAPS,	/* takes mapped pages as well */
	FAKE_LEAVES,	/* the NUMA node goes offline at the third request */
	FAKE_SLAB,	/* frees as much slab as cache */
	FAKE_DIES,	/* the process that takes memory ends at the third step */
	FAKE_NEIGHBOUR, /* good, while other processes unmap more than is freed */
};

struct fake_node {
	uint64_t total, free, file, mapped, dirty, anon, slab; /* kB */
	enum fake_mood mood;
	bool movable;	     /* all of it is ZONE_MOVABLE */
	unsigned int delay;  /* each request takes that many ms */
	uint64_t rate;	     /* at most so many kB a request, 0: all */
	unsigned int writes; /* to nodeN/reclaim, and tosses */
	unsigned int tosses;
	unsigned int compacts;
	unsigned int too_much; /* requests for more than is clean; above min_unmapped_ratio, in
				* nodeN/reclaim */
	bool gone;
	/* With fake.pressure */
	unsigned int active;	   /* part of file, percent */
	uint64_t held, most, huge; /* memory taken, allowed to be, taken in huge pages */
	uint64_t list, spill; /* on the list of CPU 0, what is given back fills it up to that */
	unsigned int presses, takes;
};

struct fake {
	char root[64];
	unsigned int n;
	struct fake_node node[FAKE_NODES];
	uint64_t swapped_out;	    /* pages */
	unsigned int drops;	    /* writes to drop_caches */
	unsigned int compact_delay; /* ms */
	bool patched;		    /* it has toss_page_cache_node(), and says so */
	bool pressure;		    /* memory can be taken; at 20 MB free, cache goes to 24 MB */
	uint64_t swap;		    /* kB */
	bool zeros;	   /* what is swapped is pages of zeros, which pswpout leaves out */
	int toss_error;	   /* which does nothing but fail with that */
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

/* The same folder with one more file, or without one */
void fake_with(const char *file, const char *text);
void fake_without(const char *file);

/* The library does what the spec @text says, on all NUMA nodes of the fake host */
struct nr_result *run(const char *text, const struct nr_options *opt);
const struct nr_result_node *node(const struct nr_result *result, int nid);

#define assert_stop(result, nid, want)                                                             \
	ck_assert_str_eq(nr_stop_name(node(result, nid)->stop), nr_stop_name(want))

/* Never more than there is, and mapped, dirty and anonymous pages are as they were */
void check_harmless(unsigned int nid);

#endif
