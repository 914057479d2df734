/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What a kernel with the patches of contrib/kernel says that it has. Nothing else is believed: on
 * other kernels the same system call numbers and mode bits mean something else or nothing.
 */
#include "internal.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define DIR "sys/kernel/mm/node_reclaim"
#define ABI "1"
#define SHOWN 16 /* of a text that is refused, bytes */

static const struct {
	const char *file, *prefix;
	int base;
	unsigned long min, max;
	bool one_bit;
	const char *allowed;
} parts[] = {
	/* Linux's own numbers end with 471 (7.0), and tables are not longer than this */
	[NR_ANNOUNCED_TOSS] = { "nr_toss_page_cache_node", "", 10, 472, 1023, false,
				"a number from 472 to 1023" },
	/* Above the modes and below Linux's own mode flags, which begin at 0x2000 */
	[NR_ANNOUNCED_FLAG] = { "mpol_f_localreclaim", "0x", 16, 0x100, 0x1000, true,
				"one bit from 0x100 to 0x1000" },
};

static void clean_text(const char *text, size_t len, char shown[SHOWN + 1])
{
	size_t i;

	for (i = 0; i < len && i < SHOWN; i++)
		shown[i] = text[i] >= ' ' && text[i] <= '~' ? text[i] : '?';
	shown[i] = '\0';
}

static int refuse(struct nr_ctx *ctx, enum nr_announced part, const char *file, const char *text,
		  size_t len, const char *allowed, char *why, size_t size)
{
	char shown[SHOWN + 1];

	clean_text(text, len, shown);
	snprintf(why, size, "%s is \"%s\" and should be %s: not used", file, shown, allowed);
	/* Each NUMA node and each slice asks; the administrator needs it once */
	if (!(atomic_fetch_or(&ctx->refused, 1u << part) >> part & 1))
		nr_log(ctx, LOG_WARNING, "/" DIR "/%s", why);
	return -EOPNOTSUPP;
}

static bool parse(enum nr_announced part, const char *text, size_t len, unsigned int *value)
{
	const size_t prefix = strlen(parts[part].prefix);
	unsigned long v;
	char *end;

	/* strtoul() takes blanks and signs */
	if (strlen(text) != len || strncmp(text, parts[part].prefix, prefix) ||
	    !isxdigit((unsigned char)text[prefix]) || (prefix && text[prefix + 1] == 'x'))
		return false;
	errno = 0;
	v = strtoul(text + prefix, &end, parts[part].base);
	if (errno || end == text + prefix || *end || v < parts[part].min || v > parts[part].max ||
	    (parts[part].one_bit && (v & (v - 1))))
		return false;
	*value = (unsigned int)v;
	return true;
}

/* One line without its newline, for free(3). */
static int read_line(struct nr_ctx *ctx, const char *file, char **text, size_t *len)
{
	int err = nr_sys_read(ctx, text, len, DIR "/%s", file);

	if (!err && *len && (*text)[*len - 1] == '\n')
		(*text)[--*len] = '\0';
	return err;
}

static int not_there(int err, const char *file, char *why, size_t size)
{
	if (err != -ENOENT) {
		snprintf(why, size, "%s: %s", file, strerror(-err));
		return err;
	}
	snprintf(why, size, "not in this kernel (no /" DIR "/%s)", file);
	return -EOPNOTSUPP;
}

int nr_announced(struct nr_ctx *ctx, enum nr_announced part, unsigned int *value, char *why,
		 size_t size)
{
	const char *file = parts[part].file;
	char *text;
	size_t len;
	int err;

	err = read_line(ctx, "abi_version", &text, &len);
	if (err)
		return not_there(err, "abi_version", why, size);
	if (len != strlen(ABI) || memcmp(text, ABI, len))
		err = refuse(ctx, part, "abi_version", text, len, ABI, why, size);
	free(text);
	if (err)
		return err;
	err = read_line(ctx, file, &text, &len);
	if (err)
		return not_there(err, file, why, size);
	if (!parse(part, text, len, value))
		err = refuse(ctx, part, file, text, len, parts[part].allowed, why, size);
	free(text);
	return err;
}
