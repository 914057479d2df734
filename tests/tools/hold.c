/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hold - enter a step of a job into the ledger of this host, or take it off
 *
 * hold JOB STEP WANTS	 holds these bits of vm.zone_reclaim_mode
 * hold -r JOB [STEP]	 holds them no more
 *
 * Exit status 1 if it failed; the library's messages and the reason go to standard error.
 */
#include "tool.h"

#include <syslog.h>

#include "nodereclaim.h"

#define TIMEOUT_MS 10000

static void say(void *data, int priority, const char *message)
{
	(void)data;
	(void)priority;
	fprintf(stderr, "hold: %s\n", message);
}

int main(int argc, char **argv)
{
	const bool release = argc > 2 && !strcmp(argv[1], "-r");
	struct nr_ctx *ctx;
	int err;

	if (argc != 4 && !(release && argc == 3)) {
		fprintf(stderr, "usage: hold JOB STEP WANTS, or: hold -r JOB [STEP]\n");
		return 2;
	}
	err = nr_open(&ctx, NULL);
	if (err)
		die("%s", strerror(-err));
	nr_set_log(ctx, say, NULL, LOG_INFO);
	if (release)
		err = nr_ledger_release(ctx, (uint32_t)parse_number(argv[2]), argv[3], TIMEOUT_MS);
	else
		err = nr_ledger_hold(ctx, NR_ZONE_RECLAIM_MODE, (uint32_t)parse_number(argv[1]),
				     argv[2], parse_number(argv[3]), TIMEOUT_MS);
	nr_close(ctx);
	if (err)
		die("%s", strerror(-err));
	return 0;
}
