// SPDX-License-Identifier: GPL-2.0-or-later
/* The part of doctor that is about Slurm: plugin, plugstack.conf, helper, prolog and epilog. */
#include "config.h"

#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "doctor.h"
#include "slurmconf.h"

#define HELPER NR_LIBEXECDIR "/nodereclaim-step"
#define CONF_FILE NR_SYSCONFDIR "/nodereclaim.conf"
#define SCRIPT_MAX (1 << 20)

/* Where packages, builds from source and configless slurmd have it */
static const char *const usual_places[] = {
	"/etc/slurm/slurm.conf",
	"/run/slurm/conf/slurm.conf",
	"/usr/local/etc/slurm.conf",
	"/etc/slurm-llnl/slurm.conf",
};

static const char *find_slurm_conf(void)
{
	const char *named = getenv("SLURM_CONF");

	if (named && *named)
		return named;
	for (size_t i = 0; i < sizeof(usual_places) / sizeof(usual_places[0]); i++)
		if (access(usual_places[i], F_OK) == 0)
			return usual_places[i];
	return NULL;
}

static void report_problem(struct doctor *doctor, const char *topic, enum verdict verdict,
			   const struct conf_problem *problem)
{
	if (problem->error == -EINVAL)
		finding(doctor, verdict, topic, "%s is no regular file", problem->file);
	else if (problem->error == -ELOOP)
		finding(doctor, verdict, topic, "%s: too many includes within includes, or links",
			problem->file);
	else
		finding(doctor, verdict, topic, "%s: %s", problem->file, strerror(-problem->error));
}

/* Where slurmd finds the plugin that plugstack.conf names. */
static bool resolve_plugin(const char *name, const char *dirs, char path[PATH_MAX])
{
	char *copy, *save, *dir;
	bool found = false;

	if (*name == '/') {
		snprintf(path, PATH_MAX, "%s", name);
		return true;
	}
	copy = strdup(dirs ? dirs : NR_SLURM_PLUGINDIR);
	if (!copy)
		return false;
	for (dir = strtok_r(copy, ":", &save); dir && !found; dir = strtok_r(NULL, ":", &save))
		found = snprintf(path, PATH_MAX, "%s/%s", dir, name) < PATH_MAX &&
			access(path, F_OK) == 0;
	free(copy);
	return found;
}

/* slurmd looks for a name without folder where its own plugins are, which only it knows. */
static bool is_plugin_dir(const char *path)
{
	char pattern[PATH_MAX];
	glob_t found;

	if (!conf_beside(path, "auth_*.so", pattern) || glob(pattern, 0, NULL, &found))
		return false;
	globfree(&found);
	return true;
}

static void check_plugin(struct doctor *doctor, const char *path)
{
	if (check_file(doctor, "plugin", path, false, VERDICT_FAIL,
		       "make install puts it there, if Slurm's headers are installed"))
		finding(doctor, VERDICT_OK, "plugin", "%s", path);
}

static void report_entry(struct doctor *doctor, const struct plugstack_entry *entry)
{
	if (entry->count > 1)
		finding(doctor, VERDICT_WARN, "plugstack",
			"the plugin is named %u times, first in %s:%u: keep one of these lines",
			entry->count, entry->file, entry->line);
	if (entry->required)
		finding(doctor, VERDICT_WARN, "plugstack",
			"%s:%u: 'required': a host where the plugin cannot load runs no job; "
			"write 'optional'",
			entry->file, entry->line);
	else if (!entry->optional)
		finding(doctor, VERDICT_FAIL, "plugstack",
			"%s:%u: the line must begin with 'optional', in small letters", entry->file,
			entry->line);
	else
		finding(doctor, VERDICT_OK, "plugstack", "%s:%u: optional %s", entry->file,
			entry->line, entry->plugin);
}

static void check_plugstack(struct doctor *doctor, const char *slurm_conf,
			    const struct slurm_conf *conf)
{
	char stack[PATH_MAX], path[PATH_MAX];
	struct plugstack_entry entry;
	const char *helper = HELPER;

	if (!conf_beside(slurm_conf, conf->plugstack ? conf->plugstack : "plugstack.conf", stack) ||
	    plugstack_read(stack, &entry) < 0) {
		finding(doctor, VERDICT_FAIL, "plugstack", "could not be checked");
		return;
	}
	if (!entry.found) {
		check_plugin(doctor, NR_SLURM_PLUGINDIR "/" PLUGIN_FILE);
		if (entry.problem.error)
			report_problem(doctor, "plugstack", VERDICT_WARN, &entry.problem);
		finding(doctor, VERDICT_FAIL, "plugstack",
			"%s does not name the plugin: add the line 'optional " PLUGIN_FILE "'",
			stack);
	} else {
		if (resolve_plugin(entry.plugin, conf->plugin_dir, path)) {
			check_plugin(doctor, path);
			if (*entry.plugin != '/' && !is_plugin_dir(path))
				finding(doctor, VERDICT_WARN, "plugin",
					"no plugin of Slurm's own is beside it, so slurmd may not look "
					"there: name it with its folder in %s",
					entry.file);
		} else {
			finding(doctor, VERDICT_FAIL, "plugin",
				"%s is not in %s: install it there, or name it with its folder in %s",
				entry.plugin,
				conf->plugin_dir ? conf->plugin_dir : NR_SLURM_PLUGINDIR,
				entry.file);
		}
		if (entry.problem.error)
			report_problem(doctor, "plugstack", VERDICT_WARN, &entry.problem);
		report_entry(doctor, &entry);
		if (*entry.helper)
			helper = entry.helper;
	}
	if (check_file(doctor, "helper", helper, true, VERDICT_FAIL,
		       "make install puts it there, or helper= in plugstack.conf is wrong"))
		finding(doctor, VERDICT_OK, "helper", "%s", helper);
}

/* A site's own script may start our program. */
static bool script_mentions(const char *path, const char *program)
{
	bool found = false;
	int fd = conf_open(path);
	char *text;
	FILE *file;
	size_t len;

	if (fd < 0)
		return false;
	text = malloc(SCRIPT_MAX);
	file = fdopen(fd, "r");
	if (text && file) {
		len = fread(text, 1, SCRIPT_MAX, file);
		found = memmem(text, len, program, strlen(program)) != NULL;
	}
	free(text);
	if (file)
		fclose(file);
	else
		close(fd);
	return found;
}

/* Whether one of Prolog='s programs, a comma-separated list of patterns, is ours or names it. */
static bool runs_program(const char *slurm_conf, const char *value, const char *program)
{
	char *copy = strdup(value), *save, *item, pattern[PATH_MAX];
	bool found = false;

	if (!copy)
		return false;
	for (item = strtok_r(copy, ",", &save); item && !found; item = strtok_r(NULL, ",", &save)) {
		glob_t matches;

		if (!conf_beside(slurm_conf, item, pattern) || glob(pattern, 0, NULL, &matches))
			continue;
		for (size_t i = 0; i < matches.gl_pathc && !found; i++) {
			char *real = realpath(matches.gl_pathv[i], NULL);
			const char *name = real ? strrchr(real, '/') : NULL;

			found = (name && !strcmp(name + 1, program)) ||
				(real && script_mentions(real, program));
			free(real);
		}
		globfree(&matches);
	}
	free(copy);
	return found;
}

static void check_prolog(struct doctor *doctor, const char *slurm_conf, const char *key,
			 const char *value, const char *program)
{
	const char *topic = strcmp(key, "Prolog") ? "epilog" : "prolog";
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", NR_LIBEXECDIR, program);
	if (!check_file(doctor, topic, path, true, VERDICT_FAIL, "make install puts it there"))
		return;
	if (!value)
		finding(doctor, VERDICT_WARN, topic, "%s has no %s=: without it %s; add '%s=%s'",
			slurm_conf, key,
			strcmp(key, "Prolog") ? "nobody learns what a job left behind"
					      : "whole-host jobs are only served by the plugin",
			key, path);
	else if (!runs_program(slurm_conf, value, program))
		finding(doctor, VERDICT_WARN, topic,
			"%s=%s does not start it, as far as can be seen: let that start %s", key,
			value, path);
	else
		finding(doctor, VERDICT_OK, topic, "%s=%s", key, value);
}

static bool has_task_cgroup(const char *value)
{
	static const char prefix[] = "task/";
	char *copy = strdup(value ? value : ""), *save, *item;
	bool found = false;

	if (!copy)
		return false;
	for (item = strtok_r(copy, ", ", &save); item && !found;
	     item = strtok_r(NULL, ", ", &save)) {
		if (!strncmp(item, prefix, strlen(prefix)))
			item += strlen(prefix);
		found = !strcmp(item, "cgroup");
	}
	free(copy);
	return found;
}

/* A boolean as Slurm reads it; of several lines the last counts. */
static bool is_yes(const char *value)
{
	static const char *const words[] = { "yes", "up", "true", "1" };
	const char *comma = value ? strrchr(value, ',') : NULL;

	if (comma)
		value = comma + 1;
	for (size_t i = 0; value && i < sizeof(words) / sizeof(words[0]); i++)
		if (!strcasecmp(value, words[i]))
			return true;
	return false;
}

/* The plugin learns a step's CPUs from its cpuset, which only task/cgroup has made by then:
 * task/affinity binds the tasks later. */
static void check_confinement(struct doctor *doctor, const char *slurm_conf,
			      const char *task_plugin)
{
	struct slurm_conf cgroup;
	char path[PATH_MAX];

	if (!conf_beside(slurm_conf, "cgroup.conf", path) || slurm_conf_read(path, &cgroup) < 0) {
		finding(doctor, VERDICT_FAIL, "cgroup.conf", "could not be checked");
		return;
	}
	/* Without the file Slurm has its defaults, of which ConstrainCores=no is one */
	if (cgroup.problem.error && cgroup.problem.error != -ENOENT)
		report_problem(doctor, "cgroup.conf", VERDICT_WARN, &cgroup.problem);
	if (has_task_cgroup(task_plugin) && is_yes(cgroup.constrain_cores))
		finding(doctor, VERDICT_OK, "confinement", "TaskPlugin=%s, ConstrainCores=%s",
			task_plugin, cgroup.constrain_cores);
	else
		finding(doctor, VERDICT_WARN, "confinement",
			"steps are not confined to their CPUs: the plugin does nothing for jobs that "
			"have a part of a host; set TaskPlugin=task/cgroup[,task/affinity] and "
			"ConstrainCores=yes in cgroup.conf (now TaskPlugin=%s, ConstrainCores=%s)",
			task_plugin ? task_plugin : "(not set)",
			cgroup.constrain_cores ? cgroup.constrain_cores : "(not set)");
	slurm_conf_free(&cgroup);
}

void check_slurm(struct doctor *doctor)
{
	const char *path = find_slurm_conf();
	struct slurm_conf conf;
	struct stat st;

	if (lstat(CONF_FILE, &st) == 0 && S_ISLNK(st.st_mode))
		finding(doctor, VERDICT_FAIL, "configuration",
			"%s is a symbolic link, which prolog and epilog do not follow: make it a file",
			CONF_FILE);
	else if (check_file(doctor, "configuration", CONF_FILE, false, VERDICT_OK,
			    "built-in defaults are in force"))
		finding(doctor, VERDICT_OK, "configuration", "%s", CONF_FILE);
	if (!path) {
		finding(doctor, VERDICT_WARN, "slurm.conf",
			"not in any of the usual places: nothing of Slurm was checked; set SLURM_CONF");
		return;
	}
	if (slurm_conf_read(path, &conf) < 0) {
		finding(doctor, VERDICT_FAIL, "slurm.conf", "%s", strerror(ENOMEM));
	} else if (conf.problem.error && !strcmp(conf.problem.file, path)) {
		report_problem(doctor, "slurm.conf", VERDICT_FAIL, &conf.problem);
	} else {
		if (conf.problem.error)
			report_problem(doctor, "slurm.conf", VERDICT_WARN, &conf.problem);
		else
			finding(doctor, VERDICT_OK, "slurm.conf", "%s", path);
		check_plugstack(doctor, path, &conf);
		check_confinement(doctor, path, conf.task_plugin);
		check_prolog(doctor, path, "Prolog", conf.prolog, "nodereclaim-prolog");
		check_prolog(doctor, path, "Epilog", conf.epilog, "nodereclaim-epilog");
	}
	slurm_conf_free(&conf);
}
