/* SPDX-License-Identifier: GPL-2.0-or-later */
/* In srun. */
#include "plugin.h"

static struct nrp_args args;

int nrp_local_init(spank_t spank, int argc, char **argv)
{
	nrp_args_parse(&args, argc, argv);
	nrp_option_register(spank);
	nrp_option_default_set("SLURM_NODE_RECLAIM");
	return 0;
}

int nrp_local_init_post_opt(spank_t spank)
{
	nrp_submit_check(spank, &args);
	return 0;
}
