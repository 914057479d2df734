/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * alloc - touch anonymous memory and say what it took to get it
 *
 * Prints key=value lines: nodeN=PAGES for each NUMA node that gave pages, and by how much the
 * counters of direct reclaim, of kswapd and of swapping rose on the host meanwhile. All of these
 * at 0 mean that the memory was free to be allocated.
 */
#include "tool.h"

#include <numaif.h>
#include <sys/mman.h>
#include <unistd.h>

#define NODES 1024
#define BATCH 1024

static const char *const counters[] = {
	"pgscan_direct", "pgsteal_direct", "pgscan_kswapd", "pgsteal_kswapd", "pswpout",
};
#define COUNTERS (sizeof(counters) / sizeof(counters[0]))

static void read_counters(unsigned long long value[COUNTERS])
{
	FILE *f = fopen("/proc/vmstat", "re");
	unsigned long long v;
	unsigned int found = 0;
	char key[64];

	if (!f)
		die("/proc/vmstat: %s", strerror(errno));
	while (fscanf(f, "%63s %llu", key, &v) == 2)
		for (size_t i = 0; i < COUNTERS; i++)
			if (!strcmp(key, counters[i])) {
				value[i] = v;
				found |= 1u << i;
			}
	fclose(f);
	if (found != (1u << COUNTERS) - 1)
		die("/proc/vmstat: a counter is missing");
}

static void count_pages(char *mem, size_t pages, size_t page, unsigned long count[NODES])
{
	void *where[BATCH];
	int status[BATCH];

	for (size_t done = 0; done < pages;) {
		size_t n = pages - done < BATCH ? pages - done : BATCH;

		for (size_t i = 0; i < n; i++)
			where[i] = mem + (done + i) * page;
		if (move_pages(0, n, where, NULL, status, 0))
			die("move_pages: %s", strerror(errno));
		for (size_t i = 0; i < n; i++)
			if (status[i] >= 0 && status[i] < NODES)
				count[status[i]]++;
		done += n;
	}
}

int main(int argc, char **argv)
{
	static unsigned long count[NODES];
	unsigned long long before[COUNTERS] = { 0 }, after[COUNTERS] = { 0 };
	size_t len, page = (size_t)sysconf(_SC_PAGESIZE);
	char *mem;

	if (argc != 2) {
		fprintf(stderr, "usage: alloc MB\n");
		return 2;
	}
	len = parse_mb(argv[1]);
	mem = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
		   -1, 0);
	if (mem == MAP_FAILED)
		die("mmap of %zu MB: %s", len / MB, strerror(errno));
	read_counters(before);
	for (size_t i = 0; i < len; i += page)
		mem[i] = 1;
	read_counters(after);
	count_pages(mem, len / page, page, count);

	for (int i = 0; i < NODES; i++)
		if (count[i])
			printf("node%d=%lu\n", i, count[i]);
	for (size_t i = 0; i < COUNTERS; i++)
		printf("%s=%llu\n", counters[i], after[i] - before[i]);
	return 0;
}
