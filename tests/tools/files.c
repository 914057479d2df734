/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * files - what nr_files() says
 *
 * files [--drop LIST] [--sync] [--open] [--pid PID] [--limit MS] [--sum] PATH...
 *   --drop LIST  drop what is cached on these NUMA nodes
 *   --limit MS   for each file
 *   --sum        one line for all
 *
 * A line for each file: its name and key=value words. size=BYTES; cached=PAGES; nodeN=PAGES for
 * each NUMA node that has some; unplaced=PAGES; dirty=PAGES where the kernel tells; with --drop
 * left=PAGES; error=NUMBER if there is one. With --sum "sum", files=NUMBER, and no size. Exit
 * status 1 and a line if nr_files() fails.
 */
#include "tool.h"

#include <nodereclaim.h>
#include <sys/resource.h>
#include <unistd.h>

static struct {
	bool sum, drop;
	size_t page;
	unsigned long n, errors;
	struct nr_file_cache cache, left;
} all;

static void print(const char *name, const struct nr_file_cache *cache,
		  const struct nr_file_cache *left)
{
	printf("%s cached=%zu", name, cache->cached / all.page);
	for (size_t i = 0; i < NR_MAX_NODES; i++)
		if (cache->node[i])
			printf(" node%zu=%zu", i, cache->node[i] / all.page);
	printf(" unplaced=%zu", cache->unplaced / all.page);
	if (cache->have_dirty)
		printf(" dirty=%zu", cache->dirty / all.page);
	if (all.drop)
		printf(" left=%zu", left->cached / all.page);
}

static void add(struct nr_file_cache *sum, const struct nr_file_cache *cache)
{
	sum->cached += cache->cached;
	sum->unplaced += cache->unplaced;
	sum->have_dirty |= cache->have_dirty;
	sum->dirty += cache->dirty;
	for (size_t i = 0; i < NR_MAX_NODES; i++)
		sum->node[i] += cache->node[i];
}

static int on_file(void *data, const struct nr_found *found)
{
	(void)data;
	all.n++;
	all.errors += found->error != 0;
	if (all.sum) {
		add(&all.cache, &found->cache);
		add(&all.left, &found->left);
		return 0;
	}
	print(found->path, &found->cache, &found->left);
	printf(" size=%llu", (unsigned long long)found->size);
	if (found->deleted)
		printf(" deleted");
	if (found->error)
		printf(" error=%d (%s)", -found->error, found->why);
	putchar('\n');
	return 0;
}

int main(int argc, char **argv)
{
	struct nr_files files = { 0 };
	struct bitmask *drop = nr_set_new(NR_MAX_NODES);
	struct rusage usage;
	struct nr_ctx *ctx;
	int i, err;

	all.page = (size_t)sysconf(_SC_PAGESIZE);
	for (i = 1; i < argc && !strncmp(argv[i], "--", 2); i++) {
		const char *value = argv[i + 1] ? argv[i + 1] : "";

		if (!strcmp(argv[i], "--sync"))
			files.sync = true;
		else if (!strcmp(argv[i], "--open"))
			files.open = true;
		else if (!strcmp(argv[i], "--sum"))
			all.sum = true;
		else if (!strcmp(argv[i], "--pid") && ++i)
			files.pid = (pid_t)strtol(value, NULL, 10);
		else if (!strcmp(argv[i], "--limit") && ++i)
			files.file_timeout_ms = (unsigned int)strtoul(value, NULL, 10);
		else if (!strcmp(argv[i], "--drop") && ++i && !nr_set_parse(value, drop, NULL))
			files.drop = drop;
		else
			die("%s: not known, or its value is wrong", argv[i - 1]);
	}
	all.drop = files.drop != NULL;
	if (i > argc)
		i = argc;
	files.paths = (const char *const *)argv + i;
	files.npaths = (size_t)(argc - i);
	err = nr_open(&ctx, NULL);
	if (err)
		die("nr_open: %s", strerror(-err));
	err = nr_files(ctx, &files, on_file, NULL);
	nr_close(ctx);
	nr_set_free(drop);
	if (all.sum) {
		print("sum", &all.cache, &all.left);
		getrusage(RUSAGE_SELF, &usage);
		printf(" files=%lu errors=%lu maxrss=%ld\n", all.n, all.errors, usage.ru_maxrss);
	}
	if (err)
		die("nr_files: %s", strerror(-err));
	return 0;
}
