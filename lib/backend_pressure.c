/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * For kernels that cannot be asked: processes take memory of the NUMA node (press.c) until the
 * kernel has dropped as much clean cache as is wanted, and give all back.
 *
 * What is free already they have to take first, in huge pages where there are some, as that is
 * quick and reclaims nothing. From there on small pages, never more at once than is free above the
 * min watermarks: so most of the reclaim is kswapd's, and no allocation can fail. Huge pages there
 * made the kernel swap.
 *
 * Other ways, on Linux 6.1 and 6.12 with 1.3 GB of cache and 200 MB of another's anonymous memory:
 * the NUMA node's huge-page pool, raised by 800 MB at once, freed that in 1.9 s and harmed nobody;
 * raised by more than the cache it swapped all of the 200 MB, in steps until it fails 56 to 112 MB.
 * And it stays raised when all who know of it are killed. DAMOS with action pageout (6.12 only)
 * dropped all of the cache in 2 s and all mapped pages with it; without a filter for anonymous
 * pages it swapped the 200 MB.
 *
 * It ends before the last of the cache, where the kernel turns to mapped pages, and when the kernel
 * begins to swap. The classic LRU does as soon as little of the cache is inactive; so what was used
 * more than once is out of reach there.
 */
#include "internal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define MIB (UINT64_C(1) << 20)
#define MS UINT64_C(1000000)

/* Clean cache that is left at the least: with less than 4096 inactive pages, 16 MB, the classic LRU
 * takes anonymous ones too (DEF_PRIORITY and prepare_scan_control(), mm/vmscan.c, Linux 6.12). As
 * much again is for what kswapd takes between two looks. */
#define KEEP (32 * MIB)
/* Mapped pages are on the same lists, and the sooner in turn the less else is there: so as much
 * again as is mapped, up to so much, and a part of what is more. With 20 to 30 MB left Linux 6.1
 * and 6.12 took most of 62 MB that were mapped, with 96 MB none. */
#define KEEP_MAPPED (64 * MIB)
#define KEEP_PART 64
/* Free above the high watermarks: less is taken in small pages. */
#define ROOM_MIN (32 * MIB)
/* Each step costs a look at all counters, and a cancel waits for its end; ROOM_STEP_MAX in huge
 * pages, of which one takes less time than its 512 small ones. */
#define STEP_MIN MIB
#define STEP_MAX (64 * MIB)
#define ROOM_STEP_MAX (1024 * MIB)
/* What programs that begin and end make of the counter, and what the daemons of any host have
 * mapped */
#define MAPPED_NOISE (2 * MIB)
#define MAPPED_FEW (32 * MIB)
#define SWAP_NOISE MIB	    /* see swapping() */
#define PAUSE_MAX (50 * MS) /* a cancel waits for its end */
/* Looks in a row, a ms or more apart, without anything freed: kswapd sleeps; it will not. Before it
 * frees any of a cache in use the kernel goes through all of it, on a busy host for more than a
 * second. */
#define IDLE_ASLEEP 20
#define IDLE_MAX 2000
#define RELEASE_PART 5 /* this part of the time is kept for giving back */

struct pressure {
	struct nr_work *work;
	struct nr_press *press;
	struct nr_zoneinfo *zones;
	struct nr_node node;	     /* counters now */
	uint64_t free, mapped, anon; /* of the start, bytes */
	uint64_t swapped;	     /* of the start, pages of the host */
	uint64_t held, gained;	     /* bytes */
	uint64_t start, until;	     /* nr_now() */
	uint64_t huge;		     /* bytes of a huge page; 0: none */
	bool classic;		     /* LRU */
	bool has_swap;
	unsigned int idle, mapped_falls;
};

/* ---------------------------------------------------------------- what the kernel says */

static void swap_line(void *data, const char *line, size_t len)
{
	nr_line_value(line, len, "SwapFree", data);
}

static bool has_swap(struct nr_ctx *ctx)
{
	uint64_t kb = 0;

	nr_sys_lines(ctx, swap_line, &kb, "proc/meminfo");
	return kb > 0;
}

struct blocks {
	int nid;
	uint64_t page, huge, bytes;
};

/* "Node 0, zone   Normal   5  3 ...": free blocks of 1, 2, 4 ... pages */
static void blocks_line(void *data, const char *line, size_t len)
{
	struct blocks *blocks = data;
	char text[512], *p = text, *end;
	uint64_t size = blocks->page, n;

	if (len >= sizeof(text))
		return;
	memcpy(text, line, len);
	text[len] = '\0';
	if (strncmp(p, "Node ", 5) || strtoul(p + 5, &end, 10) != (unsigned long)blocks->nid ||
	    strncmp(end, ", zone", 6))
		return;
	p = end + 6 + strspn(end + 6, " ");
	for (p += strcspn(p, " ");; p = end, size *= 2) {
		n = strtoull(p, &end, 10);
		if (end == p)
			return;
		if (size >= blocks->huge)
			blocks->bytes += n * size;
	}
}

/* Bytes that are free in blocks of a huge page or more. */
static uint64_t huge_free(struct pressure *p)
{
	struct blocks blocks = { p->node.nid, p->work->ctx->page_size, p->huge, 0 };

	if (p->huge)
		nr_sys_lines(p->work->ctx, blocks_line, &blocks, "proc/buddyinfo");
	return blocks.bytes;
}

/* Of other processes */
static uint64_t others_anon(const struct pressure *p)
{
	return nr_sub(nr_counter_or_zero(&p->node, NR_ANON), p->held);
}

/* What is free above the high or the min watermarks, and what is kept from user allocations. */
static uint64_t above(const struct nr_node *node, bool high)
{
	uint64_t bytes = 0;
	size_t i;

	for (i = 0; i < node->nzones; i++)
		bytes += nr_sub(node->zones[i].free,
				(high ? node->zones[i].high : node->zones[i].min) +
					node->zones[i].reserve);
	return bytes;
}

/* What is about free when kswapd is done. */
static uint64_t high_marks(const struct nr_node *node)
{
	uint64_t bytes = 0;
	size_t i;

	for (i = 0; i < node->nzones; i++)
		bytes += node->zones[i].high;
	return bytes;
}

/* What kswapd may free by itself after the last step, which may end at the min watermarks. */
static uint64_t min_to_high(const struct nr_node *node)
{
	uint64_t bytes = 0;
	size_t i;

	for (i = 0; i < node->nzones; i++)
		bytes += nr_sub(node->zones[i].high, node->zones[i].min);
	return bytes;
}

static int look(struct pressure *p)
{
	uint64_t gained;
	int err;

	nr_zoneinfo_free(p->zones);
	err = nr_node_read_zones(p->work->ctx, &p->node, &p->zones);
	if (err)
		return err;
	gained = nr_sub(p->held + nr_free_and_lists(&p->node), p->free);
	if (gained > p->gained || above(&p->node, true) > ROOM_MIN)
		p->idle = 0;
	else
		p->idle++;
	p->gained = gained;
	return 0;
}

/* ---------------------------------------------------------------- how far it may go */

static uint64_t least_of(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t kept(const struct nr_node *node)
{
	const uint64_t mapped = nr_counter_or_zero(node, NR_MAPPED);

	return KEEP + least_of(mapped, KEEP_MAPPED) + mapped / KEEP_PART;
}

static uint64_t reach(const struct nr_node *node, const struct nr_host *host)
{
	(void)host;
	return nr_sub(nr_counter_or_zero(node, NR_CLEAN),
		      kept(node) + STEP_MIN + min_to_high(node));
}

/* The least inactive cache with which the classic LRU leaves other pages alone. Mapped pages may
 * all be inactive, and are next in turn when nothing else is. Where there is swap, with less than
 * one part in √(10 × GB of cache) it takes active and anonymous pages too (inactive_is_low() and
 * get_scan_count(), mm/vmscan.c, Linux 6.12). */
static uint64_t least_inactive(const struct pressure *p)
{
	const uint64_t active = nr_counter_or_zero(&p->node, NR_ACTIVE_FILE);
	const uint64_t gb = (active + nr_counter_or_zero(&p->node, NR_INACTIVE_FILE)) >> 30;
	const uint64_t mapped = nr_counter_or_zero(&p->node, NR_MAPPED);
	uint64_t ratio = 1;

	if (!p->has_swap)
		return mapped > MAPPED_FEW ? mapped + mapped / 2 : 0;
	while ((ratio + 1) * (ratio + 1) <= 10 * gb)
		ratio++;
	return active / ratio + mapped + kept(&p->node);
}

/* On the classic LRU the kernel takes a few anonymous pages in its first pass after files were read
 * again that it had dropped not long before (prepare_scan_control(), mm/vmscan.c, Linux 6.12). */
static bool swapping(struct pressure *p)
{
	const uint64_t pages = nr_sub(nr_host_swapped_out(p->work->ctx), p->swapped);

	return pages * p->work->ctx->page_size > SWAP_NOISE && others_anon(p) < p->anon;
}

/* Did the kernel turn to mapped pages? Processes that end let the counter fall too: once, or also
 * while nothing is asked for. So the second fall in a row that stands is taken for it. */
static bool mapped_taken(struct pressure *p)
{
	const uint64_t now = nr_counter_or_zero(&p->node, NR_MAPPED);
	struct nr_node later = p->node;

	if (now + MAPPED_NOISE >= p->mapped) {
		p->mapped_falls = p->idle ? p->mapped_falls : 0;
		return false;
	}
	nr_pause(10 * MS);
	if (nr_node_read(p->work->ctx, &later))
		return true;
	p->mapped = nr_counter_or_zero(&later, NR_MAPPED);
	return p->mapped >= now && ++p->mapped_falls > 1;
}

/* Is there a reason to go no further? */
static const char *harm(struct pressure *p)
{
	const uint64_t inactive = nr_counter_or_zero(&p->node, NR_INACTIVE_FILE);

	/* Once woken, kswapd goes on to the high watermarks */
	if (nr_counter_or_zero(&p->node, NR_CLEAN) <
	    kept(&p->node) + STEP_MIN +
		    nr_sub(high_marks(&p->node), nr_counter_or_zero(&p->node, NR_FREE)))
		return "little clean cache is left";
	if (p->classic && inactive < least_inactive(p))
		return "little of the cache is inactive, and the kernel would take other pages";
	if (swapping(p))
		return "the kernel begins to swap";
	if (mapped_taken(p))
		return "the kernel begins to take mapped pages";
	if (p->idle > IDLE_MAX)
		return "the kernel frees no more";
	return NULL;
}

/* ---------------------------------------------------------------- step by step */

/* How much to take now, in whole pages; 0: to wait for the kernel. */
static uint64_t next_step(struct pressure *p, uint64_t bytes, bool *huge)
{
	const uint64_t room = above(&p->node, true), page = p->work->ctx->page_size;
	const uint64_t left = nr_sub(bytes, p->gained);
	const uint64_t more = nr_sub(p->free + bytes, p->held + high_marks(&p->node));
	uint64_t step;

	*huge = false;
	if (room > ROOM_MIN) {
		step = least_of(huge_free(p) / 2, least_of(room / 2, ROOM_STEP_MAX));
		*huge = p->huge && step >= p->huge;
		if (*huge)
			return step / p->huge * p->huge;
		return least_of(room / 2, STEP_MAX) / page * page;
	}
	step = least_of(above(&p->node, false), STEP_MAX);
	step = least_of(step, nr_sub(nr_counter_or_zero(&p->node, NR_CLEAN), kept(&p->node)));
	/* kswapd does the rest by itself, unless it has just been there */
	if (more >= STEP_MIN)
		step = least_of(step, more);
	else
		step = p->idle < IDLE_ASLEEP ? 0 : least_of(step, left);
	return step < least_of(STEP_MIN, left) ? 0 : step / page * page;
}

/* What was free at the start has to be taken first; with little time left that is of no use. */
static bool too_slow(const struct pressure *p)
{
	const uint64_t now = nr_now(), room = above(&p->node, true);

	return p->held > ROOM_STEP_MAX && room > ROOM_MIN &&
	       (double)room / (double)p->held * (double)(now - p->start) >
		       (double)nr_sub(p->until, now);
}

/* What an error of taking means: a cancel is looked for by the caller, and where memory or
 * addresses end there is no more. */
static int taken_in_part(int err)
{
	if (err == -ECANCELED)
		return 0;
	return err == -ENOMEM || err == -EAGAIN || err == -ENOSPC ? -ENODATA : err;
}

static int take_steps(struct pressure *p, uint64_t bytes)
{
	const char *why = NULL;
	uint64_t step, start, took;
	bool huge;
	int err;

	for (;;) {
		start = nr_now();
		err = look(p);
		if (err || p->gained >= bytes || atomic_load(&p->work->ctx->cancel))
			return err;
		if (nr_now() >= p->until || too_slow(p))
			return -ETIME;
		why = harm(p);
		if (why)
			break;
		step = next_step(p, bytes, &huge);
		if (!step) {
			/* A look is work for the CPU that kswapd may need */
			took = nr_now() - start;
			nr_pause(took > MS ? least_of(took, PAUSE_MAX) : MS);
			continue;
		}
		err = p->work->ctx->press->take(p->press, step, huge, p->until);
		if (err)
			return taken_in_part(err);
		p->held += step;
	}
	nr_log(p->work->ctx, LOG_INFO, "NUMA node %d: pressure ends: %s", p->node.nid, why);
	return -ENODATA;
}

static int begin(struct pressure *p, uint64_t bytes)
{
	struct nr_ctx *ctx = p->work->ctx;
	const uint64_t left = nr_sub(p->work->deadline, nr_now());
	int err = look(p);

	if (err)
		return err;
	p->free = nr_free_and_lists(&p->node);
	p->mapped = nr_counter_or_zero(&p->node, NR_MAPPED);
	p->anon = others_anon(p);
	p->swapped = nr_host_swapped_out(ctx);
	p->has_swap = has_swap(ctx);
	p->classic = nr_lru_is_classic(ctx);
	if (nr_sys_read_u64(ctx, &p->huge, "sys/kernel/mm/transparent_hugepage/hpage_pmd_size"))
		p->huge = 0;
	p->gained = 0;
	p->start = nr_now();
	p->until = p->start + left - left / RELEASE_PART;
	return ctx->press->start(p->work, p->node.nid, p->free + bytes, p->work->deadline,
				 &p->press);
}

static int reclaim(struct nr_work *work, int nid, uint64_t bytes)
{
	struct pressure p = { .work = work, .node = { .nid = nid } };
	int err;

	if (!work->ctx->press)
		return -EROFS;
	bytes -= bytes % work->ctx->page_size; /* less than a page is never gained */
	err = begin(&p, bytes);
	if (!err)
		err = take_steps(&p, bytes);
	if (p.press)
		work->ctx->press->stop(p.press);
	nr_zoneinfo_free(p.zones);
	nr_log(work->ctx, LOG_DEBUG,
	       "NUMA node %d: pressure took %" PRIu64 " MB, %" PRIu64 " MB of them by reclaim", nid,
	       p.held / MIB, p.gained / MIB);
	return err;
}

/* The NUMA node's lock, without which two at once would each take all that is free. */
static int check_lock(struct nr_ctx *ctx, int nid, char *why, size_t size)
{
	int err = nr_sys_writable(ctx, "sys/devices/system/node/node%d/compact", nid);

	if (err == -ENOENT)
		snprintf(why, size, "no nodeN/compact to serve as lock: CONFIG_COMPACTION");
	else if (err == -EACCES || err == -EPERM)
		snprintf(why, size, "needs root");
	else if (err)
		snprintf(why, size, "node%d/compact: %s", nid, strerror(-err));
	return err;
}

static int probe(struct nr_ctx *ctx, int nid, char *why, size_t size)
{
	struct nr_node node = { .nid = nid };
	int err;

	if (!ctx->press && !ctx->recorded) {
		snprintf(why, size, "not with this context");
		return -EOPNOTSUPP;
	}
	err = ctx->recorded ? 0 : check_lock(ctx, nid, why, size);
	if (err)
		return err;
	err = nr_node_read(ctx, &node);
	if (!err && !ctx->recorded)
		err = nr_rootgroup_check(ctx);
	if (err == -EPERM || err == -EACCES || err == -ENOENT)
		snprintf(why, size, "cannot leave its memory control group");
	else if (err)
		snprintf(why, size, "node%d: %s", nid, strerror(-err));
	else
		snprintf(why, size, "takes memory of the NUMA node for a moment, until cache goes");
	return err;
}

const struct nr_backend nr_backend_pressure = {
	.name = "pressure",
	.at_once = true,
	.coarse = true,
	.probe = probe,
	.reach = reach,
	.reclaim = reclaim,
};
