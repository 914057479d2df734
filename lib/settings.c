/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The settings of the host that are changed for jobs. Each is a bit mask. No other file and no
 * other value is ever written for the ledger, whatever its file says.
 *
 * A setting for each NUMA node and zone would be one of the names here for each of them.
 */
#include "internal.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

static const struct nr_setting settings[NR_SETTINGS] = {
	/* Documentation/admin-guide/sysctl/vm.rst: 1 reclaim, 2 write, 4 swap */
	{ NR_ZONE_RECLAIM_MODE, "proc/sys/vm/zone_reclaim_mode", 1 | 2 | 4 },
};

const struct nr_setting *nr_setting_find(const char *name)
{
	for (size_t i = 0; i < NR_SETTINGS; i++)
		if (!strcmp(settings[i].name, name))
			return &settings[i];
	return NULL;
}

int nr_setting_read(struct nr_ctx *ctx, const struct nr_setting *setting, uint64_t *value)
{
	int err = nr_sys_read_u64(ctx, value, "%s", setting->path);

	return err == -ENOENT ? -EOPNOTSUPP : err;
}

int nr_setting_write(struct nr_ctx *ctx, const struct nr_setting *setting, uint64_t value)
{
	char text[24];
	uint64_t now;
	int err;

	if (value & ~setting->bits)
		return -EINVAL;
	snprintf(text, sizeof(text), "%" PRIu64 "\n", value);
	err = nr_sys_write(ctx, text, "%s", setting->path);
	if (!err)
		err = nr_setting_read(ctx, setting, &now);
	return err ? err : now == value ? 0 : -EPROTO;
}
