/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The one grammar of srun, sbatch, salloc, configuration and CLI: the text after --node-reclaim= */
#include "internal.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_OF(x) #x
#define STRING_OF(x) TEXT_OF(x)

struct parser {
	const char *text; /* the whole spec */
	const char *item; /* the item at work, not NUL-terminated */
	size_t len;
	unsigned int number; /* of the item, from 1 */
	struct nr_spec *spec;
	char *err;
	size_t errlen;
};

/* One line: which item, where, what is wrong. Always returns @code. */
static int NR_PRINTF(3, 4) fail(struct parser *p, int code, const char *fmt, ...)
{
	const size_t shown = p->len > 40 ? 40 : p->len;
	char what[160];
	va_list ap;
	size_t i;

	if (!p->err || !p->errlen)
		return code;
	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	snprintf(p->err, p->errlen, "item %u \"%.*s%s\" at byte %zu: %s", p->number, (int)shown,
		 p->item, shown < p->len ? "..." : "", (size_t)(p->item - p->text), what);
	for (i = 0; p->err[i]; i++)
		if ((unsigned char)p->err[i] < ' ' || (unsigned char)p->err[i] > '~')
			p->err[i] = '?';
	return code;
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Reads decimal digits of at most 63 bits: number of characters, 0 if none, -ERANGE. */
static int read_number(const char *s, size_t len, uint64_t *value)
{
	uint64_t v = 0;
	size_t i;

	for (i = 0; i < len && is_digit(s[i]); i++) {
		if (v > (INT64_MAX - 9) / 10)
			return -ERANGE;
		v = v * 10 + (uint64_t)(s[i] - '0');
	}
	*value = v;
	return (int)i;
}

static int parse_size(const char *s, size_t len, uint64_t *bytes)
{
	static const char units[] = "KMGT";
	const char *unit;
	int n, shift;

	n = read_number(s, len, bytes);
	if (n < 0)
		return n;
	if (n == 0 || (size_t)n + 1 != len)
		return -EINVAL;
	unit = strchr(units, s[n] & ~0x20);
	if (!unit || !*unit)
		return -EINVAL;
	shift = 10 * (int)(unit - units + 1);
	if (*bytes == 0 || *bytes > (uint64_t)INT64_MAX >> shift)
		return -ERANGE;
	*bytes <<= shift;
	return 0;
}

NR_EXPORT int nr_size_parse(const char *text, uint64_t *bytes)
{
	return parse_size(text, strlen(text), bytes);
}

NR_EXPORT const char *nr_size_format(uint64_t bytes, char buf[NR_SIZE_TEXT])
{
	static const char units[] = "BKMGTPE";
	double v = (double)bytes;
	int u = 0;

	while (v >= 999.5 && u < 6) {
		v /= 1024;
		u++;
	}
	if (u == 0)
		snprintf(buf, NR_SIZE_TEXT, bytes ? "%uB" : "%u", (unsigned int)bytes & 0x3ff);
	else
		snprintf(buf, NR_SIZE_TEXT, v < 9.95 ? "%.1f%c" : "%.0f%c", v, units[u]);
	return buf;
}

static const struct {
	enum nr_item item;
	const char *name;
} names[] = {
	{ NR_ITEM_AUTO, "auto" },	{ NR_ITEM_SIZE, "size" },
	{ NR_ITEM_ALL, "all" },		{ NR_ITEM_NODES, "nodes" },
	{ NR_ITEM_DIRTY, "dirty" },	{ NR_ITEM_POLICY, "policy" },
	{ NR_ITEM_COMPACT, "compact" }, { NR_ITEM_TIMEOUT, "timeout" },
	{ NR_ITEM_STRICT, "strict" },	{ NR_ITEM_VERBOSE, "verbose" },
	{ NR_ITEM_HELP, "help" },
};
#define NAMES (sizeof(names) / sizeof(*names))

NR_EXPORT const char *nr_item_name(enum nr_item item)
{
	size_t i;

	for (i = 0; i < NAMES; i++)
		if (names[i].item == item)
			return names[i].name;
	return NULL;
}

NR_EXPORT int nr_items_parse(const char *text, unsigned int *bits)
{
	const char *p = text;
	size_t len, i;

	*bits = 0;
	for (;; p += len + 1) {
		len = strcspn(p, ",");
		for (i = 0; i < NAMES; i++)
			if (strlen(names[i].name) == len && !memcmp(p, names[i].name, len))
				break;
		if (i < NAMES)
			*bits |= names[i].item;
		else if (len == 3 && !memcmp(p, "any", 3))
			*bits |= NR_ITEMS_ALL;
		else
			return -EINVAL;
		if (!p[len])
			return 0;
	}
}

/* Marks an item as given; @group are the items that exclude each other. */
static int give(struct parser *p, unsigned int item, unsigned int group)
{
	if (p->spec->given & group)
		return fail(p, -EEXIST, "repeats or contradicts an earlier item");
	p->spec->given |= item;
	return 0;
}

#define GOALS (NR_ITEM_AUTO | NR_ITEM_SIZE | NR_ITEM_ALL)

static int size_or_percent(struct parser *p)
{
	uint64_t v;
	int n, err;

	if (p->item[p->len - 1] == '%') {
		n = read_number(p->item, p->len - 1, &v);
		if (n >= 0 && (size_t)n + 1 != p->len)
			return fail(p, -EINVAL, "not a percentage; allowed: 1%% to 100%%");
		if (n < 0 || v < 1 || v > 100)
			return fail(p, -ERANGE, "out of range; allowed: 1%% to 100%%");
		p->spec->goal = NR_GOAL_PERCENT;
		p->spec->percent = (unsigned int)v;
		return give(p, NR_ITEM_SIZE, GOALS);
	}
	err = parse_size(p->item, p->len, &p->spec->bytes);
	if (err == -ERANGE)
		return fail(p, err, "size out of range; allowed: 1K to 8388607T");
	if (err)
		return fail(p, err,
			    "not a size; allowed: digits and K, M, G, T or %%, as in 2G or 50%%");
	p->spec->goal = NR_GOAL_SIZE;
	return give(p, NR_ITEM_SIZE, GOALS);
}

/* The value of nodes= goes on over commas, as long as items are only digits and '-'. */
static void extend_list(struct parser *p)
{
	const char *next;
	size_t len;

	while (p->item[p->len] == ',') {
		next = p->item + p->len + 1;
		len = strspn(next, "0123456789-");
		if (!len || (next[len] && next[len] != ','))
			return;
		p->len += 1 + len;
	}
}

static int item_nodes(struct parser *p, const char *value)
{
	char list[NR_SPEC_MAX + 1];
	size_t len, bad = 0;
	int err;

	extend_list(p);
	len = p->len - (size_t)(value - p->item);
	if (!len)
		return fail(p, -EINVAL, "empty list; allowed: NUMA nodes as in nodes=0,2-3");
	memcpy(list, value, len);
	list[len] = '\0';
	if (!p->spec->nodes)
		p->spec->nodes = nr_set_new(NR_MAX_NODES);
	if (!p->spec->nodes)
		return fail(p, -ENOMEM, "no memory");
	err = nr_set_parse(list, p->spec->nodes, &bad);
	if (!err && list[len - 1] == '\n') { /* fine in a file of the kernel, not here */
		bad = len - 1;
		err = -EINVAL;
	}
	if (err == -ERANGE)
		return fail(p, err, "no such NUMA node; allowed: 0 to %d", NR_MAX_NODES - 1);
	if (err)
		return fail(p, err,
			    "not a list, see byte %zu; allowed: NUMA nodes as in nodes=0,2-3",
			    (size_t)(value - p->text) + bad);
	return give(p, NR_ITEM_NODES, NR_ITEM_NODES);
}

static int item_timeout(struct parser *p, const char *value)
{
	size_t len = p->len - (size_t)(value - p->item);
	uint64_t v = 0;
	int n = read_number(value, len, &v);

	if (n >= 0 && (!len || (size_t)n != len))
		return fail(p, -EINVAL, "not a number; allowed: seconds, 1 to %d", NR_TIMEOUT_MAX);
	if (n < 0 || v < 1 || v > NR_TIMEOUT_MAX)
		return fail(p, -ERANGE, "out of range; allowed: seconds, 1 to %d", NR_TIMEOUT_MAX);
	p->spec->timeout = (unsigned int)v;
	return give(p, NR_ITEM_TIMEOUT, NR_ITEM_TIMEOUT);
}

static bool is(const char *s, size_t len, const char *word)
{
	return strlen(word) == len && !memcmp(s, word, len);
}

static int item_dirty(struct parser *p, const char *value, size_t len)
{
	if (is(value, len, "skip"))
		p->spec->dirty = NR_DIRTY_SKIP;
	else if (is(value, len, "sync"))
		p->spec->dirty = NR_DIRTY_SYNC;
	else
		return fail(p, -EINVAL, "allowed: dirty=skip, dirty=sync");
	return give(p, NR_ITEM_DIRTY, NR_ITEM_DIRTY);
}

static int item_policy(struct parser *p, const char *value, size_t len)
{
	if (is(value, len, "none"))
		p->spec->policy = NR_POLICY_NONE;
	else if (is(value, len, "local"))
		p->spec->policy = NR_POLICY_LOCAL;
	else if (is(value, len, "bind"))
		p->spec->policy = NR_POLICY_BIND;
	else
		return fail(p, -EINVAL, "allowed: policy=none, policy=local, policy=bind");
	return give(p, NR_ITEM_POLICY, NR_ITEM_POLICY);
}

static int item_value(struct parser *p, const char *value)
{
	size_t name = (size_t)(value - 1 - p->item);
	size_t len = p->len - name - 1;

	if (is(p->item, name, "nodes"))
		return item_nodes(p, value);
	if (is(p->item, name, "timeout"))
		return item_timeout(p, value);
	if (is(p->item, name, "dirty"))
		return item_dirty(p, value, len);
	if (is(p->item, name, "policy"))
		return item_policy(p, value, len);
	return fail(p, -EINVAL, "unknown; allowed: nodes=, dirty=, policy=, timeout=");
}

static int item_word(struct parser *p)
{
	struct nr_spec *spec = p->spec;

	if (is(p->item, p->len, "auto")) {
		spec->goal = NR_GOAL_AUTO;
		return give(p, NR_ITEM_AUTO, GOALS);
	}
	if (is(p->item, p->len, "all")) {
		spec->goal = NR_GOAL_ALL;
		return give(p, NR_ITEM_ALL, GOALS);
	}
	if (is(p->item, p->len, "verbose")) {
		spec->verbosity = NR_VERBOSITY_VERBOSE;
		return give(p, NR_ITEM_VERBOSE, NR_ITEM_VERBOSE);
	}
	if (is(p->item, p->len, "quiet")) {
		spec->verbosity = NR_VERBOSITY_QUIET;
		return give(p, NR_ITEM_VERBOSE, NR_ITEM_VERBOSE);
	}
	if (is(p->item, p->len, "compact")) {
		spec->compact = true;
		return give(p, NR_ITEM_COMPACT, NR_ITEM_COMPACT);
	}
	if (is(p->item, p->len, "strict")) {
		spec->strict = true;
		return give(p, NR_ITEM_STRICT, NR_ITEM_STRICT);
	}
	if (is(p->item, p->len, "help")) {
		spec->help = true;
		return give(p, NR_ITEM_HELP, NR_ITEM_HELP);
	}
	return fail(p, -EINVAL, "unknown; see --node-reclaim=help");
}

static int parse_item(struct parser *p)
{
	const char *value;

	if (!p->len)
		return fail(p, -EINVAL, "empty item; allowed: items with one comma between them");
	if (is_digit(p->item[0]))
		return size_or_percent(p);
	value = memchr(p->item, '=', p->len);
	return value ? item_value(p, value + 1) : item_word(p);
}

NR_EXPORT int nr_spec_parse(const char *text, struct nr_spec **out, char *err, size_t errlen)
{
	struct parser p = { .err = err, .errlen = errlen };
	int rc = 0;

	*out = NULL;
	if (err && errlen)
		err[0] = '\0';
	if (!text || !strcmp(text, "(null)"))
		text = "";
	if (strnlen(text, NR_SPEC_MAX + 1) > NR_SPEC_MAX) {
		if (err && errlen)
			snprintf(err, errlen,
				 "too long; allowed: " STRING_OF(NR_SPEC_MAX) " bytes at most");
		return -E2BIG;
	}
	p.spec = calloc(1, sizeof(*p.spec));
	if (!p.spec)
		return -ENOMEM;
	p.spec->timeout = NR_TIMEOUT_DEFAULT;
	p.text = p.item = text;
	while (*text) {
		p.number++;
		p.len = strcspn(p.item, ",");
		rc = parse_item(&p);
		if (rc || !p.item[p.len])
			break;
		p.item += p.len + 1;
	}
	if (rc) {
		nr_spec_free(p.spec);
		return rc;
	}
	*out = p.spec;
	return 0;
}

NR_EXPORT void nr_spec_free(struct nr_spec *spec)
{
	if (!spec)
		return;
	nr_set_free(spec->nodes);
	free(spec);
}

NR_EXPORT const char *nr_spec_help(void)
{
	return "--node-reclaim[=ITEM[,ITEM...]]: free clean page cache of the job's NUMA nodes "
	       "before it starts\n"
	       "  auto             have what the job was given free on each of its NUMA nodes "
	       "(default)\n"
	       "  SIZE             have that much free on each NUMA node: 500M, 2G (K, M, G, T: "
	       "powers of 1024)\n"
	       "  N%               the same, in percent of the NUMA node's memory\n"
	       "  all              drop every clean cache page of the NUMA nodes\n"
	       "  nodes=LIST       only these NUMA nodes of the job: nodes=0,2-3\n"
	       "  dirty=skip|sync  leave dirty pages (default), or write them back first\n"
	       "  policy=none|local|bind\n"
	       "                   while the job runs: nothing (default); drop local clean cache "
	       "before going\n"
	       "                   off-node (needs a kernel that can); bind strictly to the job's "
	       "NUMA nodes\n"
	       "  compact          after freeing, also make huge-page blocks of what is free\n"
	       "  timeout=SECONDS  what is freed by then is freed (default " STRING_OF(
		       NR_TIMEOUT_DEFAULT) ", at most " STRING_OF(NR_TIMEOUT_MAX) ")\n"
										  "  strict        "
										  "   fail the job "
										  "rather than "
										  "start it with "
										  "less free than "
										  "asked\n"
										  "  verbose, "
										  "quiet   a table "
										  "on stderr, or "
										  "nothing; "
										  "default: a line "
										  "when something "
										  "was short\n"
										  "  help          "
										  "   print this "
										  "and exit\n";
}
