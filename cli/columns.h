/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The columns of nodereclaim status, and which of them are shown. */
#ifndef NODERECLAIM_COLUMNS_H
#define NODERECLAIM_COLUMNS_H

#include <stdbool.h>
#include <stddef.h>

#include "nodereclaim.h"

enum kind { KIND_NODE, KIND_CPUS, KIND_SERVES, KIND_ZONES, KIND_COUNTER, KIND_BAR };

/* One table drives --help, --output, the table and JSON. */
struct column {
	const char *name; /* NULL: the counter's */
	const char *help;
	enum kind kind;
	enum nr_counter counter;
	bool by_default;
};

#define COLUMNS (NR_COUNTERS + 5) /* each counter, and the other kinds */
extern const struct column columns[];

struct selection {
	size_t n;
	unsigned char id[COLUMNS];
};

#define COLUMN_NAME_SIZE 24
void column_name(const struct column *col, char buf[COLUMN_NAME_SIZE]);

/* Prints a line for each column, as a part of --help. */
void columns_help(void);

void select_default(struct selection *sel);
void select_all(struct selection *sel);
void select_bar(struct selection *sel);

/* "COL,COL" or "+COL,COL": complains and returns false if it is not that. */
bool select_text(struct selection *sel, const char *text);

bool is_selected(const struct selection *sel, enum kind kind);

#endif
