// SPDX-License-Identifier: GPL-2.0-or-later
#include "unit.h"

static const char *const trees[] = { "one-node",   "two-sockets", "eight-nodes", "ibm-power730",
				     "memoryless", "cxl",	  "holes",	 "hbm",
				     "offline",	   "old-kernel",  "patched",	 "nodes-1024" };

static struct nr_result *dry_run(const char *root, const char *nodes, const char *spec_text)
{
	struct nr_binding *binding = binding_of(root, nodes);
	struct nr_options opt = { .dry_run = true };
	struct nr_spec *spec = spec_of(spec_text);
	struct nr_ctx *ctx = open_tree(root);
	struct nr_result *result;

	ck_assert_int_eq(nr_run(ctx, spec, binding, 0, &opt, &result), 0);
	nr_close(ctx);
	nr_spec_free(spec);
	nr_binding_free(binding);
	return result;
}

static size_t count_of(const char *text, const char *what)
{
	size_t n = 0;

	while ((text = strstr(text, what)) != NULL) {
		text += strlen(what);
		n++;
	}
	return n;
}

START_TEST(json)
{
	static const char *const specs[] = { "all", "10G", "90%", "1K", NULL };
	struct nr_result *result;
	char *text, *at, head[64];
	size_t i, k;

	for (i = 0; i < ARRAY_SIZE(specs); i++) {
		result = dry_run(trees[_i], NULL, specs[i]);
		ck_assert_int_eq(nr_report_json(result, &text), 0);
		ck_assert_msg(json_ok(text), "not JSON: %s", text);
		ck_assert_int_eq(text[strlen(text) - 1], '\n');
		ck_assert_uint_eq(count_of(text, "\"verdict\":"), nr_result_count(result));
		for (k = 0, at = text; k < nr_result_count(result); k++) {
			snprintf(head, sizeof(head), "{\"node\":%d,",
				 nr_result_at(result, k)->plan.nid);
			at = strstr(at, head);
			ck_assert_ptr_nonnull(at++);
		}
		ck_assert_ptr_nonnull(strstr(text, "\"dry_run\":true"));
		free(text);
		nr_result_free(result);
	}
}
END_TEST

/* The checker itself must be able to say no */
START_TEST(json_checker)
{
	static const char *const good[] = { "{}", "[]", " [1,-2.5,\"a\\n\",null,{\"b\":true}] \n",
					    "0" };
	static const char *const bad[] = { "",	    "{",    "{\"a\"}", "{\"a\":1,}", "[1,]",
					   "[1 2]", "01",   "nul",     "\"a\nb\"",   "{} {}",
					   "{a:1}", "[1.]", "\"a",     "{\"a\":}" };

	for (size_t i = 0; i < ARRAY_SIZE(good); i++)
		ck_assert_msg(json_ok(good[i]), "%s", good[i]);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		ck_assert_msg(!json_ok(bad[i]), "%s", bad[i]);
}
END_TEST

/* A counter that the kernel does not have is null, not 0 */
START_TEST(json_null)
{
	struct nr_result *result = dry_run("old-kernel", "1", "1G");
	char *text;

	ck_assert_int_eq(nr_report_json(result, &text), 0);
	ck_assert(json_ok(text));
	ck_assert_ptr_nonnull(strstr(text, "\"swap_cached\":null"));
	ck_assert_ptr_nonnull(strstr(text, "\"free_blocks\":null"));
	ck_assert_ptr_nonnull(strstr(text, "\"goal\":\"size\""));
	ck_assert_ptr_nonnull(strstr(text, "\"need\":1073741824,"));
	free(text);
	nr_result_free(result);
}
END_TEST

/* key=value, blanks only between pairs, each key once, one line */
START_TEST(line)
{
	struct nr_result *result = dry_run(trees[_i], NULL, "10G");
	char *text, *word, *save, *keys[512];
	size_t n = 0, i;

	ck_assert_int_eq(nr_report_line(result, &text), 0);
	ck_assert_ptr_null(strchr(text, '\n'));
	/* syslog cuts lines of more than 8 kB */
	ck_assert_uint_lt(strlen(text), 8000);
	ck_assert_ptr_nonnull(strstr(text, "goal=size"));
	ck_assert_ptr_nonnull(strstr(text, " seconds="));
	for (word = strtok_r(text, " ", &save); word; word = strtok_r(NULL, " ", &save)) {
		char *value = strchr(word, '=');

		ck_assert_msg(value && value > word && value[1], "not key=value: %s", word);
		ck_assert_uint_eq(strspn(word, "abcdefghijklmnopqrstuvwxyz_0123456789"),
				  (size_t)(value - word));
		*value = '\0';
		for (i = 0; i < n; i++)
			ck_assert_str_ne(word, keys[i]);
		keys[n++] = word;
		ck_assert_uint_lt(n, ARRAY_SIZE(keys));
	}
	free(text);
	nr_result_free(result);
}
END_TEST

START_TEST(short_text)
{
	struct nr_result *result = dry_run("eight-nodes", "7", "1G");
	char *text;

	ck_assert_uint_eq(nr_result_missing(result), 0);
	ck_assert_int_eq(nr_report_short(result, &text), 0);
	ck_assert_str_eq(text, "");
	free(text);
	nr_result_free(result);

	/* Anonymous memory is in the way, and is named */
	result = dry_run("eight-nodes", "3", "40G");
	ck_assert_int_eq(nr_report_short(result, &text), 0);
	ck_assert_ptr_null(strchr(text, '\n'));
	ck_assert_msg(strstr(text, "NUMA node 3") && strstr(text, "40G") &&
			      strstr(text, "anonymous"),
		      "%s", text);
	ck_assert_msg(!strstr(text, "NUMA node 0"), "%s", text);
	free(text);
	nr_result_free(result);

	/* 1,024 NUMA nodes are still a sentence */
	result = dry_run("nodes-1024", NULL, "100%");
	ck_assert_int_eq(nr_report_short(result, &text), 0);
	ck_assert_uint_lt(strlen(text), 1000);
	ck_assert_ptr_null(strchr(text, '\n'));
	free(text);
	nr_result_free(result);
}
END_TEST

/* A heading, a row for each NUMA node, and lines that end */
START_TEST(table)
{
	struct nr_result *result = dry_run(trees[_i], NULL, "10G");
	size_t rows = 0, k;
	char *text, *p;

	ck_assert_int_eq(nr_report_text(result, &text), 0);
	ck_assert_int_eq(strncmp(text, "NODE ", 5), 0);
	for (p = strchr(text, '\n') + 1, k = 0; k < nr_result_count(result); k++) {
		ck_assert_int_eq((int)strtol(p, NULL, 10), nr_result_at(result, k)->plan.nid);
		p = strchr(p, '\n') + 1;
		rows++;
	}
	ck_assert_uint_eq(rows, nr_result_count(result));
	ck_assert_int_eq(text[strlen(text) - 1], '\n');
	ck_assert_ptr_nonnull(strstr(text, "dry run: nothing was touched"));
	for (k = 0; k < nr_result_count(result); k++)
		if (nr_result_at(result, k)->missing)
			ck_assert_ptr_nonnull(strstr(text, "short of 10G"));
	free(text);
	nr_result_free(result);
}
END_TEST

/* The classes are the whole NUMA node, once: nothing is counted twice or forgotten */
START_TEST(every_byte_once)
{
	struct nr_snapshot *snap = snapshot_of(trees[_i]);
	struct nr_holder holders[NR_COUNTERS];
	size_t i, k, n;

	for (i = 0; i < nr_snapshot_count(snap); i++) {
		const struct nr_node *node = nr_snapshot_at(snap, i);
		uint64_t total, sum = 0, v;

		n = nr_holders(node, holders, ARRAY_SIZE(holders));
		ck_assert_uint_le(n, ARRAY_SIZE(holders));
		if (!nr_node_get(node, NR_TOTAL, &total) || !total) {
			ck_assert_uint_eq(n, 0);
			continue;
		}
		for (k = 0; k < n; k++) {
			ck_assert_uint_gt(holders[k].bytes, 0);
			if (holders[k].counter == NR_MLOCKED) {
				ck_assert_uint_eq(k, n - 1);
				continue;
			}
			ck_assert(!k || holders[k].bytes <= holders[k - 1].bytes);
			sum += holders[k].bytes;
		}
		nr_node_get(node, NR_FREE, &v);
		sum += v;
		nr_node_get(node, NR_CLEAN, &v);
		sum += v;
		ck_assert_msg(sum <= total && sum >= total - total / 50,
			      "%s node %d: %ju of %ju bytes", trees[_i], node->nid, (uintmax_t)sum,
			      (uintmax_t)total);
	}
	nr_snapshot_free(snap);
}
END_TEST

START_TEST(largest_first)
{
	static const struct {
		int nid;
		enum nr_counter first;
	} want[] = { { 3, NR_ANON }, { 4, NR_DIRTY_PAGES }, { 5, NR_SHMEM }, { 6, NR_HUGE_TOTAL } };
	struct nr_snapshot *snap = snapshot_of("eight-nodes");
	struct nr_holder holders[3];

	for (size_t i = 0; i < ARRAY_SIZE(want); i++) {
		ck_assert_uint_eq(nr_holders(nr_snapshot_find(snap, want[i].nid), holders, 3), 3);
		ck_assert_str_eq(nr_counter_name(holders[0].counter),
				 nr_counter_name(want[i].first));
	}
	nr_snapshot_free(snap);
}
END_TEST

START_TEST(effect_of_nothing)
{
	struct nr_result *result = dry_run("cxl", "0", "20G");
	struct nr_effect effect;

	nr_result_effect(result, &effect);
	ck_assert_uint_eq(effect.freed, 0);
	ck_assert_uint_eq(effect.swapped_out, 0);
	ck_assert_uint_eq(effect.scanned, 0);
	ck_assert_uint_eq(effect.stolen, 0);
	ck_assert_uint_eq(effect.others_lost, 0);
	ck_assert_uint_eq(effect.demoted, 0);
	ck_assert(effect.scanned_host); /* 6.18 counts for the host only */
	nr_result_free(result);
	result = dry_run("eight-nodes", "0", "20G");
	nr_result_effect(result, &effect);
	ck_assert(!effect.scanned_host);
	nr_result_free(result);
}
END_TEST

START_TEST(stop_names)
{
	for (int i = 0; i <= NR_STOP_DRY_RUN; i++) {
		ck_assert_ptr_nonnull(nr_stop_name(i));
		for (int k = 0; k < i; k++)
			ck_assert_str_ne(nr_stop_name(i), nr_stop_name(k));
	}
	ck_assert_str_eq(nr_stop_name(NR_STOP_DEADLINE), "deadline");
	ck_assert_ptr_null(nr_stop_name(NR_STOP_DRY_RUN + 1));
}
END_TEST

/* A result in which two backends, or one, or none, freed something of each NUMA node. */
static struct nr_result *freed_by(const char *root, const char *first, const char *second)
{
	struct nr_result *result = dry_run(root, NULL, "1G");

	for (size_t i = 0; i < nr_result_count(result); i++) {
		struct nr_result_node *node = (struct nr_result_node *)nr_result_at(result, i);

		for (size_t b = 0; b < nr_backend_count(); b++) {
			const char *name = nr_backend_name(b);

			if (!strcmp(name, first))
				node->by[b] = MB(3);
			else if (!strcmp(name, second))
				node->by[b] = MB(40);
			else
				continue;
			node->backend = name;
		}
	}
	return result;
}

/* Columns stand below their headings, also where a cell is longer than its neighbours */
START_TEST(who_freed_text)
{
	static const struct {
		const char *first, *second, *want;
	} rows[] = {
		{ "", "", "  -           " },
		{ "sysfs", "", "  sysfs       " },
		{ "syscall", "sysfs", "  syscall+sysfs " },
		{ "sysfs", "drop_caches", "  sysfs+drop_caches " },
	};
	struct nr_result *result = freed_by("two-sockets", rows[_i].first, rows[_i].second);
	char *text, *end;
	size_t heading;

	ck_assert_int_eq(nr_report_text(result, &text), 0);
	ck_assert_msg(count_of(text, rows[_i].want) == 2, "%s", text);
	end = strstr(text, "SECONDS");
	ck_assert_ptr_nonnull(end);
	heading = (size_t)(end - text) + strlen("SECONDS");
	for (end = strchr(text, '\n') + 1; *end == ' '; end = strchr(end, '\n') + 1) {
		ck_assert_msg(end[heading - 4] == '.', "%s", text);
		ck_assert_int_eq(end[heading], ' ');
	}
	free(text);
	nr_result_free(result);
}
END_TEST

START_TEST(who_freed_json)
{
	struct nr_result *result = freed_by("two-sockets", "syscall", "sysfs");
	char *text;

	ck_assert_int_eq(nr_report_json(result, &text), 0);
	ck_assert(json_ok(text));
	ck_assert_uint_eq(count_of(text, "\"by\":{\"syscall\":3145728,\"sysfs\":41943040,"), 2);
	ck_assert_uint_eq(count_of(text, "\"drop_caches\":0}"), 2);
	ck_assert_uint_eq(count_of(text, "\"backend\":\"sysfs\","), 2);
	free(text);
	nr_result_free(result);
}
END_TEST

START_TEST(who_freed_line)
{
	struct nr_result *result = freed_by("two-sockets", "syscall", "sysfs");
	char *text;

	ck_assert_int_eq(nr_report_line(result, &text), 0);
	ck_assert_ptr_nonnull(strstr(text, " node0_by_syscall=3145728 node0_by_sysfs=41943040 "));
	ck_assert_ptr_nonnull(strstr(text, " node1_by_sysfs=41943040"));
	ck_assert_ptr_null(strstr(text, "by_drop_caches"));
	free(text);
	nr_result_free(result);
	/* Still a line that syslog does not cut */
	result = freed_by("nodes-1024", "sysfs", "drop_caches");
	ck_assert_int_eq(nr_report_line(result, &text), 0);
	ck_assert_ptr_nonnull(strstr(text, " node31_by_drop_caches="));
	ck_assert_uint_lt(strlen(text), 8000);
	free(text);
	nr_result_free(result);
}
END_TEST

Suite *suite(void)
{
	Suite *s = suite_create("report");
	TCase *t = unit_case("report");

	tcase_add_loop_test(t, json, 0, ARRAY_SIZE(trees));
	tcase_add_test(t, json_checker);
	tcase_add_test(t, json_null);
	tcase_add_loop_test(t, line, 0, ARRAY_SIZE(trees));
	tcase_add_test(t, short_text);
	tcase_add_loop_test(t, table, 0, ARRAY_SIZE(trees));
	tcase_add_loop_test(t, every_byte_once, 0, ARRAY_SIZE(trees));
	tcase_add_test(t, largest_first);
	tcase_add_test(t, effect_of_nothing);
	tcase_add_test(t, stop_names);
	tcase_add_loop_test(t, who_freed_text, 0, 4);
	tcase_add_test(t, who_freed_json);
	tcase_add_test(t, who_freed_line);
	suite_add_tcase(s, t);
	return s;
}
