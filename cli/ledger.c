// SPDX-License-Identifier: GPL-2.0-or-later
/* nodereclaim ledger: the settings of this host that are changed for jobs, and who holds them. */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <libsmartcols.h>
#include <stdio.h>
#include <syslog.h>
#include <time.h>

#include "cli.h"

enum {
	COL_SETTING,
	COL_BEFORE,
	COL_SET,
	COL_NOW,
	COL_STATE,
	COL_JOB,
	COL_STEP,
	COL_WANTS,
	COL_SINCE
};

static const struct {
	const char *name, *help;
	int json;
} columns[] = {
	[COL_SETTING] = { "SETTING", "what is changed", SCOLS_JSON_STRING },
	[COL_BEFORE] = { "BEFORE", "its value before the first holder", SCOLS_JSON_NUMBER },
	[COL_SET] = { "SET", "the value that was set for its holders", SCOLS_JSON_NUMBER },
	[COL_NOW] = { "NOW", "the value that the kernel has", SCOLS_JSON_NUMBER },
	[COL_STATE] = { "STATE",
			"ours; pending: a change was not finished; foreign: somebody else changed it",
			SCOLS_JSON_STRING },
	[COL_JOB] = { "JOB", "a job that holds it", SCOLS_JSON_NUMBER },
	[COL_STEP] = { "STEP", "the job's step", SCOLS_JSON_STRING },
	[COL_WANTS] = { "WANTS", "the bits that it wants", SCOLS_JSON_NUMBER },
	[COL_SINCE] = { "SINCE", "since when, UTC", SCOLS_JSON_STRING },
};

static void usage(void)
{
	fputs("Usage: nodereclaim ledger [OPTION]...\n"
	      "\n"
	      "Show the settings of this host that are changed for jobs: a line for each holder.\n"
	      "\n"
	      "Options:\n"
	      "  -J, --json         JSON\n"
	      "  -s, --sysroot DIR  read a recorded tree: DIR/run, DIR/sys and DIR/proc\n"
	      "  -h, --help         show this\n"
	      "\n"
	      "Columns:\n",
	      stdout);
	for (size_t i = 0; i < ARRAY_SIZE(columns); i++)
		printf("  %-7s  %s\n", columns[i].name, columns[i].help);
}

static int set_number(struct libscols_line *line, size_t column, uint64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, value);
	return scols_line_set_data(line, column, text);
}

/* @since counts from the boot of this host. */
static int set_since(struct libscols_line *line, uint64_t since)
{
	struct timespec boot;
	time_t then = time(NULL);
	char text[32];
	struct tm tm;

	clock_gettime(CLOCK_BOOTTIME, &boot);
	then -= boot.tv_sec - (time_t)since;
	if (!gmtime_r(&then, &tm) || !strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &tm))
		return 0;
	return scols_line_set_data(line, COL_SINCE, text);
}

static int add_holder(struct libscols_line *line, const struct nr_ledger_holder *holder)
{
	int rc;

	if ((rc = set_number(line, COL_JOB, holder->job)) < 0 ||
	    (rc = scols_line_set_data(line, COL_STEP, holder->step)) < 0 ||
	    (rc = set_number(line, COL_WANTS, holder->wants)) < 0)
		return rc;
	return set_since(line, holder->since);
}

/* @holder is NULL for a setting that only is to be restored. */
static int add_row(struct libscols_table *table, const struct nr_ledger_entry *entry,
		   const struct nr_ledger_holder *holder)
{
	struct libscols_line *line = scols_table_new_line(table, NULL);
	int rc;

	if (!line)
		return -ENOMEM;
	if ((rc = scols_line_set_data(line, COL_SETTING, entry->setting)) < 0 ||
	    (rc = set_number(line, COL_BEFORE, entry->before)) < 0 ||
	    (rc = set_number(line, COL_SET, entry->set)) < 0 ||
	    (entry->have_now && (rc = set_number(line, COL_NOW, entry->now)) < 0) ||
	    (rc = scols_line_set_data(line, COL_STATE, nr_ledger_state_name(entry->state))) < 0)
		return rc;
	return holder ? add_holder(line, holder) : 0;
}

static int add_rows(struct libscols_table *table, const struct nr_ledger *ledger)
{
	int rc = 0;

	for (size_t i = 0; i < nr_ledger_count(ledger) && rc == 0; i++) {
		const struct nr_ledger_entry *entry = nr_ledger_at(ledger, i);

		if (!entry->n)
			rc = add_row(table, entry, NULL);
		for (size_t k = 0; k < entry->n && rc == 0; k++)
			rc = add_row(table, entry, &entry->holder[k]);
	}
	return rc;
}

static int print_table(const struct nr_ledger *ledger, bool json)
{
	struct libscols_table *table = scols_new_table();
	int rc = 0;

	if (!table)
		return -ENOMEM;
	scols_table_set_name(table, "ledger");
	scols_table_enable_json(table, json);
	for (size_t i = 0; i < ARRAY_SIZE(columns) && rc == 0; i++) {
		int flags = columns[i].json == SCOLS_JSON_NUMBER ? SCOLS_FL_RIGHT : 0;
		struct libscols_column *col;

		col = scols_table_new_column(table, columns[i].name, 0, flags);
		rc = col ? scols_column_set_json_type(col, columns[i].json) : -ENOMEM;
	}
	if (rc == 0)
		rc = add_rows(table, ledger);
	if (rc == 0)
		rc = scols_print_table(table);
	scols_unref_table(table);
	return rc;
}

int cmd_ledger(int argc, char **argv)
{
	struct nr_ledger *ledger = NULL;
	const char *sysroot = NULL;
	struct nr_ctx *ctx;
	bool json = false;
	int rc, code;

	if (!json_options(argc, argv, "ledger", usage, &json, &sysroot, &code))
		return code;
	code = open_context(sysroot, LOG_WARNING, &ctx);
	if (code != CLI_MET)
		return code;
	rc = nr_ledger_read(ctx, &ledger);
	if (rc == 0 && !json && !nr_ledger_count(ledger))
		puts("No setting is changed for a job.");
	else if (rc == 0)
		rc = print_table(ledger, json);
	code = rc < 0 ? failed(rc, "ledger") : CLI_MET;
	nr_ledger_free(ledger);
	nr_close(ctx);
	return code;
}
