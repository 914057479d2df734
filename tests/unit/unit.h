/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the unit tests share: trees, contexts, messages. Every file has one suite(). */
#ifndef NR_UNIT_H
#define NR_UNIT_H

#include "config.h"

#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>

#include "nodereclaim.h"

#define KB(n) ((uint64_t)(n) << 10)
#define MB(n) ((uint64_t)(n) << 20)
#define GB(n) ((uint64_t)(n) << 30)
#define ARRAY_SIZE(a) (sizeof(a) / sizeof(*(a)))

Suite *suite(void);

/* A test case whose tests leave nothing behind, also where all are one process (CK_FORK=no). */
TCase *unit_case(const char *name);

/* The folder of a tree that tests/roots/generate made; static. */
const char *tree(const char *name);
struct nr_ctx *open_tree(const char *name);

/* A copy of a tree that the test may change; removed when the test ends. */
char *copy_tree(const char *name);
/* Writes, replaces or removes one file of such a copy. */
void put(const char *root, const char *file, const char *text);
void drop(const char *root, const char *file);
/* The text of a file of a tree, for free(3). */
char *get(const char *root, const char *file);
/* Replaces the one line of @file that begins with @start; NULL removes it. */
void put_line(const char *root, const char *file, const char *start, const char *line);

/* Messages of a context, newline after each. */
struct messages {
	char text[4096];
	size_t len, count;
};
void keep_messages(struct nr_ctx *ctx, struct messages *messages);

/* Compares a set with a list as text. */
#define assert_set(set, list)                                                                      \
	do {                                                                                       \
		char text_[65536];                                                                 \
		nr_set_format(set, text_, sizeof(text_));                                          \
		ck_assert_str_eq(text_, list);                                                     \
	} while (0)

#define assert_err(expr, code) ck_assert_int_eq(expr, -(code))

/* The snapshot of a tree, and one counter that must be known. */
struct nr_snapshot *snapshot_of(const char *root);
uint64_t value_of(const struct nr_snapshot *snap, int nid, enum nr_counter counter);

/* The NUMA-node binding of a list in a tree, NULL for all. */
struct nr_binding *binding_of(const char *root, const char *nodes);

struct nr_spec *spec_of(const char *text);

/* True if @text is one JSON value and nothing else. */
bool json_ok(const char *text);

#endif
