/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * toss_page_cache_node(node, bytes, flags), a system call of kernels with the patches of
 * contrib/kernel.
 *
 * It drops clean, unmapped file pages of one NUMA node and nothing else, inactive before active,
 * of all zones with ZONE_MOVABLE, however little there is. At its end it takes free pages off the
 * per-CPU lists, so that MemFree shows them. It returns the bytes that it freed, which are measured
 * here all the same, EINTR for a signal that came before anything was freed, and ENODEV for a NUMA
 * node that is offline or has no memory.
 */
#include "internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define TOSS_INACTIVE 1u
#define TOSS_ACTIVE 4u /* after the inactive ones */

#define CAP_SYS_ADMIN 21

long nr_toss(unsigned int number, unsigned int nid, unsigned long bytes, unsigned int flags)
{
	long freed = syscall((long)number, nid, bytes, flags);

	return freed < 0 ? -errno : freed;
}

struct caps {
	bool known;
	unsigned long long bits;
};

static void status_line(void *data, const char *line, size_t len)
{
	static const char name[] = "CapEff:";
	struct caps *caps = data;
	char text[32];

	if (len < sizeof(name) || len >= sizeof(text) || memcmp(line, name, sizeof(name) - 1))
		return;
	memcpy(text, line, len);
	text[len] = '\0';
	caps->bits = strtoull(text + sizeof(name) - 1, NULL, 16);
	caps->known = true;
}

/* If the kernel does not say: the call will. */
static bool may_call(struct nr_ctx *ctx)
{
	struct caps caps = { false, 0 };

	if (!ctx->recorded)
		nr_sys_lines(ctx, status_line, &caps, "proc/thread-self/status");
	return !caps.known || (caps.bits >> CAP_SYS_ADMIN & 1);
}

static int probe(struct nr_ctx *ctx, int nid, char *why, size_t size)
{
	struct nr_node node = { .nid = nid };
	unsigned int number;
	int err;

	/* The number is of the 64-bit table */
	if (sizeof(long) < sizeof(uint64_t)) {
		snprintf(why, size, "only for programs of 64 bits");
		return -EOPNOTSUPP;
	}
	err = nr_announced(ctx, NR_ANNOUNCED_TOSS, &number, why, size);
	if (err)
		return err;
	if (!may_call(ctx)) {
		snprintf(why, size, "needs root (CAP_SYS_ADMIN)");
		return -EPERM;
	}
	err = nr_node_read(ctx, &node);
	if (err)
		snprintf(why, size, "node%d: %s", nid, strerror(-err));
	else
		snprintf(why, size,
			 "frees inactive before active cache, one NUMA node, all its zones");
	return err;
}

/* It needs no limit of ours: it has no gate, and takes nothing else when clean cache runs out. */
static uint64_t reach(const struct nr_node *node, const struct nr_host *host)
{
	(void)host;
	return nr_clean_at_most(node);
}

static int reclaim(struct nr_work *work, int nid, uint64_t bytes)
{
	struct nr_ctx *ctx = work->ctx;
	unsigned int number;
	char why[128];
	long freed;
	int err;

	if (!ctx->toss)
		return -EROFS;
	err = nr_announced(ctx, NR_ANNOUNCED_TOSS, &number, why, sizeof(why));
	if (err)
		return err;
	freed = ctx->toss(number, (unsigned int)nid, (unsigned long)bytes,
			  TOSS_INACTIVE | TOSS_ACTIVE);
	return freed < 0 ? (int)freed : 0;
}

const struct nr_backend nr_backend_syscall = {
	.name = "syscall",
	.probe = probe,
	.reach = reach,
	.reclaim = reclaim,
};
