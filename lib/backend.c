/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The list of backends, best first. */
#include "internal.h"

#include <errno.h>
#include <string.h>

static const struct nr_backend *const backends[NR_BACKENDS] = {
	&nr_backend_syscall,  &nr_backend_sysfs,       &nr_backend_files,
	&nr_backend_pressure, &nr_backend_drop_caches,
};

NR_EXPORT size_t nr_backend_count(void)
{
	return NR_BACKENDS;
}

NR_EXPORT const char *nr_backend_name(size_t i)
{
	return i < NR_BACKENDS ? backends[i]->name : NULL;
}

NR_EXPORT int nr_backend_probe(struct nr_ctx *ctx, size_t i, int nid, struct nr_backend_info *info)
{
	if (i >= NR_BACKENDS)
		return -ERANGE;
	info->name = backends[i]->name;
	info->whole_host = backends[i]->whole_host;
	info->why[0] = '\0';
	info->error = backends[i]->probe(ctx, nid, info->why, sizeof(info->why));
	return 0;
}

NR_EXPORT int nr_backend_find(const char *name, char *names, size_t size)
{
	size_t len = 0, i;

	for (i = 0; i < NR_BACKENDS; i++)
		if (!strcmp(backends[i]->name, name))
			return (int)i;
	for (i = 0; i < NR_BACKENDS && len < size; i++)
		len += (size_t)snprintf(names + len, size - len, "%s%s", i ? ", " : "",
					backends[i]->name);
	return -ENOENT;
}

const struct nr_backend *nr_backend_named(const char *name)
{
	int i = nr_backend_find(name, NULL, 0);

	return i < 0 ? NULL : backends[i];
}

size_t nr_backend_index(const struct nr_backend *backend)
{
	size_t i = 0;

	while (backends[i] != backend)
		i++;
	return i;
}

const struct nr_backend *nr_backend_choose(struct nr_ctx *ctx, int nid,
					   const struct nr_backend *after, const char *only)
{
	char why[128];
	size_t i = 0;

	while (after && backends[i++] != after)
		;
	for (; i < NR_BACKENDS; i++) {
		if (backends[i]->whole_host || (only && strcmp(backends[i]->name, only)))
			continue;
		if (backends[i]->probe(ctx, nid, why, sizeof(why)) == 0)
			return backends[i];
		nr_log(ctx, LOG_DEBUG, "NUMA node %d: backend %s: %s", nid, backends[i]->name, why);
	}
	return NULL;
}
