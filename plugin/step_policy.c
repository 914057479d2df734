/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "step.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Less than NRP_GRACE_MS, which the plugin waits for an answer after the time limit */
#define HOLD_MS 300

struct line {
	char *text;
	size_t size;
};

static void __attribute__((format(printf, 3, 4)))
say(const struct line *line, const char *word, const char *fmt, ...)
{
	size_t len = (size_t)snprintf(line->text, line->size, "%s", word);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line->text + len, line->size - len, fmt, ap);
	va_end(ap);
}

/* Slurm counts CPUs, or cores where a site tells it to: then no job with threads beside it is known
 * to have the whole host. */
static bool allowed(const struct line *line, const struct request *request,
		    const struct nr_binding *binding)
{
	if (!strcmp(request->host_policy, NRP_HOST_ALWAYS))
		return true;
	if (strcmp(request->host_policy, NRP_HOST_EXCLUSIVE))
		say(line, NRP_POLICY_NONE,
		    "this kernel can do that for the whole host only, and the site does not allow it "
		    "(allow_host_policy=" NRP_HOST_NEVER ")");
	else if (request->cpus < binding->online_cpus)
		say(line, NRP_POLICY_NONE,
		    "this kernel can do that for the whole host only, and the job has %" PRIu64
		    " of its %u CPUs",
		    request->cpus, binding->online_cpus);
	else
		return true;
	return false;
}

void step_hold_policy(struct nr_ctx *ctx, const struct request *request,
		      const struct nr_binding *binding, char *text, size_t size)
{
	const struct line line = { text, size };
	char why[NRP_REASON_MAX / 2];
	uint64_t bits = 0;
	int err;

	*text = '\0';
	if (nr_policy_apply(ctx, NR_POLICY_LOCAL, NULL) != -EOPNOTSUPP)
		return;
	err = nr_policy_host(ctx, &bits, why, sizeof(why));
	if (err == -EOPNOTSUPP) {
		say(&line, NRP_POLICY_NONE, "this kernel cannot do that: %s", why);
		return;
	}
	if (!err && !allowed(&line, request, binding))
		return;
	if (!err)
		err = nr_ledger_hold(ctx, NR_ZONE_RECLAIM_MODE, (uint32_t)request->job,
				     request->step, bits, HOLD_MS);
	if (!err)
		say(&line, NRP_POLICY_HOST, "by vm.zone_reclaim_mode=%" PRIu64 " of the whole host",
		    bits);
	else if (err == -EBUSY)
		say(&line, NRP_POLICY_NONE, "somebody else has set vm.zone_reclaim_mode");
	else
		say(&line, NRP_POLICY_NONE, "vm.zone_reclaim_mode cannot be held: %s",
		    strerror(-err));
}
