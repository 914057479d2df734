/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The option --node-reclaim: table, callback, and its default from the environment. */
#include "plugin.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Where Slurm looks for an option's value in the environment of srun, sbatch and salloc, by the
 * names of plugin and option (src/common/plugstack.c, _opt_env_name(), Slurm 22.05) */
#define DEFAULT_VARIABLE "SLURM_SPANK__SLURM_SPANK_OPTION_nodereclaim_node_reclaim"

static struct {
	bool given;
	bool default_set;
	char text[NR_SPEC_MAX + 2]; /* one byte more than allowed, for nr_spec_parse() to find */
} option;

/* As --mem-bind=help: wherever it stands, and srun needs no command for it. */
static void help(const char *text)
{
	struct nr_spec *spec;
	bool wanted;

	if (nr_spec_parse(text, &spec, NULL, 0))
		return;
	wanted = spec->help;
	nr_spec_free(spec);
	if (!wanted)
		return;
	fputs(nr_spec_help(), stdout);
	exit(fflush(stdout) ? 1 : 0);
}

/* Called anew for each place where the option stands, the last one counts; before Slurm 24.05 also
 * twice for the same on the compute host. Whether it is good is asked when it is final. */
static int callback(int val, const char *arg, int remote)
{
	(void)val;
	/* Slurm writes "(null)" for NULL on some of its ways */
	if (!arg || !*arg || !strcmp(arg, "(null)"))
		arg = "auto";
	strncpy(option.text, arg, sizeof(option.text) - 1);
	option.given = true;
	if (!remote)
		help(option.text);
	return 0;
}

void nrp_option_register(spank_t spank)
{
	static struct spank_option table = {
		.name = "node-reclaim",
		.arginfo = "spec",
		.usage = "free clean page cache of the job's NUMA nodes before it starts "
			 "(see --node-reclaim=help)",
		.has_arg = 2,
		.cb = callback,
	};

	if (spank_option_register(spank, &table) != ESPANK_SUCCESS)
		slurm_error("node-reclaim: Slurm does not take the option");
}

const char *nrp_option_text(void)
{
	return option.given ? option.text : NULL;
}

void nrp_option_default_set(const char *variable)
{
	const char *value = getenv(variable);

	/* What is there already is the choice of an outer sbatch or salloc */
	if (value && !getenv(DEFAULT_VARIABLE))
		option.default_set = !setenv(DEFAULT_VARIABLE, value, 1);
}

void nrp_option_default_clear(void)
{
	if (option.default_set)
		unsetenv(DEFAULT_VARIABLE);
}
