// SPDX-License-Identifier: GPL-2.0-or-later
#include "unit.h"

/* What a good text gives; members that are not named are the defaults. */
static const struct {
	const char *text;
	enum nr_goal goal;
	uint64_t bytes;
	unsigned int percent;
	const char *nodes;
	unsigned int given;
} good[] = {
	{ NULL, NR_GOAL_AUTO, .given = 0 },
	{ "", NR_GOAL_AUTO, .given = 0 },
	{ "(null)", NR_GOAL_AUTO, .given = 0 },
	{ "auto", NR_GOAL_AUTO, .given = NR_ITEM_AUTO },
	{ "1K", NR_GOAL_SIZE, KB(1), .given = NR_ITEM_SIZE },
	{ "500M", NR_GOAL_SIZE, MB(500), .given = NR_ITEM_SIZE },
	{ "2G", NR_GOAL_SIZE, GB(2), .given = NR_ITEM_SIZE },
	{ "2g", NR_GOAL_SIZE, GB(2), .given = NR_ITEM_SIZE },
	{ "1T", NR_GOAL_SIZE, GB(1024), .given = NR_ITEM_SIZE },
	{ "3t", NR_GOAL_SIZE, GB(3072), .given = NR_ITEM_SIZE },
	{ "8388607T", NR_GOAL_SIZE, UINT64_C(8388607) << 40, .given = NR_ITEM_SIZE },
	{ "1%", NR_GOAL_PERCENT, .percent = 1, .given = NR_ITEM_SIZE },
	{ "50%", NR_GOAL_PERCENT, .percent = 50, .given = NR_ITEM_SIZE },
	{ "100%", NR_GOAL_PERCENT, .percent = 100, .given = NR_ITEM_SIZE },
	{ "all", NR_GOAL_ALL, .given = NR_ITEM_ALL },
	{ "nodes=0", .nodes = "0", .given = NR_ITEM_NODES },
	{ "nodes=1023", .nodes = "1023", .given = NR_ITEM_NODES },
	{ "nodes=0-1023", .nodes = "0-1023", .given = NR_ITEM_NODES },
	{ "nodes=0,2-3", .nodes = "0,2-3", .given = NR_ITEM_NODES },
	{ "nodes=3,1,2", .nodes = "1-3", .given = NR_ITEM_NODES },
	{ "nodes=0,2-3,strict", .nodes = "0,2-3", .given = NR_ITEM_NODES | NR_ITEM_STRICT },
	{ "nodes=0,2G", NR_GOAL_SIZE, GB(2), .nodes = "0", .given = NR_ITEM_NODES | NR_ITEM_SIZE },
	{ "nodes=0,1,50%", NR_GOAL_PERCENT, .percent = 50, .nodes = "0-1",
	  .given = NR_ITEM_NODES | NR_ITEM_SIZE },
	{ "nodes=0,1,2G,strict", NR_GOAL_SIZE, GB(2), .nodes = "0-1",
	  .given = NR_ITEM_NODES | NR_ITEM_SIZE | NR_ITEM_STRICT },
	{ "2G,nodes=5-7,9,timeout=3", NR_GOAL_SIZE, GB(2), .nodes = "5-7,9",
	  .given = NR_ITEM_NODES | NR_ITEM_SIZE | NR_ITEM_TIMEOUT },
	{ "strict,all,nodes=0-1", NR_GOAL_ALL, .nodes = "0-1",
	  .given = NR_ITEM_NODES | NR_ITEM_ALL | NR_ITEM_STRICT },
	{ "dirty=skip", .given = NR_ITEM_DIRTY },
	{ "dirty=sync,policy=bind,compact,timeout=3600,strict,verbose,help,nodes=4,1T",
	  NR_GOAL_SIZE, GB(1024), .nodes = "4",
	  .given = NR_ITEM_DIRTY | NR_ITEM_POLICY | NR_ITEM_COMPACT | NR_ITEM_TIMEOUT |
		   NR_ITEM_STRICT | NR_ITEM_VERBOSE | NR_ITEM_HELP | NR_ITEM_NODES | NR_ITEM_SIZE },
};

START_TEST(parse_good)
{
	struct nr_spec *spec;
	char err[256];

	ck_assert_msg(nr_spec_parse(good[_i].text, &spec, err, sizeof(err)) == 0, "%s: %s",
		      good[_i].text, err);
	ck_assert_str_eq(err, "");
	ck_assert_int_eq(spec->goal, good[_i].goal);
	ck_assert_uint_eq(spec->bytes, good[_i].bytes);
	ck_assert_uint_eq(spec->percent, good[_i].percent);
	ck_assert_uint_eq(spec->given, good[_i].given);
	if (good[_i].nodes) {
		ck_assert_ptr_nonnull(spec->nodes);
		assert_set(spec->nodes, good[_i].nodes);
	} else {
		ck_assert_ptr_null(spec->nodes);
	}
	nr_spec_free(spec);
}
END_TEST

START_TEST(defaults)
{
	struct nr_spec *spec = spec_of(NULL);

	ck_assert_int_eq(spec->dirty, NR_DIRTY_SKIP);
	ck_assert_int_eq(spec->policy, NR_POLICY_NONE);
	ck_assert_int_eq(spec->verbosity, NR_VERBOSITY_NORMAL);
	ck_assert_uint_eq(spec->timeout, NR_TIMEOUT_DEFAULT);
	ck_assert(!spec->strict && !spec->compact && !spec->help);
	nr_spec_free(spec);
	nr_spec_free(NULL);
}
END_TEST

START_TEST(each_item)
{
	struct nr_spec *spec = spec_of("dirty=sync,policy=local,compact,timeout=1,strict,quiet");

	ck_assert_int_eq(spec->dirty, NR_DIRTY_SYNC);
	ck_assert_int_eq(spec->policy, NR_POLICY_LOCAL);
	ck_assert_int_eq(spec->verbosity, NR_VERBOSITY_QUIET);
	ck_assert_uint_eq(spec->timeout, 1);
	ck_assert(spec->strict && spec->compact && !spec->help);
	ck_assert_uint_eq(spec->given, NR_ITEM_DIRTY | NR_ITEM_POLICY | NR_ITEM_COMPACT |
					       NR_ITEM_TIMEOUT | NR_ITEM_STRICT | NR_ITEM_VERBOSE);
	nr_spec_free(spec);

	spec = spec_of("help,verbose,policy=none");
	ck_assert(spec->help);
	ck_assert_int_eq(spec->verbosity, NR_VERBOSITY_VERBOSE);
	ck_assert_int_eq(spec->policy, NR_POLICY_NONE);
	nr_spec_free(spec);

	spec = spec_of("policy=bind,timeout=3600");
	ck_assert_int_eq(spec->policy, NR_POLICY_BIND);
	ck_assert_uint_eq(spec->timeout, NR_TIMEOUT_MAX);
	nr_spec_free(spec);
}
END_TEST

/* What a bad text gives: code, the item that the line names, its byte, and what it says is allowed.
 * NULL: not checked. */
static const struct {
	const char *text;
	int err;
	const char *item;
	size_t at;
	const char *allowed;
} bad[] = {
	/* sizes */
	{ "99999999999999999999G", ERANGE, "99999999999999999999G", 0, "8388607T" },
	{ "9223372036854775808", 0, "9223372036854775808", 0, NULL },
	{ "9223372036854775807G", ERANGE, "9223372036854775807G", 0, "8388607T" },
	{ "8388608T", ERANGE, "8388608T", 0, "8388607T" },
	{ "18446744073709551617K", ERANGE, "18446744073709551617K", 0, "8388607T" },
	{ "0", 0, "\"0\"", 0, NULL },
	{ "0K", ERANGE, "0K", 0, "1K" },
	{ "1.5G", EINVAL, "1.5G", 0, "2G" },
	{ "1GB", EINVAL, "1GB", 0, "2G" },
	{ "1Gi", EINVAL, "1Gi", 0, "2G" },
	{ "1P", EINVAL, "1P", 0, "K, M, G, T" },
	{ "2G ", EINVAL, "2G ", 0, NULL },
	{ " 1G", EINVAL, " 1G", 0, NULL },
	{ "+1G", EINVAL, "+1G", 0, NULL },
	{ "-1", EINVAL, "-1", 0, NULL },
	{ "-1G", EINVAL, "-1G", 0, NULL },
	{ "0x10M", EINVAL, "0x10M", 0, NULL },
	{ "1e9K", EINVAL, "1e9K", 0, NULL },
	{ "G", EINVAL, "G", 0, NULL },
	/* percentages */
	{ "0%", ERANGE, "0%", 0, "1% to 100%" },
	{ "101%", ERANGE, "101%", 0, "1% to 100%" },
	{ "99999999999999999999%", ERANGE, NULL, 0, "1% to 100%" },
	{ "1.5%", EINVAL, "1.5%", 0, "1% to 100%" },
	{ "50%%", EINVAL, "50%%", 0, NULL },
	{ "%", EINVAL, "%", 0, NULL },
	{ "-5%", EINVAL, "-5%", 0, NULL },
	/* empty items */
	{ ",", EINVAL, NULL, 0, NULL },
	{ ",auto", EINVAL, NULL, 0, NULL },
	{ "auto,", EINVAL, NULL, 5, NULL },
	{ "auto,,strict", EINVAL, NULL, 5, NULL },
	{ "strict,auto,,", EINVAL, NULL, 12, NULL },
	{ "nodes=0,", EINVAL, NULL, 8, NULL },
	{ "nodes=0,,1", EINVAL, NULL, 8, NULL },
	{ " ", EINVAL, "\" \"", 0, NULL },
	/* repeated and contradictory */
	{ "auto,auto", EEXIST, "auto", 5, NULL },
	{ "auto,2G", EEXIST, "2G", 5, NULL },
	{ "2G,auto", EEXIST, "auto", 3, NULL },
	{ "all,auto", EEXIST, "auto", 4, NULL },
	{ "50%,2G", EEXIST, "2G", 4, NULL },
	{ "2G,all", EEXIST, "all", 3, NULL },
	{ "1G,1G", EEXIST, "1G", 3, NULL },
	{ "verbose,quiet", EEXIST, "quiet", 8, NULL },
	{ "quiet,quiet", EEXIST, "quiet", 6, NULL },
	{ "strict,strict", EEXIST, "strict", 7, NULL },
	{ "compact,compact", EEXIST, "compact", 8, NULL },
	{ "help,help", EEXIST, "help", 5, NULL },
	{ "timeout=3,timeout=3", EEXIST, "timeout=3", 10, NULL },
	{ "dirty=skip,dirty=sync", EEXIST, "dirty=sync", 11, NULL },
	{ "policy=none,policy=bind", EEXIST, "policy=bind", 12, NULL },
	{ "nodes=0,strict,nodes=1", EEXIST, "nodes=1", 15, NULL },
	{ "nodes=0,nodes=1", EEXIST, "nodes=1", 8, NULL },
	/* nodes= */
	{ "nodes=", EINVAL, "nodes=", 0, "0,2-3" },
	{ "nodes=,1", EINVAL, "nodes=", 0, NULL },
	{ "nodes", EINVAL, "nodes", 0, NULL },
	{ "nodes=3-1", EINVAL, "nodes=3-1", 0, "0,2-3" },
	{ "nodes=0,3-1,strict", EINVAL, "nodes=0,3-1", 0, "0,2-3" },
	{ "nodes=1-", EINVAL, "nodes=1-", 0, "0,2-3" },
	{ "nodes=-1", EINVAL, "nodes=-1", 0, "0,2-3" },
	{ "nodes=0,-1", EINVAL, NULL, 0, NULL },
	{ "nodes=a", EINVAL, "nodes=a", 0, "0,2-3" },
	{ "nodes=all", EINVAL, "nodes=all", 0, "0,2-3" },
	{ "nodes= 0", EINVAL, "nodes= 0", 0, "0,2-3" },
	{ "nodes=\n", EINVAL, "nodes=?", 0, NULL },
	{ "nodes=0\n", EINVAL, "nodes=0?", 0, NULL },
	{ "nodes=0\n,strict", EINVAL, "nodes=0?", 0, NULL },
	{ "nodes=1024", ERANGE, "nodes=1024", 0, "0 to 1023" },
	{ "nodes=0-1024", ERANGE, "nodes=0-1024", 0, "0 to 1023" },
	{ "nodes=0,99999999999999999999", ERANGE, "nodes=0,9999", 0, "0 to 1023" },
	{ "nodes=0,1,2.5G", EINVAL, "2.5G", 10, NULL },
	/* the other items with values */
	{ "timeout=0", ERANGE, "timeout=0", 0, "1 to 3600" },
	{ "timeout=3601", ERANGE, "timeout=3601", 0, "1 to 3600" },
	{ "timeout=99999999999999999999", ERANGE, "timeout=9999", 0, "1 to 3600" },
	{ "timeout=4294967297", ERANGE, "timeout=4294967297", 0, "1 to 3600" },
	{ "timeout=abc", EINVAL, "timeout=abc", 0, "1 to 3600" },
	{ "timeout=", EINVAL, "timeout=", 0, "1 to 3600" },
	{ "timeout=-1", EINVAL, "timeout=-1", 0, "1 to 3600" },
	{ "timeout=3s", EINVAL, "timeout=3s", 0, "1 to 3600" },
	{ "timeout=1.5", EINVAL, "timeout=1.5", 0, "1 to 3600" },
	{ "timeout", EINVAL, "timeout", 0, NULL },
	{ "dirty=", EINVAL, "dirty=", 0, "dirty=sync" },
	{ "dirty=maybe", EINVAL, "dirty=maybe", 0, "dirty=skip" },
	{ "dirty=syncx", EINVAL, "dirty=syncx", 0, "dirty=sync" },
	{ "dirty", EINVAL, "dirty", 0, NULL },
	{ "policy=interleave", EINVAL, "policy=interleave", 0, "policy=bind" },
	{ "policy=LOCAL", EINVAL, "policy=LOCAL", 0, "policy=local" },
	{ "strict=1", EINVAL, "strict=1", 0, NULL },
	{ "auto=1", EINVAL, "auto=1", 0, NULL },
	{ "=", EINVAL, "=", 0, NULL },
	{ "=2G", EINVAL, "=2G", 0, NULL },
	/* words */
	{ "AUTO", EINVAL, "AUTO", 0, NULL },
	{ "auto,Strict", EINVAL, "Strict", 5, NULL },
	{ "ALL", EINVAL, "ALL", 0, NULL },
	{ "aut", EINVAL, "aut", 0, NULL },
	{ "autox", EINVAL, "autox", 0, NULL },
	{ "auto;strict", EINVAL, "auto;strict", 0, NULL },
	{ "auto strict", EINVAL, "auto strict", 0, NULL },
	{ "strict,auto,frobnicate", EINVAL, "frobnicate", 12, NULL },
	{ "(null),auto", EINVAL, "(null)", 0, NULL },
	{ "null", EINVAL, "null", 0, NULL },
	{ "../../etc/passwd", EINVAL, "../../etc/passwd", 0, NULL },
	{ "$(reboot)", EINVAL, "$(reboot)", 0, NULL },
	{ "%s%s%s%n", EINVAL, "%s%s%s%n", 0, NULL },
	/* what a terminal must not see is shown as ? */
	{ "a\tb", EINVAL, "a?b", 0, NULL },
	{ "auto\n", EINVAL, "auto?", 0, NULL },
	{ "\033[2J", EINVAL, "?[2J", 0, NULL },
	{ "x\177y", EINVAL, "x?y", 0, NULL },
	{ "gr\xc3\xb6\xc3\x9f"
	  "e",
	  EINVAL, "gr????e", 0, NULL },
	{ "2G,\xff\xfe", EINVAL, "??", 3, NULL },
};

static void check_line(const char *text, const char *err, size_t size)
{
	const char *p;

	ck_assert_msg(*err, "\"%s\": no text", text);
	ck_assert_uint_lt(strlen(err), size);
	for (p = err; *p; p++)
		ck_assert_msg(*p >= ' ' && *p <= '~', "\"%s\": byte %02x in the text", text,
			      (unsigned char)*p);
}

START_TEST(parse_bad)
{
	struct nr_spec *spec = (void *)1;
	const char *text = bad[_i].text;
	char err[256], place[32];
	int rc;

	memset(err, 'X', sizeof(err));
	rc = nr_spec_parse(text, &spec, err, sizeof(err));
	ck_assert_msg(bad[_i].err ? rc == -bad[_i].err : rc == -EINVAL || rc == -ERANGE,
		      "\"%s\": %d %s", text, rc, err);
	ck_assert_ptr_null(spec);
	check_line(text, err, sizeof(err));
	ck_assert_msg(!bad[_i].item || strstr(err, bad[_i].item), "\"%s\": does not name %s: %s",
		      text, bad[_i].item, err);
	snprintf(place, sizeof(place), "byte %zu", bad[_i].at);
	ck_assert_msg(strstr(err, place) != NULL, "\"%s\": no '%s' in: %s", text, place, err);
	ck_assert_msg(!bad[_i].allowed || strstr(err, bad[_i].allowed), "\"%s\": no '%s' in: %s",
		      text, bad[_i].allowed, err);
	ck_assert_msg(strstr(err, "allowed") || strstr(err, "repeats") || strstr(err, "help"),
		      "\"%s\": does not say what is allowed: %s", text, err);

	/* Without room for the line, or with little of it */
	ck_assert_int_eq(nr_spec_parse(text, &spec, NULL, 0), rc);
	for (size_t size = 1; size < 40; size++) {
		memset(err, 'X', sizeof(err));
		ck_assert_int_eq(nr_spec_parse(text, &spec, err, size), rc);
		ck_assert_ptr_nonnull(memchr(err, '\0', size));
		ck_assert_int_eq(err[size], 'X');
	}
}
END_TEST

START_TEST(very_long)
{
	const size_t len = 1 << 20;
	char *text = malloc(len + 1), err[256];
	struct nr_spec *spec = (void *)1;
	size_t i;

	memset(text, 'a', len);
	text[len] = '\0';
	assert_err(nr_spec_parse(text, &spec, err, sizeof(err)), E2BIG);
	ck_assert_ptr_null(spec);
	check_line("1 MB", err, sizeof(err));
	ck_assert_ptr_nonnull(strstr(err, "1023"));
	for (i = 0; i < len; i++)
		text[i] = "strict,"[i % 7];
	assert_err(nr_spec_parse(text, &spec, err, sizeof(err)), E2BIG);
	memset(text, ',', len);
	assert_err(nr_spec_parse(text, &spec, err, sizeof(err)), E2BIG);
	free(text);
}
END_TEST

START_TEST(longest)
{
	char text[NR_SPEC_MAX + 2], *exact = malloc(NR_SPEC_MAX + 1);
	struct nr_spec *spec;
	char err[256];

	/* nodes=0,0,...,0: NR_SPEC_MAX bytes, and one more */
	strcpy(text, "nodes=0");
	while (strlen(text) + 2 <= NR_SPEC_MAX)
		strcat(text, ",0");
	if (strlen(text) < NR_SPEC_MAX)
		memmove(text + 7, text + 6, strlen(text + 6) + 1);
	ck_assert_uint_eq(strlen(text), NR_SPEC_MAX);
	ck_assert_msg(nr_spec_parse(text, &spec, err, sizeof(err)) == 0, "%s", err);
	assert_set(spec->nodes, "0");
	nr_spec_free(spec);
	strcat(text, "0");
	assert_err(nr_spec_parse(text, &spec, err, sizeof(err)), E2BIG);

	/* One item that long; the line stays a line */
	memset(text, 'z', NR_SPEC_MAX);
	text[NR_SPEC_MAX] = '\0';
	assert_err(nr_spec_parse(text, &spec, err, sizeof(err)), EINVAL);
	check_line("zzz", err, sizeof(err));

	/* No byte behind NR_SPEC_MAX + 1 is read: there may be no NUL */
	memset(exact, 'a', NR_SPEC_MAX + 1);
	assert_err(nr_spec_parse(exact, &spec, err, sizeof(err)), E2BIG);
	free(exact);
}
END_TEST

/* Any text gives a spec and no line, or no spec and a line. */
START_TEST(random_texts)
{
	static const char *const part[] = {
		"auto",	      "all",	     "2G",   "50%",	"nodes=", "0",
		"2-3",	      ",",	     ",",    ",",	"=",	  "timeout=",
		"30",	      "strict",	     "%",    "-",	"T",	  "99999999999999999999",
		"dirty=sync", "policy=bind", "help", "verbose", "\n",	  "\xc3",
		"quiet",      "compact",     "1024", " "
	};
	unsigned int seed = 2005, ok = 0, n;
	struct nr_spec *spec;
	char text[256], err[256];
	int i, rc;

	const int rounds = getenv("NR_FEW") ? 1000 : 50000; /* few under valgrind */

	for (i = 0; i < rounds; i++) {
		text[0] = '\0';
		seed = seed * 1103515245u + 12345u;
		for (n = seed >> 16 & 7; n != UINT32_MAX; n--) {
			seed = seed * 1103515245u + 12345u;
			strcat(text, part[(seed >> 16) % ARRAY_SIZE(part)]);
		}
		rc = nr_spec_parse(text, &spec, err, sizeof(err));
		if (rc) {
			ck_assert(rc == -EINVAL || rc == -ERANGE || rc == -EEXIST);
			ck_assert_ptr_null(spec);
			check_line(text, err, sizeof(err));
			continue;
		}
		ok++;
		ck_assert_str_eq(err, "");
		ck_assert(spec->timeout >= 1 && spec->timeout <= NR_TIMEOUT_MAX);
		ck_assert(spec->goal != NR_GOAL_SIZE || (spec->bytes && spec->bytes <= INT64_MAX));
		ck_assert(spec->goal != NR_GOAL_PERCENT ||
			  (spec->percent >= 1 && spec->percent <= 100));
		ck_assert(!spec->nodes || numa_bitmask_weight(spec->nodes));
		ck_assert(!spec->nodes == !(spec->given & NR_ITEM_NODES));
		nr_spec_free(spec);
	}
	ck_assert_uint_gt(ok, (unsigned int)rounds / 40);
}
END_TEST

START_TEST(item_names)
{
	static const char *const names[] = { "auto",   "size",	  "all",     "nodes",
					     "dirty",  "policy",  "compact", "timeout",
					     "strict", "verbose", "help" };
	unsigned int bits;
	size_t i;

	ck_assert_uint_eq(1u << ARRAY_SIZE(names), NR_ITEMS_ALL + 1);
	for (i = 0; i < ARRAY_SIZE(names); i++) {
		ck_assert_str_eq(nr_item_name(1u << i), names[i]);
		ck_assert_int_eq(nr_items_parse(names[i], &bits), 0);
		ck_assert_uint_eq(bits, 1u << i);
	}
	ck_assert_ptr_null(nr_item_name(0));
	ck_assert_ptr_null(nr_item_name(3));
	ck_assert_ptr_null(nr_item_name(1u << 11));

	ck_assert_int_eq(nr_items_parse("nodes,timeout,all", &bits), 0);
	ck_assert_uint_eq(bits, NR_ITEM_NODES | NR_ITEM_TIMEOUT | NR_ITEM_ALL);
	ck_assert_int_eq(nr_items_parse("any", &bits), 0);
	ck_assert_uint_eq(bits, NR_ITEMS_ALL);
	assert_err(nr_items_parse("", &bits), EINVAL);
	assert_err(nr_items_parse("bogus", &bits), EINVAL);
	assert_err(nr_items_parse("nodes,", &bits), EINVAL);
	assert_err(nr_items_parse(",nodes", &bits), EINVAL);
	assert_err(nr_items_parse("nodes,,all", &bits), EINVAL);
	assert_err(nr_items_parse("NODES", &bits), EINVAL);
	assert_err(nr_items_parse("node", &bits), EINVAL);
}
END_TEST

START_TEST(help_text)
{
	static const char *const words[] = { "auto",	"SIZE",	   "N%",      "all",	  "nodes=",
					     "dirty=",	"policy=", "compact", "timeout=", "strict",
					     "verbose", "quiet",   "help" };
	const char *p = nr_spec_help(), *end;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(words); i++)
		ck_assert_msg(strstr(p, words[i]) != NULL, "%s is missing", words[i]);
	ck_assert_int_eq(p[strlen(p) - 1], '\n');
	for (; *p; p = end + 1) {
		end = strchr(p, '\n');
		ck_assert_int_le(end - p, 100);
	}
}
END_TEST

static const struct {
	const char *text;
	int err;
	uint64_t bytes;
} size[] = {
	{ "1K", 0, 1024 },
	{ "1k", 0, 1024 },
	{ "512M", 0, MB(512) },
	{ "24G", 0, GB(24) },
	{ "4T", 0, GB(4096) },
	{ "9007199254740991K", 0, UINT64_C(9007199254740991) << 10 },
	{ "9007199254740992K", ERANGE, 0 },
	{ "8388607T", 0, UINT64_C(8388607) << 40 },
	{ "8388608T", ERANGE, 0 },
	{ "99999999999999999999999K", ERANGE, 0 },
	{ "", EINVAL, 0 },
	{ "K", EINVAL, 0 },
	{ "1.5G", EINVAL, 0 },
	{ "1GB", EINVAL, 0 },
	{ "1 G", EINVAL, 0 },
	{ " 1G", EINVAL, 0 },
	{ "-1G", EINVAL, 0 },
	{ "1G\n", EINVAL, 0 },
	{ "50%", EINVAL, 0 },
};

START_TEST(size_parse)
{
	uint64_t bytes = 0;

	ck_assert_msg(nr_size_parse(size[_i].text, &bytes) == -size[_i].err, "\"%s\": %d",
		      size[_i].text, nr_size_parse(size[_i].text, &bytes));
	if (!size[_i].err)
		ck_assert_uint_eq(bytes, size[_i].bytes);
}
END_TEST

START_TEST(size_format)
{
	static const struct {
		uint64_t bytes;
		const char *text;
	} shown[] = {
		{ 0, "0" },	   { MB(820), "820M" },	  { GB(1) + MB(512), "1.5G" },
		{ KB(1), "1.0K" }, { MB(10), "10M" },	  { GB(1024), "1.0T" },
		{ GB(96), "96G" }, { UINT64_MAX, "16E" }, { MB(1000), "1.0G" },
	};
	char buf[NR_SIZE_TEXT + 1];
	uint64_t v;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(shown); i++)
		ck_assert_str_eq(nr_size_format(shown[i].bytes, buf), shown[i].text);
	/* Never more than fits, around every power of two and of ten */
	buf[NR_SIZE_TEXT] = 'X';
	for (i = 0; i < 64; i++)
		for (v = (UINT64_C(1) << i) - 2; v != (UINT64_C(1) << i) + 3; v++)
			ck_assert_uint_le(strlen(nr_size_format(v, buf)), 5);
	for (v = 1, i = 0; i < 20; i++, v *= 10) {
		ck_assert_uint_le(strlen(nr_size_format(v - 1, buf)), 5);
		ck_assert_uint_le(strlen(nr_size_format(v, buf)), 5);
	}
	ck_assert_int_eq(buf[NR_SIZE_TEXT], 'X');
}
END_TEST

Suite *suite(void)
{
	Suite *s = suite_create("spec");
	TCase *t = unit_case("spec");

	tcase_add_loop_test(t, parse_good, 0, ARRAY_SIZE(good));
	tcase_add_test(t, defaults);
	tcase_add_test(t, each_item);
	tcase_add_loop_test(t, parse_bad, 0, ARRAY_SIZE(bad));
	tcase_add_test(t, very_long);
	tcase_add_test(t, longest);
	tcase_add_test(t, random_texts);
	tcase_add_test(t, item_names);
	tcase_add_test(t, help_text);
	tcase_add_loop_test(t, size_parse, 0, ARRAY_SIZE(size));
	tcase_add_test(t, size_format);
	suite_add_tcase(s, t);
	return s;
}
