// SPDX-License-Identifier: GPL-2.0-or-later
/* nodereclaim restore: put settings back that jobs have left changed. */
#include "config.h"

#include <getopt.h>
#include <stdio.h>
#include <syslog.h>

#include "cli.h"

/* For other programs to finish with the ledger, and to look at all processes */
#define TIMEOUT_MS 10000

static void usage(void)
{
	fputs("Usage: nodereclaim restore [OPTION]...\n"
	      "\n"
	      "Put settings of this host back that jobs have left changed. What somebody else has set\n"
	      "meanwhile stays.\n"
	      "\n"
	      "Options:\n"
	      "  -S, --stale        for jobs that have ended, the default\n"
	      "  -a, --all          for all jobs, also those that run\n"
	      "  -n, --dry-run      only say what would be done\n"
	      "  -s, --sysroot DIR  with --dry-run: a recorded tree: DIR/run, DIR/sys and DIR/proc\n"
	      "  -h, --help         show this\n",
	      stdout);
}

static void print_done(const struct nr_ledger_done *done, bool dry_run)
{
	printf("%s%zu holder%s dropped, %zu left; %zu setting%s restored",
	       dry_run ? "Would be: " : "", done->dropped, done->dropped == 1 ? "" : "s",
	       done->left, done->restored, done->restored == 1 ? "" : "s");
	if (done->foreign)
		printf(", %zu as somebody else set %s", done->foreign,
		       done->foreign == 1 ? "it" : "them");
	putchar('\n');
}

static int restore(const char *sysroot, bool all, bool dry_run)
{
	struct nr_ledger_done done;
	struct nr_ctx *ctx;
	int rc, code;

	code = open_context(sysroot, LOG_INFO, &ctx);
	if (code != CLI_MET)
		return code;
	rc = nr_ledger_restore(ctx, all, dry_run, TIMEOUT_MS, &done);
	if (rc == 0)
		print_done(&done, dry_run);
	else
		code = failed(rc, "restore");
	nr_close(ctx);
	return code;
}

int cmd_restore(int argc, char **argv)
{
	static const struct option options[] = {
		{ "all", no_argument, NULL, 'a' },	     { "dry-run", no_argument, NULL, 'n' },
		{ "help", no_argument, NULL, 'h' },	     { "stale", no_argument, NULL, 'S' },
		{ "sysroot", required_argument, NULL, 's' }, { NULL, 0, NULL, 0 },
	};
	bool all = false, stale = false, dry_run = false;
	const char *sysroot = NULL;
	int c;

	while ((c = getopt_long(argc, argv, "anhSs:", options, NULL)) != -1) {
		switch (c) {
		case 'a':
			all = true;
			break;
		case 'n':
			dry_run = true;
			break;
		case 'h':
			usage();
			return CLI_MET;
		case 'S':
			stale = true;
			break;
		case 's':
			sysroot = optarg;
			break;
		default:
			return usage_error("restore");
		}
	}
	if (!no_more_arguments(argc, argv, optind))
		return usage_error("restore");
	if (all && stale) {
		complain("--all and --stale: only one of them is allowed");
		return usage_error("restore");
	}
	if (sysroot && !dry_run) {
		complain("--sysroot is only allowed with --dry-run");
		return usage_error("restore");
	}
	return restore(sysroot, all, dry_run);
}
