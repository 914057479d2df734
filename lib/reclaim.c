/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Carries a plan out: NUMA nodes side by side, in slices that are short enough to keep the
 * deadline. What was freed is read from the kernel's counters, never from what a backend returns.
 */
#include "internal.h"

#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define MIB (UINT64_C(1) << 20)
#define MS UINT64_C(1000000)

#define MAX_THREADS 64
#define SLICE_FIRST (16 * MIB)
#define SLICE_MIN MIB
#define SLICE_MAX (256 * MIB)
#define PROBE_EACH 4	       /* of so many slices of the smallest size, one is larger */
#define SLICE_TIME (50 * MS)   /* what a slice should take: a quarter of how exact a deadline is */
#define MAPPED_NOISE (4 * MIB) /* what the counter may fall by at any time */
#define DRAIN_FROM (64 * MIB)  /* less on the lists of all CPUs is normal */
#define DRAIN_READS 8
#define DRAIN_TIME (200 * MS) /* it interrupts every CPU of the host for moments */
#define MAX_STALLS 8 /* slices in a row that freed nothing, with pauses of 1, 2, 4 ... ms */

/* One NUMA node at work. */
struct site {
	struct nr_work *work;
	struct nr_result_node *result;
	const struct nr_backend *backend;
	struct nr_node node; /* counters now */
	struct nr_zoneinfo *zones;
	cpu_set_t *cpus; /* where to run: the job's CPUs of this NUMA node */
	size_t cpus_size;
	unsigned int cpu;
	uint64_t slice;
	uint64_t last_bytes, last_ns; /* of a slice that freed something */
	uint64_t fixed;		      /* ns that a slice takes however small it is */
	unsigned int stalls, mapped_falls, smallest;
	uint64_t swapped_out; /* pages, the last time that it was read */
	uint64_t freed;	      /* estimate, for progress and rounds */
};

uint64_t nr_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

void nr_pause(uint64_t ns)
{
	struct timespec ts = { (time_t)(ns / 1000000000), (long)(ns % 1000000000) };

	nanosleep(&ts, NULL);
}

cpu_set_t *nr_cpus_near(struct nr_work *work, int nid, size_t *size)
{
	const struct bitmask *job = work->binding->cpus;
	struct bitmask *near = nr_set_new(NR_MAX_CPUS);
	cpu_set_t *cpus = CPU_ALLOC(NR_MAX_CPUS);
	bool any = false;
	unsigned int i;

	*size = CPU_ALLOC_SIZE(NR_MAX_CPUS);
	if (near &&
	    nr_sys_read_set(work->ctx, near, "sys/devices/system/node/node%d/cpulist", nid) == 0)
		for (i = 0; i < NR_MAX_CPUS && !any; i++)
			any = numa_bitmask_isbitset(near, i) && numa_bitmask_isbitset(job, i);
	if (cpus) {
		CPU_ZERO_S(*size, cpus);
		for (i = 0; i < NR_MAX_CPUS; i++)
			if (numa_bitmask_isbitset(job, i) &&
			    (!any || numa_bitmask_isbitset(near, i)))
				CPU_SET_S(i, *size, cpus);
	}
	nr_set_free(near);
	return cpus;
}

/* Moves this thread to the next of these CPUs: reclaim leaves freed pages on the list of its own.
 * Where that is not allowed it stays where it is. */
static void next_cpu(struct site *site)
{
	cpu_set_t *one;
	unsigned int i;

	if (!site->cpus || CPU_COUNT_S(site->cpus_size, site->cpus) == 0)
		return;
	for (i = 0; i < NR_MAX_CPUS; i++) {
		site->cpu = (site->cpu + 1) % NR_MAX_CPUS;
		if (CPU_ISSET_S(site->cpu, site->cpus_size, site->cpus))
			break;
	}
	one = CPU_ALLOC(NR_MAX_CPUS);
	if (!one)
		return;
	CPU_ZERO_S(site->cpus_size, one);
	CPU_SET_S(site->cpu, site->cpus_size, one);
	sched_setaffinity(0, site->cpus_size, one);
	CPU_FREE(one);
}

static uint64_t lru(const struct nr_node *node)
{
	return nr_counter_or_zero(node, NR_ACTIVE_FILE) +
	       nr_counter_or_zero(node, NR_INACTIVE_FILE);
}

/* What a slice freed: the rise of free memory or the fall of the file LRUs, whichever is more,
 * since others allocate and read meanwhile. */
static uint64_t gained(const struct nr_node *before, const struct nr_node *after)
{
	uint64_t rise = nr_sub(nr_free_and_lists(after), nr_free_and_lists(before));
	uint64_t fall = nr_sub(lru(before), lru(after));

	return rise > fall ? rise : fall;
}

/* Did the kernel turn to anonymous pages? Where it counts swapping only for the whole host, this
 * NUMA node must have lost anonymous pages too. */
static bool swapped(struct site *site, const struct nr_node *before)
{
	uint64_t was = site->swapped_out;

	site->swapped_out = site->node.have_swapped ? site->node.swapped_out
						    : nr_host_swapped_out(site->work->ctx);
	return site->swapped_out > was &&
	       nr_counter_or_zero(&site->node, NR_ANON) < nr_counter_or_zero(before, NR_ANON);
}

static uint64_t mapped_fall(const struct nr_node *before, const struct nr_node *after)
{
	return nr_sub(nr_counter_or_zero(before, NR_MAPPED), nr_counter_or_zero(after, NR_MAPPED));
}

/*
 * Did the kernel turn to mapped pages? Processes that end let the counter fall too, by more than
 * was freed or also while nothing is asked for. So a suspicious fall makes slices small and is
 * looked at for a moment without a request; the second one in a row that stands ends the work.
 */
static bool mapped_taken(struct site *site, const struct nr_node *before, uint64_t asked,
			 uint64_t freed)
{
	uint64_t fall = mapped_fall(before, &site->node);
	struct nr_node later = site->node;

	if (fall <= asked / 8 || (fall <= MAPPED_NOISE && !site->mapped_falls)) {
		if (fall <= asked / 64)
			site->mapped_falls = 0;
		return false;
	}
	site->slice = site->slice / 4 > SLICE_MIN ? site->slice / 4 : SLICE_MIN;
	if (fall > freed)
		return false;
	nr_pause(10 * MS);
	if (nr_node_read(site->work->ctx, &later) || mapped_fall(&site->node, &later) > 0)
		return false;
	return ++site->mapped_falls > 1;
}

static void report_progress(struct site *site, uint64_t more)
{
	struct nr_work *work = site->work;
	struct nr_progress progress = {
		.nid = site->node.nid,
		.to_free = site->result->plan.to_try,
		.all_to_free = work->all_to_free,
	};

	site->freed += more;
	if (!work->opt->progress)
		return;
	pthread_mutex_lock(&work->lock);
	work->all_freed += more;
	progress.freed = site->freed;
	progress.all_freed = work->all_freed;
	if (work->opt->progress(work->opt->data, &progress))
		nr_cancel(work->ctx);
	pthread_mutex_unlock(&work->lock);
}

/* What a slice costs beside what it frees, from two of different sizes. A patched kernel has work
 * for every CPU in each call, which takes long where the CPUs are busy. */
static void learn_fixed(struct site *site, uint64_t bytes, uint64_t ns)
{
	double b0 = (double)site->last_bytes, b1 = (double)bytes, fixed;

	/* Sizes that differ too little say nothing: the older one waits for another */
	if (site->last_bytes && b1 < 2 * b0 && b0 < 2 * b1)
		return;
	if (site->last_bytes) {
		fixed = ((double)site->last_ns * b1 - (double)ns * b0) / (b1 - b0);
		if (fixed > (double)ns)
			fixed = (double)ns;
		site->fixed = fixed > 0 ? (uint64_t)fixed : 0;
	}
	site->last_bytes = bytes;
	site->last_ns = ns;
}

/* The next slice: as much as takes SLICE_TIME at the rate of the last one, and fits before the
 * deadline. */
static void size_slice(struct site *site, uint64_t bytes, uint64_t ns)
{
	uint64_t now = nr_now(), left = site->work->deadline > now ? site->work->deadline - now : 0;
	uint64_t want = left < SLICE_TIME ? left : SLICE_TIME, work;
	double next;

	learn_fixed(site, bytes, ns);
	work = ns > site->fixed ? ns - site->fixed : 1;
	next = (double)bytes / (double)work * (double)want;
	if (next > 4.0 * (double)site->slice)
		next = 4.0 * (double)site->slice;
	site->slice = next > (double)SLICE_MAX ? SLICE_MAX : (uint64_t)next;
	if (site->slice > SLICE_MIN)
		return;
	/* One that was disturbed teaches a wrong cost, and the smallest slices alone teach none */
	site->slice = ++site->smallest % PROBE_EACH || left < 4 * ns ? SLICE_MIN : 2 * SLICE_MIN;
}

static bool is_gone(int err)
{
	return err == -ENOENT || err == -ENODEV;
}

/* Ends the work on a NUMA node with an error. */
static void end_with(struct site *site, const char *what, int err)
{
	if (is_gone(err)) {
		site->result->stop = NR_STOP_OFFLINE;
	} else {
		site->result->stop = NR_STOP_ERROR;
		site->result->error = err;
	}
	nr_log(site->work->ctx, LOG_WARNING, "NUMA node %d: %s: %s", site->node.nid, what,
	       strerror(-err));
}

/* Looks at everything anew. False: it cannot, and the work ends. */
static bool look(struct site *site)
{
	int err;

	nr_zoneinfo_free(site->zones);
	err = nr_node_read_zones(site->work->ctx, &site->node, &site->zones);
	if (err)
		end_with(site, "counters", err);
	return !err;
}

/* Kernels say EAGAIN, EBUSY or EINTR for "another writer is at work", "not all of it" and "signal",
 * and counters tell whether it helped. Other errors do not pass. */
static bool passes(int err)
{
	return err == 0 || err == -EAGAIN || err == -EBUSY || err == -EINTR;
}

static void start_with(struct site *site, const struct nr_backend *backend)
{
	site->backend = backend;
	site->result->backend = backend->name;
	site->slice = SLICE_FIRST;
	site->last_bytes = site->last_ns = site->fixed = 0;
	site->stalls = 0;
}

/* A backend has no more to give (-ENODATA), or failed for good: what refuses it, a filter of system
 * calls for one, may let the next one through. False: there is none, or the NUMA node is gone, and
 * the work ends. */
static bool next_backend(struct site *site, int err)
{
	const struct nr_backend *next = NULL, *was = site->backend;
	struct nr_ctx *ctx = site->work->ctx;

	if (!is_gone(err))
		next = nr_backend_choose(ctx, site->node.nid, was, site->work->opt->backend);
	if (!next && err == -ENODATA)
		site->result->stop = NR_STOP_EXHAUSTED;
	else if (!next)
		end_with(site, was->name, err);
	if (!next)
		return false;
	if (err == -ENODATA)
		nr_log(ctx, LOG_INFO, "NUMA node %d: %s has no more; %s goes on", site->node.nid,
		       was->name, next->name);
	else
		nr_log(ctx, LOG_WARNING, "NUMA node %d: %s: %s; %s goes on", site->node.nid,
		       was->name, strerror(-err), next->name);
	start_with(site, next);
	return true;
}

/* True: this NUMA node ends here, result->stop says why. */
static bool must_stop(struct site *site)
{
	if (atomic_load(&site->work->ctx->cancel))
		site->result->stop = NR_STOP_CANCELLED;
	else if (nr_now() >= site->work->deadline)
		site->result->stop = NR_STOP_DEADLINE;
	else
		return false;
	return true;
}

/* Asks for up to @bytes. False: work on this NUMA node ends, result->stop says why. */
static bool do_slice(struct site *site, uint64_t bytes)
{
	struct nr_work *work = site->work;
	struct nr_node before = site->node;
	const bool all = bytes < site->slice || site->backend->at_once;
	uint64_t start = nr_now(), ask = all ? bytes : site->slice, freed;
	int err;

	if (must_stop(site))
		return false;
	next_cpu(site);
	err = site->backend->reclaim(work, site->node.nid, ask);
	if (!look(site))
		return false;
	if (!passes(err) && err != -ENODATA && err != -ETIME)
		return next_backend(site, err);
	freed = gained(&before, &site->node);
	site->result->by[nr_backend_index(site->backend)] += freed;
	report_progress(site, freed);
	if (swapped(site, &before)) {
		site->result->stop = NR_STOP_SWAP;
		return false;
	}
	if (mapped_taken(site, &before, ask, freed)) {
		site->result->stop = NR_STOP_MAPPED;
		return false;
	}
	if (err == -ENODATA)
		return next_backend(site, err);
	if (err == -ETIME) {
		site->result->stop = NR_STOP_DEADLINE;
		return false;
	}
	if (freed >= ask / 8) {
		site->stalls = 0;
		if (!site->mapped_falls)
			size_slice(site, freed, nr_now() - start);
		return true;
	}
	if (++site->stalls >= MAX_STALLS) {
		site->result->stop = NR_STOP_EXHAUSTED;
		return false;
	}
	site->slice = site->slice / 2 > SLICE_MIN ? site->slice / 2 : SLICE_MIN;
	nr_pause(MS << (site->stalls - 1));
	return true;
}

/* One at a time works on a NUMA node, whatever its backend, over all processes. The kernel's own
 * files serve as the lock: only root can open them. A kernel without compaction has the second. */
static int lock_node(struct nr_ctx *ctx, int nid)
{
	int fd = nr_sys_lock(ctx, "sys/devices/system/node/node%d/compact", nid);

	return fd == -ENOENT ? nr_sys_lock(ctx, "sys/devices/system/node/node%d/reclaim", nid) : fd;
}

/* Waits for the NUMA node's lock, so that jobs that start at once do not free the same shortfall
 * twice. Gives a descriptor, or a negative number where it cannot be had. */
static int take_turn(struct site *site)
{
	struct nr_work *work = site->work;
	bool waited = false;
	int fd;

	while ((fd = lock_node(work->ctx, site->node.nid)) == -EWOULDBLOCK) {
		if (must_stop(site))
			return fd;
		waited = true;
		nr_pause(MS);
	}
	/* After the wait, what was seen before is of no use */
	if (waited && !look(site) && fd >= 0) {
		close(fd);
		return -ENODEV;
	}
	return fd;
}

static void fold(int fd)
{
	int i;

	for (i = 0; i < DRAIN_READS; i++)
		if (write(fd, "1", 1) < 0)
			return;
}

/*
 * Moves free pages from per-CPU lists to where every CPU finds them. Since Linux 6.7 the lists grow
 * to an eighth of the memory with much file I/O and shrink by some MB a second; each fold of the
 * counters is such a second (decay_pcp_high(), mm/page_alloc.c). What is on them in large folios is
 * of no use to a task that takes single pages. False: the NUMA node cannot be looked at.
 */
static bool drain_lists(struct site *site)
{
	const uint64_t end = nr_now() + DRAIN_TIME;
	const uint64_t until = end < site->work->deadline ? end : site->work->deadline;
	uint64_t lists = nr_counter_or_zero(&site->node, NR_PER_CPU), before;
	int fd;

	do {
		before = lists;
		if (before <= DRAIN_FROM || nr_now() >= until)
			return true;
		fd = nr_sys_open(site->work->ctx, "proc/sys/vm/stat_refresh");
		if (fd < 0 || nr_bounded(site->work->ctx, fold, fd, until))
			return true;
		if (!look(site))
			return false;
		lists = nr_counter_or_zero(&site->node, NR_PER_CPU);
	} while (lists + MIB < before);
	return true;
}

/* How much more than the need is to be allocatable. A coarse backend leaves much on the lists of a
 * few CPUs, where a task that takes all of the need on another CPU does not find it. */
static uint64_t margin(const struct site *site, uint64_t slack)
{
	return slack + (site->backend->coarse ? nr_plan_on_lists(&site->node, site->work->binding,
								 site->result->plan.need)
					      : 0);
}

/* Slice by slice, each after a full look at the NUMA node. */
static void free_node(struct site *site)
{
	const struct nr_host *host = nr_snapshot_host(site->work->before);
	const struct nr_plan_node *plan = &site->result->plan;
	const uint64_t slack = nr_plan_slack(plan->to_try);
	const uint64_t page = site->work->ctx->page_size;
	uint64_t left, reach, near;

	do {
		reach = site->backend->reach(&site->node, host);
		left = site->work->goal == NR_GOAL_ALL
			       ? reach
			       : nr_plan_to_free(&site->node, site->work->binding, plan->need,
						 margin(site, slack));
		/* Half of the slack is enough: the kernel does not hit a mark exactly. Another
		 * round of a coarse backend would free more than all of the slack. */
		near = site->backend->coarse ? slack : slack / 2;
		if (left < page || (left <= near && site->work->goal != NR_GOAL_ALL)) {
			site->result->stop = NR_STOP_DONE;
			return;
		}
		if (reach < page) {
			site->result->stop = NR_STOP_EXHAUSTED;
			return;
		}
	} while (do_slice(site, left < reach ? left : reach));
}

static void write_one(int fd)
{
	if (write(fd, "1", 1) < 0)
		return; /* counters tell */
}

static void compact_node(struct site *site)
{
	int fd, err;

	if (nr_now() >= site->work->deadline || atomic_load(&site->work->ctx->cancel))
		return;
	fd = nr_sys_open(site->work->ctx, "sys/devices/system/node/node%d/compact", site->node.nid);
	err = fd < 0 ? fd : nr_bounded(site->work->ctx, write_one, fd, site->work->deadline);
	if (err)
		nr_log(site->work->ctx, LOG_WARNING, "NUMA node %d: compact: %s", site->node.nid,
		       strerror(-err));
}

static void work_on(struct nr_work *work, struct nr_result_node *result)
{
	struct site site = {
		.work = work,
		.result = result,
		.node = *nr_snapshot_find(work->before, result->plan.nid),
	};
	const struct nr_backend *backend;
	uint64_t start = nr_now();
	int turn;

	site.swapped_out = site.node.have_swapped ? site.node.swapped_out
						  : nr_snapshot_host(work->before)->swapped_out;
	if (result->plan.to_try) {
		backend = nr_backend_choose(work->ctx, result->plan.nid, NULL, work->opt->backend);
		if (backend) {
			start_with(&site, backend);
			site.cpus = nr_cpus_near(work, result->plan.nid, &site.cpus_size);
			turn = take_turn(&site);
			if (result->stop == NR_STOP_NOTHING && drain_lists(&site))
				free_node(&site);
			if (result->stop == NR_STOP_DONE)
				drain_lists(&site);
			if (turn >= 0)
				close(turn);
			nr_zoneinfo_free(site.zones);
			if (site.cpus)
				CPU_FREE(site.cpus);
		} else {
			result->stop = NR_STOP_NO_BACKEND;
		}
	}
	if (work->compact && result->stop != NR_STOP_OFFLINE)
		compact_node(&site);
	result->seconds = (double)(nr_now() - start) / 1e9;
}

static void *worker(void *data)
{
	struct nr_work *work = data;
	size_t i;

	for (;;) {
		i = atomic_fetch_add(&work->next, 1);
		if (i >= work->n)
			return NULL;
		if (work->node[i].plan.to_try)
			work_on(work, &work->node[i]);
	}
}

int nr_reclaim(struct nr_work *work)
{
	pthread_t threads[MAX_THREADS];
	size_t i, want = 0, started = 0;
	sigset_t all, old;
	int err = 0;

	for (i = 0; i < work->n; i++) {
		if (work->node[i].plan.to_try)
			want++;
		work->all_to_free += work->node[i].plan.to_try;
	}
	if (!want)
		return 0;
	pthread_mutex_init(&work->lock, NULL);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	for (; started < want && started < MAX_THREADS; started++) {
		err = pthread_create(&threads[started], NULL, worker, work);
		if (err)
			break;
	}
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	for (i = 0; i < started; i++)
		pthread_join(threads[i], NULL);
	nr_files_state_free(work->files);
	pthread_mutex_destroy(&work->lock);
	return started ? 0 : -err;
}
