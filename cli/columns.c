// SPDX-License-Identifier: GPL-2.0-or-later
#include "config.h"

#include "columns.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "cli.h"

void column_name(const struct column *col, char buf[COLUMN_NAME_SIZE])
{
	const char *name = col->name ? col->name : nr_counter_name(col->counter);
	size_t i;

	for (i = 0; i < COLUMN_NAME_SIZE - 1 && name[i]; i++)
		buf[i] = (char)toupper((unsigned char)name[i]);
	buf[i] = '\0';
}

void columns_help(const struct column_table *table)
{
	char name[COLUMN_NAME_SIZE];

	for (size_t i = 0; i < table->n; i++) {
		const struct column *col = &table->column[i];
		const char *help = col->help;
		const char *rest = strchr(help, '\n');
		int len = rest ? (int)(rest - help) : (int)strlen(help);

		column_name(col, name);
		printf(" %c%-18s  %.*s\n", col->by_default ? '*' : ' ', name, len, help);
		if (rest)
			printf(" %-19s  %s\n", "", rest + 1);
	}
}

static bool select_column(struct selection *sel, size_t id)
{
	for (size_t i = 0; i < sel->n; i++)
		if (sel->id[i] == id)
			return false;
	sel->id[sel->n++] = (unsigned char)id;
	return true;
}

static void select_default(struct selection *sel)
{
	for (size_t i = 0; i < sel->table->n; i++)
		if (sel->table->column[i].by_default)
			select_column(sel, i);
}

static void select_all(struct selection *sel)
{
	for (size_t i = 0; i < sel->table->n; i++)
		if (!sel->table->column[i].only_named)
			select_column(sel, i);
}

static size_t find_column(const struct column_table *table, const char *text, size_t len)
{
	char name[COLUMN_NAME_SIZE];
	size_t i;

	for (i = 0; i < table->n; i++) {
		column_name(&table->column[i], name);
		if (strlen(name) == len && !strncasecmp(name, text, len))
			break;
	}
	return i;
}

/* "COL,COL" or "+COL,COL". A column given twice would be a repeated key in JSON. */
static bool select_text(struct selection *sel, const char *text)
{
	bool add = *text == '+';
	char shown[48];
	const char *p;
	size_t len;

	if (add) {
		select_default(sel);
		text++;
	}
	for (p = text;; p += len + 1) {
		size_t id;

		len = strcspn(p, ",");
		id = find_column(sel->table, p, len);
		if (id == sel->table->n) {
			printable(p, shown, len + 1 < sizeof(shown) ? len + 1 : sizeof(shown));
			complain("--output: unknown column '%s' at byte %zu", shown,
				 (size_t)(p - text) + add);
			return false;
		}
		if (!select_column(sel, id) && !(add && sel->table->column[id].by_default)) {
			complain("--output: column '%.*s' is given twice", (int)len, p);
			return false;
		}
		if (!p[len])
			return true;
	}
}

bool select_options(struct selection *sel, const char *output, bool all, bool json)
{
	if (all && output) {
		complain("--output and --output-all exclude each other");
		return false;
	}
	if (output)
		return select_text(sel, output);
	if (all || json)
		select_all(sel);
	else
		select_default(sel);
	return true;
}

void select_kind(struct selection *sel, int kind)
{
	for (size_t i = 0; i < sel->table->n; i++)
		if (sel->table->column[i].kind == kind)
			select_column(sel, i);
}

const struct column *selected(const struct selection *sel, size_t i)
{
	return &sel->table->column[sel->id[i]];
}

bool is_selected(const struct selection *sel, int kind)
{
	for (size_t i = 0; i < sel->n; i++)
		if (selected(sel, i)->kind == kind)
			return true;
	return false;
}
