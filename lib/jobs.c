/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Which jobs of Slurm have processes on this host: a slurmstepd, or one in a control group that
 * slurmstepd made. Users cannot pretend either.
 */
#include "internal.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

struct search {
	struct nr_ctx *ctx;
	const uint32_t *jobs;
	bool *running;
	size_t n, found;
	uint64_t deadline;
};

/* Notes the job of a text that begins with its number and goes on with one of @ends, or ends. */
static void found(struct search *search, const char *text, const char *ends)
{
	unsigned long long job;
	char *end;

	if (*text < '0' || *text > '9')
		return;
	job = strtoull(text, &end, 10);
	if (!strchr(ends, *end))
		return;
	for (size_t i = 0; i < search->n; i++) {
		if (search->jobs[i] == job && !search->running[i]) {
			search->running[i] = true;
			search->found++;
		}
	}
}

static bool ends_with(const char *text, size_t len, const char *end)
{
	size_t n = strlen(end);

	return len >= n && !memcmp(text + len - n, end, n);
}

/* Is "/.../system.slice/n0_slurmstepd.scope" (version 2) or "/slurm_n0/uid_1000" (version 1) the
 * folder of job groups? systemd gives users groups of their own below user.slice only. */
static bool slurms(const char *path, size_t len)
{
	const char *name = memrchr(path, '/', len), *above;

	if (!name || !strncmp(path, "/user.slice/", 12))
		return false;
	if (ends_with(path, len, "slurmstepd.scope"))
		return true;
	above = memrchr(path, '/', (size_t)(name - path));
	return above && !strncmp(name, "/uid_", 5) && !strncmp(above, "/slurm", 6);
}

/* "HIERARCHY:CONTROLLERS:PATH" */
static void group_line(void *data, const char *text, size_t len)
{
	char line[PATH_MAX + 64];
	const char *path, *at;

	if (len >= sizeof(line))
		return;
	memcpy(line, text, len);
	line[len] = '\0';
	path = strchr(line, ':');
	path = path ? strchr(path + 1, ':') : NULL;
	if (!path)
		return;
	path++;
	for (at = strstr(path, "/job_"); at; at = strstr(at + 1, "/job_"))
		if (slurms(path, (size_t)(at - path)))
			found(data, at + strlen("/job_"), "/");
}

static void uid_line(void *data, const char *line, size_t len)
{
	uint64_t uid;

	if (nr_line_value(line, len, "Uid", &uid))
		*(bool *)data = uid == 0;
}

/* The real user is root's also while slurmstepd acts for the job's. Its title is "slurmstepd:
 * [12.0]". The command line is memory of the process: only root's is read, a user's may hang. */
static int look_at_stepd(struct search *search, const char *pid)
{
	static const char title[] = "slurmstepd: [";
	bool root = false;
	char *text;
	size_t len;
	int err = nr_sys_lines(search->ctx, uid_line, &root, "proc/%s/status", pid);

	if (err || !root)
		return err;
	err = nr_sys_read(search->ctx, &text, &len, "proc/%s/cmdline", pid);
	if (err)
		return err;
	if (!strncmp(text, title, sizeof(title) - 1))
		found(search, text + sizeof(title) - 1, ".+_");
	free(text);
	return 0;
}

static int look_at(struct search *search, const char *pid)
{
	int err = nr_sys_lines(search->ctx, group_line, search, "proc/%s/cgroup", pid);
	char *comm;
	size_t len;
	bool stepd;

	if (err)
		return err;
	err = nr_sys_read(search->ctx, &comm, &len, "proc/%s/comm", pid);
	if (err)
		return err;
	stepd = !strcmp(comm, "slurmstepd\n");
	free(comm);
	return stepd ? look_at_stepd(search, pid) : 0;
}

static int process(void *data, const char *name)
{
	struct search *search = data;
	int err;

	if (name[strspn(name, "0123456789")])
		return 0;
	if (search->found == search->n)
		return -ECANCELED; /* all are known */
	if (nr_now() >= search->deadline)
		return -ETIME;
	err = look_at(search, name);
	return err == -ENOENT || err == -ESRCH ? 0 : err; /* it has ended */
}

int nr_jobs_running(struct nr_ctx *ctx, const uint32_t *jobs, bool *running, size_t n,
		    uint64_t deadline)
{
	struct search search = { ctx, jobs, running, n, 0, deadline };
	int err;

	memset(running, 0, n * sizeof(*running));
	err = nr_sys_list(ctx, process, &search, "proc");
	return err == -ECANCELED ? 0 : err;
}
