// SPDX-License-Identifier: GPL-2.0-or-later
#include "config.h"

#include "columns.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "cli.h"

#define COUNTER(id, def, text)                                                                     \
	{                                                                                          \
		NULL, text, KIND_COUNTER, id, def                                                  \
	}
const struct column columns[] = {
	{ "NODE", "number of the NUMA node", KIND_NODE, 0, true },
	{ "CPUS", "online CPUs of the NUMA node itself", KIND_CPUS, 0, true },
	{ "SERVES",
	  "online CPUs whose local memory this is: its own, and those of nearby NUMA\n"
	  "nodes without memory; with --cpus, how many of the list's",
	  KIND_SERVES, 0, false },
	{ "ZONES", "memory zones; Movable alone is memory beside the CPUs (CXL, hot-plugged)",
	  KIND_ZONES, 0, false },
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
	  false },
};
_Static_assert(ARRAY_SIZE(columns) == COLUMNS, "every counter has a column");
_Static_assert(COLUMNS <= UCHAR_MAX, "ids fit into a selection");

void column_name(const struct column *col, char buf[COLUMN_NAME_SIZE])
{
	const char *name = col->name ? col->name : nr_counter_name(col->counter);
	size_t i;

	for (i = 0; i < COLUMN_NAME_SIZE - 1 && name[i]; i++)
		buf[i] = (char)toupper((unsigned char)name[i]);
	buf[i] = '\0';
}

void columns_help(void)
{
	char name[COLUMN_NAME_SIZE];

	for (size_t i = 0; i < COLUMNS; i++) {
		const char *help = columns[i].help;
		const char *rest = strchr(help, '\n');
		int len = rest ? (int)(rest - help) : (int)strlen(help);

		column_name(&columns[i], name);
		printf(" %c%-18s  %.*s\n", columns[i].by_default ? '*' : ' ', name, len, help);
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

void select_default(struct selection *sel)
{
	for (size_t i = 0; i < COLUMNS; i++)
		if (columns[i].by_default)
			select_column(sel, i);
}

void select_all(struct selection *sel)
{
	for (size_t i = 0; i < COLUMNS; i++)
		if (columns[i].kind != KIND_BAR)
			select_column(sel, i);
}

static size_t find_column(const char *text, size_t len)
{
	char name[COLUMN_NAME_SIZE];
	size_t i;

	for (i = 0; i < COLUMNS; i++) {
		column_name(&columns[i], name);
		if (strlen(name) == len && !strncasecmp(name, text, len))
			break;
	}
	return i;
}

/* "COL,COL" or "+COL,COL". A column given twice would be a repeated key in JSON. */
bool select_text(struct selection *sel, const char *text)
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
		id = find_column(p, len);
		if (id == COLUMNS) {
			printable(p, shown, len + 1 < sizeof(shown) ? len + 1 : sizeof(shown));
			complain("--output: unknown column '%s' at byte %zu", shown,
				 (size_t)(p - text) + add);
			return false;
		}
		if (!select_column(sel, id) && !(add && columns[id].by_default)) {
			complain("--output: column '%.*s' is given twice", (int)len, p);
			return false;
		}
		if (!p[len])
			return true;
	}
}

void select_bar(struct selection *sel)
{
	for (size_t i = 0; i < COLUMNS; i++)
		if (columns[i].kind == KIND_BAR)
			select_column(sel, i);
}

bool is_selected(const struct selection *sel, enum kind kind)
{
	for (size_t i = 0; i < sel->n; i++)
		if (columns[sel->id[i]].kind == kind)
			return true;
	return false;
}
