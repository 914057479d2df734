/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The list of backends, best first. */
#include "internal.h"

#include <errno.h>
#include <string.h>

static const struct nr_backend *const backends[] = { &nr_backend_syscall, &nr_backend_sysfs,
						     &nr_backend_drop_caches };
#define BACKENDS (sizeof(backends) / sizeof(*backends))

NR_EXPORT size_t nr_backend_count(void)
{
	return BACKENDS;
}

NR_EXPORT int nr_backend_probe(struct nr_ctx *ctx, size_t i, int nid, struct nr_backend_info *info)
{
	if (i >= BACKENDS)
		return -ERANGE;
	info->name = backends[i]->name;
	info->whole_host = backends[i]->whole_host;
	info->why[0] = '\0';
	info->error = backends[i]->probe(ctx, nid, info->why, sizeof(info->why));
	return 0;
}

const struct nr_backend *nr_backend_named(const char *name)
{
	size_t i = 0;

	while (i < BACKENDS - 1 && strcmp(backends[i]->name, name))
		i++;
	return backends[i];
}

const struct nr_backend *nr_backend_choose(struct nr_ctx *ctx, int nid,
					   const struct nr_backend *after)
{
	char why[128];
	size_t i = 0;

	while (after && backends[i++] != after)
		;
	for (; i < BACKENDS; i++) {
		if (backends[i]->whole_host)
			continue;
		if (backends[i]->probe(ctx, nid, why, sizeof(why)) == 0)
			return backends[i];
		nr_log(ctx, LOG_DEBUG, "NUMA node %d: backend %s: %s", nid, backends[i]->name, why);
	}
	return NULL;
}
