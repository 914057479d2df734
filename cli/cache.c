// SPDX-License-Identifier: GPL-2.0-or-later
/* nodereclaim cache: which files hold page cache on which NUMA node. */
#include "config.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <libsmartcols.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "columns.h"
#include "filewalk.h"

#define PID_MAX 4194304 /* PID_MAX_LIMIT, include/linux/threads.h, Linux 6.12 */

enum { KIND_RESIDENT, KIND_NODES, KIND_UNPLACED, KIND_DIRTY, KIND_PERCENT, KIND_SIZE, KIND_PATH };

static const struct column columns[] = {
	{ "RESIDENT", "what of the file is in the page cache, in whole pages", KIND_RESIDENT, 0,
	  true, false },
	{ "NODES", "what of it is on each NUMA node: a column for each, NODE0 and so on",
	  KIND_NODES, 0, true, false },
	{ "UNPLACED", "what of it is where the kernel does not tell", KIND_UNPLACED, 0, false,
	  false },
	{ "DIRTY", "what of it waits to be written or is being written (Linux 6.5 and later)",
	  KIND_DIRTY, 0, true, false },
	{ "PERCENT", "how much of the file is in the page cache", KIND_PERCENT, 0, true, false },
	{ "SIZE", "size of the file", KIND_SIZE, 0, false, false },
	{ "PATH", "name of the file", KIND_PATH, 0, true, false },
};
static const struct column_table cache_columns = { columns, ARRAY_SIZE(columns) };

/* The numbers of a file; from VALUE_NODES on those of the NUMA nodes */
enum { VALUE_RESIDENT, VALUE_UNPLACED, VALUE_DIRTY, VALUE_SIZE, VALUE_NODES };

struct request {
	struct selection sel;
	bool json, bytes, raw, noheadings;
	const char *nodes;
	struct filewalk walk;
};

/* A row of the table or an object of JSON: a file, or the sum of several */
struct row {
	const struct file *file; /* NULL: a sum */
	uint64_t files;		 /* then of so many */
	bool total;		 /* of all, not of those that are left out */
	uint64_t value[FILEWALK_VALUES];
};

static void usage(void)
{
	fputs("Usage: nodereclaim cache [OPTION]... PATH...|--open|--pid PID\n"
	      "\n"
	      "Show which files hold page cache on which NUMA node, the largest first.\n"
	      "PATH is a file, or a folder with all that is below it on the same mount.\n"
	      "\n"
	      "Options:\n"
	      "  -N, --nodes LIST     only files with pages on these NUMA nodes (0,2-3)\n"
	      "  -t, --top N          no more than the N largest files (1000)\n"
	      "      --open           what processes have open or mapped; for root, of all users\n"
	      "  -p, --pid PID        what this process has open or mapped\n"
	      "  -o, --output LIST    these columns; +LIST adds to the default ones (*)\n"
	      "  -O, --output-all     all columns\n"
	      "  -b, --bytes          sizes in bytes; JSON always has bytes\n"
	      "  -J, --json           JSON, all columns unless --output\n"
	      "  -r, --raw            columns with one blank between them and no sums, for scripts\n"
	      "  -n, --noheadings     no line of column names\n"
	      "  -h, --help           show this\n"
	      "\n"
	      "Files without page cache are left out. What the kernel does not tell is '-', and\n"
	      "null in JSON. Exit status: 0 done, 1 not all could be looked at, 2 usage, 4 failure.\n"
	      "\n"
	      "Columns:\n",
	      stdout);
	columns_help(&cache_columns);
}

static bool judge(const struct filewalk *walk, const struct nr_found *found, struct file *file,
		  uint64_t value[FILEWALK_VALUES])
{
	file->weight = filewalk_bytes(walk, &found->cache);
	value[VALUE_RESIDENT] = found->cache.cached;
	value[VALUE_UNPLACED] = found->cache.unplaced;
	value[VALUE_DIRTY] = found->cache.have_dirty ? found->cache.dirty : NOT_KNOWN;
	value[VALUE_SIZE] = found->size;
	for (size_t i = 0; i < walk->nnodes; i++)
		value[VALUE_NODES + i] = found->cache.node[walk->nid[i]];
	return file->weight > 0;
}

/* ------------------------------------------------------------------------------ rows */

static double percent(const struct row *row)
{
	uint64_t size = row->value[VALUE_SIZE], resident = row->value[VALUE_RESIDENT];

	/* The last page of a file is a whole one as well */
	return resident < size ? 100.0 * (double)resident / (double)size : 100.0;
}

static void file_row(const struct filewalk *walk, size_t i, struct row *row)
{
	row->file = walk->largest.file[i];
	memcpy(row->value, row->file->value, walk->largest.values * sizeof(*row->value));
}

static void left_out_row(const struct filewalk *walk, struct row *row)
{
	row->file = NULL;
	row->files = walk->largest.files - walk->largest.n;
	row->total = false;
	for (size_t v = 0; v < walk->largest.values; v++)
		row->value[v] = largest_left_out(&walk->largest, v);
}

static void total_row(const struct filewalk *walk, struct row *row)
{
	row->file = NULL;
	row->files = walk->largest.files;
	row->total = true;
	for (size_t v = 0; v < walk->largest.values; v++)
		row->value[v] = largest_sum(&walk->largest, v);
}

/* ------------------------------------------------------------------------------ table */

static int set_size(const struct request *req, struct libscols_line *line, size_t cell,
		    uint64_t bytes)
{
	char text[24];

	if (bytes == NOT_KNOWN)
		strcpy(text, "-");
	else if (req->bytes)
		snprintf(text, sizeof(text), "%" PRIu64, bytes);
	else
		nr_size_format(bytes, text);
	return scols_line_set_data(line, cell, text);
}

static int set_path(struct libscols_line *line, size_t cell, const struct row *row)
{
	char *text;
	int rc;

	if (row->file)
		rc = asprintf(&text, "%s%s", row->file->path,
			      row->file->deleted ? " (deleted)" : "");
	else
		rc = asprintf(&text, "(%" PRIu64 "%s file%s%s)", row->files,
			      row->total ? "" : " more", row->files == 1 ? "" : "s",
			      row->total ? " in total" : "");
	if (rc < 0)
		return -ENOMEM;
	rc = scols_line_refer_data(line, cell, text);
	if (rc < 0)
		free(text);
	return rc;
}

static int set_percent(struct libscols_line *line, size_t cell, const struct row *row)
{
	char text[16] = "-";

	if (row->file)
		snprintf(text, sizeof(text), "%.1f", percent(row));
	return scols_line_set_data(line, cell, text);
}

static int add_row(struct libscols_table *table, const struct request *req, const struct row *row)
{
	struct libscols_line *line = scols_table_new_line(table, NULL);
	size_t cell = 0;
	int rc = line ? 0 : -ENOMEM;

	for (size_t i = 0; i < req->sel.n && rc == 0; i++) {
		switch (selected(&req->sel, i)->kind) {
		case KIND_RESIDENT:
			rc = set_size(req, line, cell++, row->value[VALUE_RESIDENT]);
			break;
		case KIND_NODES:
			for (size_t k = 0; k < req->walk.nnodes && rc == 0; k++)
				rc = set_size(req, line, cell++, row->value[VALUE_NODES + k]);
			break;
		case KIND_UNPLACED:
			rc = set_size(req, line, cell++, row->value[VALUE_UNPLACED]);
			break;
		case KIND_DIRTY:
			rc = set_size(req, line, cell++, row->value[VALUE_DIRTY]);
			break;
		case KIND_PERCENT:
			rc = set_percent(line, cell++, row);
			break;
		case KIND_SIZE:
			rc = set_size(req, line, cell++, row->value[VALUE_SIZE]);
			break;
		case KIND_PATH:
			rc = set_path(line, cell++, row);
			break;
		}
	}
	return rc;
}

static int add_column(struct libscols_table *table, const char *name, bool number)
{
	return scols_table_new_column(table, name, 0, number ? SCOLS_FL_RIGHT : 0) ? 0 : -ENOMEM;
}

static int add_columns(struct libscols_table *table, const struct request *req)
{
	char name[24];
	int rc = 0;

	for (size_t i = 0; i < req->sel.n && rc == 0; i++) {
		const struct column *col = selected(&req->sel, i);

		if (col->kind != KIND_NODES) {
			rc = add_column(table, col->name, col->kind != KIND_PATH);
			continue;
		}
		for (size_t k = 0; k < req->walk.nnodes && rc == 0; k++) {
			snprintf(name, sizeof(name), "NODE%u", req->walk.nid[k]);
			rc = add_column(table, name, true);
		}
	}
	return rc;
}

/* Sums are rows as well, but scripts would take them for files. */
static int add_sums(struct libscols_table *table, const struct request *req)
{
	const struct filewalk *walk = &req->walk;
	char size[NR_SIZE_TEXT];
	struct row row;
	int rc;

	left_out_row(walk, &row);
	if (row.files && req->raw)
		complain("%" PRIu64 " more files are left out, with %s; see --top", row.files,
			 nr_size_format(row.value[VALUE_RESIDENT], size));
	if (req->raw)
		return 0;
	rc = row.files ? add_row(table, req, &row) : 0;
	total_row(walk, &row);
	return rc ? rc : add_row(table, req, &row);
}

static int print_table(const struct request *req)
{
	struct libscols_table *table = scols_new_table();
	struct row row;
	int rc;

	if (!table)
		return -ENOMEM;
	scols_table_enable_raw(table, req->raw);
	scols_table_enable_noheadings(table, req->noheadings);
	rc = add_columns(table, req);
	for (size_t i = 0; i < req->walk.largest.n && rc == 0; i++) {
		file_row(&req->walk, i, &row);
		rc = add_row(table, req, &row);
	}
	if (rc == 0)
		rc = add_sums(table, req);
	if (rc == 0)
		rc = scols_print_table(table);
	scols_unref_table(table);
	return rc;
}

/* ------------------------------------------------------------------------------ JSON */

static void json_nodes(const struct filewalk *walk, const struct row *row)
{
	char name[16];

	fputs("\"nodes\":{", stdout);
	for (size_t i = 0; i < walk->nnodes; i++) {
		snprintf(name, sizeof(name), "%u", walk->nid[i]);
		if (i)
			putchar(',');
		json_number(name, row->value[VALUE_NODES + i]);
	}
	putchar('}');
}

static void json_member(const struct filewalk *walk, const struct row *row, int kind)
{
	switch (kind) {
	case KIND_RESIDENT:
		json_number("resident", row->value[VALUE_RESIDENT]);
		break;
	case KIND_NODES:
		json_nodes(walk, row);
		break;
	case KIND_UNPLACED:
		json_number("unplaced", row->value[VALUE_UNPLACED]);
		break;
	case KIND_DIRTY:
		json_number("dirty", row->value[VALUE_DIRTY]);
		break;
	case KIND_PERCENT:
		printf("\"percent\":%.1f", percent(row));
		break;
	case KIND_SIZE:
		json_number("size", row->value[VALUE_SIZE]);
		break;
	case KIND_PATH:
		json_path(row->file->path);
		printf(",\"deleted\":%s", row->file->deleted ? "true" : "false");
		break;
	}
}

static void json_row(const struct request *req, const struct row *row)
{
	const char *comma = "";

	putchar('{');
	if (!row->file) {
		json_number("files", row->files);
		comma = ",";
	}
	for (size_t i = 0; i < req->sel.n; i++) {
		int kind = selected(&req->sel, i)->kind;

		/* A sum has neither */
		if (!row->file && (kind == KIND_PERCENT || kind == KIND_PATH))
			continue;
		fputs(comma, stdout);
		json_member(&req->walk, row, kind);
		comma = ",";
	}
	putchar('}');
}

static void print_json(const struct request *req)
{
	const struct filewalk *walk = &req->walk;
	struct row row;

	fputs("{\"files\":[", stdout);
	for (size_t i = 0; i < walk->largest.n; i++) {
		fputs(i ? ",\n" : "\n", stdout);
		file_row(walk, i, &row);
		json_row(req, &row);
	}
	fputs("],\n\"left_out\":", stdout);
	left_out_row(walk, &row);
	json_row(req, &row);
	fputs(",\n\"total\":", stdout);
	total_row(walk, &row);
	json_row(req, &row);
	filewalk_json_end(walk);
}

/* ------------------------------------------------------------------------------ command line */

/* A number from 1 to @max given for @option; 0 after a complaint. */
static size_t number(const char *option, const char *text, size_t max)
{
	size_t len = strspn(text, "0123456789"), n = 0;
	char shown[64];

	if (len && len < 10 && !text[len])
		n = strtoul(text, NULL, 10);
	if (n >= 1 && n <= max)
		return n;
	complain("%s: '%s' is no number from 1 to %zu", option,
		 printable(text, shown, sizeof(shown)), max);
	return 0;
}

static int parse_arguments(int argc, char **argv, struct request *req)
{
	enum { OPT_OPEN = 256 };
	static const struct option options[] = {
		{ "bytes", no_argument, NULL, 'b' },
		{ "help", no_argument, NULL, 'h' },
		{ "json", no_argument, NULL, 'J' },
		{ "nodes", required_argument, NULL, 'N' },
		{ "noheadings", no_argument, NULL, 'n' },
		{ "open", no_argument, NULL, OPT_OPEN },
		{ "output", required_argument, NULL, 'o' },
		{ "output-all", no_argument, NULL, 'O' },
		{ "pid", required_argument, NULL, 'p' },
		{ "raw", no_argument, NULL, 'r' },
		{ "top", required_argument, NULL, 't' },
		{ NULL, 0, NULL, 0 },
	};
	struct nr_files *files = &req->walk.files;
	const char *output = NULL;
	bool all = false, open = false;
	int c;

	while ((c = getopt_long(argc, argv, "bhJN:no:Op:rt:", options, NULL)) != -1) {
		switch (c) {
		case 'b':
			req->bytes = true;
			break;
		case 'h':
			usage();
			exit(CLI_MET);
		case 'J':
			req->json = true;
			break;
		case 'N':
			req->nodes = optarg;
			break;
		case 'n':
			req->noheadings = true;
			break;
		case OPT_OPEN:
			open = true;
			break;
		case 'o':
			output = optarg;
			break;
		case 'O':
			all = true;
			break;
		case 'p':
			files->pid = (pid_t)number("--pid", optarg, PID_MAX);
			if (!files->pid)
				return usage_error("cache");
			break;
		case 'r':
			req->raw = true;
			break;
		case 't':
			req->walk.largest.limit = number("--top", optarg, FILEWALK_FILES_MAX);
			if (!req->walk.largest.limit)
				return usage_error("cache");
			break;
		default:
			return usage_error("cache");
		}
	}
	if (!filewalk_paths(&req->walk, argc - optind, argv + optind))
		return usage_error("cache");
	files->open = open || files->pid;
	if (open && files->pid) {
		complain("--open and --pid exclude each other");
		return usage_error("cache");
	}
	if (req->json && req->raw) {
		complain("--json and --raw exclude each other");
		return usage_error("cache");
	}
	if (!files->npaths && !files->open) {
		complain("a PATH, --open or --pid is missing");
		return usage_error("cache");
	}
	return select_options(&req->sel, output, all, req->json) ? CLI_MET : usage_error("cache");
}

static int show(struct request *req)
{
	struct filewalk *walk = &req->walk;
	int rc = 0, code = filewalk_open(walk, req->nodes);

	walk->largest.values = VALUE_NODES + walk->nnodes;
	if (code == CLI_MET)
		code = filewalk_run(walk);
	if (code == CLI_MET && req->json)
		print_json(req);
	else if (code == CLI_MET)
		rc = print_table(req);
	if (rc < 0)
		code = failed(rc, "table");
	else if (code == CLI_MET && (walk->failed || walk->cancelled))
		code = CLI_SHORT;
	filewalk_close(walk);
	return code;
}

int cmd_cache(int argc, char **argv)
{
	struct request req = {
		.sel.table = &cache_columns,
		.walk = { .command = "cache", .judge = judge, .largest.limit = FILEWALK_FILES },
	};
	int code = parse_arguments(argc, argv, &req);

	return code == CLI_MET ? show(&req) : code;
}
