/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The memory policy that a task inherits over fork and exec. */
#include "internal.h"

#include <errno.h>
#include <numaif.h>
#include <string.h>

/* MPOL_F_STATIC_NODES, MPOL_F_RELATIVE_NODES, MPOL_F_NUMA_BALANCING (uapi/linux/mempolicy.h); not
 * all of them are in numaif.h */
#define MODE_FLAGS 0xe000u

#ifndef MPOL_PREFERRED_MANY
#define MPOL_PREFERRED_MANY 5
#endif

#define NODE_WORDS (NR_MAX_NODES / (8 * sizeof(unsigned long)))

struct policy {
	int mode; /* with its mode flags */
	unsigned long nodes[NODE_WORDS];
};

static int failed(struct nr_ctx *ctx, const char *what)
{
	int err = -errno;

	nr_log(ctx, LOG_WARNING, "%s: %s", what, strerror(-err));
	return err;
}

static int get_policy(struct nr_ctx *ctx, struct policy *policy)
{
	memset(policy, 0, sizeof(*policy));
	/* The kernel takes one bit less than it is told (mm/mempolicy.c, get_nodes()). */
	if (get_mempolicy(&policy->mode, policy->nodes, NR_MAX_NODES + 1, NULL, 0))
		return failed(ctx, "get_mempolicy");
	return 0;
}

static int set_policy(struct nr_ctx *ctx, const struct policy *policy, const char *what)
{
	return set_mempolicy(policy->mode, policy->nodes, NR_MAX_NODES + 1) ? failed(ctx, what) : 0;
}

/* What @is becomes with the mode flag @flag. False: it has it, or it is no policy that the flag can
 * be added to. Pure. */
static bool add_flag(const struct policy *is, unsigned int flag, struct policy *want)
{
	*want = *is;
	want->mode |= (int)flag;
	switch ((unsigned int)is->mode & ~(MODE_FLAGS | flag)) {
	case MPOL_DEFAULT:
		/* Takes no flags; this is the same policy, and does */
		want->mode = (int)(MPOL_LOCAL | flag);
		return true;
	case MPOL_LOCAL:
	case MPOL_PREFERRED:
	case MPOL_PREFERRED_MANY:
	case MPOL_BIND:
		return true;
	default:
		return false;
	}
}

/* Adds the flag to the policy that the thread has, and looks whether the kernel did that. */
static int apply_local(struct nr_ctx *ctx)
{
	struct policy was, want, now;
	unsigned int flag;
	char why[128];
	int err;

	/* The flag of a recorded tree is not for the running kernel */
	if (ctx->recorded)
		return -EROFS;
	err = nr_announced(ctx, NR_ANNOUNCED_FLAG, &flag, why, sizeof(why));
	if (err) {
		nr_log(ctx, LOG_DEBUG, "policy=local: %s", why);
		return err;
	}
	err = get_policy(ctx, &was);
	if (err)
		return err;
	if ((unsigned int)was.mode & flag)
		return 0;
	if (!add_flag(&was, flag, &want))
		return -EALREADY;
	err = set_policy(ctx, &want, "set_mempolicy with MPOL_F_LOCALRECLAIM");
	if (err)
		return err;
	err = get_policy(ctx, &now);
	if (!err && now.mode == want.mode && !memcmp(now.nodes, want.nodes, sizeof(now.nodes)))
		return 0;
	if (!err)
		nr_log(ctx, LOG_WARNING,
		       "set_mempolicy with MPOL_F_LOCALRECLAIM: mode %#x was asked for, the kernel "
		       "made it %#x%s",
		       (unsigned int)want.mode, (unsigned int)now.mode,
		       now.mode == want.mode ? " with other NUMA nodes" : "");
	set_policy(ctx, &was, "set_mempolicy, to restore");
	return err ? err : -EPROTO;
}

static int apply_bind(struct nr_ctx *ctx, const struct bitmask *nodes)
{
	struct policy policy;
	int err;

	if (!nodes || !numa_bitmask_weight(nodes) || nodes->size > NR_MAX_NODES)
		return -EINVAL;
	err = get_policy(ctx, &policy);
	if (err)
		return err;
	/* Somebody chose a policy already, with --mem-bind or numactl: theirs stands. */
	if (policy.mode != MPOL_DEFAULT)
		return -EALREADY;
	policy.mode = MPOL_BIND;
	memcpy(policy.nodes, nodes->maskp, (nodes->size + 7) / 8);
	return set_policy(ctx, &policy, "set_mempolicy(MPOL_BIND)");
}

NR_EXPORT int nr_policy_apply(struct nr_ctx *ctx, enum nr_policy policy,
			      const struct bitmask *nodes)
{
	switch (policy) {
	case NR_POLICY_NONE:
		break;
	case NR_POLICY_LOCAL:
		return apply_local(ctx);
	case NR_POLICY_BIND:
		return apply_bind(ctx, nodes);
	}
	return 0;
}
