/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A walk over files, as its own files see it (walk*.c); others use nr_walk_*() of internal.h.
 *
 * Workers take files from a queue. When it runs low one of them, the scout, goes on in the folders
 * and fills it. Every call of the kernel on a file or folder may hang (FUSE, NFS), so whoever waits
 * for results looks at the workers' clocks, gives up a worker that takes too long, and starts
 * another. A worker that was given up owns what it works with: its own memory, a reference to the
 * folder, and one to the walk, which the last one frees.
 *
 * With a lock are: everything in struct nr_walk, and of a worker what its comment says. No call
 * that may hang is made with it.
 */
#ifndef NR_WALK_H
#define NR_WALK_H

#include "internal.h"

#include <limits.h>
#include <sys/sysmacros.h>

#define NR_WALK_WORKERS 4
#define NR_WALK_LOST 8	    /* workers that may be given up before the walk ends */
#define NR_WALK_LEVELS 128  /* folders in folders, each with an open descriptor */
#define NR_WALK_LEASES 4096 /* that are remembered */
#define NR_WALK_ITEMS 256   /* results that wait for the caller */

enum nr_fs { NR_FS_UNKNOWN, NR_FS_CACHED, NR_FS_MEMORY, NR_FS_OTHER };

/* An open folder. References are counted with the lock. */
struct nr_folder {
	unsigned int refs;
	int fd;
	dev_t dev;
	bool links; /* of /proc/PID: what is in it stands for files */
	char path[];
};

struct nr_level {
	struct nr_folder *folder; /* NULL: the names are all there is */
	bool processes;		  /* the names are below /proc, and folders of links */
	bool end;		  /* all entries were read */
	size_t at, len;		  /* names of folders, each with its NUL */
	char *names;
};

struct nr_batch {
	struct nr_batch *next;
	struct nr_folder *folder; /* NULL: the names are paths */
	size_t index;		  /* of the next path */
	size_t at, len;
	char names[];
};

/* A small file that is open and waits for others, to be worked on with them. */
struct nr_pending {
	struct nr_walked *item;
	struct nr_file_work work;
};

struct nr_worker {
	struct nr_walk *walk;
	pthread_t thread;
	struct nr_tools *tools;
	/* With the lock: what it works on, and since when; 0: it waits */
	uint64_t since;
	dev_t dev;
	struct nr_folder *folder; /* a reference */
	char path[PATH_MAX];
	size_t index;
	uint64_t start;
	bool listed;   /* path is one that the caller gave */
	bool reading;  /* the entries of the folder */
	bool in_group; /* path is the first one of the group, which is worked on */
	bool lost;     /* given up */
	bool ended;
	struct nr_pending
		group[NR_GROUP_FILES]; /* read by others with the lock, as far as ngroup */
	size_t ngroup;
	atomic_bool stop; /* lost, or the walk ends */
	/* Its own: pages of the group, and the file system that it saw last */
	size_t group_pages;
	dev_t fs_dev;
	enum nr_fs fs;
	char entries[32u << 10] __attribute__((aligned(8))); /* of getdents64(2) */
	uint64_t allow[]; /* what the file may drop of each NUMA node */
};

struct nr_walk {
	pthread_mutex_t lock;
	pthread_cond_t work, news; /* for workers, for who waits for results */
	unsigned int refs;
	struct nr_ctx *ctx; /* its own, without a log */
	int fds;	    /* proc/self/fd */
	struct nr_walk_options options;
	struct bitmask *drop, *cpus;
	unsigned int nnodes;
	uint64_t *budget;      /* of each NUMA node, but for what files have of it; or NULL */
	struct bitmask *asked; /* NUMA nodes whose budget is not spent */
	size_t unsettled;      /* files that have some of it */
	bool all_inodes;       /* more than one source: every file may come twice */
	/* Sources */
	size_t next_path;
	bool processes_due;
	struct nr_batch *folders; /* of listed paths that are folders */
	struct nr_level level[NR_WALK_LEVELS];
	size_t levels;
	/* Files to work on */
	struct nr_batch *first, **last;
	size_t queued; /* bytes */
	/* Results */
	struct nr_walked *items, **items_last;
	size_t nitems;
	struct nr_walked *taken, *given; /* without the lock: by the caller, who has the second */
	/* Workers */
	struct nr_worker *worker[NR_WALK_WORKERS];
	unsigned int workers;
	struct nr_worker *scout, *mapper; /* mapper: who works on a group */
	unsigned int busy, idle;	  /* who works, and who waits for work */
	size_t grouped;			  /* files in groups */
	dev_t lost[NR_WALK_LOST];
	unsigned int nlost;
	int error;
	struct nr_inodes inodes;
	size_t nleases;
	ino_t lease[NR_WALK_LEASES];
};

/* walk.c. With the lock: */
void nr_walk_add_item(struct nr_walk *walk, struct nr_walked *item);
void nr_walk_add_error(struct nr_worker *worker, int error); /* of what it works on */
/* Files that were given up were on it: no more of it is touched. */
bool nr_walk_is_dead(const struct nr_walk *walk, dev_t dev);
/* Without: */
struct nr_walked *nr_walked_new(const struct nr_walk *walk, const char *address, const char *path);

void nr_walk_put(struct nr_walk *walk); /* takes the lock, which it is called with */

/* walk_worker.c. With the lock: */
int nr_worker_start(struct nr_walk *walk, struct nr_worker **slot);
/* The worker's clock runs from now on. Takes over a reference to @folder; the path is @name below
 * it, or @name itself. */
void nr_walk_begin(struct nr_worker *me, struct nr_folder *folder, const char *name, dev_t dev);
void nr_folder_put(struct nr_folder *folder);
/* Without: */
void nr_worker_free(struct nr_worker *worker);

/* walk_budget.c. With the lock: */
bool nr_budget_waits(const struct nr_walk *walk); /* does the next file? */
bool nr_budget_is_spent(const struct nr_walk *walk);
/* A file gets what it may use of the budget, and gives back what it has left. */
void nr_budget_take(struct nr_worker *me, uint64_t bound);
void nr_budget_settle(struct nr_walk *walk, const uint64_t *left);

/* walk_tree.c. With the lock, which they leave meanwhile: */
bool nr_scout_has_work(const struct nr_walk *walk);
void nr_scout_step(struct nr_worker *me);
/* The scout was given up. */
void nr_scout_lost(struct nr_worker *scout);
void nr_scout_add_folder(struct nr_walk *walk, const char *path);

/* walk_file.c. Without the lock: works on the file that nr_walk_begin() named. NULL: it does not
 * count, or joined the group as group[ngroup], to be counted in with the lock. */
struct nr_walked *nr_walk_file(struct nr_worker *me, bool *joined);
/* Which files have one, before the first is worked on. */
void nr_walk_find_leases(struct nr_walk *walk);
/* Works on the group; its items are complete then. */
void nr_walk_group(struct nr_worker *me);
/* Files there answer as long as the host itself does: it is a file system on a block device. */
static inline bool nr_is_local(dev_t dev)
{
	return major(dev) != 0;
}
const char *nr_file_why(int error); /* static; NULL for 0 */

#endif
