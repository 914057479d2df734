/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * /sys/devices/system/node/nodeN/reclaim, Linux 6.17 and later, CONFIG_NUMA.
 *
 * It takes pages in LRU order over all file cache and, asked for more than there is unmapped and
 * clean, goes on to unmap, to shrink slab and to swap; swappiness=0 makes that rarer and is no
 * promise. It does nothing unless the unmapped cache exceeds vm.min_unmapped_ratio of the NUMA
 * node, allocates as GFP_KERNEL and so does not reach ZONE_MOVABLE, lets one writer in at a time,
 * and says EAGAIN for most failures (EBUSY, EINVAL and EINTR in other versions). So reach() says
 * how much may be asked for, and what was freed is measured by the caller.
 */
#include "internal.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#define FILE_FMT "sys/devices/system/node/node%d/reclaim"

static int probe(struct nr_ctx *ctx, int nid, char *why, size_t size)
{
	int err = nr_sys_writable(ctx, FILE_FMT, nid);

	if (err == -ENOENT)
		snprintf(why, size, "no nodeN/reclaim: needs Linux 6.17 or later");
	else if (err == -EACCES || err == -EPERM)
		snprintf(why, size, "needs root");
	else if (err)
		snprintf(why, size, "node%d/reclaim: %s", nid, strerror(-err));
	else
		snprintf(why, size, "frees by LRU order, one NUMA node");
	return err;
}

static uint64_t reach(const struct nr_node *node, const struct nr_host *host)
{
	uint64_t clean = nr_counter_or_zero(node, NR_CLEAN), managed = 0, file = 0, known = 0;
	size_t i;

	for (i = 0; i < node->nzones; i++) {
		managed += node->zones[i].managed;
		known += node->zones[i].file;
		if (strcmp(node->zones[i].name, "Movable") && strcmp(node->zones[i].name, "Device"))
			file += node->zones[i].file;
	}
	if (known && file < clean)
		clean = file;
	return nr_sub(clean, managed / 100 * host->min_unmapped_ratio);
}

static void ignore_line(void *data, const char *line, size_t len)
{
	(void)data;
	(void)line;
	(void)len;
}

/* Whether active pages may be taken is decided from statistics of the memory cgroups that can be 2
 * s old: with much active and no inactive cache left it then answers EAGAIN and frees nothing
 * (Linux 6.18). Reading them brings them up to date. */
static void refresh_cgroup_statistics(struct nr_ctx *ctx)
{
	if (nr_sys_lines(ctx, ignore_line, NULL, "sys/fs/cgroup/memory.stat"))
		nr_sys_lines(ctx, ignore_line, NULL, "sys/fs/cgroup/memory/memory.stat");
}

static int reclaim(struct nr_work *work, int nid, uint64_t bytes)
{
	char text[64];
	int err;

	snprintf(text, sizeof(text), "%" PRIu64 " swappiness=0", bytes);
	err = nr_sys_write(work->ctx, text, FILE_FMT, nid);
	if (err == -EAGAIN)
		refresh_cgroup_statistics(work->ctx);
	return err;
}

const struct nr_backend nr_backend_sysfs = {
	.name = "sysfs",
	.probe = probe,
	.reach = reach,
	.reclaim = reclaim,
};
