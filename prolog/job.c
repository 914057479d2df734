// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What slurmd says about the job. SPANK_NODE_RECLAIM is text of the user's; the rest is Slurm's
 * own, but it is checked all the same, since it goes into log lines.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common.h"

#define DIGITS_MAX 10 /* of a number with 32 bits */

static const char *next_number(const char *text, uint32_t *number)
{
	uint64_t value = 0;
	const char *c = text;

	for (; *c >= '0' && *c <= '9'; c++) {
		if (c - text == DIGITS_MAX)
			return NULL;
		value = value * 10 + (uint64_t)(*c - '0');
	}
	*number = (uint32_t)value;
	return c == text || value > UINT32_MAX ? NULL : c;
}

bool parse_number(const char *text, uint32_t *number)
{
	const char *end = next_number(text, number);

	return end && !*end;
}

/* Slurm's "2(x4),3": on four hosts 2 CPUs, on one 3. Which of them is this host cannot be known, so
 * the fewest count. Return: 0 if @text is not of this form. */
static uint32_t fewest_cpus(const char *text)
{
	uint32_t fewest = UINT32_MAX, cpus, hosts;

	for (;; text++) {
		text = next_number(text, &cpus);
		if (!text)
			return 0;
		if (cpus < fewest)
			fewest = cpus;
		if (!strncmp(text, "(x", 2)) {
			text = next_number(text + 2, &hosts);
			if (!text || *text++ != ')')
				return 0;
		}
		if (!*text)
			return fewest;
		if (*text != ',')
			return 0;
	}
}

/*
 * Slurm 26.05 and later say SLURM_JOB_EXCLUSIVE: NODE and TOPO are alone on their hosts, with USER
 * and MCS jobs of some others may come. From 23.02 on SLURM_JOB_OVERSUBSCRIBE alone told: NO and
 * TOPO were alone, with YES the same CPUs may be given to others too. Otherwise the CPUs tell.
 */
static enum job_sharing sharing(void)
{
	const char *exclusive = getenv("SLURM_JOB_EXCLUSIVE");
	const char *oversubscribe = getenv("SLURM_JOB_OVERSUBSCRIBE");

	if (oversubscribe && !strcmp(oversubscribe, "YES"))
		return JOB_SHARING_SHARED;
	if (exclusive)
		return !strcmp(exclusive, "NODE") || !strcmp(exclusive, "TOPO")
			       ? JOB_SHARING_EXCLUSIVE
			       : JOB_SHARING_UNKNOWN;
	if (oversubscribe && (!strcmp(oversubscribe, "NO") || !strcmp(oversubscribe, "TOPO")))
		return JOB_SHARING_EXCLUSIVE;
	return JOB_SHARING_UNKNOWN;
}

static bool is_name(const char *text)
{
	size_t len = strnlen(text, JOB_NAME_MAX + 1);

	if (len == 0 || len > JOB_NAME_MAX)
		return false;
	for (size_t i = 0; i < len; i++)
		if (!isalnum((unsigned char)text[i]) && !strchr("._-", text[i]))
			return false;
	return true;
}

/* Empty if Slurm does not say it, or not as a name. */
static void read_name(const char *variable, char name[JOB_NAME_MAX + 1])
{
	const char *text = getenv(variable);

	snprintf(name, JOB_NAME_MAX + 1, "%s", text && is_name(text) ? text : "");
}

void job_read(struct job *job)
{
	const char *id = getenv("SLURM_JOB_ID"), *uid = getenv("SLURM_JOB_UID");
	const char *spec = getenv("SPANK_NODE_RECLAIM");
	const char *cpus = getenv("SLURM_JOB_CPUS_PER_NODE");
	uint32_t number;

	memset(job, 0, sizeof(*job));
	job->have_id = id && parse_number(id, &job->id);
	read_name("SLURM_JOB_PARTITION", job->partition);
	read_name("SLURM_JOB_ACCOUNT", job->account);
	snprintf(job->prefix, sizeof(job->prefix), "job=%s uid=%s%s%s ", job->have_id ? id : "?",
		 uid && parse_number(uid, &number) ? uid : "?",
		 job->partition[0] ? " partition=" : "", job->partition);
	if (spec) {
		size_t len = strnlen(spec, NR_SPEC_MAX + 1);

		if (len > NR_SPEC_MAX) {
			job->have_spec = JOB_SPEC_TOO_LONG;
		} else {
			job->have_spec = JOB_SPEC_GIVEN;
			memcpy(job->spec, spec, len + 1);
		}
	}
	job->sharing = sharing();
	job->fewest_cpus = cpus ? fewest_cpus(cpus) : 0;
}

bool job_has_whole_host(const struct job *job, uint32_t cpus)
{
	if (job->sharing == JOB_SHARING_UNKNOWN)
		return cpus > 0 && job->fewest_cpus >= cpus;
	return job->sharing == JOB_SHARING_EXCLUSIVE;
}
