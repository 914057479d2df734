/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The memory policy that a task inherits over fork and exec. */
#include "internal.h"

#include <errno.h>
#include <numaif.h>
#include <string.h>

NR_EXPORT int nr_policy_apply(struct nr_ctx *ctx, enum nr_policy policy,
			      const struct bitmask *nodes)
{
	unsigned long mask[NR_MAX_NODES / (8 * sizeof(unsigned long))];
	int mode, err;

	switch (policy) {
	case NR_POLICY_NONE:
		return 0;
	case NR_POLICY_LOCAL:
		return -EOPNOTSUPP;
	case NR_POLICY_BIND:
		break;
	}
	if (!nodes || !numa_bitmask_weight(nodes) || nodes->size > NR_MAX_NODES)
		return -EINVAL;
	if (get_mempolicy(&mode, NULL, 0, NULL, 0)) {
		err = -errno;
		nr_log(ctx, LOG_WARNING, "get_mempolicy: %s", strerror(-err));
		return err;
	}
	/* Somebody chose a policy already, with --mem-bind or numactl: theirs stands. */
	if (mode != MPOL_DEFAULT)
		return -EALREADY;
	memset(mask, 0, sizeof(mask));
	memcpy(mask, nodes->maskp, (nodes->size + 7) / 8);
	/* The kernel takes one bit less than it is told (mm/mempolicy.c, get_nodes()). */
	if (set_mempolicy(MPOL_BIND, mask, NR_MAX_NODES + 1)) {
		err = -errno;
		nr_log(ctx, LOG_WARNING, "set_mempolicy(MPOL_BIND): %s", strerror(-err));
		return err;
	}
	return 0;
}
