// SPDX-License-Identifier: GPL-2.0-or-later
#include "unit.h"

START_TEST(good)
{
	struct nr_paths *paths;

	ck_assert_int_eq(nr_paths_parse("/scratch,/tmp,/a b/.c/..d", &paths), 0);
	ck_assert_uint_eq(paths->n, 3);
	ck_assert_str_eq(paths->path[0], "/scratch");
	ck_assert_str_eq(paths->path[1], "/tmp");
	ck_assert_str_eq(paths->path[2], "/a b/.c/..d");
	nr_paths_free(paths);
}
END_TEST

static const char *const bad[] = {
	"",	 "/",	     "tmp",   "/tmp,",	",/tmp",     "/tmp,,/var",     "/tmp/",
	"//",	 "/tmp//a",  "/.",    "/..",	"/tmp/../b", "/tmp/./b",       "/tmp/..",
	" /tmp", "/tmp,tmp", "./tmp", "/tmp,/", "../tmp",    "/tmp, /scratch",
};

START_TEST(bad_text)
{
	struct nr_paths *paths = (void *)1;

	assert_err(nr_paths_parse(bad[_i], &paths), EINVAL);
	ck_assert_ptr_null(paths);
}
END_TEST

START_TEST(limits)
{
	char text[NR_PATHS_TEXT_MAX + 2];
	struct nr_paths *paths;
	size_t i;

	memset(text, 'a', sizeof(text));
	text[0] = '/';
	text[NR_PATHS_TEXT_MAX + 1] = '\0';
	assert_err(nr_paths_parse(text, &paths), E2BIG);
	text[NR_PATHS_TEXT_MAX] = '\0';
	ck_assert_int_eq(nr_paths_parse(text, &paths), 0);
	ck_assert_uint_eq(paths->n, 1);
	nr_paths_free(paths);
	for (i = 0; i <= NR_PATHS_MAX; i++)
		memcpy(text + 3 * i, "/a,", 3);
	text[3 * i - 1] = '\0';
	assert_err(nr_paths_parse(text, &paths), E2BIG);
	text[3 * (i - 1) - 1] = '\0';
	ck_assert_int_eq(nr_paths_parse(text, &paths), 0);
	ck_assert_uint_eq(paths->n, NR_PATHS_MAX);
	nr_paths_free(paths);
	nr_paths_free(NULL);
}
END_TEST

Suite *suite(void)
{
	Suite *s = suite_create("paths");
	TCase *t = unit_case("paths");

	tcase_add_test(t, good);
	tcase_add_loop_test(t, bad_text, 0, ARRAY_SIZE(bad));
	tcase_add_test(t, limits);
	suite_add_tcase(s, t);
	return s;
}
