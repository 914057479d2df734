// SPDX-License-Identifier: GPL-2.0-or-later
#include "unit.h"

static const struct {
	const char *text, *list;
} good[] = {
	{ "", "" },
	{ "\n", "" },
	{ "0", "0" },
	{ "0\n", "0" },
	{ "0,2-3", "0,2-3" },
	{ "0-1023\n", "0-1023" },
	{ "1023", "1023" },
	{ "3,1,2", "1-3" },
	{ "0-4,2-8,2", "0-8" },
	{ "0,8,252-255", "0,8,252-255" },
	{ "63-64,127,128", "63-64,127-128" },
};

START_TEST(parse_good)
{
	struct bitmask *set = nr_set_new(1024);
	size_t at;

	numa_bitmask_setall(set);
	ck_assert_int_eq(nr_set_parse(good[_i].text, set, &at), 0);
	assert_set(set, good[_i].list);
	ck_assert_int_eq(nr_set_parse(good[_i].text, set, NULL), 0);
	nr_set_free(set);
}
END_TEST

static const struct {
	const char *text;
	int err;
	size_t at;
} bad[] = {
	{ ",", EINVAL, 0 },
	{ "0,", EINVAL, 2 },
	{ ",0", EINVAL, 0 },
	{ "0,,1", EINVAL, 2 },
	{ "-1", EINVAL, 0 },
	{ "1-", EINVAL, 2 },
	{ "3-1", EINVAL, 0 },
	{ "0,3-1", EINVAL, 2 },
	{ "a", EINVAL, 0 },
	{ "0 ", EINVAL, 1 },
	{ " 0", EINVAL, 0 },
	{ "0-1-2", EINVAL, 3 },
	{ "0;1", EINVAL, 1 },
	{ "0x1", EINVAL, 1 },
	{ "1\n\n", EINVAL, 1 },
	{ "0\n1", EINVAL, 1 },
	{ "+1", EINVAL, 0 },
	{ "1--2", EINVAL, 2 },
	{ "1024", ERANGE, 0 },
	{ "0,1024", ERANGE, 2 },
	{ "0-1024", ERANGE, 0 },
	{ "4294967296", ERANGE, 0 },
	{ "1,18446744073709551616", ERANGE, 2 },
	{ "0-99999999999999999999999999", ERANGE, 0 },
	{ "999999999", ERANGE, 0 },
	{ "\xff", EINVAL, 0 },
};

START_TEST(parse_bad)
{
	struct bitmask *set = nr_set_new(1024);
	size_t at = 12345;

	ck_assert_msg(nr_set_parse(bad[_i].text, set, &at) == -bad[_i].err, "\"%s\": %d",
		      bad[_i].text, nr_set_parse(bad[_i].text, set, NULL));
	ck_assert_msg(at == bad[_i].at, "\"%s\": wrong at byte %zu", bad[_i].text, at);
	nr_set_free(set);
}
END_TEST

static const unsigned int bits[] = { 1, 63, 64, 65, 1023, 1024, NR_MAX_CPUS };

START_TEST(sizes)
{
	struct bitmask *set = nr_set_new(bits[_i]);
	char text[32];

	ck_assert_ptr_nonnull(set);
	ck_assert_uint_eq(set->size, bits[_i]);
	ck_assert_uint_eq(numa_bitmask_weight(set), 0);
	snprintf(text, sizeof(text), "%u", bits[_i] - 1);
	ck_assert_int_eq(nr_set_parse(text, set, NULL), 0);
	assert_set(set, text);
	snprintf(text, sizeof(text), "%u", bits[_i]);
	assert_err(nr_set_parse(text, set, NULL), ERANGE);
	numa_bitmask_free(set);
}
END_TEST

START_TEST(every_other_of_8192)
{
	struct bitmask *set = nr_set_new(NR_MAX_CPUS), *again = nr_set_new(NR_MAX_CPUS);
	static char text[65536];
	unsigned int i;
	size_t len;

	for (i = 0; i < NR_MAX_CPUS; i += 2)
		numa_bitmask_setbit(set, i);
	len = nr_set_format(set, text, sizeof(text));
	ck_assert_uint_eq(len, strlen(text));
	ck_assert_int_eq(strncmp(text, "0,2,4,6,8,10,", 13), 0);
	ck_assert_str_eq(text + len - 10, ",8188,8190");
	ck_assert_int_eq(nr_set_parse(text, again, NULL), 0);
	ck_assert(numa_bitmask_equal(set, again));
	nr_set_free(set);
	nr_set_free(again);
}
END_TEST

START_TEST(format_cut)
{
	struct bitmask *set = nr_set_new(1024);
	char whole[64], cut[64];
	size_t len, size;

	ck_assert_int_eq(nr_set_parse("0,2-3,8,252-255,1023", set, NULL), 0);
	len = nr_set_format(set, whole, sizeof(whole));
	ck_assert_str_eq(whole, "0,2-3,8,252-255,1023");
	for (size = 0; size <= len + 2; size++) {
		memset(cut, 'X', sizeof(cut));
		ck_assert_uint_eq(nr_set_format(set, cut, size), len);
		ck_assert_int_eq(cut[size], 'X');
		if (size) {
			ck_assert_ptr_nonnull(memchr(cut, '\0', size));
			ck_assert_int_eq(strncmp(whole, cut, strlen(cut)), 0);
		}
	}
	ck_assert_uint_eq(nr_set_format(set, NULL, 0), len);
	numa_bitmask_clearall(set);
	ck_assert_uint_eq(nr_set_format(set, cut, sizeof(cut)), 0);
	ck_assert_str_eq(cut, "");
	nr_set_free(set);
	nr_set_free(NULL);
}
END_TEST

Suite *suite(void)
{
	Suite *s = suite_create("sets");
	TCase *t = unit_case("sets");

	tcase_add_loop_test(t, parse_good, 0, ARRAY_SIZE(good));
	tcase_add_loop_test(t, parse_bad, 0, ARRAY_SIZE(bad));
	tcase_add_loop_test(t, sizes, 0, ARRAY_SIZE(bits));
	tcase_add_test(t, every_other_of_8192);
	tcase_add_test(t, format_cut);
	suite_add_tcase(s, t);
	return s;
}
