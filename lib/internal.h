/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the files of libnodereclaim share and users do not see. */
#ifndef NR_INTERNAL_H
#define NR_INTERNAL_H

#include "config.h"
#include "nodereclaim.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <syslog.h>

#define NR_EXPORT __attribute__((visibility("default")))
#define NR_PRINTF(f, a) __attribute__((format(printf, f, a)))

/* context.c */
struct nr_ctx {
	int rootfd;    /* the sysroot */
	bool recorded; /* not the running system: read only */
	uint64_t page_size;
	atomic_bool cancel;
	atomic_uint refused; /* enum nr_announced bits that were logged */
	/* nr_toss(); NULL with a sysroot, whose system call numbers are not the running kernel's */
	long (*toss)(unsigned int number, unsigned int nid, unsigned long bytes,
		     unsigned int flags);
	const struct nr_press_ops *press; /* press.c; NULL with a sysroot */
	pthread_mutex_t log_lock;
	nr_log_fn log;
	void *log_data;
	int log_max;
};

void nr_log(struct nr_ctx *ctx, int priority, const char *fmt, ...) NR_PRINTF(3, 4);

/* sysfs.c: the only file that opens /sys, /proc or /dev. Paths are relative to the sysroot. */
#define NR_PATH_MAX 256
int nr_sys_read(struct nr_ctx *ctx, char **out, size_t *len, const char *fmt, ...) NR_PRINTF(4, 5);
int nr_sys_read_u64(struct nr_ctx *ctx, uint64_t *out, const char *fmt, ...) NR_PRINTF(3, 4);
int nr_sys_read_set(struct nr_ctx *ctx, struct bitmask *set, const char *fmt, ...) NR_PRINTF(3, 4);
int nr_sys_write(struct nr_ctx *ctx, const char *text, const char *fmt, ...) NR_PRINTF(3, 4);
/* A descriptor for writing, or -errno. */
int nr_sys_open(struct nr_ctx *ctx, const char *fmt, ...) NR_PRINTF(2, 3);
/* Tries to get the one lock of a file, which only who may write to it can take. Returns a
 * descriptor that holds it until it is closed, -EWOULDBLOCK, -errno. */
int nr_sys_lock(struct nr_ctx *ctx, const char *fmt, ...) NR_PRINTF(2, 3);
int nr_sys_writable(struct nr_ctx *ctx, const char *fmt, ...) NR_PRINTF(2, 3);
/* Calls @fn for each entry of a folder; stops at its first error. */
int nr_sys_list(struct nr_ctx *ctx, int (*fn)(void *data, const char *name), void *data,
		const char *fmt, ...) NR_PRINTF(4, 5);
/* A descriptor of a folder for reading, or -errno. */
int nr_sys_folder(struct nr_ctx *ctx, const char *fmt, ...) NR_PRINTF(2, 3);
/* An O_PATH descriptor of what a link of a process's fd/ or map_files/ stands for: also of files
 * that are deleted or in other mount namespaces. */
int nr_sys_target(int folder, const char *name);
/* @fds is nr_sys_folder() of proc/self/fd. Opens what an O_PATH descriptor stands for; which the
 * caller knows to be harmless. */
int nr_sys_reopen(int fds, int pathfd, int flags);
/* A descriptor of the process's own /proc/self/pagemap, or -errno. */
int nr_sys_pagemap(struct nr_ctx *ctx);
bool nr_sys_may_write(int fds, int pathfd); /* to what it stands for */

/* Calls @fn for each line, without its newline and not NUL-terminated. */
typedef void (*nr_line_fn)(void *data, const char *line, size_t len);
int nr_sys_lines(struct nr_ctx *ctx, nr_line_fn fn, void *data, const char *fmt, ...)
	NR_PRINTF(4, 5);
/* True if the line is NAME, blanks or a colon, and a number; gives the number. */
bool nr_line_value(const char *line, size_t len, const char *name, uint64_t *value);

/* zoneinfo.c */
struct nr_zones {
	int nid;
	size_t n, size;
	struct nr_zone *zone;
	size_t npcp, pcp_size, pcp_at;
	struct nr_pcp *pcp;   /* CPUs with pages on their lists, all zones together */
	uint64_t free_blocks; /* bytes, summed over the zones */
	bool have_free_blocks, have_file;
};
struct nr_zoneinfo {
	size_t n;
	struct nr_zones *node; /* in the order of the file */
	uint64_t page_size;
	/* While it is read */
	struct nr_zones *at;
	struct nr_zone *zone;
	bool pagesets;
	uint64_t cpu;
	int error;
};
/* Pure: takes the file line by line, then nr_zoneinfo_end(), which returns 0 or -errno. */
struct nr_zoneinfo *nr_zoneinfo_new(uint64_t page_size);
void nr_zoneinfo_line(void *info, const char *line, size_t len);
int nr_zoneinfo_end(struct nr_zoneinfo *info);
void nr_zoneinfo_free(struct nr_zoneinfo *info);
const struct nr_zones *nr_zoneinfo_find(const struct nr_zoneinfo *info, int nid);

/* nodes.c */
static inline uint64_t nr_counter_or_zero(const struct nr_node *node, enum nr_counter counter)
{
	return (node->have >> counter & 1) ? node->value[counter] : 0;
}
/* One NUMA node's counters now, without zones: cheap enough for each slice of work. -ENODEV when it
 * went offline. */
int nr_node_read(struct nr_ctx *ctx, struct nr_node *node);
/* The same with zones and per-CPU lists, which live as long as *@zones (nr_zoneinfo_free()). */
int nr_node_read_zones(struct nr_ctx *ctx, struct nr_node *node, struct nr_zoneinfo **zones);
/* Pages that the host has swapped out since boot; 0 if the kernel does not say. */
uint64_t nr_host_swapped_out(struct nr_ctx *ctx);
uint64_t nr_sub(uint64_t a, uint64_t b);		/* a - b, not below 0 */
uint64_t nr_free_and_lists(const struct nr_node *node); /* MemFree and per-CPU lists */
/* As NR_CLEAN, which takes all that is mapped for file pages, but with all shmem taken for mapped:
 * what is clean lies between the two. For who does no harm by asking for more than there is. */
uint64_t nr_clean_at_most(const struct nr_node *node);

/* announced.c: parts of the kernel that contrib/kernel adds. Gives the value, or -EOPNOTSUPP if the
 * kernel does not have it or says something that cannot be, -errno of reading; then fills @why. */
enum nr_announced {
	NR_ANNOUNCED_TOSS, /* number of the system call, 64-bit ABI */
	NR_ANNOUNCED_FLAG, /* MPOL_F_LOCALRECLAIM */
};
int nr_announced(struct nr_ctx *ctx, enum nr_announced part, unsigned int *value, char *why,
		 size_t size);

/* backend_syscall.c: bytes freed or -errno. */
long nr_toss(unsigned int number, unsigned int nid, unsigned long bytes, unsigned int flags);

/* backend.c */
struct nr_work;
struct nr_backend {
	const char *name;
	bool whole_host;
	bool at_once; /* reclaim() is asked for all of it: it goes and looks in steps of its own */
	bool coarse;  /* frees in large pieces and by few CPUs, on whose lists much then waits */
	/* 0 or -errno; fills @why. */
	int (*probe)(struct nr_ctx *ctx, int nid, char *why, size_t size);
	/* The most that it may be asked to free of @node without harm, bytes. */
	uint64_t (*reach)(const struct nr_node *node, const struct nr_host *host);
	/* Ask the kernel to free @bytes, until work->deadline or a cancel: 0 or -errno, -ENODATA
	 * when this backend has no more to give, -ETIME when more would take longer than there is
	 * time. What was freed is for the caller to measure. */
	int (*reclaim)(struct nr_work *work, int nid, uint64_t bytes);
};
extern const struct nr_backend nr_backend_syscall, nr_backend_sysfs, nr_backend_files,
	nr_backend_pressure, nr_backend_drop_caches;
/* The best usable backend for one NUMA node, of those after @after (NULL: of all); NULL if none.
 * With @only no other than the one of that name. None that empties the whole host. */
const struct nr_backend *nr_backend_choose(struct nr_ctx *ctx, int nid,
					   const struct nr_backend *after, const char *only);
/* The backend of that name; NULL if there is none. Its place in the order of nr_backend_probe(). */
const struct nr_backend *nr_backend_named(const char *name);
size_t nr_backend_index(const struct nr_backend *backend);

/* plan.c */
struct nr_plan {
	enum nr_goal goal;
	size_t n;
	struct nr_plan_node node[];
};
/* What the job's CPUs can have of a NUMA node without going elsewhere, if @freed more bytes of its
 * cache were free. */
uint64_t nr_plan_allocatable(const struct nr_node *node, const struct nr_binding *binding,
			     uint64_t need, uint64_t freed);
/* What of that is on the lists of the job's CPUs. */
uint64_t nr_plan_on_lists(const struct nr_node *node, const struct nr_binding *binding,
			  uint64_t need);
/* Bytes to free so that @need and @extra more are allocatable; may be more than there is cache. */
uint64_t nr_plan_to_free(const struct nr_node *node, const struct nr_binding *binding,
			 uint64_t need, uint64_t extra);
/* How much more than that is freed, so that the need still stands moments later. */
uint64_t nr_plan_slack(uint64_t to_free);

/* reclaim.c */
struct nr_work {
	struct nr_ctx *ctx;
	const struct nr_binding *binding;
	const struct nr_snapshot *before;
	const struct nr_options *opt;
	enum nr_goal goal;
	bool compact;
	uint64_t deadline; /* nr_now() */
	size_t n;
	struct nr_result_node *node; /* plan is filled in, the rest is done */
	uint64_t all_to_free;
	struct nr_files_state *files; /* backend_files.c: made at its first use */
	/* Shared by the threads */
	atomic_size_t next;
	pthread_mutex_t lock;
	uint64_t all_freed;
};
/* Frees on every NUMA node of @work, side by side. Returns 0 or -ENOMEM. */
int nr_reclaim(struct nr_work *work);
uint64_t nr_now(void); /* CLOCK_MONOTONIC, nanoseconds */
void nr_pause(uint64_t ns);
/* The job's CPUs of a NUMA node, or all of the job's where it has none of these; NULL without
 * memory. Freed with CPU_FREE(). */
cpu_set_t *nr_cpus_near(struct nr_work *work, int nid, size_t *size);

/* press.c: processes that take memory of one NUMA node and give it back when they end. */
#define NR_PRESS_MAX 8			  /* how many they are at the most */
#define NR_PRESS_EACH (UINT64_C(1) << 30) /* one for each of these bytes */
struct nr_press {
	struct nr_ctx *ctx;
	size_t n;
	struct nr_press_child {
		pid_t pid;
		int fd;
	} child[NR_PRESS_MAX];
};
struct nr_press_ops {
	/* They may take @most bytes, on the job's CPUs near the NUMA node, and end by themselves a
	 * second after @deadline. 0 or -errno. */
	int (*start)(struct nr_work *work, int nid, uint64_t most, uint64_t deadline,
		     struct nr_press **out);
	/* They take @bytes more, in huge pages or in none: 0 or -errno, -ETIME, -ECANCELED; then
	 * how much they have is not known. */
	int (*take)(struct nr_press *press, uint64_t bytes, bool huge, uint64_t deadline);
	/* They give all back, which is done on return. */
	void (*stop)(struct nr_press *press);
};
extern const struct nr_press_ops nr_press_real;

/* rootgroup.c: out of the memory control group. 0 or -errno: -EPERM, inside a name space or without
 * root; -ENOENT, it is not mounted where it usually is. */
int nr_rootgroup_check(struct nr_ctx *ctx);
int nr_rootgroup_move(struct nr_ctx *ctx, pid_t pid);

/* bounded.c: runs @fn in a thread and waits until the deadline or a cancel. @fd is closed when it
 * has ended; -1 for none. Returns 0, -ETIME, -ENOMEM, -errno. */
int nr_bounded(struct nr_ctx *ctx, void (*fn)(int fd), int fd, uint64_t deadline);

/* safeopen.c: descriptors of what others own, or -errno. */
/* An O_PATH descriptor. -ELOOP, a symbolic link is in any part of @path; -EXDEV, it is on another
 * mount and @same_mount is asked for. */
int nr_safe_path(int dirfd, const char *path, bool same_mount);
/* For reading, from an O_PATH descriptor of a folder. */
int nr_safe_folder(int pathfd);

/* filecache.c */
#define NR_FILE_CUT 512 /* pages */
struct nr_tools;	/* buffers of one thread */
struct nr_tools *nr_tools_new(struct nr_ctx *ctx, unsigned int nnodes);
void nr_tools_free(struct nr_tools *tools);
/* Bytes, as in struct nr_file_cache. */
struct nr_tally {
	uint64_t cached, unplaced, dirty;
	bool have_dirty;
	uint64_t *node; /* as many as nr_tools_new() was told */
};
struct nr_file_work {
	int fd; /* a regular file, for reading, of which the kernel tells what is cached */
	uint64_t size;
	uint64_t at; /* where it begins, a multiple of NR_FILE_CUT pages, and where it has ended */
	const struct bitmask *drop;  /* NUMA nodes; NULL: only look */
	uint64_t *allow;	     /* of each NUMA node drop no more than this, counted down, but
				      * for the rest of a folio; bytes; NULL: all */
	bool in_use;		     /* others may have it mapped */
	bool sync;		     /* write back first */
	uint64_t deadline;	     /* nr_now() */
	const atomic_bool *stop;     /* ends it early */
	struct nr_tally cache, left; /* result, also of a part */
	uint64_t rest;		     /* from here on allow has left something; else UINT64_MAX */
	int error;		     /* of a group */
};
/* Files of NR_GROUP_PAGES or less in all, each from its start; sets error of each, as below. What
 * they drop, and the clock of the first, is the same for all. */
#define NR_GROUP_PAGES 2048
#define NR_GROUP_FILES 64
void nr_file_group(struct nr_tools *tools, struct nr_file_work *const *works, size_t n);
/* 0, -ETIME, -EPERM, -errno of mmap(2), mincore(2), move_pages(2) or sync_file_range(2). */
int nr_file_cache(struct nr_tools *tools, struct nr_file_work *work);

/* walk*.c: finds files and works on them in threads of its own. */
struct nr_walk;
struct nr_walk_options {
	const char *const *paths; /* live until nr_walk_end() */
	size_t npaths;
	bool addresses; /* paths are nr_walked.address */
	/* With addresses, of each: the byte from which it counts, and how much of it may go */
	const uint64_t *starts, *bounds;
	bool open;
	pid_t pid;		      /* 0: all but the own process */
	bool survey;		      /* only find: opens no file */
	const struct nr_inodes *skip; /* files that are no part of it; lives as paths do */
	const struct bitmask *drop;   /* copied */
	/* With addresses, of each NUMA node: drop this much, less than a folio more, then end;
	 * bytes. As if one file were worked on after the other. Copied; NULL: all */
	const uint64_t *budget;
	bool sync;
	uint64_t timeout;	    /* for a file, ns */
	const struct bitmask *cpus; /* where its threads run; copied; NULL: as the caller */
};
struct nr_walked {
	struct nr_walked *next;
	char *path;    /* for people */
	char *address; /* for nr_walk_options.addresses */
	size_t index;  /* with addresses: of the path */
	bool deleted;
	uint64_t size, blocks; /* bytes; blocks: what is allocated of them */
	int64_t used;	       /* the later of its last use and change, seconds since 1970 */
	int error;
	const char *why;
	uint64_t dev, ino;
	uint64_t end; /* the file was worked on up to here; bytes */
	struct nr_tally cache, left;
	uint64_t *allow;   /* what was left of the budget that it got; of each NUMA node */
	uint64_t values[]; /* these and their node[] */
};
int nr_walk_start(struct nr_ctx *ctx, const struct nr_walk_options *options, struct nr_walk **out);
/* Waits for the next file, until @deadline (nr_now()) or a cancel. Returns 1 with *@item, which
 * lives until the next call; 0 at the end; -ETIME, after the deadline; -ECANCELED; -EIO, too many
 * files took too long; -ENOMEM. */
int nr_walk_next(struct nr_walk *walk, struct nr_ctx *ctx, uint64_t deadline,
		 const struct nr_walked **item);
/* Ends it early too; NULL is allowed. */
void nr_walk_end(struct nr_walk *walk);
unsigned int nr_walk_nodes(const struct nr_walk *walk); /* length of nr_tally.node */
/* With addresses: how many of the paths have been begun, which are the first ones. */
size_t nr_walk_begun(struct nr_walk *walk);

/* inodes.c: a set of files, up to a bound: what does not fit in is not remembered. */
struct nr_inodes {
	size_t n, size;
	struct nr_inode *slot;
};
/* True if it was not in the set. */
bool nr_inodes_add(struct nr_inodes *set, uint64_t dev, uint64_t ino);
bool nr_inodes_has(const struct nr_inodes *set, uint64_t dev, uint64_t ino);
void nr_inodes_clear(struct nr_inodes *set);

/* backend_files.c; NULL is allowed */
void nr_files_state_free(struct nr_files_state *files);

/* lru.c; true also where the kernel has no other */
bool nr_lru_is_classic(struct nr_ctx *ctx);

/* rundir.c: /run/nodereclaim, below the sysroot. */
/* A descriptor of the folder, or of @sub in it, which are made if they are not there and @make is
 * asked for; or -errno: -EPERM, others may change it; -ENOENT, which is not logged. */
int nr_rundir_open(struct nr_ctx *ctx, const char *sub, bool make);
/* Files of such a folder. -EPERM, it is not a regular file that is ours alone. */
/* A descriptor that holds the lock until it is closed; -ETIME, the deadline (nr_now()) came. */
int nr_rundir_lock(int dir, const char *name, uint64_t deadline);
/* Gives the text, NUL-terminated, for free(3); -EFBIG above @max bytes. */
int nr_rundir_read(int dir, const char *name, size_t max, char **text, size_t *len);
int nr_rundir_write(int dir, const char *name, const char *text, size_t len); /* all or nothing */
bool nr_rundir_has(int dir, const char *name);
int nr_rundir_remove(int dir, const char *name);
int nr_rundir_set_aside(int dir, const char *name); /* as NAME.bad */

/* settings.c */
#define NR_SETTINGS 1
struct nr_setting {
	const char *name, *path;
	uint64_t bits; /* that it may have */
};
const struct nr_setting *nr_setting_find(const char *name); /* NULL: there is none */
/* 0; -EOPNOTSUPP, the kernel does not have it; -errno. */
int nr_setting_read(struct nr_ctx *ctx, const struct nr_setting *setting, uint64_t *value);
/* The same; -EINVAL, a value that it may not have; -EPROTO, the kernel did not take it. */
int nr_setting_write(struct nr_ctx *ctx, const struct nr_setting *setting, uint64_t value);

/* jobs.c: which of @jobs have processes on this host. 0 or -errno, -ETIME: nothing is known. */
int nr_jobs_running(struct nr_ctx *ctx, const uint32_t *jobs, bool *running, size_t n,
		    uint64_t deadline);

/* ledgerfile.c */
#define NR_BOOT_ID 37 /* with NUL */
#define NR_LEDGER_HOLDERS_MAX 1024
#define NR_LEDGER_BYTES_MAX (128u << 10)
struct nr_ledger {
	char boot[NR_BOOT_ID];
	size_t n;
	struct nr_ledger_entry entry[NR_SETTINGS];
};
bool nr_step_ok(const char *step); /* may stand in the file */
/* The value before the first holder, with what its holders want. */
uint64_t nr_ledger_wanted(const struct nr_ledger_entry *entry);
struct nr_ledger_holder *nr_ledger_find_holder(struct nr_ledger_entry *entry, uint32_t job,
					       const char *step);
/* 0; -ENOSPC, there are too many; -ENOMEM. */
int nr_ledger_add_holder(struct nr_ledger *ledger, struct nr_ledger_entry *entry,
			 const struct nr_ledger_holder *holder);
int nr_ledger_format(const struct nr_ledger *ledger, char **text, size_t *len); /* 0, -ENOMEM */
/* @text is NUL-terminated. 0; -EBADMSG, it is no ledger; -EPROTO, it is one of a later release;
 * -ENOMEM. */
int nr_ledger_parse(const char *text, size_t len, struct nr_ledger **out);

/* run.c */
struct nr_result {
	struct nr_snapshot *before, *after; /* after is NULL where nothing was done */
	enum nr_goal goal;
	bool dry_run;
	double seconds;
	size_t n;
	struct nr_result_node node[];
};

#endif
