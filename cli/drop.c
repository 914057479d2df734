// SPDX-License-Identifier: GPL-2.0-or-later
/* nodereclaim drop: drop the page cache of files, and say what stayed. */
#include "config.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <libsmartcols.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "filewalk.h"

enum { VALUE_DROPPED, VALUE_STAYED, VALUE_DIRTY, VALUES };
enum { COL_DROPPED, COL_STAYED, COL_WHY, COL_PATH };

struct request {
	bool json;
	const char *nodes;
	struct filewalk walk;
};

static void usage(void)
{
	fputs("Usage: nodereclaim drop [OPTION]... PATH...\n"
	      "\n"
	      "Drop the page cache of files, and say what stayed and why.\n"
	      "PATH is a file, or a folder with all that is below it on the same mount.\n"
	      "Everybody may do so with files that are their own or that they may write to.\n"
	      "\n"
	      "Options:\n"
	      "  -N, --nodes LIST  only what is on these NUMA nodes (0,2-3)\n"
	      "  -S, --sync        write dirty pages back first; otherwise they stay\n"
	      "  -J, --json        JSON, sizes in bytes\n"
	      "  -h, --help        show this\n"
	      "\n"
	      "Pages that a process has mapped, or uses at this moment, stay.\n"
	      "Exit status: 0 nothing stayed, 1 something did or could not be looked at, 2 usage,\n"
	      "3 a PATH is not for this user, 4 other failure.\n",
	      stdout);
}

/* Why something stayed: the kernel does not say, but dirty pages have a number. When it is asked to
 * drop dirty pages, it begins to write them, and may be done by the time of the second count. */
static const char *why_stayed(bool sync, const struct nr_found *found, uint64_t stayed)
{
	uint64_t dirty = found->left.dirty;

	if (!found->left.have_dirty)
		return sync ? "mapped or in use" : "dirty, mapped or in use";
	if (dirty && sync)
		return "dirty again, mapped or in use";
	if (dirty)
		return dirty >= stayed ? "dirty; see --sync" : "dirty (see --sync) or in use";
	return found->cache.dirty && !sync ? "was dirty, is written now" : "mapped or in use";
}

static bool judge(const struct filewalk *walk, const struct nr_found *found, struct file *file,
		  uint64_t value[FILEWALK_VALUES])
{
	uint64_t before = filewalk_bytes(walk, &found->cache);
	uint64_t stayed = filewalk_bytes(walk, &found->left);

	value[VALUE_DROPPED] = before > stayed ? before - stayed : 0;
	value[VALUE_STAYED] = stayed;
	value[VALUE_DIRTY] = found->left.have_dirty ? found->left.dirty : NOT_KNOWN;
	file->weight = stayed;
	file->note = found->error ? found->why : why_stayed(walk->files.sync, found, stayed);
	return before || stayed;
}

/* ------------------------------------------------------------------------------ output */

static int add_row(struct libscols_table *table, const struct file *file)
{
	struct libscols_line *line = scols_table_new_line(table, NULL);
	char dropped[NR_SIZE_TEXT], stayed[NR_SIZE_TEXT];
	int rc;

	if (!line)
		return -ENOMEM;
	nr_size_format(file->value[VALUE_DROPPED], dropped);
	nr_size_format(file->value[VALUE_STAYED], stayed);
	rc = scols_line_set_data(line, COL_DROPPED, dropped);
	if (rc == 0)
		rc = scols_line_set_data(line, COL_STAYED, stayed);
	if (rc == 0)
		rc = scols_line_set_data(line, COL_WHY, file->note);
	return rc ? rc : scols_line_set_data(line, COL_PATH, file->path);
}

/* The files of which something stayed. */
static int print_table(const struct largest *stayed)
{
	struct libscols_table *table = scols_new_table();
	int rc = table && scols_table_new_column(table, "DROPPED", 0, SCOLS_FL_RIGHT) &&
				 scols_table_new_column(table, "STAYED", 0, SCOLS_FL_RIGHT) &&
				 scols_table_new_column(table, "WHY", 0, 0) &&
				 scols_table_new_column(table, "PATH", 0, 0)
			 ? 0
			 : -ENOMEM;

	for (size_t i = 0; i < stayed->n && rc == 0; i++)
		rc = add_row(table, stayed->file[i]);
	if (rc == 0)
		rc = scols_print_table(table);
	scols_unref_table(table);
	return rc;
}

static int print_text(const struct filewalk *walk, const char *nodes)
{
	const struct largest *files = &walk->largest;
	char dropped[NR_SIZE_TEXT], stayed[NR_SIZE_TEXT], others[NR_SIZE_TEXT];
	int rc = files->n ? print_table(files) : 0;

	if (rc < 0)
		return rc;
	printf("%s dropped of %" PRIu64 " file%s",
	       nr_size_format(largest_sum(files, VALUE_DROPPED), dropped), files->files,
	       files->files == 1 ? "" : "s");
	if (nodes)
		printf(" on NUMA node%s %s", walk->nnodes == 1 ? "" : "s", nodes);
	printf(", %s stayed", nr_size_format(largest_sum(files, VALUE_STAYED), stayed));
	if (largest_left_out(files, VALUE_STAYED))
		printf(", of this %s in files that are not listed",
		       nr_size_format(largest_left_out(files, VALUE_STAYED), others));
	putchar('\n');
	return 0;
}

static void json_numbers(uint64_t dropped, uint64_t stayed, uint64_t dirty)
{
	json_number("dropped", dropped);
	putchar(',');
	json_number("stayed", stayed);
	putchar(',');
	json_number("dirty", dirty);
	putchar('}');
}

static void print_json(const struct filewalk *walk)
{
	const struct largest *files = &walk->largest;

	fputs("{\"files\":[", stdout);
	for (size_t i = 0; i < files->n; i++) {
		const struct file *file = files->file[i];

		fputs(i ? ",\n{" : "\n{", stdout);
		json_path(file->path);
		printf(",\"why\":\"%s\",", file->note);
		json_numbers(file->value[VALUE_DROPPED], file->value[VALUE_STAYED],
			     file->value[VALUE_DIRTY]);
	}
	printf("],\n\"left_out\":{\"files\":%" PRIu64 ",", files->files - files->n);
	json_numbers(largest_left_out(files, VALUE_DROPPED), largest_left_out(files, VALUE_STAYED),
		     largest_left_out(files, VALUE_DIRTY));
	printf(",\n\"total\":{\"files\":%" PRIu64 ",", files->files);
	json_numbers(largest_sum(files, VALUE_DROPPED), largest_sum(files, VALUE_STAYED),
		     largest_sum(files, VALUE_DIRTY));
	filewalk_json_end(walk);
}

/* ------------------------------------------------------------------------------ command line */

static int parse_arguments(int argc, char **argv, struct request *req)
{
	static const struct option options[] = {
		{ "help", no_argument, NULL, 'h' },
		{ "json", no_argument, NULL, 'J' },
		{ "nodes", required_argument, NULL, 'N' },
		{ "sync", no_argument, NULL, 'S' },
		{ NULL, 0, NULL, 0 },
	};
	int c;

	while ((c = getopt_long(argc, argv, "hJN:S", options, NULL)) != -1) {
		switch (c) {
		case 'h':
			usage();
			exit(CLI_MET);
		case 'J':
			req->json = true;
			break;
		case 'N':
			req->nodes = optarg;
			break;
		case 'S':
			req->walk.files.sync = true;
			break;
		default:
			return usage_error("drop");
		}
	}
	if (optind == argc) {
		complain("a PATH is missing");
		return usage_error("drop");
	}
	return filewalk_paths(&req->walk, argc - optind, argv + optind) ? CLI_MET
									: usage_error("drop");
}

static int exit_code(const struct filewalk *walk)
{
	if (walk->denied)
		return CLI_NOT_PERMITTED;
	return walk->failed || walk->cancelled || largest_sum(&walk->largest, VALUE_STAYED)
		       ? CLI_SHORT
		       : CLI_MET;
}

/* Without --nodes every NUMA node, also what the kernel does not place. */
static int drop(struct request *req, struct bitmask *every)
{
	struct filewalk *walk = &req->walk;
	int rc = 0, code = filewalk_open(walk, req->nodes);

	walk->files.drop = walk->nodes ? walk->nodes : numa_bitmask_setall(every);
	if (code == CLI_MET)
		code = filewalk_run(walk);
	if (code == CLI_MET && req->json)
		print_json(walk);
	else if (code == CLI_MET)
		rc = print_text(walk, req->nodes);
	if (rc < 0)
		code = failed(rc, "table");
	else if (code == CLI_MET)
		code = exit_code(walk);
	filewalk_close(walk);
	return code;
}

int cmd_drop(int argc, char **argv)
{
	struct request req = { .walk = {
				       .command = "drop",
				       .judge = judge,
				       .largest = { .limit = FILEWALK_FILES, .values = VALUES } } };
	int code = parse_arguments(argc, argv, &req);
	struct bitmask *every;

	if (code != CLI_MET)
		return code;
	every = nr_set_new(NR_MAX_NODES);
	code = every ? drop(&req, every) : failed(-ENOMEM, "NUMA nodes");
	nr_set_free(every);
	return code;
}
