/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * nodereclaim-step: frees clean page cache for one step of a job.
 *
 * spank_nodereclaim.so starts it as root, on the CPUs of the step and in its cpuset, with the
 * user's supplementary groups and working directory. See protocol.h for what it answers.
 */
#include "config.h"
#include "step.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <grp.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <syslog.h>
#include <unistd.h>

#define EXIT_NOT_FOR_YOU 3

/* The plugin kills the helper; this is for when the plugin itself is gone. */
#define SELF_DESTRUCT 10 /* seconds after the timeout */

#define SWEEP_MS 100

static _Noreturn void not_for_you(void)
{
	fputs("nodereclaim-step: spank_nodereclaim.so starts this as root; "
	      "to free page cache by hand, see nodereclaim(8)\n",
	      stderr);
	exit(EXIT_NOT_FOR_YOU);
}

static bool read_number(const char *text, uint64_t min, uint64_t max, uint64_t *value)
{
	char *end;

	if (*text < '0' || *text > '9')
		return false;
	errno = 0;
	*value = strtoull(text, &end, 10);
	return !errno && !*end && *value >= min && *value <= max;
}

static bool is_word(const char *text)
{
	size_t len = strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789");

	return len > 0 && len < 16 && !text[len];
}

static bool read_arguments(int argc, char **argv, struct request *request)
{
	static const struct option options[] = {
		{ "spec", required_argument, NULL, 's' },
		{ "given-mb", required_argument, NULL, 'g' },
		{ "cpus", required_argument, NULL, 'c' },
		{ "job", required_argument, NULL, 'j' },
		{ "step", required_argument, NULL, 'p' },
		{ "timeout", required_argument, NULL, 't' },
		{ "host-policy", required_argument, NULL, 'h' },
		{ "backend", required_argument, NULL, 'b' },
		{ "files-from", required_argument, NULL, 'f' },
		{ 0 },
	};
	unsigned int seen = 0, optional = 0;
	bool good = true;
	int c;

	opterr = 0;
	while (good && (c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (c) {
		case 's':
			request->spec = optarg;
			break;
		case 'g':
			good = read_number(optarg, 0, UINT64_MAX >> 20, &request->given_mb);
			break;
		case 'c':
			good = read_number(optarg, 0, UINT32_MAX, &request->cpus);
			break;
		case 'j':
			good = read_number(optarg, 0, UINT32_MAX, &request->job);
			break;
		case 'p':
			request->step = optarg;
			good = is_word(optarg);
			break;
		case 't':
			good = read_number(optarg, 1, NR_TIMEOUT_MAX, &request->timeout);
			break;
		case 'h':
			request->host_policy = optarg;
			good = nrp_host_policy_ok(optarg);
			break;
		case 'b':
			good = !request->backend;
			request->backend = optarg;
			optional++;
			break;
		case 'f':
			good = !request->files_from &&
			       !nr_paths_parse(optarg, &request->files_from);
			optional++;
			break;
		default:
			return false;
		}
		seen++;
	}
	/* The plugin gives each of the others once */
	return good && optind == argc && seen - optional == 7 && request->spec && request->step &&
	       request->timeout && request->host_policy;
}

/* Nothing of the user's may be left: groups, folder, limits, open files. */
static int become_root(void)
{
	const struct rlimit no_core = { 0, 0 };

	if (setgroups(0, NULL) || setresgid(0, 0, 0) || setresuid(0, 0, 0))
		return -errno;
	if (chdir("/") || setrlimit(RLIMIT_CORE, &no_core))
		return -errno;
	umask(077);
	return 0;
}

static void close_inherited(void)
{
#ifdef HAVE_CLOSE_RANGE
	if (!close_range(3, ~0u, 0))
		return;
#endif
	{
		long fd, max = sysconf(_SC_OPEN_MAX);

		for (fd = 3; fd < (max > 0 ? max : 1024); fd++)
			close((int)fd);
	}
}

/* syslog(3) waits for a daemon that does not read, so nothing is logged before the answer is given.
 */
#define KEPT 32
static struct {
	int priority;
	char *text;
} kept[KEPT];
static unsigned int kept_count;
static bool answered;

static void log_line(void *data, int priority, const char *message)
{
	const struct request *request = data;
	char *text;

	if (!answered && kept_count < KEPT) {
		text = strdup(message);
		if (text) {
			kept[kept_count].priority = priority;
			kept[kept_count++].text = text;
		}
	}
	if (answered)
		syslog(priority, "job=%" PRIu64 " step=%s %s", request->job, request->step,
		       message);
}

static void log_kept(struct request *request)
{
	unsigned int i;

	answered = true;
	for (i = 0; i < kept_count; i++) {
		log_line(request, kept[i].priority, kept[i].text);
		free(kept[i].text);
	}
	kept_count = 0;
}

static void say(struct request *request, const char *status, const char *reason, const char *policy,
		const char *text)
{
	printf("%s\n%s\n%s\n%s", status, reason, policy, text);
	fflush(stdout);
	/* The plugin waits for the end of the pipe, not for syslog */
	fclose(stdout);
	log_kept(request);
}

static int __attribute__((format(printf, 2, 3)))
failed(struct request *request, const char *fmt, ...)
{
	char reason[NRP_REASON_MAX];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(reason, sizeof(reason), fmt, ap);
	va_end(ap);
	say(request, NRP_PROTOCOL_FAILED, reason, "", "");
	log_line(request, LOG_ERR, reason);
	return 0;
}

/* What the plugin shows to the user, by the verbosity that the user chose. */
static void answer(struct request *request, const struct nr_spec *spec,
		   const struct nr_result *result, const char *policy)
{
	char *reason = NULL, *text = NULL;

	if (nr_report_short(result, &reason))
		reason = NULL;
	if (spec->verbosity == NR_VERBOSITY_VERBOSE && nr_report_text(result, &text))
		text = NULL;
	say(request, nr_result_missing(result) ? NRP_PROTOCOL_SHORT : NRP_PROTOCOL_MET,
	    reason ? reason : "", policy, text ? text : "");
	free(reason);
	free(text);
}

/* Without a cpuset of its own a step that has a part of the host runs on all of it here, and would
 * free its neighbours' NUMA nodes. Slurm counts CPUs or cores: fewer than there are cores is a
 * part. */
static bool confined(const struct nr_binding *binding, const struct request *request)
{
	unsigned int cores = binding->online_cpus / binding->cpus_per_core;

	return !request->cpus || request->cpus >= cores ||
	       numa_bitmask_weight(binding->cpus) < binding->online_cpus;
}

static int reclaim(struct nr_ctx *ctx, const struct nr_spec *spec, struct request *request)
{
	const struct nr_paths *files_from = request->files_from;
	const struct nr_options options = {
		.timeout_ms = (unsigned int)request->timeout * 1000,
		.backend = request->backend,
		.files_from = files_from ? files_from->path : NULL,
		.nfiles_from = files_from ? files_from->n : 0,
	};
	struct nr_binding *binding = NULL;
	struct nr_result *result = NULL;
	char nodes[128], policy[NRP_REASON_MAX] = "", *line = NULL;
	int err;

	err = nr_binding_from_pid(ctx, 0, &binding);
	if (err)
		return failed(request, "cannot find the step's NUMA nodes: %s", strerror(-err));
	if (!confined(binding, request)) {
		nr_binding_free(binding);
		return failed(request, "nothing is freed: the step is not confined to its CPUs "
				       "(needs task/cgroup and ConstrainCores=yes)");
	}
	nr_set_format(binding->reachable, nodes, sizeof(nodes));
	err = nr_run(ctx, spec, binding, request->given_mb << 20, &options, &result);
	if (result && spec->policy == NR_POLICY_LOCAL)
		step_hold_policy(ctx, request, binding, policy, sizeof(policy));
	nr_binding_free(binding);
	if (err == -ERANGE)
		return failed(request, "nodes= has a NUMA node that is not the step's; it has %s",
			      nodes);
	if (!result)
		return failed(request, "cannot free page cache: %s", strerror(-err));
	answer(request, spec, result, policy);
	if (!nr_report_line(result, &line))
		log_line(request, LOG_INFO, line);
	free(line);
	nr_result_free(result);
	return 0;
}

/* After the answer: the job does not wait for it, and who is killed here leaves it to the next. */
static void sweep_settings(struct nr_ctx *ctx)
{
	struct nr_ledger_done done;

	nr_ledger_restore(ctx, false, false, SWEEP_MS, &done);
}

int main(int argc, char **argv)
{
	struct request request = { 0 };
	struct nr_spec *spec;
	struct nr_ctx *ctx;
	char err[256];
	int rc;

	if (getuid() != 0 || geteuid() != 0 || !read_arguments(argc, argv, &request))
		not_for_you();
	close_inherited();
	openlog("nodereclaim-step", LOG_PID, LOG_DAEMON);
	rc = become_root();
	if (rc)
		return failed(&request, "cannot become root: %s", strerror(-rc));
	alarm((unsigned int)request.timeout + SELF_DESTRUCT);

	if (nr_spec_parse(request.spec, &spec, err, sizeof(err)))
		return failed(&request, "bad spec: %s", err[0] ? err : "no memory");
	rc = nr_open(&ctx, NULL);
	if (rc) {
		rc = failed(&request, "cannot look at this host: %s", strerror(-rc));
	} else {
		nr_set_log(ctx, log_line, &request, LOG_NOTICE);
		rc = reclaim(ctx, spec, &request);
		sweep_settings(ctx);
		nr_close(ctx);
	}
	nr_spec_free(spec);
	nr_paths_free(request.files_from);
	return rc;
}
