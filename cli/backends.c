// SPDX-License-Identifier: GPL-2.0-or-later
/* nodereclaim backends: what this kernel can do for each NUMA node, and why not. */
#include "config.h"

#include <errno.h>
#include <libsmartcols.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>

#include "cli.h"

/* The NUMA nodes for which a backend says the same */
struct group {
	struct nr_backend_info info;
	struct bitmask *nodes;
};

struct groups {
	size_t n, first; /* first: of the backend at hand */
	struct group *group;
};

enum { COL_NAME, COL_NODES, COL_USABLE, COL_SCOPE, COL_WHY };

static const struct {
	const char *name, *help;
	int json;
} columns[] = {
	[COL_NAME] = { "NAME", "name of the backend, best first", SCOLS_JSON_STRING },
	[COL_NODES] = { "NODES", "NUMA nodes that this line is about", SCOLS_JSON_STRING },
	[COL_USABLE] = { "USABLE", "whether it can be used now, by this user", SCOLS_JSON_BOOLEAN },
	[COL_SCOPE] = { "SCOPE", "what it empties: one NUMA node, or the whole host",
			SCOLS_JSON_STRING },
	[COL_WHY] = { "WHY", "why not, or what it does", SCOLS_JSON_STRING },
};

static void usage(void)
{
	fputs("Usage: nodereclaim backends [OPTION]...\n"
	      "\n"
	      "Show by which ways this kernel can free the cache of its NUMA nodes, and why not.\n"
	      "\n"
	      "Options:\n"
	      "  -J, --json         JSON\n"
	      "  -s, --sysroot DIR  read a recorded tree: DIR/sys and DIR/proc\n"
	      "  -h, --help         show this\n"
	      "\n"
	      "Columns:\n",
	      stdout);
	for (size_t i = 0; i < ARRAY_SIZE(columns); i++)
		printf("  %-6s  %s\n", columns[i].name, columns[i].help);
}

static bool says_the_same(const struct nr_backend_info *a, const struct nr_backend_info *b)
{
	return a->error == b->error && a->whole_host == b->whole_host && !strcmp(a->why, b->why);
}

static int add(struct groups *groups, const struct nr_backend_info *info, int nid)
{
	struct group *grown;
	size_t i;

	for (i = groups->first; i < groups->n; i++)
		if (says_the_same(&groups->group[i].info, info))
			break;
	if (i == groups->n) {
		grown = reallocarray(groups->group, groups->n + 1, sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		groups->group = grown;
		grown[i].info = *info;
		grown[i].nodes = nr_set_new(NR_MAX_NODES);
		if (!grown[i].nodes)
			return -ENOMEM;
		groups->n++;
	}
	numa_bitmask_setbit(groups->group[i].nodes, (unsigned int)nid);
	return 0;
}

static int probe_all(struct nr_ctx *ctx, struct groups *groups)
{
	struct nr_snapshot *snap;
	int rc = nr_snapshot_take(ctx, &snap);

	if (rc < 0)
		return rc;
	for (size_t b = 0; b < nr_backend_count() && rc == 0; b++) {
		groups->first = groups->n;
		for (size_t i = 0; i < nr_snapshot_count(snap) && rc == 0; i++) {
			const struct nr_node *node = nr_snapshot_at(snap, i);
			struct nr_backend_info info;

			if (!node->has_memory)
				continue;
			rc = nr_backend_probe(ctx, b, node->nid, &info);
			if (rc == 0)
				rc = add(groups, &info, node->nid);
		}
	}
	nr_snapshot_free(snap);
	return rc;
}

static int add_row(struct libscols_table *table, const struct group *group, bool json)
{
	struct libscols_line *line = scols_table_new_line(table, NULL);
	const struct nr_backend_info *info = &group->info;
	char *nodes = set_text(group->nodes);
	int rc = -ENOMEM;

	if (!line || !nodes)
		goto out;
	if ((rc = scols_line_set_data(line, COL_NAME, info->name)) < 0 ||
	    (rc = scols_line_set_data(line, COL_NODES, nodes)) < 0 ||
	    (rc = scols_line_set_data(line, COL_USABLE,
				      json ? (info->error ? "0" : "1")
					   : (info->error ? "no" : "yes"))) < 0 ||
	    (rc = scols_line_set_data(line, COL_SCOPE, info->whole_host ? "host" : "node")) < 0 ||
	    (rc = scols_line_set_data(line, COL_WHY, info->why)) < 0)
		goto out;
	rc = 0;
out:
	free(nodes);
	return rc;
}

static int print_table(const struct groups *groups, bool json)
{
	struct libscols_table *table = scols_new_table();
	int rc = 0;

	if (!table)
		return -ENOMEM;
	scols_table_set_name(table, "backends");
	scols_table_enable_json(table, json);
	for (size_t i = 0; i < ARRAY_SIZE(columns) && rc == 0; i++) {
		struct libscols_column *col;

		col = scols_table_new_column(table, columns[i].name, 0, 0);
		rc = col ? scols_column_set_json_type(col, columns[i].json) : -ENOMEM;
	}
	for (size_t i = 0; i < groups->n && rc == 0; i++)
		rc = add_row(table, &groups->group[i], json);
	if (rc == 0)
		rc = scols_print_table(table);
	scols_unref_table(table);
	return rc;
}

int cmd_backends(int argc, char **argv)
{
	struct groups groups = { 0 };
	const char *sysroot = NULL;
	struct nr_ctx *ctx;
	bool json = false;
	int rc, code;

	if (!json_options(argc, argv, "backends", usage, &json, &sysroot, &code))
		return code;
	code = open_context(sysroot, LOG_WARNING, &ctx);
	if (code != CLI_MET)
		return code;
	rc = probe_all(ctx, &groups);
	if (rc == 0)
		rc = print_table(&groups, json);
	code = rc < 0 ? failed(rc, "backends") : CLI_MET;
	for (size_t i = 0; i < groups.n; i++)
		nr_set_free(groups.group[i].nodes);
	free(groups.group);
	nr_close(ctx);
	return code;
}
