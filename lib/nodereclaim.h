/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * libnodereclaim: free clean page cache of NUMA nodes, just enough, and say what was done.
 *
 * The flow is binding -> snapshot -> plan -> reclaim -> report. nr_run() does it in one call.
 *
 * Conventions
 *  - Functions that return int give 0 or -errno, if nothing else is said. Text about an error goes
 *    to the context's log callback.
 *  - All sizes are bytes. The kernel's "kB" are 1024 bytes.
 *  - Objects that a function gives out are freed with the function named beside it; all of these
 *    accept NULL. Public structures are only ever allocated by the library, and members are only
 *    ever added at their end.
 *  - Nothing here is global: functions on different contexts may run at the same time. One context
 *    may be used by one thread at a time; nr_cancel() is the exception.
 *  - The library never writes to standard output or standard error and never ends the process.
 */
#ifndef NODERECLAIM_H
#define NODERECLAIM_H

#include <numa.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The highest NUMA node number + 1 and CPU number + 1 that are handled. Linux allows 1024 NUMA
 * nodes (NODES_SHIFT is 10 at most) and 8192 CPUs (x86-64 and arm64 with MAXSMP, Linux 6.12). */
#define NR_MAX_NODES 1024
#define NR_MAX_CPUS 8192

/* The longest text that nr_spec_parse() reads, in bytes without the NUL. */
#define NR_SPEC_MAX 1023

/* ---------------------------------------------------------------- context (context.c) */

struct nr_ctx;

/* Receives one line without newline. @priority is a syslog level, LOG_ERR to LOG_DEBUG. Called in
 * the thread that caused the message, during nr_run() also in threads of the library, but never
 * by two at once for one context. */
typedef void (*nr_log_fn)(void *data, int priority, const char *message);

/**
 * nr_open - make a context
 * @out:     the context, freed with nr_close()
 * @sysroot: folder that holds sys/ and proc/, NULL for the running system
 *
 * A context with a @sysroot only reads: nr_run() with it is -EROFS
 * unless it is a dry run.
 *
 * Return: 0, -ENOMEM, or the errno of opening @sysroot.
 */
int nr_open(struct nr_ctx **out, const char *sysroot);
void nr_close(struct nr_ctx *ctx);

/* Messages up to @max_priority (LOG_ERR ... LOG_DEBUG) go to @fn; NULL drops all, the default. */
void nr_set_log(struct nr_ctx *ctx, nr_log_fn fn, void *data, int max_priority);

/**
 * nr_cancel - end a running nr_run() early
 *
 * Async-signal-safe, may be called from any thread. What is freed by then stays freed; the result
 * says NR_STOP_CANCELLED. It stays in force for the next nr_run() if none is running.
 */
void nr_cancel(struct nr_ctx *ctx);

/* "MAJOR.MINOR.PATCH" of the library in use; static. */
const char *nr_version(void);

/* ---------------------------------------------------------------- sets (sets.c) */

/**
 * nr_set_new - an empty libnuma bitmask of @bits bits
 *
 * As numa_bitmask_alloc(3), which ends the process when there is no memory; this one returns NULL.
 * Freed with nr_set_free() or numa_bitmask_free(3).
 */
struct bitmask *nr_set_new(unsigned int bits);
void nr_set_free(struct bitmask *set);

/**
 * nr_set_parse - read a list as the kernel writes it: "0,2-3", "" (empty set)
 * @text: the list; a newline at the end is allowed
 * @set:  cleared, then filled
 * @bad:  offset of the first byte that is wrong, may be NULL; set on error
 *
 * Return: 0, -EINVAL for bad syntax or a reversed range, -ERANGE for a number that @set cannot
 * hold.
 */
int nr_set_parse(const char *text, struct bitmask *set, size_t *bad);

/**
 * nr_set_format - write a set as "0,2-3" into @buf, always NUL-terminated
 *
 * Return: the length of the whole text; as with snprintf(3), @size or more means that it was cut.
 */
size_t nr_set_format(const struct bitmask *set, char *buf, size_t size);

/* ---------------------------------------------------------------- spec (spec.c) */

enum nr_goal {
	NR_GOAL_AUTO,	 /* what the job was given */
	NR_GOAL_SIZE,	 /* spec.bytes on each NUMA node */
	NR_GOAL_PERCENT, /* spec.percent of each NUMA node's memory */
	NR_GOAL_ALL,	 /* every clean page */
};

enum nr_dirty { NR_DIRTY_SKIP, NR_DIRTY_SYNC };
enum nr_policy { NR_POLICY_NONE, NR_POLICY_LOCAL, NR_POLICY_BIND };
enum nr_verbosity { NR_VERBOSITY_NORMAL, NR_VERBOSITY_VERBOSE, NR_VERBOSITY_QUIET };

/* One bit an item of the grammar, for nr_spec.given and for lists of what users may ask for. */
enum nr_item {
	NR_ITEM_AUTO = 1 << 0,
	NR_ITEM_SIZE = 1 << 1, /* SIZE and N% */
	NR_ITEM_ALL = 1 << 2,
	NR_ITEM_NODES = 1 << 3,
	NR_ITEM_DIRTY = 1 << 4,
	NR_ITEM_POLICY = 1 << 5,
	NR_ITEM_COMPACT = 1 << 6,
	NR_ITEM_TIMEOUT = 1 << 7,
	NR_ITEM_STRICT = 1 << 8,
	NR_ITEM_VERBOSE = 1 << 9, /* verbose and quiet */
	NR_ITEM_HELP = 1 << 10,
};
#define NR_ITEMS_ALL ((1u << 11) - 1)

#define NR_TIMEOUT_DEFAULT 30 /* seconds */
#define NR_TIMEOUT_MAX 3600   /* seconds */

struct nr_spec {
	enum nr_goal goal;
	uint64_t bytes;	       /* with NR_GOAL_SIZE; 1 or more */
	unsigned int percent;  /* with NR_GOAL_PERCENT; 1 to 100 */
	struct bitmask *nodes; /* NULL: all NUMA nodes of the job */
	enum nr_dirty dirty;
	enum nr_policy policy;
	bool compact;
	unsigned int timeout; /* seconds, 1 to NR_TIMEOUT_MAX */
	bool strict;
	enum nr_verbosity verbosity;
	bool help;
	unsigned int given; /* enum nr_item bits of the items that the text had */
};

/**
 * nr_spec_parse - read the text after --node-reclaim=
 * @text: NULL, "" and "(null)" mean the default, "auto" (Slurm passes each of them for an option
 *        without argument)
 * @out:  the spec, freed with nr_spec_free(); NULL on error
 * @err:  one line that names the item, its place and what is allowed, without newline; may be NULL
 * @errlen: size of @err; 256 is always enough
 *
 * After "nodes=", items of only digits and '-' belong to its list: "nodes=0,2-3,strict".
 *
 * Pure: no I/O. Every control character and every byte above 0x7e in @err is shown as '?'.
 *
 * Return: 0, -EINVAL for a bad item, -ERANGE for a number out of range, -EEXIST for a repeated
 * item, -E2BIG for a text above NR_SPEC_MAX, -ENOMEM.
 */
int nr_spec_parse(const char *text, struct nr_spec **out, char *err, size_t errlen);
void nr_spec_free(struct nr_spec *spec);

/* The name of an item's bit as users write it ("nodes", "timeout", ...); NULL if @item is none. */
const char *nr_item_name(enum nr_item item);

/* Bits for a comma-separated list of item names, "all" counts as the item, "any" as every item.
 * Return: 0 or -EINVAL. */
int nr_items_parse(const char *text, unsigned int *bits);

/* The text of "help": every item with its meaning, lines of at most 100 columns. Static. */
const char *nr_spec_help(void);

/* Read "SIZE": digits and one of K, M, G, T (powers of 1024, either case). No fractions, and no
 * bare number: Slurm's own options would read it as megabytes, everybody else as bytes. Return: 0,
 * -EINVAL, -ERANGE when it is 0 or does not fit into 63 bits. */
int nr_size_parse(const char *text, uint64_t *bytes);

/* Write @bytes as people read it ("1.5G", "820M", "0"), at most 7 characters and a NUL. */
#define NR_SIZE_TEXT 8
const char *nr_size_format(uint64_t bytes, char buf[NR_SIZE_TEXT]);

/* ---------------------------------------------------------------- nodes (nodes.c) */

/* Counters of one NUMA node, from nodeN/meminfo and nodeN/hugepages, in bytes. */
enum nr_counter {
	NR_TOTAL,	/* MemTotal */
	NR_FREE,	/* MemFree */
	NR_FILE,	/* FilePages: page cache with shmem and swap cache */
	NR_ACTIVE_FILE, /* Active(file) */
	NR_INACTIVE_FILE,
	NR_ACTIVE_ANON,
	NR_INACTIVE_ANON,
	NR_UNEVICTABLE,
	NR_MLOCKED,
	NR_DIRTY_PAGES,
	NR_WRITEBACK,
	NR_MAPPED, /* mapped file and shmem pages */
	NR_ANON,   /* AnonPages */
	NR_SHMEM,
	NR_KERNEL_STACK,
	NR_PAGE_TABLES,
	NR_SLAB_RECLAIMABLE,
	NR_SLAB_UNRECLAIMABLE,
	NR_SWAP_CACHED,
	NR_ANON_HUGE,
	NR_HUGE_TOTAL, /* huge-page pools, all sizes */
	NR_HUGE_FREE,
	/* Derived by the library */
	NR_CLEAN,	/* clean cache: unmapped, clean file pages, see nr_node_get() */
	NR_ALLOCATABLE, /* free above the zones' low watermarks and lowmem reserves */
	NR_FREE_BLOCKS, /* free in whole huge-page blocks */
	NR_PER_CPU,	/* free, but on per-CPU lists, where only that CPU finds it */
	NR_UNACCOUNTED, /* memory in none of the classes */
	NR_COUNTERS
};

#define NR_ZONE_NAME 16

struct nr_zone {
	char name[NR_ZONE_NAME]; /* "DMA32", "Normal", "Movable", ... */
	uint64_t free;
	uint64_t min, low, high; /* watermarks */
	uint64_t reserve;	 /* lowmem reserve against user allocations ("protection") */
	uint64_t present, managed;
	uint64_t file; /* active and inactive file pages of the zone */
};

/* Free pages on the list of one CPU. MemFree does not count them. */
struct nr_pcp {
	unsigned int cpu;
	uint64_t bytes; /* above 0 */
};

struct nr_node {
	int nid;
	bool has_memory;
	unsigned int ncpus; /* online CPUs of the NUMA node itself */
	uint64_t have;	    /* bit c set: counter c is known */
	uint64_t value[NR_COUNTERS];
	size_t nzones;
	const struct nr_zone *zones; /* populated zones only, as /proc/zoneinfo orders them */
	/* Reclaim activity since boot in pages, where nodeN/vmstat has it; Linux 6.18 does not */
	bool have_reclaim;
	uint64_t scanned, stolen; /* pgscan_proactive, pgsteal_proactive */
	bool have_demoted;
	uint64_t demoted; /* pgdemote_*, all, pages */
	bool have_swapped;
	uint64_t swapped_out; /* pswpout of the NUMA node, pages */
	size_t npcp;
	const struct nr_pcp *pcp; /* from /proc/zoneinfo, all zones together */
};

struct nr_snapshot;

/**
 * nr_snapshot_take - read every online NUMA node once
 * @out: the snapshot, freed with nr_snapshot_free()
 *
 * A NUMA node that goes offline meanwhile is left out. Counters may be up to half a MB for
 * each CPU behind: the kernel keeps differences per CPU (mm/vmstat.c) for a second.
 *
 * Return: 0, -ENOMEM, -ENOENT when the kernel has no NUMA support, -errno of reading.
 */
int nr_snapshot_take(struct nr_ctx *ctx, struct nr_snapshot **out);
void nr_snapshot_free(struct nr_snapshot *snap);

/* Number of NUMA nodes; the @i-th in the order of their numbers; the one with number @nid or NULL.
 * What is returned lives as long as @snap. */
size_t nr_snapshot_count(const struct nr_snapshot *snap);
const struct nr_node *nr_snapshot_at(const struct nr_snapshot *snap, size_t i);
const struct nr_node *nr_snapshot_find(const struct nr_snapshot *snap, int nid);

/**
 * nr_node_get - one counter of a NUMA node in bytes
 *
 * NR_CLEAN is the file LRUs less mapped, dirty and write-back pages: what can be dropped without
 * unmapping or writing. Mapped shmem counts as mapped there, as in the kernel's own limit
 * (node_pagecache_reclaimable(), mm/vmscan.c, Linux 6.18), so that it errs on the small side, by
 * NR_SHMEM at most.
 *
 * Return: false, and *@bytes 0, if the running kernel does not say.
 */
bool nr_node_get(const struct nr_node *node, enum nr_counter counter, uint64_t *bytes);

/* The name of a counter in JSON and tables ("free", "clean", "dirty", ...); static. */
const char *nr_counter_name(enum nr_counter counter);

/* Whole host, from /proc/vmstat, pages since boot. */
struct nr_host {
	uint64_t swapped_in, swapped_out; /* pswpin; pswpout and swpout_zero */
	uint64_t scanned, stolen;	  /* all pgscan_* and pgsteal_* by who asked */
	int zone_reclaim_mode;		  /* vm.zone_reclaim_mode, -1 if the kernel has none */
	bool demotion;			  /* /sys/kernel/mm/numa/demotion_enabled */
	unsigned int min_unmapped_ratio;  /* vm.min_unmapped_ratio in %, 0 if the kernel has none */
};
const struct nr_host *nr_snapshot_host(const struct nr_snapshot *snap);

/* ---------------------------------------------------------------- binding (binding.c) */

/* Where a job runs, as NUMA nodes. */
struct nr_binding {
	struct bitmask *cpus;  /* its online CPUs; all that are served, from a NUMA-node list */
	struct bitmask *nodes; /* NUMA nodes with memory that it is served on */
	/* What nr_binding_limit() accepts: nodes, and allowed CPU-less NUMA nodes that are as near
	 * to one of the job's CPUs as to any other CPU. */
	struct bitmask *reachable;
	unsigned int ncpus[NR_MAX_NODES];     /* the job's CPUs that are served by NUMA node i */
	unsigned int node_cpus[NR_MAX_NODES]; /* all online CPUs that are served by NUMA node i */
	unsigned int online_cpus;	      /* of the host */
	unsigned int cpus_per_core;	      /* of the first core; 1 if the kernel does not say */
};

/*
 * All of them give a binding that is freed with nr_binding_free(). A CPU whose NUMA node has no
 * memory (or none that the process may use) is served by the nearest that has some, by the kernel's
 * distances, the lowest number on a tie. Offline CPUs are left out.
 *
 * nr_binding_from_pid    - affinity and allowed NUMA nodes of a process (Cpus_allowed_list and
 *                          Mems_allowed_list of /proc/PID/status); 0: the caller
 * nr_binding_from_cpus   - a CPU list, "0-3,8"
 * nr_binding_from_cpuset - a cpuset of cgroup v1 or v2 or of hybrid mounts, by its path below the
 *                          controller's mount point ("/slurm/uid_0/job_1"); found through libcgroup
 * nr_binding_from_nodes  - a NUMA-node list, "0,2-3", or NULL for each that has memory
 *
 * Return: 0; -EINVAL for a bad list or path; -ERANGE for a CPU or NUMA node that is none of the
 * host's, or has no memory; -ESRCH, no such process; -ENOENT, no such cpuset; -ENODEV, no CPU or
 * NUMA node is left; -EOPNOTSUPP, a cpuset with a sysroot; -ENOMEM; -errno of reading.
 */
int nr_binding_from_pid(struct nr_ctx *ctx, pid_t pid, struct nr_binding **out);
int nr_binding_from_cpus(struct nr_ctx *ctx, const char *cpus, struct nr_binding **out);
int nr_binding_from_cpuset(struct nr_ctx *ctx, const char *path, struct nr_binding **out);
int nr_binding_from_nodes(struct nr_ctx *ctx, const char *nodes, struct nr_binding **out);
void nr_binding_free(struct nr_binding *binding);

/**
 * nr_binding_limit - keep only these NUMA nodes ("nodes=" of a spec)
 *
 * Return: 0; -ERANGE, and nothing is changed, if @nodes has one that is not reachable.
 */
int nr_binding_limit(struct nr_binding *binding, const struct bitmask *nodes);

/* ---------------------------------------------------------------- plan (plan.c) */

/* Why a NUMA node is in a plan as it is. */
enum nr_verdict {
	NR_VERDICT_MET,	    /* enough is free, nothing to do */
	NR_VERDICT_FREE,    /* clean cache covers the shortfall */
	NR_VERDICT_SHORT,   /* all clean cache goes and it is still short */
	NR_VERDICT_UNKNOWN, /* the kernel does not give the counters that are needed */
};

struct nr_plan_node {
	int nid;
	enum nr_verdict verdict;
	uint64_t need;	      /* should be allocatable; with NR_GOAL_ALL: allocatable + clean */
	uint64_t allocatable; /* is allocatable now, for the job's CPUs */
	uint64_t clean;	      /* clean cache now */
	uint64_t to_free;     /* what is to be freed, never above clean */
	uint64_t to_try;      /* goal for reclaim: to_free, or where that is short also what mapped
			       * shmem may hide, see nr_node_get() */
	uint64_t missing;     /* need that is out of reach whatever is freed */
};

struct nr_plan;

/**
 * nr_plan_make - how much to free on each NUMA node of @binding
 * @given: memory that the job was given on this host in bytes, 0 for no limit; for NR_GOAL_AUTO
 * @out:   the plan, freed with nr_plan_free()
 *
 * Pure: no I/O, no clock. A need is met above the zones' low watermarks and lowmem reserves, below
 * which the kernel's allocator goes to another NUMA node first (get_page_from_freelist(),
 * mm/page_alloc.c, Linux 6.12). Pages on the per-CPU lists of the job's CPUs count as allocatable,
 * up to a CPU's share of the need: reclaim frees to the list of the CPU that it runs on, hundreds
 * of MB after much file I/O (Linux 6.18), where MemFree does not see them. With NR_GOAL_AUTO no
 * more than 95 % of what the NUMA node can ever have allocatable is needed: the system keeps some.
 *
 * Return: 0, -ENOMEM.
 */
int nr_plan_make(const struct nr_spec *spec, const struct nr_snapshot *snap,
		 const struct nr_binding *binding, uint64_t given, struct nr_plan **out);
void nr_plan_free(struct nr_plan *plan);
size_t nr_plan_count(const struct nr_plan *plan);
const struct nr_plan_node *nr_plan_at(const struct nr_plan *plan, size_t i);

/* ---------------------------------------------------------------- backends (backend.c) */

#define NR_BACKENDS 5

struct nr_backend_info {
	const char *name; /* "syscall", "sysfs", "files", "pressure", "drop_caches" */
	bool whole_host;  /* cannot be limited to one NUMA node */
	int error;	  /* 0: usable; else -errno */
	char why[128];	  /* why not, or what it does; one line */
};

/*
 * Number of backends, best first; fills @info for NUMA node @nid. Return: 0, -ERANGE.
 *
 * "syscall" is a kernel with the patches of contrib/kernel: it is used only by the number that
 * /sys/kernel/mm/node_reclaim names, from 472 to 1023, of the 64-bit ABI, and never with a sysroot.
 * A number or a version there that cannot be is logged once for each context. "sysfs" is
 * nodeN/reclaim of Linux 6.17 and later. If one fails for good while it works, the next goes on.
 *
 * "files" drops the pages of files that are known: those below nr_options.files_from and those that
 * processes have open, which come last and only if no other backend comes after it; of the others
 * the longest unused and then the largest first. It needs root and /proc. What is cached of other
 * files it does not see.
 *
 * "pressure" starts processes, 8 for a NUMA node at the most, that take memory there and give it
 * back. They are copies of the caller's without its threads, call only what is async-signal-safe,
 * cause no SIGCHLD, are not found by its wait(2), and end with it, or by the deadline + 2 s. It
 * moves them out of the caller's memory control group; where that is not allowed it is not usable.
 */
size_t nr_backend_count(void);
const char *nr_backend_name(size_t i); /* static; NULL if there is no such backend */
/* Its place in that order; or -ENOENT and, in @size bytes, the names that there are: "a, b". */
int nr_backend_find(const char *name, char *names, size_t size);
int nr_backend_probe(struct nr_ctx *ctx, size_t i, int nid, struct nr_backend_info *info);

/* ---------------------------------------------------------------- reclaim (run.c, reclaim.c) */

/* Why work on a NUMA node ended. */
enum nr_stop {
	NR_STOP_NOTHING,   /* there was nothing to do */
	NR_STOP_DONE,	   /* the goal is reached */
	NR_STOP_EXHAUSTED, /* the backend could give no more */
	NR_STOP_DEADLINE,
	NR_STOP_CANCELLED,
	NR_STOP_SWAP,	 /* the kernel began to swap */
	NR_STOP_MAPPED,	 /* the kernel began to take mapped pages */
	NR_STOP_OFFLINE, /* the NUMA node went away */
	NR_STOP_NO_BACKEND,
	NR_STOP_ERROR, /* see error */
	NR_STOP_DRY_RUN,
};
const char *nr_stop_name(enum nr_stop stop); /* "done", "deadline", ...; static */

struct nr_progress {
	int nid;
	uint64_t freed, to_free;	 /* on this NUMA node */
	uint64_t all_freed, all_to_free; /* on all of the plan */
};

struct nr_options {
	unsigned int timeout_ms; /* 0: from the spec */
	bool dry_run;		 /* plan and report, touch nothing */
	bool allow_drop_caches;	 /* drop_caches may empty the whole host's cache when short */
	const char *backend;	 /* no other than this one; NULL: the best, then the next */
	/* Where backend "files" looks for cached files: absolute paths of files and
	 * folders, as nr_files.paths */
	const char *const *files_from;
	size_t nfiles_from;
	/* After each slice; never by two threads at once. Not 0: cancel. */
	int (*progress)(void *data, const struct nr_progress *progress);
	void *data;
};

struct nr_result_node {
	struct nr_plan_node plan;
	int64_t freed;	      /* free and per-CPU lists, after - before; what others allocated
			       * meanwhile counts against it */
	uint64_t allocatable; /* after, for the job's CPUs */
	uint64_t missing;     /* need - allocatable after, 0 if met; with NR_GOAL_ALL what a backend
			       * could still have freed; of a dry run what is out of reach */
	enum nr_stop stop;
	int error;	     /* -errno with NR_STOP_ERROR */
	const char *backend; /* the last that worked; static; NULL if none did */
	double seconds;
	/* What each backend freed, in the order of nr_backend_probe(): an estimate from the
	 * counters around its requests, what others freed meanwhile included */
	uint64_t by[NR_BACKENDS];
};

struct nr_result;

/**
 * nr_run - make @binding's NUMA nodes have free what @spec says, and measure
 * @binding: changed by spec->nodes
 * @given:   as in nr_plan_make()
 * @opt:     NULL for the defaults
 * @out:     the result, freed with nr_result_free()
 *
 * Threads: one for each NUMA node that has work, 64 at most; they have ended on return, but for one
 * that the kernel holds in write-back, compaction or folding counters. Takes no longer than the
 * timeout + 0.2 s as long as the kernel comes back from each request. Signals are blocked in the
 * library's threads.
 *
 * Return: 0, whether or not the need was met: see nr_result_missing(). -EROFS with a sysroot if not
 * dry_run; -EINVAL, opt->backend is none; -ERANGE, spec->nodes is not inside @binding; -ENOMEM;
 * -errno of reading.
 */
int nr_run(struct nr_ctx *ctx, const struct nr_spec *spec, struct nr_binding *binding,
	   uint64_t given, const struct nr_options *opt, struct nr_result **out);
void nr_result_free(struct nr_result *result);

size_t nr_result_count(const struct nr_result *result);
const struct nr_result_node *nr_result_at(const struct nr_result *result, size_t i);
const struct nr_snapshot *nr_result_before(const struct nr_result *result);
const struct nr_snapshot *nr_result_after(const struct nr_result *result);

/* Sum of what the NUMA nodes are short of, bytes; 0: the need is met everywhere. */
uint64_t nr_result_missing(const struct nr_result *result);

/* ---------------------------------------------------------------- report (report.c) */

struct nr_effect {
	uint64_t freed;		  /* sum over the NUMA nodes that were worked on */
	uint64_t swapped_out;	  /* pages, whole host, meanwhile */
	uint64_t scanned, stolen; /* pages by reclaim on the plan's NUMA nodes, else whole host */
	bool scanned_host;	  /* scanned and stolen are the whole host's */
	uint64_t others_lost;	  /* clean cache that other NUMA nodes lost meanwhile, bytes */
	uint64_t demoted;	  /* pages moved to slower memory, plan's NUMA nodes */
	double seconds;
};
void nr_result_effect(const struct nr_result *result, struct nr_effect *effect);

/* What holds the rest of a NUMA node, in the order of tables. */
struct nr_holder {
	enum nr_counter counter;
	uint64_t bytes;
};

/**
 * nr_holders - what holds a NUMA node's memory beside free and clean cache
 * @max: size of @holders
 *
 * Largest first. Classes do not overlap, but for mlocked, which is part of the others and last.
 *
 * Return: the number of classes above 0.
 */
size_t nr_holders(const struct nr_node *node, struct nr_holder *holders, size_t max);

/*
 * The result as text, freed with free(3).
 *
 * nr_report_text - a table, a row for each NUMA node, and a line for the host
 * nr_report_json - one JSON object, sizes in bytes, newline at the end
 * nr_report_line - one line of key=value without newline, for logs
 * nr_report_short - one sentence without newline if something was short, else an empty text
 *
 * Return: 0, -ENOMEM.
 */
int nr_report_text(const struct nr_result *result, char **out);
int nr_report_json(const struct nr_result *result, char **out);
int nr_report_line(const struct nr_result *result, char **out);
int nr_report_short(const struct nr_result *result, char **out);

/* ---------------------------------------------------------------- files (files.c, filecache.c) */

/* A list of paths. */
#define NR_PATHS_MAX 64
#define NR_PATHS_TEXT_MAX 4095 /* bytes without the NUL */
struct nr_paths {
	size_t n;
	const char *path[];
};

/**
 * nr_paths_parse - read "/scratch,/tmp"
 * @out: freed with nr_paths_free()
 *
 * Each path is absolute, without "//", "." and ".." in it, and has no comma. "/" alone is none: a
 * whole host is too much for a list.
 *
 * Return: 0, -EINVAL, -E2BIG for more than NR_PATHS_MAX or a text above NR_PATHS_TEXT_MAX, -ENOMEM.
 */
int nr_paths_parse(const char *text, struct nr_paths **out);
void nr_paths_free(struct nr_paths *paths);

/* What of one file is in the page cache, in bytes of whole pages. */
struct nr_file_cache {
	uint64_t cached;
	uint64_t node[NR_MAX_NODES]; /* of these, on NUMA node i */
	uint64_t unplaced;	     /* of these, where the kernel did not tell the NUMA node */
	bool have_dirty;
	uint64_t dirty; /* of these, dirty or under write-back: cachestat(2), Linux 6.5 */
};

/* Which files, and what to do with them. */
struct nr_files {
	/* Files, and folders with all that is below them on the same mount. Symbolic links are
	 * followed in no part of them, and neither below. */
	const char *const *paths;
	size_t npaths;
	bool open;		    /* also what processes have open or mapped, deleted files too */
	pid_t pid;		    /* of these, only what this process has; 0: all processes */
	const struct bitmask *drop; /* drop what is cached on these NUMA nodes; NULL: only look */
	bool sync;		    /* before that, write back what is dirty of the file */
	/* How long one file may take, 0: 5000. A call of the kernel that does not come back is
	 * waited for twice as long. */
	unsigned int file_timeout_ms;
};

struct nr_found {
	const char *path; /* as given or below it; of an open file as the kernel names it */
	bool deleted;
	uint64_t size; /* of the file, bytes */
	/* 0; or why it is left out or not done in full, and then @why says so in a few words:
	 * -EPERM, the kernel does not tell this user what is cached of it; -ETIME, it took too
	 * long, and what is given is a part; -EBUSY, a lease; -EOPNOTSUPP, to be dropped, and its
	 * file system has it in memory only; -ENAMETOOLONG, in too many folders; -EACCES, -ELOOP,
	 * ...: open(2) */
	int error;
	const char *why;	    /* static; NULL without an error */
	struct nr_file_cache cache; /* as found */
	struct nr_file_cache left;  /* with nr_files.drop: what is cached now */
};

/**
 * nr_files - look at what of files is in the page cache, or drop it
 * @fn: gets each file that was looked at, in no order, in the caller's thread; not 0 ends the walk.
 *      What it gets is valid until it returns.
 *
 * Each file is given once, however many names and descriptors it has, as long as there are no more
 * than 130,000 that could come twice. It is never read: what is not cached stays so, but for a page
 * that the kernel evicts in the very moment. Only regular files are opened, O_NONBLOCK and, where
 * that is allowed, O_NOATIME; none with a lease that this would break, and none of the kernel's own
 * file systems. Neither place nor use of what stays is changed (see filecache.c). Dirty pages stay;
 * with nr_files.drop the kernel begins to write them back, as posix_fadvise(2) does.
 *
 * More than 128 folders within each other are left out. Not for a process that has called
 * mlockall(2) with MCL_FUTURE: it would read in all of each file.
 *
 * Threads: up to 4, which have ended on return, but for those that the kernel holds in a file that
 * took too long. After two such files of one file system its other files are left out, after eight
 * the walk ends. Memory: 16 MB of its own at the most. nr_cancel() ends it. Needs no privilege for
 * the caller's own files; what others have open, and what is mapped, only root can see.
 *
 * Return: 0; what @fn returned; -EINVAL, a path is empty or @files asks for nothing; -ECANCELED;
 * -EIO, too many files took too long; -EROFS with a sysroot; -ENOMEM.
 */
int nr_files(struct nr_ctx *ctx, const struct nr_files *files,
	     int (*fn)(void *data, const struct nr_found *found), void *data);

/* ---------------------------------------------------------------- memory policy (mempolicy.c) */

/**
 * nr_policy_apply - set the memory policy of the calling thread, inherited by fork and exec
 * @nodes: for NR_POLICY_BIND the NUMA nodes to bind to; not read for the others
 *
 * NR_POLICY_NONE does nothing. NR_POLICY_BIND sets MPOL_BIND only where the thread has the default
 * policy; a policy that somebody chose is kept (-EALREADY).
 *
 * NR_POLICY_LOCAL makes the kernel drop clean cache of a NUMA node before it takes memory of
 * another, for this thread. It adds MPOL_F_LOCALRECLAIM to the policy that the thread has: the
 * default becomes MPOL_LOCAL with the flag; MPOL_LOCAL, MPOL_PREFERRED, MPOL_PREFERRED_MANY and
 * MPOL_BIND keep their NUMA nodes and mode flags. Policies that spread pages, MPOL_INTERLEAVE and
 * MPOL_WEIGHTED_INTERLEAVE, and any other stay as they are (-EALREADY). A policy that has the flag
 * is good (0). Needs a kernel with the patches of contrib/kernel, whose
 * /sys/kernel/mm/node_reclaim/mpol_f_localreclaim names the bit (-EOPNOTSUPP elsewhere). The policy
 * is read back; if it is not as wanted, the old one is set again (-EPROTO). Needs no privilege.
 *
 * Return: 0; -EALREADY; -EOPNOTSUPP; -EPROTO; -EROFS, NR_POLICY_LOCAL with a sysroot; -EINVAL,
 * NR_POLICY_BIND without a NUMA node; -errno of reading, get_mempolicy(2) or set_mempolicy(2).
 */
int nr_policy_apply(struct nr_ctx *ctx, enum nr_policy policy, const struct bitmask *nodes);

/**
 * nr_policy_host - what does for all tasks of the host what NR_POLICY_LOCAL does for one
 * @bits: of NR_ZONE_RECLAIM_MODE, for nr_ledger_hold(); set on success
 * @why:  with -EOPNOTSUPP the reason, one line; at most @size bytes with NUL
 *
 * For kernels where nr_policy_apply() says -EOPNOTSUPP. Never bits that make the kernel write or
 * swap for it. On the classic LRU bit 1 gave 98 to 99 % local memory to one thread, 85 % to two, as
 * one task at a time may reclaim on a NUMA node (6.1 and 6.12); on the multi-gen LRU no more than
 * without it. Takes a sysroot.
 *
 * Return: 0; -EOPNOTSUPP, no bits do that on this kernel; -errno of reading.
 */
int nr_policy_host(struct nr_ctx *ctx, uint64_t *bits, char *why, size_t size);

/* ---------------------------------------------------------------- ledger (ledger.c) */

/*
 * Settings of the host that are changed while jobs run. They are shared by all jobs, so
 * /run/nodereclaim/ledger, root's alone, says what each was before the first holder and who holds
 * it: the value is that one with the bits that its holders want, and the last holder restores it.
 *
 * Any process may be killed at any time: what it was about to do is in the file before it is done,
 * and the next call of nr_ledger_hold(), nr_ledger_release() or nr_ledger_restore() finishes it.
 * Each of them also drops the holders whose job has no process on this host any more: no
 * slurmstepd of its, and none in a control group of its.
 *
 * If the kernel has another value than was set, somebody else changed it: theirs stands, a warning
 * is logged once, and the setting is not touched until its holders are gone. A file that is damaged
 * or that others could have written is moved to ledger.bad with a warning, and no part of it is
 * believed. A file of an earlier boot is dropped: a boot sets every setting anew.
 *
 * Settings: NR_ZONE_RECLAIM_MODE, vm.zone_reclaim_mode, bits 1, 2 and 4 of
 * Documentation/admin-guide/sysctl/vm.rst.
 *
 * All of these are for root, wait for each other up to @timeout_ms, and may be used by several
 * processes and threads at once, each with a context of its own.
 */
#define NR_ZONE_RECLAIM_MODE "zone_reclaim_mode"

enum nr_ledger_state {
	NR_LEDGER_OURS,	   /* the kernel has what was set */
	NR_LEDGER_PENDING, /* about to be changed, or somebody was killed just then */
	NR_LEDGER_FOREIGN, /* somebody else changed it: left alone */
	NR_LEDGER_STATES
};
const char *nr_ledger_state_name(enum nr_ledger_state state); /* "ours", ...; static */

#define NR_STEP_NAME 32 /* with NUL */

struct nr_ledger_holder {
	uint32_t job;
	char step[NR_STEP_NAME]; /* letters, digits and any of + . _ - */
	uint64_t wants;		 /* bits, not 0 */
	uint64_t since;		 /* CLOCK_BOOTTIME, seconds */
};

struct nr_ledger_entry {
	const char *setting; /* static */
	uint64_t before;     /* the first holder */
	uint64_t from, set;  /* the last change */
	enum nr_ledger_state state;
	bool have_now; /* the kernel has this setting */
	uint64_t now;
	size_t n;
	struct nr_ledger_holder *holder;
};

struct nr_ledger;

/**
 * nr_ledger_read - what is held now
 * @out: the ledger, freed with nr_ledger_free()
 *
 * Changes nothing. Takes a sysroot.
 *
 * Return: 0, also without a ledger; -EACCES, not for root; -EPERM, it is not ours alone; -EBADMSG,
 * it is damaged; -EPROTO, it is of a later release; -ENOMEM; -errno of reading.
 */
int nr_ledger_read(struct nr_ctx *ctx, struct nr_ledger **out);
void nr_ledger_free(struct nr_ledger *ledger);
size_t nr_ledger_count(const struct nr_ledger *ledger);
const struct nr_ledger_entry *nr_ledger_at(const struct nr_ledger *ledger, size_t i);

/**
 * nr_ledger_hold - set bits of a setting for a step of a job that runs now
 * @wants: the bits; a step that holds the setting already adds them
 *
 * Return: 0, the setting has these bits; -EOPNOTSUPP, the kernel does not have the setting; -EBUSY,
 * somebody else changed it, or to a value that is not known; -ENOSPC, it has 1024 holders; -EINVAL;
 * -EROFS with a sysroot; -ETIME, others held the ledger; and as nr_ledger_release(). Unless it is
 * 0, the step holds nothing.
 */
int nr_ledger_hold(struct nr_ctx *ctx, const char *setting, uint32_t job, const char *step,
		   uint64_t wants, unsigned int timeout_ms);

/**
 * nr_ledger_release - a step of a job holds nothing any more
 * @step: NULL: no step of the job
 *
 * Return: 0, also if it held nothing; -EROFS with a sysroot; -ETIME; -EPERM, /run/nodereclaim is
 * not ours alone; -EPROTO, the ledger is of a later release; -ENOMEM; -errno of reading or writing.
 */
int nr_ledger_release(struct nr_ctx *ctx, uint32_t job, const char *step, unsigned int timeout_ms);

struct nr_ledger_done {
	size_t dropped;	 /* holders */
	size_t left;	 /* holders */
	size_t restored; /* settings that have their first value again */
	size_t foreign;	 /* settings that were left as somebody else set them */
};

/**
 * nr_ledger_restore - finish what killed processes left behind
 * @all:     drop every holder, also those of jobs that run
 * @dry_run: only log what would be done; takes a sysroot
 *
 * What is done is logged as LOG_INFO and LOG_NOTICE.
 *
 * Return: as nr_ledger_release(). With @all unset -ETIME also if it took too long to look for the
 * jobs' processes.
 */
int nr_ledger_restore(struct nr_ctx *ctx, bool all, bool dry_run, unsigned int timeout_ms,
		      struct nr_ledger_done *done);

#ifdef __cplusplus
}
#endif

#endif
