/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The files' part of the library's interface: what is cached of which file, and dropping it. */
#include "internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define TIMEOUT_DEFAULT_MS 5000

static void fill(struct nr_file_cache *cache, const struct nr_tally *tally, unsigned int nnodes)
{
	cache->cached = tally->cached;
	cache->unplaced = tally->unplaced;
	cache->have_dirty = tally->have_dirty;
	cache->dirty = tally->dirty;
	memcpy(cache->node, tally->node, nnodes * sizeof(*cache->node));
}

static int check(const struct nr_files *files)
{
	size_t i;

	if (!files->npaths && !files->open && !files->pid)
		return -EINVAL;
	for (i = 0; i < files->npaths; i++)
		if (!files->paths[i][0])
			return -EINVAL;
	return files->pid < 0 ? -EINVAL : 0;
}

/* Gives each to @fn. struct nr_found is large, but of its NUMA nodes only the first @nnodes change.
 */
static int give_all(struct nr_ctx *ctx, struct nr_walk *walk, struct nr_found *found,
		    int (*fn)(void *data, const struct nr_found *found), void *data)
{
	const unsigned int nnodes = nr_walk_nodes(walk);
	const struct nr_walked *item;
	int err;

	while ((err = nr_walk_next(walk, ctx, UINT64_MAX, &item)) == 1) {
		found->path = item->path;
		found->deleted = item->deleted;
		found->size = item->size;
		found->error = item->error;
		found->why = item->why;
		fill(&found->cache, &item->cache, nnodes);
		fill(&found->left, &item->left, nnodes);
		err = fn(data, found);
		if (err)
			return err;
	}
	return err;
}

NR_EXPORT int nr_files(struct nr_ctx *ctx, const struct nr_files *files,
		       int (*fn)(void *data, const struct nr_found *found), void *data)
{
	struct nr_walk_options options = {
		.paths = files->paths,
		.npaths = files->npaths,
		.open = files->open,
		.pid = files->pid,
		.drop = files->drop,
		.sync = files->sync && files->drop,
		.timeout = (files->file_timeout_ms ? files->file_timeout_ms : TIMEOUT_DEFAULT_MS) *
			   UINT64_C(1000000),
	};
	struct nr_found *found;
	struct nr_walk *walk;
	int err = check(files);

	if (err)
		return err;
	found = calloc(1, sizeof(*found));
	err = found ? nr_walk_start(ctx, &options, &walk) : -ENOMEM;
	if (!err) {
		err = give_all(ctx, walk, found, fn, data);
		nr_walk_end(walk);
	}
	atomic_store(&ctx->cancel, false);
	free(found);
	return err;
}
