/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads Slurm's configuration, only as far as doctor asks about it. */
#ifndef NODERECLAIM_SLURMCONF_H
#define NODERECLAIM_SLURMCONF_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#define PLUGIN_FILE "spank_nodereclaim.so"

/* Why a file could not be read; the first one that could not, included files as well. */
struct conf_problem {
	char file[PATH_MAX];
	int error; /* -errno, 0: none */
};

/* What slurm.conf, or cgroup.conf, says; NULL: nothing. A value given several times is joined with
 * commas. */
struct slurm_conf {
	char *plugstack; /* PlugStackConfig */
	char *plugin_dir;
	char *prolog, *epilog;
	char *task_plugin;
	char *constrain_cores; /* of cgroup.conf */
	struct conf_problem problem;
};

/* Reads the file @path and what it includes. Return: 0, -ENOMEM; see also problem. */
int slurm_conf_read(const char *path, struct slurm_conf *conf);
void slurm_conf_free(struct slurm_conf *conf);

/* The line of plugstack.conf, or of a file that it includes, that names the plugin. */
struct plugstack_entry {
	bool found;
	bool required, optional; /* neither: Slurm refuses the line */
	unsigned int count;
	char file[PATH_MAX];
	unsigned int line;
	char plugin[PATH_MAX]; /* as written, with or without a folder */
	char helper[PATH_MAX]; /* helper=, empty: not given */
	struct conf_problem problem;
};
int plugstack_read(const char *path, struct plugstack_entry *entry);

/* Opens a regular file that is not absurdly large for reading, without waiting for a pipe's other
 * end. Return: a descriptor, -EINVAL: no regular file, -EFBIG, -errno. */
int conf_open(const char *path);

/* The folder of @path with @name after it, or @name if that is absolute. Return: false if it is too
 * long. */
bool conf_beside(const char *path, const char *name, char out[PATH_MAX]);

#endif
