/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Sets of NUMA nodes and CPUs, as libnuma's struct bitmask. libnuma's own parsers check against the
 * running host and write to stderr, so lists are read here. */
#include "internal.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

NR_EXPORT struct bitmask *nr_set_new(unsigned int bits)
{
	const unsigned int per = sizeof(unsigned long) * CHAR_BIT;
	struct bitmask *set = malloc(sizeof(*set));

	if (!set)
		return NULL;
	set->size = bits;
	set->maskp = calloc((bits + per - 1) / per, sizeof(unsigned long));
	if (!set->maskp) {
		free(set);
		return NULL;
	}
	return set;
}

NR_EXPORT void nr_set_free(struct bitmask *set)
{
	if (!set)
		return;
	free(set->maskp);
	free(set);
}

/* Reads one number at *@p; one that does not fit becomes UINT_MAX, which no set can hold. */
static bool read_number(const char **p, unsigned int *value)
{
	const char *s = *p;
	uint64_t v = 0;

	for (; *s >= '0' && *s <= '9'; s++)
		if (v < UINT_MAX)
			v = v * 10 + (uint64_t)(*s - '0');
	*value = v < UINT_MAX ? (unsigned int)v : UINT_MAX;
	if (s == *p)
		return false;
	*p = s;
	return true;
}

NR_EXPORT int nr_set_parse(const char *text, struct bitmask *set, size_t *bad)
{
	const char *p = text, *item = text;
	unsigned int first, last;
	int err = -EINVAL;

	numa_bitmask_clearall(set);
	if (!*p || !strcmp(p, "\n"))
		return 0;
	for (;;) {
		item = p;
		if (!read_number(&p, &first))
			break;
		last = first;
		if (*p == '-') {
			p++;
			if (!read_number(&p, &last))
				break;
			if (last < first) {
				p = item;
				break;
			}
		}
		if (last >= set->size) {
			p = item;
			err = -ERANGE;
			break;
		}
		for (; first <= last; first++)
			numa_bitmask_setbit(set, first);
		if (!*p || !strcmp(p, "\n"))
			return 0;
		if (*p++ != ',') {
			p--;
			break;
		}
	}
	numa_bitmask_clearall(set);
	if (bad)
		*bad = (size_t)(p - text);
	return err;
}

NR_EXPORT size_t nr_set_format(const struct bitmask *set, char *buf, size_t size)
{
	unsigned int i, last;
	size_t n = 0;
	int len;

	if (size)
		buf[0] = '\0';
	for (i = 0; i < set->size; i++) {
		if (!numa_bitmask_isbitset(set, i))
			continue;
		for (last = i; last + 1 < set->size && numa_bitmask_isbitset(set, last + 1);)
			last++;
		len = snprintf(n < size ? buf + n : NULL, n < size ? size - n : 0,
			       last == i ? "%s%u" : "%s%u-%u", n ? "," : "", i, last);
		n += (size_t)len;
		i = last;
	}
	return n;
}
