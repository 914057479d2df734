/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* /proc/sys/vm/drop_caches: every clean, unmapped page of the whole host. Only when it is allowed.
 */
#include "internal.h"

#include <errno.h>
#include <string.h>

#define FILE_NAME "proc/sys/vm/drop_caches"

static int probe(struct nr_ctx *ctx, int nid, char *why, size_t size)
{
	int err = nr_sys_writable(ctx, FILE_NAME);

	(void)nid;
	if (err == -EACCES || err == -EPERM)
		snprintf(why, size, "needs root");
	else if (err)
		snprintf(why, size, "vm.drop_caches: %s", strerror(-err));
	else
		snprintf(why, size, "drops the cache of the whole host; only when allowed");
	return err;
}

static uint64_t reach(const struct nr_node *node, const struct nr_host *host)
{
	(void)host;
	return nr_counter_or_zero(node, NR_CLEAN);
}

static int reclaim(struct nr_work *work, int nid, uint64_t bytes)
{
	(void)nid;
	(void)bytes;
	return nr_sys_write(work->ctx, "1", FILE_NAME);
}

const struct nr_backend nr_backend_drop_caches = {
	.name = "drop_caches",
	.whole_host = true,
	.probe = probe,
	.reach = reach,
	.reclaim = reclaim,
};
