/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The arguments behind the plugin's name in plugstack.conf. */
#include "plugin.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_MAX_TIMEOUT 30

static int bad(struct nrp_args *args, const char *arg, const char *allowed)
{
	snprintf(args->error, sizeof(args->error), "plugstack argument \"%.80s\": %s", arg,
		 allowed);
	nrp_clean(args->error, strlen(args->error), false);
	args->off = true;
	return -EINVAL;
}

static int parse_default(struct nrp_args *args, const char *arg, const char *value)
{
	struct nr_spec *spec;
	char err[NRP_ERR / 2];
	bool help;

	if (nr_spec_parse(value, &spec, err, sizeof(err)))
		return bad(args, arg, err[0] ? err : "no memory");
	help = spec->help;
	nr_spec_free(spec);
	if (help)
		return bad(args, arg, "\"help\" is no default");
	args->default_spec = *value ? value : "auto";
	return 0;
}

static int parse_max_timeout(struct nrp_args *args, const char *arg, const char *value)
{
	char *end;
	unsigned long v;

	errno = 0;
	v = strtoul(value, &end, 10);
	/* strtoul() takes blanks and signs */
	if (*value < '0' || *value > '9' || *end || errno || v < 1 || v > NR_TIMEOUT_MAX)
		return bad(args, arg, "allowed: seconds, 1 to 3600");
	_Static_assert(NR_TIMEOUT_MAX == 3600, "the message says 3600");
	args->max_timeout = (unsigned int)v;
	return 0;
}

static int parse_allow(struct nrp_args *args, const char *arg, const char *value)
{
	if (nr_items_parse(value, &args->allow))
		return bad(args, arg,
			   "allowed: any, or some of auto,size,all,nodes,dirty,policy,"
			   "compact,timeout,strict,verbose,help");
	return 0;
}

static int parse_helper(struct nrp_args *args, const char *arg, const char *value)
{
	if (*value != '/')
		return bad(args, arg, "allowed: an absolute path");
	args->helper = value;
	return 0;
}

static int parse_backend(struct nrp_args *args, const char *arg, const char *value)
{
	if (nr_backend_find(value, NULL, 0) < 0)
		return bad(args, arg, "no such backend; \"nodereclaim backends\" lists them");
	args->backend = value;
	return 0;
}

static int parse_files_from(struct nrp_args *args, const char *arg, const char *value)
{
	struct nr_paths *paths;

	if (nr_paths_parse(value, &paths))
		return bad(args, arg, "allowed: absolute paths, such as /scratch,/tmp");
	nr_paths_free(paths);
	args->files_from = value;
	return 0;
}

static int parse_host_policy(struct nrp_args *args, const char *arg, const char *value)
{
	if (!nrp_host_policy_ok(value))
		return bad(args, arg, "allowed: never, exclusive, always");
	args->host_policy = value;
	return 0;
}

static const struct {
	const char *name;
	int (*parse)(struct nrp_args *args, const char *arg, const char *value);
} table[] = {
	{ "default", parse_default },
	{ "max_timeout", parse_max_timeout },
	{ "allow", parse_allow },
	{ "helper", parse_helper },
	{ "backend", parse_backend },
	{ "files_from", parse_files_from },
	{ "allow_host_policy", parse_host_policy },
};
#define TABLE (sizeof(table) / sizeof(*table))

static int parse_one(struct nrp_args *args, const char *arg, unsigned int *seen)
{
	const size_t name = strcspn(arg, "=");
	size_t i;

	for (i = 0; i < TABLE && arg[name]; i++) {
		if (strlen(table[i].name) != name || memcmp(arg, table[i].name, name))
			continue;
		if (*seen & 1u << i)
			return bad(args, arg, "given twice");
		*seen |= 1u << i;
		return table[i].parse(args, arg, arg + name + 1);
	}
	return bad(args, arg,
		   "unknown; allowed: default=SPEC, max_timeout=SECONDS, allow=ITEMS, "
		   "helper=PATH, backend=NAME, files_from=PATHS, allow_host_policy=WHEN");
}

int nrp_args_parse(struct nrp_args *args, int argc, char **argv)
{
	unsigned int seen = 0;
	int i, err;

	*args = (struct nrp_args){
		.helper = NR_LIBEXECDIR "/nodereclaim-step",
		.max_timeout = DEFAULT_MAX_TIMEOUT,
		.allow = NR_ITEMS_ALL,
		.host_policy = NRP_HOST_EXCLUSIVE,
	};
	for (i = 0; i < argc; i++) {
		err = parse_one(args, argv[i], &seen);
		if (err)
			return err;
	}
	return 0;
}

bool nrp_args_allow(const struct nrp_args *args, const struct nr_spec *spec, char *err,
		    size_t errlen)
{
	const unsigned int goals = NR_ITEM_AUTO | NR_ITEM_SIZE | NR_ITEM_ALL;
	unsigned int asked = spec->given, denied, bit;
	size_t len;

	if (!(asked & goals))
		asked |= NR_ITEM_AUTO; /* what a spec without a goal means */
	denied = asked & ~args->allow & ~(unsigned int)NR_ITEM_HELP;
	if (!denied)
		return true;
	snprintf(err, errlen,
		 "\"%s\" is not allowed on this cluster; allowed:", nr_item_name(denied & -denied));
	for (bit = 1; bit & NR_ITEMS_ALL; bit <<= 1) {
		len = strlen(err);
		if (args->allow & bit)
			snprintf(err + len, errlen - len, " %s", nr_item_name(bit));
	}
	return false;
}
