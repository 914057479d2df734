/* SPDX-License-Identifier: GPL-2.0-or-later */
/* In slurmstepd: once per step and host before its tasks start, then in each task. */
#include "plugin.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>
#include <unistd.h>

/* Slurm's numbers for steps that srun did not make (slurm.h) */
#define STEP_BATCH 0xfffffffbu
#define STEP_EXTERN 0xfffffffcu
#define STEP_INTERACTIVE 0xfffffffau

#define RELEASE_MS 1000

static struct nrp_args args;

/* What user_init leaves for the tasks, which are forked later. NULL: nothing to do. */
static struct nr_spec *spec;
static struct nrp_answer answer;

/* Whose settings of the host are released at the end of the step. */
static uint32_t job;
static char step_name[16];

int nrp_remote_init(spank_t spank, int argc, char **argv)
{
	nrp_args_parse(&args, argc, argv);
	nrp_option_register(spank);
	return 0;
}

/* Users reach this place without the check on the submit host: _SLURM_SPANK_OPTION_... in the job's
 * environment. NULL: nothing is done. In user_init slurm_error() reaches the user and the log. */
static struct nr_spec *read_spec(const char *user_text)
{
	const char *text = user_text || args.off ? user_text : args.default_spec;
	struct nr_spec *new;
	char err[NRP_ERR];

	if (!text)
		return NULL;
	if (nr_spec_parse(text, &new, err, sizeof(err))) {
		slurm_error("node-reclaim: %s: ignored: %s", nrp_host(),
			    err[0] ? err : "no memory");
		return NULL;
	}
	if (new->help) {
		slurm_error("node-reclaim: %s: ignored: \"help\" is for srun, sbatch and salloc",
			    nrp_host());
	} else if (user_text && !args.off && !nrp_args_allow(&args, new, err, sizeof(err))) {
		slurm_error("node-reclaim: %s: ignored: %s", nrp_host(), err);
	} else {
		if (new->timeout > args.max_timeout)
			new->timeout = args.max_timeout;
		return new;
	}
	nr_spec_free(new);
	return NULL;
}

static void name_step(uint32_t id)
{
	if (id == STEP_BATCH)
		strcpy(step_name, "batch");
	else if (id == STEP_INTERACTIVE)
		strcpy(step_name, "interactive");
	else
		snprintf(step_name, sizeof(step_name), "%" PRIu32, id);
}

static void run_helper(spank_t spank, const char *text)
{
	struct nrp_request request = {
		.helper = args.helper,
		.spec = text,
		.step = step_name,
		.timeout = spec->timeout,
		.backend = args.backend,
		.files_from = args.files_from,
		.host_policy = args.host_policy,
	};
	uint16_t cpus; /* its type in spank.h */

	spank_get_item(spank, S_JOB_ID, &job);
	request.job = job;
	/* 0 where Slurm does not manage memory (SelectTypeParameters=CR_Core) */
	if (spank_get_item(spank, S_STEP_ALLOC_MEM, &request.given_mb) != ESPANK_SUCCESS)
		request.given_mb = 0;
	if (spank_get_item(spank, S_JOB_NCPUS, &cpus) == ESPANK_SUCCESS)
		request.cpus = cpus;
	nrp_helper_run(&request, &answer);
}

/* A step with "strict" hears of it in task_init, where it ends. */
static void tell(void)
{
	const bool quiet = spec->verbosity == NR_VERBOSITY_QUIET;

	if (answer.text && !quiet)
		nrp_tell_user(answer.text);
	if (answer.status == NRP_MET || spec->strict)
		return;
	if (quiet)
		slurm_info("node-reclaim: %s: %s", nrp_host(), answer.reason);
	else if (answer.status == NRP_SHORT || args.off)
		slurm_spank_log("node-reclaim: %s: %s", nrp_host(), answer.reason);
	else
		slurm_error("node-reclaim: %s: %s", nrp_host(), answer.reason);
}

/* Which argument is bad is in slurmd's log since its start; here it would come with each step. */
static void plugin_is_off(void)
{
	static const char off[] = "nothing is done, the plugin is off here: see slurmd's log";

	slurm_debug("node-reclaim: %s", args.error);
	answer.status = NRP_NO_RESULT;
	strcpy(answer.reason, off);
	tell();
	/* Off is off, for a memory policy too */
	spec->policy = NR_POLICY_NONE;
}

int nrp_remote_user_init(spank_t spank)
{
	const char *text = nrp_option_text();
	uint32_t step;

	if (spank_get_item(spank, S_JOB_STEPID, &step) != ESPANK_SUCCESS || step == STEP_EXTERN)
		return 0;
	spec = read_spec(text);
	if (!spec)
		return 0;
	if (args.off) {
		plugin_is_off();
		return 0;
	}
	name_step(step);
	run_helper(spank, text ? text : args.default_spec);
	tell();
	return 0;
}

/* Where the task is to be bound: its own NUMA nodes, of which it may have fewer than the step. Of
 * nodes= only what it reaches counts; a task that reaches none of them keeps the default policy. */
static int bind_nodes(struct nr_ctx *ctx, struct nr_binding **out)
{
	struct bitmask *mine;
	unsigned int nid;
	int err;

	err = nr_binding_from_pid(ctx, 0, out);
	if (err || !spec->nodes)
		return err;
	mine = nr_set_new(NR_MAX_NODES);
	if (!mine)
		return -ENOMEM;
	for (nid = 0; nid < NR_MAX_NODES; nid++)
		if (numa_bitmask_isbitset(spec->nodes, nid) &&
		    numa_bitmask_isbitset((*out)->reachable, nid))
			numa_bitmask_setbit(mine, nid);
	err = nr_binding_limit(*out, mine);
	nr_set_free(mine);
	return err;
}

static void log_line(void *data, int priority, const char *message)
{
	(void)data;
	(void)priority;
	slurm_info("node-reclaim: %s: %s", nrp_host(), message);
}

static int set_policy(bool first_here)
{
	struct nr_binding *binding = NULL;
	struct nr_ctx *ctx;
	int err;

	err = nr_open(&ctx, NULL);
	if (err)
		return err;
	if (first_here)
		nr_set_log(ctx, log_line, NULL, LOG_WARNING);
	if (spec->policy == NR_POLICY_BIND)
		err = bind_nodes(ctx, &binding);
	if (!err && (!binding || numa_bitmask_weight(binding->nodes)))
		err = nr_policy_apply(ctx, spec->policy, binding ? binding->nodes : NULL);
	nr_binding_free(binding);
	nr_close(ctx);
	return err;
}

static bool holds(void)
{
	return !strncmp(answer.policy, NRP_POLICY_HOST, strlen(NRP_POLICY_HOST));
}

/* The user hears it once per step, the log of each host once. */
static void tell_policy(spank_t spank, const char *what)
{
	uint32_t task = 0;

	spank_get_item(spank, S_TASK_GLOBAL_ID, &task);
	if (task == 0 && spec->verbosity != NR_VERBOSITY_QUIET)
		slurm_spank_log("node-reclaim: %s: policy=local: %s", nrp_host(), what);
	else
		slurm_info("node-reclaim: %s: policy=local: %s", nrp_host(), what);
}

/* The helper has said what the whole host does, or why it does not. */
static void tell_host_policy(spank_t spank)
{
	const size_t word = strlen(NRP_POLICY_HOST);
	char text[NRP_REASON_MAX + 32];

	_Static_assert(sizeof(NRP_POLICY_HOST) == sizeof(NRP_POLICY_NONE), "both are cut off");
	if (holds()) {
		/* As it should be, so only for who wants to know */
		if (spec->verbosity == NR_VERBOSITY_VERBOSE)
			tell_policy(spank, answer.policy + word);
		return;
	}
	snprintf(text, sizeof(text), "%s, the job runs without",
		 answer.policy[0] ? answer.policy + word : "this kernel cannot do that");
	tell_policy(spank, text);
}

static void apply_policy(spank_t spank, bool first_here)
{
	int err = set_policy(first_here);

	if (!err || !first_here)
		return;
	if (err == -EOPNOTSUPP)
		tell_host_policy(spank);
	else if (err != -EALREADY)
		slurm_error("node-reclaim: %s: no memory policy: %s", nrp_host(), strerror(-err));
	else if (spec->policy == NR_POLICY_LOCAL)
		/* For policy=bind, what --mem-bind chose stays without a word */
		tell_policy(spank, "the tasks spread their memory over NUMA nodes by a policy of "
				   "their own, which stays as it is");
}

int nrp_remote_task_init(spank_t spank)
{
	int task = 0;

	if (!spec)
		return 0;
	spank_get_item(spank, S_TASK_ID, &task);
	if (spec->strict && answer.status != NRP_MET) {
		if (task == 0)
			slurm_error("node-reclaim: %s: strict, so the job does not start: %s",
				    nrp_host(), answer.reason);
		/* As Slurm itself ends a task whose task_init fails; but it ignores an error return
		 * of a plugin that is "optional" in plugstack.conf (22.05), and this must not be.
		 */
		_exit(1);
	}
	if (spec->policy != NR_POLICY_NONE)
		apply_policy(spank, task == 0);
	return 0;
}

/* Of a helper that gave no answer it is not known what it has done. Where this is not reached, the
 * next nodereclaim-step, Prolog or Epilog does it. */
int nrp_remote_exit(void)
{
	struct nr_ctx *ctx;

	if (!step_name[0] || (!holds() && answer.status != NRP_NO_RESULT))
		return 0;
	if (nr_open(&ctx, NULL))
		return 0;
	nr_set_log(ctx, log_line, NULL, LOG_NOTICE);
	nr_ledger_release(ctx, job, step_name, RELEASE_MS);
	nr_close(ctx);
	return 0;
}
