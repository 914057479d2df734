/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The symbols that Slurm calls. They only pick the file of the context. */
#include "plugin.h"

#pragma GCC diagnostic ignored "-Wunused-parameter" /* Slurm gives the types */

/* cppcheck-suppress unknownMacro */
SPANK_PLUGIN(nodereclaim, 1)

int slurm_spank_init(spank_t spank, int argc, char **argv)
{
	switch (spank_context()) {
	case S_CTX_LOCAL:
		return nrp_local_init(spank, argc, argv);
	case S_CTX_ALLOCATOR:
		return nrp_allocator_init(spank, argc, argv);
	case S_CTX_REMOTE:
		return nrp_remote_init(spank, argc, argv);
	case S_CTX_SLURMD:
		return nrp_slurmd_init(argc, argv);
	default:
		return 0;
	}
}

int slurm_spank_init_post_opt(spank_t spank, int argc, char **argv)
{
	switch (spank_context()) {
	case S_CTX_LOCAL:
		return nrp_local_init_post_opt(spank);
	case S_CTX_ALLOCATOR:
		return nrp_allocator_init_post_opt(spank);
	default:
		return 0;
	}
}

int slurm_spank_user_init(spank_t spank, int argc, char **argv)
{
	return spank_context() == S_CTX_REMOTE ? nrp_remote_user_init(spank) : 0;
}

int slurm_spank_exit(spank_t spank, int argc, char **argv)
{
	return spank_context() == S_CTX_REMOTE ? nrp_remote_exit() : 0;
}

int slurm_spank_task_init(spank_t spank, int argc, char **argv)
{
	return spank_context() == S_CTX_REMOTE ? nrp_remote_task_init(spank) : 0;
}
