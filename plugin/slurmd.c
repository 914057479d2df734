/* SPDX-License-Identifier: GPL-2.0-or-later */
/* In slurmd: tell the administrator at its start what is wrong in plugstack.conf. */
#include "plugin.h"

int nrp_slurmd_init(int argc, char **argv)
{
	struct nrp_args args;

	if (nrp_args_parse(&args, argc, argv))
		slurm_error("node-reclaim: the plugin is off: %s", args.error);
	return 0;
}
