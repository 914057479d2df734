// SPDX-License-Identifier: GPL-2.0-or-later
/* Host-wide settings that are changed for jobs: see nr_ledger_restore(). */
#include <string.h>
#include <syslog.h>

#include "common.h"

/* For others to finish with the ledger, and to look at all processes; the rest of the deadline is
 * for the job. */
#define TIMEOUT_MS 1000

static struct nr_ctx *open_ctx(const struct work *work)
{
	struct nr_ctx *ctx = NULL;
	int error = nr_open(&ctx, work->sysroot);

	if (error < 0)
		log_line(LOG_WARNING, "cannot look after the settings of this host: %s",
			 strerror(-error));
	else
		nr_set_log(ctx, log_library, NULL, log_level());
	return ctx;
}

/* The library logs what goes wrong, and whoever comes next tries again. */
void settings_sweep(const struct work *work)
{
	struct nr_ctx *ctx = open_ctx(work);
	struct nr_ledger_done done;

	if (ctx)
		nr_ledger_restore(ctx, false, work->sysroot, TIMEOUT_MS, &done);
	nr_close(ctx);
}

void settings_release(const struct work *work)
{
	struct nr_ctx *ctx;

	if (work->sysroot || !work->job->have_id) {
		settings_sweep(work);
		return;
	}
	ctx = open_ctx(work);
	if (ctx)
		nr_ledger_release(ctx, work->job->id, NULL, TIMEOUT_MS);
	nr_close(ctx);
}
