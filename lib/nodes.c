/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A snapshot of every NUMA node: what the kernel counts there, its zones, and the host's counters.
 */
#include "internal.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define NODE_DIR "sys/devices/system/node"

struct nr_snapshot {
	struct nr_zoneinfo *zones;
	struct nr_host host;
	size_t n;
	struct nr_node node[];
};

/* How nodeN/meminfo names a counter, and how JSON and tables do. NULL: not from there. */
static const struct {
	const char *meminfo, *name;
} counters[NR_COUNTERS] = {
	[NR_TOTAL] = { "MemTotal", "total" },
	[NR_FREE] = { "MemFree", "free" },
	[NR_FILE] = { "FilePages", "file" },
	[NR_ACTIVE_FILE] = { "Active(file)", "active_file" },
	[NR_INACTIVE_FILE] = { "Inactive(file)", "inactive_file" },
	[NR_ACTIVE_ANON] = { "Active(anon)", "active_anon" },
	[NR_INACTIVE_ANON] = { "Inactive(anon)", "inactive_anon" },
	[NR_UNEVICTABLE] = { "Unevictable", "unevictable" },
	[NR_MLOCKED] = { "Mlocked", "mlocked" },
	[NR_DIRTY_PAGES] = { "Dirty", "dirty" },
	[NR_WRITEBACK] = { "Writeback", "writeback" },
	[NR_MAPPED] = { "Mapped", "mapped" },
	[NR_ANON] = { "AnonPages", "anonymous" },
	[NR_SHMEM] = { "Shmem", "shmem" },
	[NR_KERNEL_STACK] = { "KernelStack", "kernel_stacks" },
	[NR_PAGE_TABLES] = { "PageTables", "page_tables" },
	[NR_SLAB_RECLAIMABLE] = { "SReclaimable", "slab_reclaimable" },
	[NR_SLAB_UNRECLAIMABLE] = { "SUnreclaim", "slab_unreclaimable" },
	[NR_SWAP_CACHED] = { "SwapCached", "swap_cached" },
	[NR_ANON_HUGE] = { "AnonHugePages", "anonymous_huge" },
	[NR_HUGE_TOTAL] = { NULL, "huge_pages" },
	[NR_HUGE_FREE] = { NULL, "huge_pages_free" },
	[NR_CLEAN] = { NULL, "clean" },
	[NR_ALLOCATABLE] = { NULL, "allocatable" },
	[NR_FREE_BLOCKS] = { NULL, "free_blocks" },
	[NR_PER_CPU] = { NULL, "per_cpu" },
	[NR_UNACCOUNTED] = { NULL, "unaccounted" },
};

NR_EXPORT const char *nr_counter_name(enum nr_counter counter)
{
	return (unsigned int)counter < NR_COUNTERS ? counters[counter].name : NULL;
}

uint64_t nr_sub(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

uint64_t nr_free_and_lists(const struct nr_node *node)
{
	return nr_counter_or_zero(node, NR_FREE) + nr_counter_or_zero(node, NR_PER_CPU);
}

static void set(struct nr_node *node, enum nr_counter counter, uint64_t bytes)
{
	node->value[counter] = bytes;
	node->have |= UINT64_C(1) << counter;
}

static bool have(const struct nr_node *node, enum nr_counter counter)
{
	return node->have >> counter & 1;
}

NR_EXPORT bool nr_node_get(const struct nr_node *node, enum nr_counter counter, uint64_t *bytes)
{
	bool known = (unsigned int)counter < NR_COUNTERS && have(node, counter);

	*bytes = known ? node->value[counter] : 0;
	return known;
}

/* "Node 0 MemFree:   18219888 kB" */
static void meminfo_line(void *data, const char *line, size_t len)
{
	struct nr_node *node = data;
	const char *p = memchr(line, ' ', len);
	uint64_t v;
	int i;

	if (p)
		p = memchr(p + 1, ' ', len - (size_t)(p + 1 - line));
	if (!p)
		return;
	p++;
	len -= (size_t)(p - line);
	for (i = 0; i < NR_COUNTERS; i++) {
		if (counters[i].meminfo && nr_line_value(p, len, counters[i].meminfo, &v)) {
			if (v <= UINT64_MAX / 1024)
				set(node, i, v * 1024);
			return;
		}
	}
}

static void vmstat_line(void *data, const char *line, size_t len)
{
	struct nr_node *node = data;
	uint64_t v;

	if (nr_line_value(line, len, "pgsteal_proactive", &v)) {
		node->stolen = v;
		node->have_reclaim = true;
	} else if (nr_line_value(line, len, "pgscan_proactive", &v)) {
		node->scanned = v;
	} else if (nr_line_value(line, len, "pswpout", &v)) {
		node->swapped_out = v;
		node->have_swapped = true;
	} else if (nr_line_value(line, len, "pgdemote_kswapd", &v) ||
		   nr_line_value(line, len, "pgdemote_direct", &v) ||
		   nr_line_value(line, len, "pgdemote_khugepaged", &v) ||
		   nr_line_value(line, len, "pgdemote_proactive", &v)) {
		node->demoted += v;
		node->have_demoted = true;
	}
}

/* The file LRUs less what is dirty, on its way to the disk, or mapped. */
static uint64_t clean_less(const struct nr_node *node, uint64_t mapped)
{
	uint64_t file = node->value[NR_ACTIVE_FILE] + node->value[NR_INACTIVE_FILE];

	file = nr_sub(file, mapped);
	file = nr_sub(file, node->value[NR_DIRTY_PAGES]);
	return nr_sub(file, nr_counter_or_zero(node, NR_WRITEBACK));
}

/* See nr_node_get() about NR_CLEAN. */
static void derive_clean(struct nr_node *node)
{
	if (have(node, NR_ACTIVE_FILE) && have(node, NR_INACTIVE_FILE) && have(node, NR_MAPPED) &&
	    have(node, NR_DIRTY_PAGES))
		set(node, NR_CLEAN, clean_less(node, node->value[NR_MAPPED]));
}

uint64_t nr_clean_at_most(const struct nr_node *node)
{
	if (!have(node, NR_CLEAN))
		return 0;
	return clean_less(node, nr_sub(node->value[NR_MAPPED], nr_counter_or_zero(node, NR_SHMEM)));
}

/* What no class claims. Shmem and swap cache are part of FilePages. */
static void derive_unaccounted(struct nr_node *node)
{
	static const enum nr_counter classes[] = {
		NR_FREE,
		NR_FILE,
		NR_ANON,
		NR_PAGE_TABLES,
		NR_SLAB_RECLAIMABLE,
		NR_SLAB_UNRECLAIMABLE,
		NR_KERNEL_STACK,
		NR_HUGE_TOTAL,
		NR_PER_CPU,
	};
	uint64_t rest = node->value[NR_TOTAL];
	size_t i;

	if (!have(node, NR_TOTAL) || !have(node, NR_FREE) || !have(node, NR_FILE))
		return;
	for (i = 0; i < sizeof(classes) / sizeof(*classes); i++)
		rest = nr_sub(rest, nr_counter_or_zero(node, classes[i]));
	set(node, NR_UNACCOUNTED, rest);
}

int nr_node_read(struct nr_ctx *ctx, struct nr_node *node)
{
	uint64_t kept = node->have & (UINT64_C(1) << NR_HUGE_TOTAL | UINT64_C(1) << NR_HUGE_FREE);
	int err;

	node->have = kept;
	err = nr_sys_lines(ctx, meminfo_line, node, NODE_DIR "/node%d/meminfo", node->nid);
	if (err)
		return err == -ENOENT ? -ENODEV : err;
	derive_clean(node);

	node->have_reclaim = node->have_demoted = node->have_swapped = false;
	node->demoted = 0;
	nr_sys_lines(ctx, vmstat_line, node, NODE_DIR "/node%d/vmstat", node->nid);
	return 0;
}

struct huge_walk {
	struct nr_ctx *ctx;
	struct nr_node *node;
};

static int huge_pool(void *data, const char *name)
{
	struct huge_walk *walk = data;
	struct nr_node *node = walk->node;
	uint64_t kb, pages;
	char *end;

	if (strncmp(name, "hugepages-", 10) || strlen(name) > 40)
		return 0;
	kb = strtoull(name + 10, &end, 10);
	if (end == name + 10 || strcmp(end, "kB") || kb > UINT32_MAX * UINT64_C(1024))
		return 0;
	if (nr_sys_read_u64(walk->ctx, &pages, NODE_DIR "/node%d/hugepages/%s/nr_hugepages",
			    node->nid, name) == 0 &&
	    pages < UINT32_MAX)
		set(node, NR_HUGE_TOTAL, node->value[NR_HUGE_TOTAL] + pages * kb * 1024);
	if (nr_sys_read_u64(walk->ctx, &pages, NODE_DIR "/node%d/hugepages/%s/free_hugepages",
			    node->nid, name) == 0 &&
	    pages < UINT32_MAX)
		set(node, NR_HUGE_FREE, node->value[NR_HUGE_FREE] + pages * kb * 1024);
	return 0;
}

static void take_zones(struct nr_node *node, const struct nr_zones *zones)
{
	uint64_t usable = 0, per_cpu = 0;
	size_t i;

	if (have(node, NR_TOTAL) && !node->value[NR_TOTAL]) /* no memory has no zones */
		set(node, NR_ALLOCATABLE, 0);
	if (!zones)
		return;
	node->npcp = zones->npcp;
	node->pcp = zones->pcp;
	for (i = 0; i < zones->npcp; i++)
		per_cpu += zones->pcp[i].bytes;
	set(node, NR_PER_CPU, per_cpu);
	node->nzones = zones->n;
	node->zones = zones->zone;
	for (i = 0; i < zones->n; i++)
		usable += nr_sub(zones->zone[i].free, zones->zone[i].low + zones->zone[i].reserve);
	if (zones->n)
		set(node, NR_ALLOCATABLE, usable);
	if (zones->have_free_blocks)
		set(node, NR_FREE_BLOCKS, zones->free_blocks);
}

static int take_node(struct nr_ctx *ctx, struct nr_node *node, struct bitmask *cpus)
{
	struct huge_walk walk = { ctx, node };
	int err = nr_node_read(ctx, node);

	if (err)
		return err;
	if (nr_sys_read_set(ctx, cpus, NODE_DIR "/node%d/cpulist", node->nid) == 0)
		node->ncpus = numa_bitmask_weight(cpus);
	nr_sys_list(ctx, huge_pool, &walk, NODE_DIR "/node%d/hugepages", node->nid);
	return 0;
}

static void host_line(void *data, const char *line, size_t len)
{
	static const char *const scans[] = { "pgscan_kswapd", "pgscan_direct", "pgscan_khugepaged",
					     "pgscan_proactive" };
	static const char *const steals[] = { "pgsteal_kswapd", "pgsteal_direct",
					      "pgsteal_khugepaged", "pgsteal_proactive" };
	struct nr_host *host = data;
	uint64_t v;
	size_t i;

	if (nr_line_value(line, len, "pswpin", &v))
		host->swapped_in = v;
	else if (nr_line_value(line, len, "pswpout", &v) ||
		 nr_line_value(line, len, "swpout_zero", &v)) /* beside it, since Linux 6.12 */
		host->swapped_out += v;
	for (i = 0; len > 2 && line[0] == 'p' && line[1] == 'g' && i < 4; i++) {
		if (nr_line_value(line, len, scans[i], &v))
			host->scanned += v;
		else if (nr_line_value(line, len, steals[i], &v))
			host->stolen += v;
	}
}

static void take_host(struct nr_ctx *ctx, struct nr_host *host)
{
	uint64_t v;
	size_t len;
	char *text;

	nr_sys_lines(ctx, host_line, host, "proc/vmstat");
	host->zone_reclaim_mode = -1;
	if (nr_sys_read_u64(ctx, &v, "proc/sys/vm/zone_reclaim_mode") == 0 && v <= INT_MAX)
		host->zone_reclaim_mode = (int)v;
	if (nr_sys_read_u64(ctx, &v, "proc/sys/vm/min_unmapped_ratio") == 0 && v <= 100)
		host->min_unmapped_ratio = (unsigned int)v;
	if (nr_sys_read(ctx, &text, &len, "sys/kernel/mm/numa/demotion_enabled") == 0) {
		host->demotion = !strncmp(text, "true", 4) || text[0] == '1';
		free(text);
	}
}

uint64_t nr_host_swapped_out(struct nr_ctx *ctx)
{
	struct nr_host host = { 0 };

	nr_sys_lines(ctx, host_line, &host, "proc/vmstat");
	return host.swapped_out;
}

static struct nr_zoneinfo *read_zones(struct nr_ctx *ctx, uint64_t page_size)
{
	struct nr_zoneinfo *zones = nr_zoneinfo_new(page_size);

	if (!zones)
		return NULL;
	if (nr_sys_lines(ctx, nr_zoneinfo_line, zones, "proc/zoneinfo") || nr_zoneinfo_end(zones)) {
		nr_log(ctx, LOG_WARNING, "/proc/zoneinfo: not readable or not understood");
		nr_zoneinfo_free(zones);
		return NULL;
	}
	return zones;
}

/* The page size of a recorded tree, which may come from another architecture: its zones count in
 * pages what its NUMA nodes count in kB. */
static uint64_t recorded_page_size(struct nr_ctx *ctx, const struct nr_snapshot *snap)
{
	struct nr_zoneinfo *zones = read_zones(ctx, 1);
	uint64_t pages = 0, bytes = 0;
	size_t i, k;

	for (i = 0; i < snap->n; i++) {
		const struct nr_zones *node = nr_zoneinfo_find(zones, snap->node[i].nid);

		bytes += nr_counter_or_zero(&snap->node[i], NR_TOTAL);
		for (k = 0; node && k < node->n; k++)
			pages += node->zone[k].managed;
	}
	nr_zoneinfo_free(zones);
	return pages && bytes / pages ? bytes / pages : ctx->page_size;
}

int nr_node_read_zones(struct nr_ctx *ctx, struct nr_node *node, struct nr_zoneinfo **zones)
{
	int err = nr_node_read(ctx, node);

	*zones = NULL;
	node->nzones = node->npcp = 0;
	if (err)
		return err;
	*zones = read_zones(ctx, ctx->page_size);
	take_zones(node, nr_zoneinfo_find(*zones, node->nid));
	return node->nzones ? 0 : -EBADMSG;
}

NR_EXPORT int nr_snapshot_take(struct nr_ctx *ctx, struct nr_snapshot **out)
{
	struct bitmask *online = nr_set_new(NR_MAX_NODES), *memory = nr_set_new(NR_MAX_NODES);
	struct bitmask *cpus = nr_set_new(NR_MAX_CPUS);
	struct nr_snapshot *snap = NULL;
	bool known;
	int err = -ENOMEM;
	unsigned int nid;
	size_t i;

	*out = NULL;
	if (!online || !memory || !cpus)
		goto out;
	err = nr_sys_read_set(ctx, online, NODE_DIR "/online");
	if (err) {
		nr_log(ctx, LOG_ERR, "/" NODE_DIR "/online: %s%s", strerror(-err),
		       err == -ENOENT ? " (a kernel without NUMA support?)" : "");
		goto out;
	}
	known = nr_sys_read_set(ctx, memory, NODE_DIR "/has_memory") == 0;
	err = -ENOMEM;
	snap = calloc(1, sizeof(*snap) + numa_bitmask_weight(online) * sizeof(snap->node[0]));
	if (!snap)
		goto out;
	for (nid = 0; nid < NR_MAX_NODES; nid++) {
		struct nr_node *node = &snap->node[snap->n];

		if (!numa_bitmask_isbitset(online, nid))
			continue;
		node->nid = (int)nid;
		err = take_node(ctx, node, cpus);
		if (err == -ENODEV) {
			memset(node, 0, sizeof(*node));
			continue;
		}
		if (err) {
			nr_log(ctx, LOG_ERR, "/" NODE_DIR "/node%u: %s", nid, strerror(-err));
			goto out;
		}
		node->has_memory = known ? numa_bitmask_isbitset(memory, nid)
					 : node->value[NR_TOTAL] > 0;
		snap->n++;
	}
	if (ctx->recorded)
		ctx->page_size = recorded_page_size(ctx, snap);
	snap->zones = read_zones(ctx, ctx->page_size);
	for (i = 0; i < snap->n; i++) {
		take_zones(&snap->node[i], nr_zoneinfo_find(snap->zones, snap->node[i].nid));
		derive_unaccounted(&snap->node[i]);
	}
	take_host(ctx, &snap->host);
	*out = snap;
	snap = NULL;
	err = 0;
out:
	nr_snapshot_free(snap);
	nr_set_free(online);
	nr_set_free(memory);
	nr_set_free(cpus);
	return err;
}

NR_EXPORT void nr_snapshot_free(struct nr_snapshot *snap)
{
	if (!snap)
		return;
	nr_zoneinfo_free(snap->zones);
	free(snap);
}

NR_EXPORT size_t nr_snapshot_count(const struct nr_snapshot *snap)
{
	return snap->n;
}

NR_EXPORT const struct nr_node *nr_snapshot_at(const struct nr_snapshot *snap, size_t i)
{
	return i < snap->n ? &snap->node[i] : NULL;
}

NR_EXPORT const struct nr_node *nr_snapshot_find(const struct nr_snapshot *snap, int nid)
{
	size_t low = 0, high = snap->n, mid;

	while (low < high) {
		mid = low + (high - low) / 2;
		if (snap->node[mid].nid == nid)
			return &snap->node[mid];
		if (snap->node[mid].nid < nid)
			low = mid + 1;
		else
			high = mid;
	}
	return NULL;
}

NR_EXPORT const struct nr_host *nr_snapshot_host(const struct nr_snapshot *snap)
{
	return &snap->host;
}
