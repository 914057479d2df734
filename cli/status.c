// SPDX-License-Identifier: GPL-2.0-or-later
/* nodereclaim status: a row for each NUMA node, what its memory holds. */
#include "config.h"

#include <errno.h>
#include <getopt.h>
#include <libsmartcols.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>
#include <unistd.h>

#include "cli.h"
#include "columns.h"

#define ZONES_SIZE 128
#define BAR_WIDTH_MIN 10
#define BAR_WIDTH_PLAIN 20 /* when not on a terminal */

enum { KIND_NODE, KIND_CPUS, KIND_SERVES, KIND_ZONES, KIND_COUNTER, KIND_BAR };

#define COUNTER(id, def, text)                                                                     \
	{                                                                                          \
		NULL, text, KIND_COUNTER, id, def, false                                           \
	}
static const struct column columns[] = {
	{ "NODE", "number of the NUMA node", KIND_NODE, 0, true, false },
	{ "CPUS", "online CPUs of the NUMA node itself", KIND_CPUS, 0, true, false },
	{ "SERVES",
	  "online CPUs whose local memory this is: its own, and those of nearby NUMA\n"
	  "nodes without memory; with --cpus, how many of the list's",
	  KIND_SERVES, 0, false, false },
	{ "ZONES", "memory zones; Movable alone is memory beside the CPUs (CXL, hot-plugged)",
	  KIND_ZONES, 0, false, false },
	COUNTER(NR_TOTAL, true, "memory that the kernel manages"),
	COUNTER(NR_FREE, true, "free memory"),
	COUNTER(NR_ALLOCATABLE, true,
		"free above the low watermarks and reserves: what a job gets before\n"
		"the kernel goes to another NUMA node"),
	COUNTER(NR_FREE_BLOCKS, false, "free in whole huge-page blocks"),
	COUNTER(NR_CLEAN, true,
		"clean cache: file pages that are unmapped and clean, what flush drops"),
	COUNTER(NR_DIRTY_PAGES, true, "file pages that wait to be written"),
	COUNTER(NR_WRITEBACK, false, "file pages that are being written"),
	COUNTER(NR_MAPPED, true, "file and shmem pages mapped by processes"),
	COUNTER(NR_SHMEM, true, "tmpfs, /dev/shm and other shared memory"),
	COUNTER(NR_ANON, true, "anonymous memory of processes"),
	COUNTER(NR_ANON_HUGE, false, "anonymous memory in transparent huge pages"),
	COUNTER(NR_MLOCKED, false, "locked by processes"),
	COUNTER(NR_UNEVICTABLE, false, "not evictable: locked, ramfs, locked shmem"),
	COUNTER(NR_FILE, false, "page cache with shmem and swap cache"),
	COUNTER(NR_ACTIVE_FILE, false, "file pages in recent use"),
	COUNTER(NR_INACTIVE_FILE, false, "file pages not in recent use"),
	COUNTER(NR_ACTIVE_ANON, false, "anonymous and shmem pages in recent use"),
	COUNTER(NR_INACTIVE_ANON, false, "anonymous and shmem pages not in recent use"),
	COUNTER(NR_SWAP_CACHED, false, "anonymous pages that are in swap as well"),
	COUNTER(NR_SLAB_RECLAIMABLE, false,
		"kernel objects that can be dropped (dentries, inodes)"),
	COUNTER(NR_SLAB_UNRECLAIMABLE, false, "kernel objects that cannot"),
	COUNTER(NR_PAGE_TABLES, false, "page tables of processes"),
	COUNTER(NR_KERNEL_STACK, false, "kernel stacks of threads"),
	COUNTER(NR_HUGE_TOTAL, false, "huge-page pools, all sizes"),
	COUNTER(NR_HUGE_FREE, false, "huge-page pools, what is not in use"),
	COUNTER(NR_PER_CPU, false, "free, but on the lists of single CPUs; not part of FREE"),
	COUNTER(NR_UNACCOUNTED, false,
		"in none of the classes: drivers, file systems, kernel modules"),
	{ "BAR", "held, clean cache and free as a bar; not in JSON unless named", KIND_BAR, 0,
	  false, true },
};
_Static_assert(ARRAY_SIZE(columns) == NR_COUNTERS + 5, "every counter has a column");
static const struct column_table status_columns = { columns, ARRAY_SIZE(columns) };

struct settings {
	bool json, bytes, raw, noheadings;
	unsigned int bar_width;
	const struct nr_binding *binding; /* NULL: who is served is not known */
	bool only_bound;		  /* only the binding's NUMA nodes */
};

static void usage(void)
{
	fputs("Usage: nodereclaim status [OPTION]...\n"
	      "\n"
	      "Show what the memory of each NUMA node holds.\n"
	      "\n"
	      "Options:\n"
	      "  -c, --cpus LIST      only the NUMA nodes that serve these CPUs (0-3,8)\n"
	      "  -o, --output LIST    these columns; +LIST adds to the default ones (*)\n"
	      "  -O, --output-all     all columns\n"
	      "  -b, --bytes          sizes in bytes; JSON always has bytes\n"
	      "  -J, --json           JSON, all columns unless --output\n"
	      "  -r, --raw            columns with one blank between them, for scripts\n"
	      "  -n, --noheadings     no line of column names\n"
	      "  -s, --sysroot DIR    read a recorded tree: DIR/sys and DIR/proc\n"
	      "  -h, --help           show this\n"
	      "\n"
	      "On a terminal the default columns end with BAR.\n"
	      "What the kernel does not count is '-', and null in JSON.\n"
	      "\n"
	      "Columns:\n",
	      stdout);
	columns_help(&status_columns);
}

static void zones_text(const struct nr_node *node, char buf[ZONES_SIZE])
{
	size_t len = 0;

	buf[0] = '\0';
	for (size_t i = 0; i < node->nzones && len < ZONES_SIZE; i++)
		len += (size_t)snprintf(buf + len, ZONES_SIZE - len, "%s%.*s", i ? "," : "",
					NR_ZONE_NAME, node->zones[i].name);
}

/* The text of a cell, empty if it is not known. */
static void cell_text(const struct settings *set, const struct column *col,
		      const struct nr_node *node, char buf[ZONES_SIZE])
{
	const struct nr_binding *binding = set->binding;
	uint64_t value, total, clean, per_cpu;

	buf[0] = '\0';
	switch (col->kind) {
	case KIND_NODE:
		snprintf(buf, ZONES_SIZE, "%d", node->nid);
		break;
	case KIND_CPUS:
		snprintf(buf, ZONES_SIZE, "%u", node->ncpus);
		break;
	case KIND_SERVES:
		if (binding)
			snprintf(buf, ZONES_SIZE, "%u",
				 set->only_bound ? binding->ncpus[node->nid]
						 : binding->node_cpus[node->nid]);
		break;
	case KIND_ZONES:
		zones_text(node, buf);
		break;
	case KIND_COUNTER:
		if (!nr_node_get(node, col->counter, &value))
			break;
		if (set->bytes || set->json)
			snprintf(buf, ZONES_SIZE, "%llu", (unsigned long long)value);
		else
			nr_size_format(value, buf);
		break;
	case KIND_BAR:
		if (!nr_node_get(node, NR_TOTAL, &total) || !nr_node_get(node, NR_FREE, &value) ||
		    !total)
			break;
		nr_node_get(node, NR_CLEAN, &clean);
		nr_node_get(node, NR_PER_CPU, &per_cpu);
		value += per_cpu;
		value = total > value ? total - value : 0;
		bar_draw(buf, set->bar_width, value > clean ? value - clean : 0, clean, total);
		break;
	}
}

static int add_row(struct libscols_table *table, const struct selection *sel,
		   const struct settings *set, const struct nr_node *node)
{
	struct libscols_line *line = scols_table_new_line(table, NULL);
	char text[ZONES_SIZE];

	_Static_assert(BAR_TEXT <= ZONES_SIZE, "a bar fits into a cell");
	if (!line)
		return -ENOMEM;
	for (size_t i = 0; i < sel->n; i++) {
		const char *shown = text;
		int rc;

		cell_text(set, selected(sel, i), node, text);
		if (!*text) /* JSON has null for what is not there */
			shown = set->json ? NULL : "-";
		rc = scols_line_set_data(line, i, shown);
		if (rc < 0)
			return rc;
	}
	return 0;
}

static struct libscols_table *new_table(const struct selection *sel, const struct settings *set)
{
	struct libscols_table *table = scols_new_table();

	if (!table)
		return NULL;
	scols_table_set_name(table, "nodes");
	scols_table_enable_json(table, set->json);
	scols_table_enable_raw(table, set->raw);
	scols_table_enable_noheadings(table, set->noheadings);
	for (size_t i = 0; i < sel->n; i++) {
		const struct column *col = selected(sel, i);
		bool number = col->kind != KIND_ZONES && col->kind != KIND_BAR;
		struct libscols_column *c;
		char name[COLUMN_NAME_SIZE];

		column_name(col, name);
		c = scols_table_new_column(table, name, 0, number ? SCOLS_FL_RIGHT : 0);
		if (!c) {
			scols_unref_table(table);
			return NULL;
		}
		if (number)
			scols_column_set_json_type(c, SCOLS_JSON_NUMBER);
	}
	return table;
}

static bool is_shown(const struct settings *set, const struct nr_node *node)
{
	return !set->only_bound ||
	       numa_bitmask_isbitset(set->binding->nodes, (unsigned int)node->nid);
}

/* Columns of the terminal that are left for a bar beside the others. */
static unsigned int room_for_bar(const struct selection *sel, const struct settings *set,
				 const struct nr_snapshot *snap, size_t termwidth)
{
	char text[ZONES_SIZE];
	size_t used = 0;

	for (size_t i = 0; i < sel->n; i++) {
		const struct column *col = selected(sel, i);
		size_t widest;

		if (col->kind == KIND_BAR)
			continue;
		column_name(col, text);
		widest = strlen(text);
		for (size_t k = 0; k < nr_snapshot_count(snap); k++) {
			const struct nr_node *node = nr_snapshot_at(snap, k);

			if (!is_shown(set, node))
				continue;
			cell_text(set, col, node, text);
			if (strlen(text) > widest)
				widest = strlen(text);
		}
		used += widest + 1;
	}
	used = termwidth > used ? termwidth - used : 0;
	return used > BAR_WIDTH_MAX ? BAR_WIDTH_MAX : (unsigned int)used;
}

static int print_table(struct selection *sel, struct settings *set, bool add_bar,
		       const struct nr_snapshot *snap)
{
	struct libscols_table *table;
	bool terminal = isatty(STDOUT_FILENO) && !set->json && !set->raw;
	int rc = 0;

	set->bar_width = BAR_WIDTH_PLAIN;
	if (terminal) {
		table = scols_new_table();
		if (!table)
			return failed(-ENOMEM, "table");
		set->bar_width = room_for_bar(sel, set, snap, scols_table_get_termwidth(table));
		scols_unref_table(table);
		if (add_bar && set->bar_width >= BAR_WIDTH_MIN)
			select_kind(sel, KIND_BAR);
		else if (set->bar_width < BAR_WIDTH_MIN)
			set->bar_width = BAR_WIDTH_MIN;
	}
	table = new_table(sel, set);
	if (!table)
		return failed(-ENOMEM, "table");
	for (size_t i = 0; i < nr_snapshot_count(snap) && rc == 0; i++)
		if (is_shown(set, nr_snapshot_at(snap, i)))
			rc = add_row(table, sel, set, nr_snapshot_at(snap, i));
	if (rc == 0)
		rc = scols_print_table(table);
	scols_unref_table(table);
	if (rc < 0)
		return failed(rc, "table");
	if (terminal && is_selected(sel, KIND_BAR))
		printf("%s\n", bar_legend());
	return CLI_MET;
}

/* Whose CPUs are served where. Without --cpus only SERVES asks, and can do without an answer. */
static int bind_cpus(struct nr_ctx *ctx, const struct selection *sel, const char *cpus,
		     struct nr_binding **binding)
{
	int rc;

	*binding = NULL;
	if (!cpus) {
		if (is_selected(sel, KIND_SERVES))
			nr_binding_from_nodes(ctx, NULL, binding);
		return CLI_MET;
	}
	rc = nr_binding_from_cpus(ctx, cpus, binding);
	if (rc == 0)
		return CLI_MET;
	failed(rc, "--cpus");
	return rc == -ERANGE || rc == -ENODEV ? usage_error("status") : CLI_FAILED;
}

static int show(struct nr_ctx *ctx, struct selection *sel, struct settings *set, bool add_bar,
		const char *cpus)
{
	struct nr_binding *binding;
	struct nr_snapshot *snap;
	int code, rc = nr_snapshot_take(ctx, &snap);

	if (rc < 0)
		return failed(rc, "NUMA nodes");
	code = bind_cpus(ctx, sel, cpus, &binding);
	if (code == CLI_MET) {
		set->binding = binding;
		set->only_bound = cpus;
		code = print_table(sel, set, add_bar, snap);
		nr_binding_free(binding);
	}
	nr_snapshot_free(snap);
	return code;
}

int cmd_status(int argc, char **argv)
{
	static const struct option options[] = {
		{ "bytes", no_argument, NULL, 'b' },
		{ "cpus", required_argument, NULL, 'c' },
		{ "help", no_argument, NULL, 'h' },
		{ "json", no_argument, NULL, 'J' },
		{ "noheadings", no_argument, NULL, 'n' },
		{ "output", required_argument, NULL, 'o' },
		{ "output-all", no_argument, NULL, 'O' },
		{ "raw", no_argument, NULL, 'r' },
		{ "sysroot", required_argument, NULL, 's' },
		{ NULL, 0, NULL, 0 },
	};
	const char *cpus = NULL, *output = NULL, *sysroot = NULL;
	struct selection sel = { .table = &status_columns };
	struct settings set = { 0 };
	bool all = false, add_bar;
	struct nr_ctx *ctx;
	int c, code;

	while ((c = getopt_long(argc, argv, "bc:hJno:Ors:", options, NULL)) != -1) {
		switch (c) {
		case 'b':
			set.bytes = true;
			break;
		case 'c':
			cpus = optarg;
			break;
		case 'h':
			usage();
			return CLI_MET;
		case 'J':
			set.json = true;
			break;
		case 'n':
			set.noheadings = true;
			break;
		case 'o':
			output = optarg;
			break;
		case 'O':
			all = true;
			break;
		case 'r':
			set.raw = true;
			break;
		case 's':
			sysroot = optarg;
			break;
		default:
			return usage_error("status");
		}
	}
	if (!no_more_arguments(argc, argv, optind))
		return usage_error("status");
	if (set.json && set.raw) {
		complain("--json and --raw exclude each other");
		return usage_error("status");
	}
	if (cpus && !check_list("--cpus", cpus, NR_MAX_CPUS))
		return usage_error("status");
	if (!select_options(&sel, output, all, set.json))
		return usage_error("status");
	add_bar = !output || *output == '+';

	code = open_context(sysroot, LOG_WARNING, &ctx);
	if (code != CLI_MET)
		return code;
	code = show(ctx, &sel, &set, add_bar, cpus);
	nr_close(ctx);
	return code;
}
