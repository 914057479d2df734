/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * policy - run a command with a memory policy of the library's
 *
 * policy local COMMAND [ARGUMENT]...   as policy=local of a job
 *
 * Says on standard error what the library answers if that is not 0, and runs the command anyhow.
 */
#include "tool.h"

#include <nodereclaim.h>
#include <syslog.h>
#include <unistd.h>

static void on_log(void *data, int priority, const char *message)
{
	(void)data;
	fprintf(stderr, "policy: <%d>%s\n", priority, message);
}

int main(int argc, char **argv)
{
	struct nr_ctx *ctx;
	int err;

	if (argc < 3 || strcmp(argv[1], "local")) {
		fprintf(stderr, "usage: policy local COMMAND [ARGUMENT]...\n");
		return 2;
	}
	err = nr_open(&ctx, NULL);
	if (err)
		die("nr_open: %s", strerror(-err));
	nr_set_log(ctx, on_log, NULL, LOG_DEBUG);
	err = nr_policy_apply(ctx, NR_POLICY_LOCAL, NULL);
	if (err)
		fprintf(stderr, "policy: %s\n", strerror(-err));
	nr_close(ctx);
	execvp(argv[2], argv + 2);
	die("%s: %s", argv[2], strerror(errno));
}
