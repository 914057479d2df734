/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the files of libnodereclaim share and users do not see. */
#ifndef NR_INTERNAL_H
#define NR_INTERNAL_H

#include "config.h"
#include "nodereclaim.h"

#include <pthread.h>
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
struct nr_backend {
	const char *name;
	bool whole_host;
	/* 0 or -errno; fills @why. */
	int (*probe)(struct nr_ctx *ctx, int nid, char *why, size_t size);
	/* The most that it may be asked to free of @node without harm, bytes. */
	uint64_t (*reach)(const struct nr_node *node, const struct nr_host *host);
	/* One at a time works on a NUMA node, over all processes: see nr_sys_lock(). */
	int (*lock)(struct nr_ctx *ctx, int nid);
	/* Ask the kernel to free @bytes: 0 or -errno. What was freed is for the caller to measure.
	 */
	int (*reclaim)(struct nr_ctx *ctx, int nid, uint64_t bytes);
};
extern const struct nr_backend nr_backend_syscall, nr_backend_sysfs, nr_backend_drop_caches;
/* The best usable backend for one NUMA node, of those after @after (NULL: of all); NULL if none. */
const struct nr_backend *nr_backend_choose(struct nr_ctx *ctx, int nid,
					   const struct nr_backend *after);
/* The backend of that name, which must be one. */
const struct nr_backend *nr_backend_named(const char *name);

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
	/* Shared by the threads */
	atomic_size_t next;
	pthread_mutex_t lock;
	uint64_t all_freed;
};
/* Frees on every NUMA node of @work, side by side. Returns 0 or -ENOMEM. */
int nr_reclaim(struct nr_work *work);
uint64_t nr_now(void); /* CLOCK_MONOTONIC, nanoseconds */

/* bounded.c: runs @fn in a thread and waits until the deadline or a cancel. @fd is closed when it
 * has ended; -1 for none. Returns 0, -ETIME, -ENOMEM, -errno. */
int nr_bounded(struct nr_ctx *ctx, void (*fn)(int fd), int fd, uint64_t deadline);

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
