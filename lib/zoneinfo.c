/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Reads the text of /proc/zoneinfo: watermarks, reserves and file pages of each zone. */
#include "internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* "Node 0, zone      DMA" */
static bool zone_header(const char *line, size_t len, int *nid, char name[NR_ZONE_NAME])
{
	const char *end = line + len, *p = line + 5;
	unsigned int n = 0;
	size_t size;

	if (len < 5 || memcmp(line, "Node ", 5))
		return false;
	while (p < end && *p >= '0' && *p <= '9' && n < NR_MAX_NODES)
		n = n * 10 + (unsigned int)(*p++ - '0');
	if (n >= NR_MAX_NODES || end - p < 7 || memcmp(p, ", zone", 6))
		return false;
	for (p += 6; p < end && *p == ' ';)
		p++;
	size = (size_t)(end - p);
	if (size == 0 || size >= NR_ZONE_NAME)
		return false;
	memcpy(name, p, size);
	name[size] = '\0';
	*nid = (int)n;
	return true;
}

/* "protection: (0, 3019, 24090)": the last is the reserve against user allocations, which may use
 * the highest zone. */
static uint64_t last_protection(const char *p, const char *end)
{
	uint64_t v = 0, max = 0;

	for (; p < end; p++) {
		if (*p >= '0' && *p <= '9' && v < UINT32_MAX) {
			v = v * 10 + (uint64_t)(*p - '0');
		} else {
			if (v > max)
				max = v;
			v = 0;
		}
	}
	return max;
}

static struct nr_zones *add_node(struct nr_zoneinfo *info, int nid)
{
	struct nr_zones *more;

	if (info->n && info->node[info->n - 1].nid == nid)
		return &info->node[info->n - 1];
	if ((info->n & (info->n - 1)) == 0) { /* full: sizes are powers of two */
		more = reallocarray(info->node, info->n ? info->n * 2 : 1, sizeof(*more));
		if (!more)
			return NULL;
		info->node = more;
	}
	more = &info->node[info->n++];
	memset(more, 0, sizeof(*more));
	more->nid = nid;
	return more;
}

static struct nr_zone *add_zone(struct nr_zones *node)
{
	struct nr_zone *more;

	if (node->n == node->size) {
		more = reallocarray(node->zone, node->size + 4, sizeof(*more));
		if (!more)
			return NULL;
		node->zone = more;
		node->size += 4;
	}
	more = &node->zone[node->n++];
	memset(more, 0, sizeof(*more));
	return more;
}

static void zone_line(struct nr_zones *node, struct nr_zone *zone, const char *line, size_t len,
		      uint64_t page)
{
	uint64_t v;

	if (nr_line_value(line, len, "pages free", &v))
		zone->free = v * page;
	else if (nr_line_value(line, len, "min", &v))
		zone->min = v * page;
	else if (nr_line_value(line, len, "low", &v))
		zone->low = v * page;
	else if (nr_line_value(line, len, "high", &v))
		zone->high = v * page;
	else if (nr_line_value(line, len, "present", &v))
		zone->present = v * page;
	else if (nr_line_value(line, len, "managed", &v))
		zone->managed = v * page;
	else if (len > 11 && !memcmp(line, "protection:", 11))
		zone->reserve = last_protection(line + 11, line + len) * page;
	else if (nr_line_value(line, len, "nr_free_pages_blocks", &v)) {
		node->free_blocks += v * page;
		node->have_free_blocks = true;
	} else if (nr_line_value(line, len, "nr_zone_inactive_file", &v) ||
		   nr_line_value(line, len, "nr_zone_active_file", &v)) {
		zone->file += v * page;
		node->have_file = true;
	}
}

/* Adds to a CPU's sum. Each zone lists the CPUs in the same order, so the search goes on from where
 * the last one ended. */
static int add_pcp(struct nr_zones *node, unsigned int cpu, uint64_t bytes)
{
	struct nr_pcp *more;
	size_t i, at;

	for (i = 0; i < node->npcp; i++) {
		at = (node->pcp_at + i) % node->npcp;
		if (node->pcp[at].cpu == cpu) {
			node->pcp[at].bytes += bytes;
			node->pcp_at = at;
			return 0;
		}
	}
	if (node->npcp == node->pcp_size) {
		more = reallocarray(node->pcp, node->pcp_size * 2 + 4, sizeof(*more));
		if (!more)
			return -ENOMEM;
		node->pcp = more;
		node->pcp_size = node->pcp_size * 2 + 4;
	}
	node->pcp[node->npcp++] = (struct nr_pcp){ cpu, bytes };
	return 0;
}

struct nr_zoneinfo *nr_zoneinfo_new(uint64_t page_size)
{
	struct nr_zoneinfo *info = calloc(1, sizeof(*info));

	if (info)
		info->page_size = page_size;
	return info;
}

/* A zone without memory is listed by the kernel, and is none for us. */
static void end_zone(struct nr_zoneinfo *info)
{
	if (info->zone && !info->zone->managed)
		info->at->n--;
	info->zone = NULL;
}

static int new_zone(struct nr_zoneinfo *info, int nid, const char *name)
{
	end_zone(info);
	info->pagesets = false;
	if (info->n && nid < info->node[info->n - 1].nid)
		return -EBADMSG;
	info->at = add_node(info, nid);
	info->zone = info->at ? add_zone(info->at) : NULL;
	if (!info->zone)
		return -ENOMEM;
	strcpy(info->zone->name, name);
	return 0;
}

void nr_zoneinfo_line(void *data, const char *line, size_t len)
{
	struct nr_zoneinfo *info = data;
	char name[NR_ZONE_NAME];
	uint64_t count;
	int nid;

	if (info->error)
		return;
	if (zone_header(line, len, &nid, name)) {
		info->error = new_zone(info, nid, name);
		return;
	}
	for (; len && *line == ' '; len--)
		line++;
	/* The per-CPU lists below it have a "high:" of their own. */
	if (len >= 8 && !memcmp(line, "pagesets", 8))
		info->pagesets = true;
	if (!info->zone || nr_line_value(line, len, "cpu", &info->cpu))
		return;
	if (!info->pagesets)
		zone_line(info->at, info->zone, line, len, info->page_size);
	else if (nr_line_value(line, len, "count", &count) && count && info->cpu < NR_MAX_CPUS)
		info->error = add_pcp(info->at, (unsigned int)info->cpu, count * info->page_size);
}

int nr_zoneinfo_end(struct nr_zoneinfo *info)
{
	end_zone(info);
	return info->error ? info->error : info->n ? 0 : -EBADMSG;
}

void nr_zoneinfo_free(struct nr_zoneinfo *info)
{
	size_t i;

	if (!info)
		return;
	for (i = 0; i < info->n; i++) {
		free(info->node[i].zone);
		free(info->node[i].pcp);
	}
	free(info->node);
	free(info);
}

const struct nr_zones *nr_zoneinfo_find(const struct nr_zoneinfo *info, int nid)
{
	size_t i;

	for (i = 0; info && i < info->n; i++)
		if (info->node[i].nid == nid)
			return &info->node[i];
	return NULL;
}
