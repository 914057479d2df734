// SPDX-License-Identifier: GPL-2.0-or-later
/* toss_page_cache_node(): when it is found, when it is refused, and what takes its place. What it
 * frees is in test_reclaim.c. */
#include "fake_kernel.h"

#include <sys/stat.h>
#include <unistd.h>

#include "internal.h"

#define DIR "sys/kernel/mm/node_reclaim"
#define NUMBER DIR "/nr_toss_page_cache_node"

static void make_patched(unsigned int n)
{
	fake_make(n);
	fake.patched = true;
}

static void probe_of(struct nr_ctx *ctx, int nid, struct nr_backend_info *info)
{
	ck_assert_int_eq(nr_backend_probe(ctx, 0, nid, info), 0);
	ck_assert_str_eq(info->name, "syscall");
	ck_assert(!info->whole_host);
	ck_assert_ptr_null(strchr(info->why, '\n'));
}

/* ---------------------------------------------------------------- what the kernel announces */

START_TEST(found)
{
	struct nr_ctx *ctx = open_tree("patched");
	struct nr_backend_info info;
	struct messages messages;

	keep_messages(ctx, &messages);
	for (int nid = 0; nid < 2; nid++) {
		probe_of(ctx, nid, &info);
		ck_assert_msg(info.error == 0, "%s", info.why);
	}
	probe_of(ctx, 2, &info);
	assert_err(info.error, ENODEV);
	ck_assert_uint_eq(messages.count, 0);
	nr_close(ctx);
}
END_TEST

/* Kernels without the patches; nobody needs a message about that */
START_TEST(not_there)
{
	static const char *const files[] = { DIR, DIR "/abi_version", NUMBER };
	char *root = copy_tree("patched");
	struct nr_backend_info info;
	struct messages messages;
	struct nr_ctx *ctx;

	drop(root, files[_i]);
	ctx = open_tree(root);
	keep_messages(ctx, &messages);
	probe_of(ctx, 0, &info);
	assert_err(info.error, EOPNOTSUPP);
	ck_assert_msg(strstr(info.why, "not in this kernel (no /" DIR) != NULL, "%s", info.why);
	ck_assert_uint_eq(messages.count, 0);
	nr_close(ctx);
}
END_TEST

static const struct {
	const char *file, *text, *shown;
} garbage[] = {
	{ DIR "/abi_version", "2\n", "\"2\"" },
	{ DIR "/abi_version", "11\n", "\"11\"" },
	{ DIR "/abi_version", "1 \n", "\"1 \"" },
	{ DIR "/abi_version", "", "\"\"" },
	{ NUMBER, "", "\"\"" },
	{ NUMBER, "\n", "\"\"" },
	{ NUMBER, "0\n", "\"0\"" },
	{ NUMBER, "-1\n", "\"-1\"" },
	{ NUMBER, "+500\n", "\"+500\"" },
	{ NUMBER, " 500\n", "\" 500\"" },
	{ NUMBER, "500 501\n", "\"500 501\"" },
	{ NUMBER, "500\n\n", "\"500?\"" },
	{ NUMBER, "0x1f4\n", "\"0x1f4\"" },
	{ NUMBER, "none\n", "\"none\"" },
	{ NUMBER, "256\n", "\"256\"" }, /* migrate_pages */
	{ NUMBER, "279\n", "\"279\"" }, /* move_pages */
	{ NUMBER, "462\n", "\"462\"" }, /* mseal, the last of 6.12 */
	{ NUMBER, "471\n", "\"471\"" }, /* the last of 7.0 */
	{ NUMBER, "1024\n", "\"1024\"" },
	{ NUMBER, "4294967796\n", "\"4294967796\"" },		      /* 500 in 32 bits */
	{ NUMBER, "18446744073709552116\n", "\"1844674407370955\"" }, /* 500 in 64 bits, cut */
	{ NUMBER, "\033[2J\n", "\"?[2J\"" },
};

/* Not used, and one line says which file and which value, however often it is asked */
START_TEST(refused)
{
	char *root = copy_tree("patched");
	struct nr_backend_info info;
	struct messages messages;
	struct nr_ctx *ctx;

	put(root, garbage[_i].file, garbage[_i].text);
	ctx = open_tree(root);
	keep_messages(ctx, &messages);
	for (int nid = 0; nid < 2; nid++) {
		probe_of(ctx, nid, &info);
		assert_err(info.error, EOPNOTSUPP);
		ck_assert_msg(strstr(info.why, garbage[_i].shown) != NULL, "%s", info.why);
	}
	ck_assert_uint_eq(messages.count, 1);
	ck_assert_msg(strstr(messages.text, garbage[_i].file) != NULL, "%s", messages.text);
	ck_assert_msg(strstr(messages.text, garbage[_i].shown) != NULL, "%s", messages.text);
	nr_close(ctx);
}
END_TEST

/* The first and the last number, and a file without newline */
START_TEST(accepted)
{
	static const char *const numbers[] = { "472\n", "1023\n", "500" };
	char *root = copy_tree("patched");
	struct nr_backend_info info;
	struct nr_ctx *ctx;

	put(root, NUMBER, numbers[_i]);
	ctx = open_tree(root);
	probe_of(ctx, 0, &info);
	ck_assert_msg(info.error == 0, "%s", info.why);
	nr_close(ctx);
}
END_TEST

/* The number of a recorded tree is not for the running kernel, whoever thinks that it is */
START_TEST(never_of_a_tree)
{
	struct nr_options opt = { .timeout_ms = 5000 };
	struct nr_binding *binding = binding_of("patched", "0");
	struct nr_spec *spec = spec_of("1G");
	struct nr_ctx *ctx = open_tree("patched"), *here;
	struct nr_result *result;

	ck_assert_ptr_null(ctx->toss);
	assert_err(nr_run(ctx, spec, binding, 0, &opt, &result), EROFS);
	ctx->recorded = false;
	ck_assert_int_eq(nr_run(ctx, spec, binding, 0, &opt, &result), 0);
	assert_stop(result, 0, NR_STOP_ERROR);
	assert_err(node(result, 0)->error, EROFS);
	nr_result_free(result);
	nr_close(ctx);
	nr_spec_free(spec);
	nr_binding_free(binding);

	ck_assert_int_eq(nr_open(&here, "/"), 0);
	ck_assert_ptr_null(here->toss);
	nr_close(here);
	ck_assert_int_eq(nr_open(&here, NULL), 0);
	ck_assert_ptr_nonnull(here->toss);
	nr_close(here);
}
END_TEST

/* ---------------------------------------------------------------- the simulated kernel */

/* The kernel names a call that it does not let through: nodeN/reclaim goes on */
static const int errors[] = { EPERM, ENOSYS, EINVAL };

START_TEST(falls_back)
{
	struct nr_result *result;

	make_patched(2);
	fake.toss_error = errors[_i];
	fake_start();
	fake_without("sys/devices/system/node/node1/reclaim");
	result = run("all", NULL);
	assert_stop(result, 0, NR_STOP_DONE);
	ck_assert_str_eq(node(result, 0)->backend, "sysfs");
	/* Judged by what sysfs can do */
	ck_assert_uint_eq(node(result, 0)->missing, 0);
	ck_assert_uint_eq(fake.node[0].tosses, 1);
	ck_assert_uint_gt(fake.node[0].writes, 0);
	check_harmless(0);

	assert_stop(result, 1, NR_STOP_ERROR);
	assert_err(node(result, 1)->error, errors[_i]);
	ck_assert_str_eq(node(result, 1)->backend, "syscall");
	ck_assert_uint_eq(fake.node[1].tosses, 1);
	ck_assert_int_eq(node(result, 1)->freed, 0);
	ck_assert_uint_eq(fake.messages.count, 2);
	nr_result_free(result);
	fake_stop();
}
END_TEST

START_TEST(leaves_for_good)
{
	struct nr_result *result;

	make_patched(1);
	fake.toss_error = ENODEV;
	fake_start();
	result = run("3G", NULL);
	assert_stop(result, 0, NR_STOP_OFFLINE);
	ck_assert_uint_eq(fake.node[0].writes, 0);
	nr_result_free(result);
	fake_stop();
}
END_TEST

/* Without CAP_SYS_ADMIN the call is not made */
START_TEST(privilege)
{
	static const struct {
		const char *caps;
		bool may;
	} cases[] = {
		{ "000001ffffffffff", true },
		{ "0000000000200000", true },
		{ "000001ffffdfffff", false },
		{ "0000000000000000", false },
	};
	struct nr_backend_info info;
	struct nr_result *result;
	char text[128], path[512];

	make_patched(1);
	fake_start();
	snprintf(text, sizeof(text), "Name:\ttest\nCapPrm:\t%016llx\nCapEff:\t%s\n",
		 cases[_i].may ? 0ull : ~0ull, cases[_i].caps);
	snprintf(path, sizeof(path), "%s/proc/thread-self", fake.root);
	ck_assert_int_eq(mkdir(path, 0755), 0);
	put(fake.root, "proc/thread-self/status", text);
	probe_of(fake.ctx, 0, &info);
	ck_assert_int_eq(info.error, cases[_i].may ? 0 : -EPERM);
	if (!cases[_i].may)
		ck_assert_msg(strstr(info.why, "CAP_SYS_ADMIN") != NULL, "%s", info.why);
	result = run("1G", NULL);
	assert_stop(result, 0, NR_STOP_DONE);
	ck_assert_str_eq(node(result, 0)->backend, cases[_i].may ? "syscall" : "sysfs");
	ck_assert_int_eq(fake.node[0].tosses > 0, cases[_i].may);
	nr_result_free(result);
	fake_stop();
}
END_TEST

/* Its lock is a file that a kernel without compaction does not have */
START_TEST(without_lock)
{
	struct nr_result *result;

	make_patched(1);
	fake_start();
	fake_without("sys/devices/system/node/node0/reclaim");
	fake_without("sys/devices/system/node/node0/compact");
	result = run("2G", NULL);
	assert_stop(result, 0, NR_STOP_DONE);
	nr_result_free(result);
	fake_stop();
}
END_TEST

Suite *suite(void)
{
	Suite *s = suite_create("syscall");
	TCase *t = unit_case("syscall");

	tcase_add_test(t, found);
	tcase_add_loop_test(t, not_there, 0, 3);
	tcase_add_loop_test(t, refused, 0, ARRAY_SIZE(garbage));
	tcase_add_loop_test(t, accepted, 0, 3);
	tcase_add_test(t, never_of_a_tree);
	tcase_add_loop_test(t, falls_back, 0, ARRAY_SIZE(errors));
	tcase_add_test(t, leaves_for_good);
	tcase_add_loop_test(t, privilege, 0, 4);
	tcase_add_test(t, without_lock);
	suite_add_tcase(s, t);
	return s;
}
