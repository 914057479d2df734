// SPDX-License-Identifier: GPL-2.0-or-later
/* nodereclaim-prolog(8): serve a job that has the whole host, before it starts. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>

#include "common.h"

/* Of the time to the deadline, for what comes after the reclaim: the last snapshot and the log. */
#define AFTER_MS 500

static uint32_t deadline(const struct config *config)
{
	return config->prolog.deadline;
}

/* The items that the user asked for and may not; as the plugin sees it. */
static unsigned int refused(const struct nr_spec *spec, unsigned int allow)
{
	const unsigned int goals = NR_ITEM_AUTO | NR_ITEM_SIZE | NR_ITEM_ALL;
	unsigned int given = spec->given;

	if (!(given & goals))
		given |= NR_ITEM_AUTO;
	return given & ~allow & ~(unsigned int)NR_ITEM_HELP; /* help does nothing here */
}

/* The user's spec, else the site's; NULL: there is nothing to do. */
static struct nr_spec *choose_spec(const struct job *job, const struct config *config)
{
	bool users = job->have_spec != JOB_SPEC_NONE;
	const char *text = users ? job->spec : config->prolog.spec;
	struct nr_spec *spec = NULL;
	char error[256];
	unsigned int bad;

	if (job->have_spec == JOB_SPEC_TOO_LONG) {
		log_line(LOG_WARNING, "SPANK_NODE_RECLAIM ignored: longer than %d bytes",
			 NR_SPEC_MAX);
		return NULL;
	}
	if (!users && !*text) {
		log_line(LOG_DEBUG, "nothing asked for");
		return NULL;
	}
	if (nr_spec_parse(text, &spec, error, sizeof(error)) < 0) {
		log_line(LOG_WARNING, "SPANK_NODE_RECLAIM ignored: %s", error);
		return NULL;
	}
	bad = users ? refused(spec, config->prolog.allow) : 0;
	if (bad) {
		const char *name = nr_item_name((enum nr_item)(bad & -bad));

		log_line(LOG_WARNING, "SPANK_NODE_RECLAIM ignored: this site does not allow %s",
			 name);
	}
	if (bad || spec->help) {
		nr_spec_free(spec);
		return NULL;
	}
	return spec;
}

/* Milliseconds for the reclaim; 0: none left. */
static unsigned int timeout_ms(const struct work *work, const struct nr_spec *spec)
{
	uint64_t now = clock_ms(), ms = (uint64_t)spec->timeout * 1000;
	uint64_t max = (uint64_t)work->config->prolog.max_timeout * 1000;

	if (max && ms > max)
		ms = max;
	if (now + AFTER_MS >= work->deadline)
		return 0;
	if (ms > work->deadline - AFTER_MS - now)
		ms = work->deadline - AFTER_MS - now;
	return (unsigned int)ms;
}

static uint32_t host_cpus(const struct config *config, const struct nr_binding *binding)
{
	uint32_t cpus = 0;

	if (config->prolog.cpus)
		return config->prolog.cpus;
	for (unsigned int i = 0; i < NR_MAX_NODES; i++)
		cpus += binding->node_cpus[i];
	return cpus;
}

static void reclaim(const struct work *work, struct nr_ctx *ctx, const struct nr_spec *spec,
		    struct nr_binding *binding)
{
	const struct config *config = work->config;
	const struct nr_paths *files_from = config->prolog.files_from;
	struct nr_options options = {
		.timeout_ms = timeout_ms(work, spec),
		.dry_run = work->sysroot != NULL,
		.allow_drop_caches = config->prolog.drop_caches,
		.backend = config->prolog.backend,
		.files_from = files_from ? files_from->path : NULL,
		.nfiles_from = files_from ? files_from->n : 0,
	};
	struct nr_result *result = NULL;
	char *line = NULL;
	int error;

	if (!options.timeout_ms) {
		log_line(LOG_WARNING, "nothing done, no time left before the deadline");
		return;
	}
	error = nr_run(ctx, spec, binding, 0, &options, &result);
	if (error < 0)
		log_line(LOG_WARNING, "not all was done: %s", strerror(-error));
	if (result && nr_report_line(result, &line) == 0)
		log_line(nr_result_missing(result) ? LOG_NOTICE : LOG_INFO, "%s", line);
	free(line);
	nr_result_free(result);
}

static void serve(const struct work *work, const struct nr_spec *spec)
{
	struct nr_binding *binding = NULL;
	struct nr_ctx *ctx = NULL;
	int error = nr_open(&ctx, work->sysroot);

	if (error == 0) {
		nr_set_log(ctx, log_library, NULL, log_level());
		error = nr_binding_from_nodes(ctx, NULL, &binding);
	}
	if (error < 0)
		log_line(LOG_WARNING, "nothing done, cannot read the NUMA nodes: %s",
			 strerror(-error));
	else if (!job_has_whole_host(work->job, host_cpus(work->config, binding)))
		log_line(LOG_DEBUG, "left to the plugin: the job has not the whole host");
	else
		reclaim(work, ctx, spec, binding);
	nr_binding_free(binding);
	nr_close(ctx);
}

static void prolog_work(const struct work *work)
{
	struct nr_spec *spec;

	settings_sweep(work);
	if (!work->config->prolog.enable) {
		log_line(LOG_DEBUG, "left to the plugin: enable = no");
		return;
	}
	spec = choose_spec(work->job, work->config);
	if (spec)
		serve(work, spec);
	nr_spec_free(spec);
}

int main(int argc, char **argv)
{
	static const struct program prolog = { .ident = "nodereclaim-prolog",
					       .deadline = deadline,
					       .work = prolog_work };

	return guard_main(&prolog, argc, argv);
}
