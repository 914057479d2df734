// SPDX-License-Identifier: GPL-2.0-or-later
/* nodereclaim flush: plan, free, report; the whole flow by hand. */
#include "config.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>
#include <unistd.h>

#include "cli.h"

struct request {
	const char *spec_text, *nodes, *sysroot, *backend;
	const char **files_from; /* room for every argument */
	size_t nfiles_from;
	bool dry_run, json, allow_drop_caches;
	struct nr_spec *spec;
};

static int on_progress(void *data, const struct nr_progress *progress)
{
	(void)data;
	progress_draw(progress->all_freed, progress->all_to_free);
	return 0;
}

static void usage(void)
{
	fputs("Usage: nodereclaim flush [OPTION]... [SPEC]\n"
	      "\n"
	      "Drop clean page cache of NUMA nodes until SPEC is met, and report what was done.\n"
	      "\n"
	      "SPEC is ITEM[,ITEM...] as in srun --node-reclaim; 'flush help' lists the items.\n"
	      "There is no job here, so these differ:\n"
	      "  all       drop every clean page: the default, unless SPEC has SIZE or N%\n"
	      "  auto, policy=local, policy=bind\n"
	      "            are refused: they are about a job\n"
	      "  strict    changes nothing: a need that is not met always exits with 1\n"
	      "  quiet     no report and no progress; verbose: also what the library notes\n"
	      "\n"
	      "Options:\n"
	      "  -N, --nodes LIST          these NUMA nodes (0,2-3); default: each that has memory\n"
	      "  -n, --dry-run             plan and report, touch nothing\n"
	      "  -J, --json                the report as JSON\n"
	      "      --backend NAME        free by no other way than this one; 'nodereclaim backends'\n"
	      "                            lists them\n"
	      "      --files-from PATH     where the backend files looks beside what processes have\n"
	      "                            open: a file or folder, absolute; may be repeated\n"
	      "      --allow-drop-caches   where nothing frees one NUMA node's cache, drop that of the\n"
	      "                            whole host\n"
	      "  -s, --sysroot DIR         with --dry-run: read a recorded tree, DIR/sys and DIR/proc\n"
	      "  -h, --help                show this\n"
	      "\n"
	      "Exit status: 0 the need is met, 1 it is not, 2 usage, 3 not permitted, 4 other failure.\n",
	      stdout);
}

/* Reads and checks the spec; what only makes sense for a job is refused rather than ignored. */
static int read_spec(struct request *req)
{
	char why[256];
	int rc = nr_spec_parse(req->spec_text ? req->spec_text : "all", &req->spec, why,
			       sizeof(why));

	if (rc == -ENOMEM)
		return failed(rc, "SPEC");
	if (rc < 0) {
		complain("SPEC: %s", why);
		return usage_error("flush");
	}
	/* In a script an empty SPEC is a variable that was not set, and no wish to drop everything
	 */
	if (req->spec_text && !req->spec->given) {
		complain("SPEC is empty; leave it out for all");
		return usage_error("flush");
	}
	if (req->spec->given & NR_ITEM_AUTO) {
		complain(
			"SPEC: 'auto' is what a job was given, and there is none; use SIZE, N%% or all");
		return usage_error("flush");
	}
	if (req->spec->policy != NR_POLICY_NONE) {
		complain("SPEC: 'policy=' is about a job's tasks, and there are none");
		return usage_error("flush");
	}
	if (req->spec->goal == NR_GOAL_AUTO)
		req->spec->goal = NR_GOAL_ALL;
	return CLI_MET;
}

/* The name of a backend, and none that --allow-drop-caches has to allow first. */
static bool check_backend(const struct request *req)
{
	char names[256], shown[64];

	if (nr_backend_find(req->backend, names, sizeof(names)) < 0) {
		complain("--backend: '%s' is none of %s",
			 printable(req->backend, shown, sizeof(shown)), names);
		return false;
	}
	if (!strcmp(req->backend, "drop_caches") && !req->allow_drop_caches) {
		complain("--backend drop_caches empties the whole host's cache; it needs "
			 "--allow-drop-caches");
		return false;
	}
	return true;
}

static bool add_files_from(struct request *req, const char *path)
{
	char shown[64];

	if (*path != '/') {
		complain("--files-from: '%s' is not an absolute path",
			 printable(path, shown, sizeof(shown)));
		return false;
	}
	req->files_from[req->nfiles_from++] = path;
	return true;
}

static int parse_arguments(int argc, char **argv, struct request *req)
{
	enum { OPT_ALLOW_DROP_CACHES = 256, OPT_BACKEND, OPT_FILES_FROM };
	static const struct option options[] = {
		{ "allow-drop-caches", no_argument, NULL, OPT_ALLOW_DROP_CACHES },
		{ "backend", required_argument, NULL, OPT_BACKEND },
		{ "dry-run", no_argument, NULL, 'n' },
		{ "files-from", required_argument, NULL, OPT_FILES_FROM },
		{ "help", no_argument, NULL, 'h' },
		{ "json", no_argument, NULL, 'J' },
		{ "nodes", required_argument, NULL, 'N' },
		{ "sysroot", required_argument, NULL, 's' },
		{ NULL, 0, NULL, 0 },
	};
	int c;

	req->files_from = calloc((size_t)argc, sizeof(*req->files_from));
	if (!req->files_from)
		return failed(-ENOMEM, "arguments");
	while ((c = getopt_long(argc, argv, "hJN:ns:", options, NULL)) != -1) {
		switch (c) {
		case OPT_ALLOW_DROP_CACHES:
			req->allow_drop_caches = true;
			break;
		case OPT_BACKEND:
			req->backend = optarg;
			break;
		case OPT_FILES_FROM:
			if (!add_files_from(req, optarg))
				return usage_error("flush");
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
			req->dry_run = true;
			break;
		case 's':
			req->sysroot = optarg;
			break;
		default:
			return usage_error("flush");
		}
	}
	if (optind < argc)
		req->spec_text = argv[optind++];
	if (!no_more_arguments(argc, argv, optind))
		return usage_error("flush");
	if (req->sysroot && !req->dry_run) {
		complain("--sysroot needs --dry-run: a recorded tree cannot be flushed");
		return usage_error("flush");
	}
	if (req->nodes && !check_list("--nodes", req->nodes, NR_MAX_NODES))
		return usage_error("flush");
	if (req->backend && !check_backend(req))
		return usage_error("flush");
	return read_spec(req);
}

/* Why no backend could be used, in their own words, for the first NUMA node that had none. */
static void explain_no_backend(struct nr_ctx *ctx, const struct request *req,
			       const struct nr_result *result)
{
	for (size_t i = 0; i < nr_result_count(result); i++) {
		const struct nr_result_node *node = nr_result_at(result, i);
		struct nr_backend_info info;

		if (node->stop != NR_STOP_NO_BACKEND)
			continue;
		complain("NUMA node %d: no backend can be used", node->plan.nid);
		for (size_t b = 0; b < nr_backend_count(); b++) {
			if (req->backend && strcmp(req->backend, nr_backend_name(b)))
				continue;
			if (nr_backend_probe(ctx, b, node->plan.nid, &info))
				continue;
			if (info.error)
				complain("  %s: %s", info.name, info.why);
			else if (info.whole_host && !req->allow_drop_caches)
				complain("  %s: the whole host, only with --allow-drop-caches",
					 info.name);
		}
		return;
	}
}

static int print_report(const struct request *req, const struct nr_result *result)
{
	char *text;
	int rc;

	if (req->spec->verbosity == NR_VERBOSITY_QUIET && !req->json)
		return 0;
	rc = req->json ? nr_report_json(result, &text) : nr_report_text(result, &text);
	if (rc < 0)
		return rc;
	fputs(text, stdout);
	free(text);
	return 0;
}

static int exit_code(const struct request *req, const struct nr_result *result)
{
	uint64_t missing = 0;
	bool unknown = false;

	for (size_t i = 0; i < nr_result_count(result); i++) {
		const struct nr_result_node *node = nr_result_at(result, i);

		if (node->stop == NR_STOP_ERROR &&
		    (node->error == -EACCES || node->error == -EPERM))
			return CLI_NOT_PERMITTED;
		missing += node->plan.missing;
		unknown |= node->plan.verdict == NR_VERDICT_UNKNOWN;
	}
	/* A dry run answers whether clean cache would be enough */
	if (!req->dry_run)
		missing = nr_result_missing(result);
	return missing || unknown ? CLI_SHORT : CLI_MET;
}

static int run(struct nr_ctx *ctx, const struct request *req, struct nr_binding *binding)
{
	struct nr_options opt = {
		.dry_run = req->dry_run,
		.allow_drop_caches = req->allow_drop_caches,
		.backend = req->backend,
		.files_from = req->files_from,
		.nfiles_from = req->nfiles_from,
	};
	struct nr_result *result = NULL;
	int rc, code;

	if (isatty(STDERR_FILENO) && req->spec->verbosity != NR_VERBOSITY_QUIET)
		opt.progress = on_progress;
	cancel_on_signals(ctx);
	rc = nr_run(ctx, req->spec, binding, 0, &opt, &result);
	cancel_on_signals(NULL);
	progress_clear();
	if (!result) {
		if (rc != -ERANGE)
			return failed(rc, "flush");
		complain("SPEC: 'nodes=' has a NUMA node that is not in --nodes or has no memory");
		return usage_error("flush");
	}
	was_cancelled();
	explain_no_backend(ctx, req, result);
	rc = print_report(req, result);
	code = rc < 0 ? failed(rc, "report") : exit_code(req, result);
	nr_result_free(result);
	return code;
}

static int flush(const struct request *req)
{
	int priority = req->spec->verbosity == NR_VERBOSITY_VERBOSE ? LOG_INFO : LOG_WARNING;
	struct nr_binding *binding;
	struct nr_ctx *ctx;
	int rc, code;

	code = open_context(req->sysroot, priority, &ctx);
	if (code != CLI_MET)
		return code;
	rc = nr_binding_from_nodes(ctx, req->nodes, &binding);
	if (rc == -ERANGE && req->nodes) {
		failed(rc, "--nodes");
		code = usage_error("flush");
	} else if (rc < 0) {
		code = failed(rc, "NUMA nodes");
	} else {
		code = run(ctx, req, binding);
		nr_binding_free(binding);
	}
	nr_close(ctx);
	return code;
}

int cmd_flush(int argc, char **argv)
{
	struct request req = { 0 };
	int code = parse_arguments(argc, argv, &req);

	if (code == CLI_MET && req.spec->help) {
		fputs(nr_spec_help(), stdout);
	} else if (code == CLI_MET && !req.dry_run && geteuid() != 0) {
		complain("only root may make the kernel drop cache; --dry-run shows the plan");
		code = CLI_NOT_PERMITTED;
	} else if (code == CLI_MET) {
		code = flush(&req);
	}
	nr_spec_free(req.spec);
	free(req.files_from);
	return code;
}
