/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What of policy=local a kernel can do for the whole host, where it cannot for one task. */
#include "internal.h"

#include <errno.h>

/* Bit 1 alone drops clean cache that is not mapped. With 2 and 4 node_reclaim() writes dirty pages
 * and swaps, the job's own pages too; the multi-gen LRU does nothing without 4 (seen on 6.12). */
#define RECLAIM_ZONE 1

NR_EXPORT int nr_policy_host(struct nr_ctx *ctx, uint64_t *bits, char *why, size_t size)
{
	uint64_t now;
	int err = nr_setting_read(ctx, nr_setting_find(NR_ZONE_RECLAIM_MODE), &now);

	if (err == -EOPNOTSUPP)
		snprintf(why, size, "this kernel has no vm.zone_reclaim_mode");
	if (!err && !nr_lru_is_classic(ctx)) {
		snprintf(why, size,
			 "with the multi-gen LRU, vm.zone_reclaim_mode frees no cache unless it "
			 "may swap");
		err = -EOPNOTSUPP;
	}
	if (!err)
		*bits = RECLAIM_ZONE;
	return err;
}
