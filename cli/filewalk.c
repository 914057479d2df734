// SPDX-License-Identifier: GPL-2.0-or-later
#include "config.h"

#include "filewalk.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>
#include <unistd.h>

#include "cli.h"

/* How long one file may take: some 100 GB of page cache, but no mount that hangs; and with what has
 * to be written. */
#define FILE_TIMEOUT_MS (60 * 1000)
#define SYNC_TIMEOUT_MS (3600 * 1000)

/* Which NUMA nodes there are, and which of them are asked for. */
static int find_nodes(struct filewalk *walk, const char *nodes)
{
	struct nr_binding *binding;
	int rc = nr_binding_from_nodes(walk->ctx, nodes, &binding);

	if (rc == -ERANGE && nodes) {
		failed(rc, "--nodes");
		return usage_error(walk->command);
	}
	if (rc < 0)
		return failed(rc, "NUMA nodes");
	for (unsigned int i = 0; i < NR_MAX_NODES; i++)
		if (numa_bitmask_isbitset(binding->nodes, i))
			walk->nid[walk->nnodes++] = i;
	if (nodes) {
		walk->nodes = binding->nodes;
		binding->nodes = NULL;
	}
	nr_binding_free(binding);
	return CLI_MET;
}

bool filewalk_paths(struct filewalk *walk, int argc, char **argv)
{
	for (int i = 0; i < argc; i++) {
		if (*argv[i])
			continue;
		complain("PATH %d of %d is empty", i + 1, argc);
		return false;
	}
	walk->files.paths = (const char *const *)argv;
	walk->files.npaths = (size_t)argc;
	return true;
}

int filewalk_open(struct filewalk *walk, const char *nodes)
{
	int code;

	if (nodes && !check_list("--nodes", nodes, NR_MAX_NODES))
		return usage_error(walk->command);
	code = open_context(NULL, LOG_WARNING, &walk->ctx);
	return code == CLI_MET ? find_nodes(walk, nodes) : code;
}

uint64_t filewalk_bytes(const struct filewalk *walk, const struct nr_file_cache *cache)
{
	uint64_t bytes = 0;

	if (!walk->nodes)
		return cache->cached;
	for (size_t i = 0; i < walk->nnodes; i++)
		bytes += cache->node[walk->nid[i]];
	return bytes;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Whether it was asked for by its name, or as --pid: then in @what. */
static bool was_given(const struct filewalk *walk, const char *path, char what[32])
{
	what[0] = '\0';
	if (walk->given && bsearch(&path, walk->given, walk->files.npaths, sizeof(path), by_name))
		return true;
	/* The folder of what a process has open stands for the process */
	snprintf(what, 32, "/proc/%d/fd", (int)walk->files.pid);
	if (!walk->files.pid || strcmp(path, what))
		return false;
	snprintf(what, 32, "--pid %d", (int)walk->files.pid);
	return true;
}

/* What was given has a line of its own, and what is below folders or open is counted. */
static int could_not(struct filewalk *walk, const struct nr_found *found)
{
	char what[32], *path;
	bool given = was_given(walk, found->path, what);

	walk->failed++;
	if (!given && walk->hidden++)
		return 0;
	path = readable(found->path);
	if (!path)
		return -ENOMEM;
	if (given) {
		complain("%s: %s", *what ? what : path, found->why);
		walk->denied |= found->error == -EPERM || found->error == -EACCES;
	} else if (asprintf(&walk->hidden_one, "%s: %s", path, found->why) < 0) {
		walk->hidden_one = NULL;
	}
	free(path);
	return given || walk->hidden_one ? 0 : -ENOMEM;
}

static int on_file(void *data, const struct nr_found *found)
{
	struct filewalk *walk = data;
	struct file file = { .path = found->path, .deleted = found->deleted };
	uint64_t value[FILEWALK_VALUES];
	int rc = 0;

	walk->cached += found->cache.cached;
	if (found->error)
		rc = could_not(walk, found);
	else
		walk->looked_at++;
	if (walk->terminal)
		progress_found(walk->looked_at, walk->cached);
	file.value = value;
	if (rc == 0 && walk->judge(walk, found, &file, value))
		rc = largest_add(&walk->largest, &file);
	return rc;
}

static int sort_given(struct filewalk *walk)
{
	size_t size = walk->files.npaths * sizeof(*walk->given);

	if (!size)
		return 0;
	walk->given = malloc(size);
	if (!walk->given)
		return -ENOMEM;
	memcpy(walk->given, walk->files.paths, size);
	qsort(walk->given, walk->files.npaths, sizeof(*walk->given), by_name);
	return 0;
}

int filewalk_run(struct filewalk *walk)
{
	int rc = sort_given(walk);

	walk->terminal = isatty(STDERR_FILENO);
	walk->files.file_timeout_ms = walk->files.sync ? SYNC_TIMEOUT_MS : FILE_TIMEOUT_MS;
	cancel_on_signals(walk->ctx);
	if (rc == 0)
		rc = nr_files(walk->ctx, &walk->files, on_file, walk);
	cancel_on_signals(NULL);
	progress_clear();
	walk->cancelled = was_cancelled();
	if (rc < 0 && rc != -ECANCELED)
		return failed(rc, walk->command);
	if (walk->hidden)
		complain("%" PRIu64 " file%s could not be looked at, such as %s", walk->hidden,
			 walk->hidden == 1 ? "" : "s", walk->hidden_one);
	largest_sort(&walk->largest);
	return CLI_MET;
}

void filewalk_close(struct filewalk *walk)
{
	largest_free(&walk->largest);
	nr_set_free(walk->nodes);
	nr_close(walk->ctx);
	free(walk->given);
	free(walk->hidden_one);
}

void json_number(const char *name, uint64_t number)
{
	if (number == NOT_KNOWN)
		printf("\"%s\":null", name);
	else
		printf("\"%s\":%" PRIu64, name, number);
}

void filewalk_json_end(const struct filewalk *walk)
{
	printf(",\n\"looked_at\":%" PRIu64 ",\"failed\":%" PRIu64 ",\"cancelled\":%s}\n",
	       walk->looked_at, walk->failed, walk->cancelled ? "true" : "false");
}
