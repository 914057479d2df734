/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What srun, sbatch and salloc do with the option once it is final. */
#include "plugin.h"

#include <stdlib.h>

/*
 * Ends the program: Slurm ignores an error return of a plugin that is "optional" in plugstack.conf,
 * and the job would be submitted.
 */
static _Noreturn void refuse(const char *why)
{
	const char *code = getenv("SLURM_EXIT_ERROR");
	int status = code ? atoi(code) : 0;

	slurm_error("node-reclaim: %s", why);
	exit(status > 0 && status < 256 ? status : 1);
}

void nrp_submit_check(spank_t spank, const struct nrp_args *args)
{
	const char *text = nrp_option_text();
	struct nr_spec *spec;
	char err[NRP_ERR];

	nrp_option_default_clear();
	if (!text)
		return;
	if (nr_spec_parse(text, &spec, err, sizeof(err)))
		refuse(err[0] ? err : "no memory");
	/* Who asks is told by the hosts that do not serve him; here only allow= is at stake */
	if (args->off)
		slurm_verbose("node-reclaim: allow= is not looked at: %s", args->error);
	else if (!nrp_args_allow(args, spec, err, sizeof(err)))
		refuse(err);
	nr_spec_free(spec);

	/* For Prolog and Epilog, as SPANK_NODE_RECLAIM */
	if (spank_job_control_setenv(spank, "NODE_RECLAIM", text, 1) != ESPANK_SUCCESS)
		slurm_error("node-reclaim: Slurm does not pass the option on to Prolog and Epilog");
}
