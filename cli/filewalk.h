/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A walk over the page cache of files: what nodereclaim cache and drop share. */
#ifndef NODERECLAIM_FILEWALK_H
#define NODERECLAIM_FILEWALK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "largest.h"
#include "nodereclaim.h"

#define FILEWALK_FILES 1000	  /* files that are kept */
#define FILEWALK_FILES_MAX 100000 /* and that can be asked for: some 50 MB */
#define FILEWALK_VALUES (NR_MAX_NODES + 8)

struct filewalk {
	/* Set by the command */
	const char *command;
	struct nr_files files;
	struct largest largest;
	/* Fills in of @file what is kept beside its path: weight, note, and the numbers in @value.
	 * False: it is of no interest. */
	bool (*judge)(const struct filewalk *walk, const struct nr_found *found, struct file *file,
		      uint64_t value[FILEWALK_VALUES]);

	/* Set by filewalk_open() */
	struct nr_ctx *ctx;
	struct bitmask *nodes; /* of --nodes; NULL: each */
	size_t nnodes;
	unsigned int nid[NR_MAX_NODES]; /* of these, those that have memory */

	/* Set by filewalk_run() */
	uint64_t looked_at, cached; /* files, bytes */
	uint64_t failed;	    /* files that could not be looked at */
	bool denied; /* a path that was given is among them, as this user has no right to it */
	bool cancelled;

	/* Of filewalk_run() alone */
	const char **given; /* the paths, sorted */
	bool terminal;
	uint64_t hidden;  /* failed, and not said one by one */
	char *hidden_one; /* one of these, and why */
};

/* Takes the arguments that are left as paths. Complains and returns false if one is empty. */
bool filewalk_paths(struct filewalk *walk, int argc, char **argv);

/* Opens the library and finds the NUMA nodes of a list (NULL: each that has memory). Returns an
 * exit code. */
int filewalk_open(struct filewalk *walk, const char *nodes);

/* Walks over files.paths, puts what is kept in order, and says what could not be looked at. Returns
 * an exit code: CLI_MET if there is something to print, whatever could not be looked at. */
int filewalk_run(struct filewalk *walk);

void filewalk_close(struct filewalk *walk);

/* Bytes of @cache on the NUMA nodes of --nodes; all without it. */
uint64_t filewalk_bytes(const struct filewalk *walk, const struct nr_file_cache *cache);

/* Writes a member of a JSON object. */
void json_number(const char *name, uint64_t number);

/* Writes the members that both commands end with, and the end of the object. */
void filewalk_json_end(const struct filewalk *walk);

#endif
