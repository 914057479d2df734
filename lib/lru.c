/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which of the two LRU implementations the kernel uses: admin-guide/mm/multigen_lru.rst. */
#include "internal.h"

#include <stdlib.h>

bool nr_lru_is_classic(struct nr_ctx *ctx)
{
	char *text;
	size_t len;
	bool classic;

	if (nr_sys_read(ctx, &text, &len, "sys/kernel/mm/lru_gen/enabled"))
		return true;
	classic = !(strtoul(text, NULL, 16) & 1);
	free(text);
	return classic;
}
