// SPDX-License-Identifier: GPL-2.0-or-later
/* nodereclaim-epilog(8): log what a job has left on the host's NUMA nodes. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <syslog.h>

#include "common.h"

/* More NUMA nodes with memory than that would only trip the log's rate limit. */
#define LINES_MAX 64

static uint32_t deadline(const struct config *config)
{
	return config->epilog.deadline;
}

static void report_node(const struct nr_node *node)
{
	static const enum nr_counter counters[] = {
		NR_TOTAL,	NR_FREE,      NR_ALLOCATABLE,	   NR_CLEAN,
		NR_DIRTY_PAGES, NR_WRITEBACK, NR_MAPPED,	   NR_ANON,
		NR_SHMEM,	NR_MLOCKED,   NR_SLAB_RECLAIMABLE, NR_SLAB_UNRECLAIMABLE,
		NR_HUGE_TOTAL,	NR_HUGE_FREE,
	};
	char text[1024] = "";
	size_t used = 0;

	for (size_t i = 0; i < sizeof(counters) / sizeof(*counters); i++) {
		uint64_t bytes;
		int n;

		if (!nr_node_get(node, counters[i], &bytes))
			continue;
		n = snprintf(text + used, sizeof(text) - used, " %s=%" PRIu64,
			     nr_counter_name(counters[i]), bytes);
		if (n < 0 || (size_t)n >= sizeof(text) - used)
			break;
		used += (size_t)n;
	}
	log_line(LOG_INFO, "nid=%d%s", node->nid, text);
}

static void epilog_work(const struct work *work)
{
	struct nr_snapshot *snap = NULL;
	struct nr_ctx *ctx = NULL;
	size_t lines = 0, left_out = 0;
	int error;

	settings_release(work);
	if (!work->config->epilog.report)
		return;
	error = nr_open(&ctx, work->sysroot);
	if (error == 0) {
		nr_set_log(ctx, log_library, NULL, log_level());
		error = nr_snapshot_take(ctx, &snap);
	}
	if (error < 0) {
		log_line(LOG_WARNING, "cannot read the NUMA nodes: %s", strerror(-error));
		nr_close(ctx);
		return;
	}
	for (size_t i = 0; i < nr_snapshot_count(snap); i++) {
		const struct nr_node *node = nr_snapshot_at(snap, i);

		if (!node->has_memory)
			continue;
		if (lines++ < LINES_MAX)
			report_node(node);
		else
			left_out++;
	}
	if (left_out)
		log_line(LOG_INFO, "%zu more NUMA nodes not shown", left_out);
	nr_snapshot_free(snap);
	nr_close(ctx);
}

int main(int argc, char **argv)
{
	static const struct program epilog = { .ident = "nodereclaim-epilog",
					       .deadline = deadline,
					       .work = epilog_work };

	return guard_main(&epilog, argc, argv);
}
