// SPDX-License-Identifier: GPL-2.0-or-later
/* nodereclaim doctor: one line for each thing that has to be in place. Only looks. */
#include "config.h"

#include "doctor.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <syslog.h>
#include <unistd.h>

#include "cli.h"

#define LINE_SIZE (2 * PATH_MAX)

/* Above this share of a NUMA node's memory the kernel's limit is worth a word; its default is 1 */
#define UNMAPPED_RATIO_HIGH 5

void finding(struct doctor *doctor, enum verdict verdict, const char *topic, const char *format,
	     ...)
{
	static const char *const names[] = {
		[VERDICT_OK] = "ok",
		[VERDICT_WARN] = "warn",
		[VERDICT_FAIL] = "FAIL",
	};
	char text[LINE_SIZE], shown[LINE_SIZE];
	va_list args;

	if (verdict == VERDICT_FAIL)
		doctor->failed++;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	printf("%-4s  %-14s  %s\n", names[verdict], topic, printable(text, shown, sizeof(shown)));
}

/* The first folder above @path in which others than root may replace files; false: none. */
static bool unsafe_folder(const char *path, char folder[PATH_MAX])
{
	struct stat st;
	char *slash;

	if (!realpath(path, folder))
		return false;
	while ((slash = strrchr(folder, '/'))) {
		slash[slash == folder] = '\0';
		if (stat(folder, &st) == 0 &&
		    (st.st_uid != 0 ||
		     ((st.st_mode & (S_IWGRP | S_IWOTH)) && !(st.st_mode & S_ISVTX))))
			return true;
		if (slash == folder)
			break;
	}
	return false;
}

bool check_file(struct doctor *doctor, const char *topic, const char *path, bool program,
		enum verdict absent, const char *if_absent)
{
	char folder[PATH_MAX];
	struct stat st;

	if (stat(path, &st) < 0) {
		if (errno == ENOENT || errno == ENOTDIR)
			finding(doctor, absent, topic, "%s is not there: %s", path, if_absent);
		else
			finding(doctor, VERDICT_FAIL, topic, "%s: %s", path, strerror(errno));
		return false;
	}
	if (!S_ISREG(st.st_mode))
		finding(doctor, VERDICT_FAIL, topic, "%s is no regular file: install it again",
			path);
	else if (st.st_uid != 0)
		finding(doctor, VERDICT_FAIL, topic, "%s belongs to user %u: chown root", path,
			(unsigned int)st.st_uid);
	else if (st.st_mode & (S_IWGRP | S_IWOTH))
		finding(doctor, VERDICT_FAIL, topic,
			"%s may be changed by others than root (mode %04o): chmod go-w", path,
			(unsigned int)(st.st_mode & 07777));
	else if (program && !(st.st_mode & S_IXUSR))
		finding(doctor, VERDICT_FAIL, topic, "%s is not executable (mode %04o): chmod 755",
			path, (unsigned int)(st.st_mode & 07777));
	else if (st.st_mode & (S_ISUID | S_ISGID))
		finding(doctor, VERDICT_FAIL, topic,
			"%s is set-user-ID or set-group-ID (mode %04o), which it must not be: chmod 755",
			path, (unsigned int)(st.st_mode & 07777));
	else if (unsafe_folder(path, folder))
		finding(doctor, VERDICT_FAIL, topic,
			"%s could be replaced by others than root: chown root and chmod go-w %s",
			path, folder);
	else
		return true;
	return false;
}

/* Names the NUMA nodes of @snap for which @has is true: "0,2-3" in memory for free(3). */
static char *nodes_text(struct nr_ctx *ctx, const struct nr_snapshot *snap, size_t index,
			bool (*has)(struct nr_ctx *ctx, const struct nr_node *node, size_t index))
{
	struct bitmask *set = nr_set_new(NR_MAX_NODES);
	char *text = NULL;

	for (size_t i = 0; set && i < nr_snapshot_count(snap); i++) {
		const struct nr_node *node = nr_snapshot_at(snap, i);

		if (node->has_memory && has(ctx, node, index))
			numa_bitmask_setbit(set, (unsigned int)node->nid);
	}
	if (set)
		text = set_text(set);
	nr_set_free(set);
	return text;
}

static bool has_memory(struct nr_ctx *ctx, const struct nr_node *node, size_t index)
{
	(void)ctx;
	(void)index;
	return node->has_memory;
}

static bool has_backend(struct nr_ctx *ctx, const struct nr_node *node, size_t index)
{
	struct nr_backend_info info;

	return nr_backend_probe(ctx, index, node->nid, &info) == 0 && info.error == 0;
}

/* The two that plans are made of */
static bool lacks_counters(struct nr_ctx *ctx, const struct nr_node *node, size_t index)
{
	uint64_t bytes;

	(void)ctx;
	(void)index;
	return !nr_node_get(node, NR_CLEAN, &bytes) || !nr_node_get(node, NR_ALLOCATABLE, &bytes);
}

static void check_kernel(struct doctor *doctor, struct nr_ctx *ctx, const struct nr_snapshot *snap,
			 bool recorded)
{
	char *nodes = nodes_text(ctx, snap, 0, has_memory);
	struct utsname name;

	if (!nodes || !*nodes)
		finding(doctor, VERDICT_FAIL, "kernel", "no NUMA node with memory was found");
	else if (recorded || uname(&name) < 0)
		finding(doctor, VERDICT_OK, "kernel", "NUMA nodes with memory: %s", nodes);
	else
		finding(doctor, VERDICT_OK, "kernel", "Linux %s, NUMA nodes with memory: %s",
			name.release, nodes);
	free(nodes);
}

/* A backend that works on single NUMA nodes is what the rest relies on. */
static void check_backend(struct doctor *doctor, struct nr_ctx *ctx, const struct nr_snapshot *snap,
			  bool recorded)
{
	char *all = nodes_text(ctx, snap, 0, has_memory), *usable = NULL;
	struct nr_backend_info info = { .why = "" };
	bool denied = false;
	int nid = -1;

	for (size_t i = 0; i < nr_snapshot_count(snap) && nid < 0; i++)
		if (nr_snapshot_at(snap, i)->has_memory)
			nid = nr_snapshot_at(snap, i)->nid;
	for (size_t b = 0; nid >= 0 && b < nr_backend_count(); b++) {
		if (nr_backend_probe(ctx, b, nid, &info) < 0 || info.whole_host)
			continue;
		denied |= info.error == -EACCES || info.error == -EPERM;
		free(usable);
		usable = nodes_text(ctx, snap, b, has_backend);
		if (usable && *usable)
			break;
	}
	if (!all || !usable || nid < 0)
		finding(doctor, VERDICT_FAIL, "backend", "could not be checked");
	else if (*usable && !strcmp(all, usable))
		finding(doctor, VERDICT_OK, "backend", "%s on all NUMA nodes with memory",
			info.name);
	else if (*usable)
		finding(doctor, VERDICT_WARN, "backend",
			"%s only on NUMA nodes %s; see nodereclaim backends", info.name, usable);
	else if (denied && !recorded && geteuid() != 0)
		finding(doctor, VERDICT_WARN, "backend", "%s; run doctor as root to check",
			info.why);
	else
		finding(doctor, VERDICT_FAIL, "backend",
			"none that frees single NUMA nodes: Linux 6.17 or later and patched kernels "
			"have one; see nodereclaim backends");
	free(all);
	free(usable);
}

static void check_counters(struct doctor *doctor, struct nr_ctx *ctx,
			   const struct nr_snapshot *snap)
{
	char *nodes = nodes_text(ctx, snap, 0, lacks_counters);

	if (!nodes)
		finding(doctor, VERDICT_FAIL, "counters", "%s", strerror(ENOMEM));
	else if (*nodes)
		finding(doctor, VERDICT_FAIL, "counters",
			"clean cache or free memory is not known for NUMA nodes %s, so nothing can be "
			"planned there: /sys/devices/system/node/nodeN/meminfo and /proc/zoneinfo must "
			"be readable",
			nodes);
	else
		finding(doctor, VERDICT_OK, "counters",
			"clean and allocatable memory of every NUMA node are known");
	free(nodes);
}

static void check_settings(struct doctor *doctor, const struct nr_host *host)
{
	if (host->zone_reclaim_mode > 0)
		finding(doctor, VERDICT_WARN, "zone_reclaim",
			"vm.zone_reclaim_mode is %d: unless a job wants it now, it was left on; "
			"sysctl vm.zone_reclaim_mode=0",
			host->zone_reclaim_mode);
	else
		finding(doctor, VERDICT_OK, "zone_reclaim", "vm.zone_reclaim_mode is %s",
			host->zone_reclaim_mode ? "not in this kernel" : "off");
	if (host->demotion)
		finding(doctor, VERDICT_WARN, "demotion",
			"/sys/kernel/mm/numa/demotion_enabled is on: cache may move to slower memory "
			"instead of being dropped");
	else
		finding(doctor, VERDICT_OK, "demotion", "off");
	if (host->min_unmapped_ratio > UNMAPPED_RATIO_HIGH)
		finding(doctor, VERDICT_WARN, "unmapped_ratio",
			"vm.min_unmapped_ratio is %u: backend sysfs leaves that many %% of each NUMA "
			"node's memory as cache; the kernel's default is 1",
			host->min_unmapped_ratio);
	else if (!host->min_unmapped_ratio)
		finding(doctor, VERDICT_OK, "unmapped_ratio",
			"vm.min_unmapped_ratio is 0 or not in this kernel");
	else
		finding(doctor, VERDICT_OK, "unmapped_ratio",
			"vm.min_unmapped_ratio is %u: backend sysfs leaves about that many %% of each NUMA "
			"node's memory as cache",
			host->min_unmapped_ratio);
}

/* policy=local, tried on this process, which ends soon. */
static void check_policy(struct doctor *doctor, struct nr_ctx *ctx)
{
	int rc = nr_policy_apply(ctx, NR_POLICY_LOCAL, NULL);
	char why[128];
	uint64_t bits;

	/* Started with a policy that cannot have the flag: the kernel has it */
	if (rc == 0 || rc == -EALREADY)
		finding(doctor, VERDICT_OK, "policy", "policy=local is in this kernel");
	else if (rc == -EOPNOTSUPP && !nr_policy_host(ctx, &bits, why, sizeof(why)))
		finding(doctor, VERDICT_OK, "policy",
			"policy=local needs vm.zone_reclaim_mode, for jobs that may change it; see "
			"allow_host_policy in spank_nodereclaim(8)");
	else if (rc == -EOPNOTSUPP)
		finding(doctor, VERDICT_OK, "policy",
			"policy=local is not in this kernel, jobs that ask for it run without");
	else
		finding(doctor, VERDICT_WARN, "policy", "policy=local does not work: %s",
			strerror(-rc));
}

static int check_host(struct doctor *doctor, const char *sysroot)
{
	struct nr_snapshot *snap;
	struct nr_ctx *ctx;
	int rc, code = open_context(sysroot, LOG_ERR, &ctx);

	if (code != CLI_MET)
		return code;
	rc = nr_snapshot_take(ctx, &snap);
	if (rc < 0) {
		failed(rc, "NUMA nodes");
		finding(doctor, VERDICT_FAIL, "kernel",
			"the NUMA nodes cannot be read: a kernel with CONFIG_NUMA and /sys are needed");
	} else {
		check_kernel(doctor, ctx, snap, sysroot);
		check_backend(doctor, ctx, snap, sysroot);
		check_counters(doctor, ctx, snap);
		check_settings(doctor, nr_snapshot_host(snap));
		if (!sysroot)
			check_policy(doctor, ctx);
		nr_snapshot_free(snap);
	}
	nr_close(ctx);
	return CLI_MET;
}

static void usage(void)
{
	fputs("Usage: nodereclaim doctor [OPTION]...\n"
	      "\n"
	      "Check kernel, settings, permissions, the SPANK plugin and its helper, plugstack.conf,\n"
	      "prolog and epilog. Reads only; runs no command of Slurm's.\n"
	      "\n"
	      "Options:\n"
	      "  -s, --sysroot DIR  read a recorded tree, DIR/sys and DIR/proc: only the kernel's part\n"
	      "  -h, --help         show this\n"
	      "\n"
	      "slurm.conf is the file that SLURM_CONF names, else the first of Slurm's usual places.\n"
	      "Exit status: 0 no FAIL, 1 a FAIL, 2 usage, 3 not permitted, 4 other failure.\n",
	      stdout);
}

int cmd_doctor(int argc, char **argv)
{
	static const struct option options[] = {
		{ "help", no_argument, NULL, 'h' },
		{ "sysroot", required_argument, NULL, 's' },
		{ NULL, 0, NULL, 0 },
	};
	struct doctor doctor = { 0 };
	const char *sysroot = NULL;
	int c, code;

	while ((c = getopt_long(argc, argv, "hs:", options, NULL)) != -1) {
		switch (c) {
		case 'h':
			usage();
			return CLI_MET;
		case 's':
			sysroot = optarg;
			break;
		default:
			return usage_error("doctor");
		}
	}
	if (!no_more_arguments(argc, argv, optind))
		return usage_error("doctor");

	code = check_host(&doctor, sysroot);
	if (code != CLI_MET)
		return code;
	if (!sysroot) {
		if (geteuid() == 0)
			finding(&doctor, VERDICT_OK, "permission", "run by root");
		else
			finding(&doctor, VERDICT_WARN, "permission",
				"not run by root: some files may not be readable, and only root can flush");
		check_slurm(&doctor);
	}
	return doctor.failed ? CLI_SHORT : CLI_MET;
}
