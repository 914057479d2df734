/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the files of nodereclaim-step share. */
#ifndef NR_STEP_H
#define NR_STEP_H

#include "nodereclaim.h"
#include "protocol.h"

struct request {
	const char *spec;
	const char *step;
	uint64_t given_mb;
	uint64_t cpus; /* 0: not known */
	uint64_t job;
	uint64_t timeout;	 /* seconds */
	const char *host_policy; /* NRP_HOST_... */
	const char *backend;
	struct nr_paths *files_from;
};

/* policy=local where the kernel cannot do it for one task: changes a setting of the whole host
 * through the ledger, if the site allows it for this step. Writes the line of protocol.h; empty if
 * there is nothing to do. */
void step_hold_policy(struct nr_ctx *ctx, const struct request *request,
		      const struct nr_binding *binding, char *line, size_t size);

#endif
