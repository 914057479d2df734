/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the small programs of the tests share. */
#ifndef NR_TESTS_TOOL_H
#define NR_TESTS_TOOL_H

#include <config.h>

#include <errno.h>
#include <stdbool.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MB ((size_t)1 << 20)

__attribute__((format(printf, 1, 2), noreturn)) static inline void die(const char *fmt, ...)
{
	va_list ap;

	fprintf(stderr, "%s: ", program_invocation_short_name);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	exit(1);
}

/* A number from the command line. */
static inline uint64_t parse_number(const char *text)
{
	char *end;
	unsigned long long value = strtoull(text, &end, 10);

	if (end == text || *end)
		die("%s: not a number", text);
	return value;
}

/* A size in MB from the command line, as bytes. */
static inline size_t parse_mb(const char *text)
{
	char *end;
	unsigned long mb;

	errno = 0;
	mb = strtoul(text, &end, 10);
	if (errno || end == text || *end || text[0] == '-' || !mb || mb > 1UL << 30)
		die("%s: not a number of MB", text);
	return mb * MB;
}

#endif
