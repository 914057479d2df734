/* SPDX-License-Identifier: GPL-2.0-or-later */
/* In sbatch and salloc. */
#include "plugin.h"

#include <errno.h>
#include <string.h>

static struct nrp_args args;

int nrp_allocator_init(spank_t spank, int argc, char **argv)
{
	nrp_args_parse(&args, argc, argv);
	nrp_option_register(spank);
	/* Slurm does not say which of the two it is */
	nrp_option_default_set(strstr(program_invocation_short_name, "salloc")
				       ? "SALLOC_NODE_RECLAIM"
				       : "SBATCH_NODE_RECLAIM");
	return 0;
}

int nrp_allocator_init_post_opt(spank_t spank)
{
	nrp_submit_check(spank, &args);
	return 0;
}
