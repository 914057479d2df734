/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tables of columns, and which of them are shown. */
#ifndef NODERECLAIM_COLUMNS_H
#define NODERECLAIM_COLUMNS_H

#include <stdbool.h>
#include <stddef.h>

#include "nodereclaim.h"

/* One table drives --help, --output, the table and JSON. */
struct column {
	const char *name; /* NULL: the counter's */
	const char *help;
	int kind; /* the command's own number */
	enum nr_counter counter;
	bool by_default;
	bool only_named; /* in no other way shown than by its name */
};

#define COLUMNS_MAX (NR_COUNTERS + 8)
struct column_table {
	const struct column *column;
	size_t n; /* up to COLUMNS_MAX */
};

struct selection {
	const struct column_table *table; /* set by the command */
	size_t n;
	unsigned char id[COLUMNS_MAX];
};
_Static_assert(COLUMNS_MAX <= 256, "ids fit into a selection");

#define COLUMN_NAME_SIZE 24
void column_name(const struct column *col, char buf[COLUMN_NAME_SIZE]);

/* Prints a line for each column, as a part of --help. */
void columns_help(const struct column_table *table);

/* What --output, --output-all and --json ask for. @output is "COL,COL" or "+COL,COL"; complains and
 * returns false if it is not that. */
bool select_options(struct selection *sel, const char *output, bool all, bool json);

void select_kind(struct selection *sel, int kind);

/* The @i-th that is selected. */
const struct column *selected(const struct selection *sel, size_t i);
bool is_selected(const struct selection *sel, int kind);

#endif
