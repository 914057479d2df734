/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * toss - call toss_page_cache_node(2) of a patched kernel as it is, without the library
 *
 * toss NODE MB            once; prints the bytes freed
 * toss NODE MB SECONDS    again and again for that long; prints the sum
 *
 * Exit status 1 and a line if a call fails.
 */
#include "tool.h"

#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define TOSS_INACTIVE 1u
#define TOSS_ACTIVE 4u

static long announced(void)
{
	FILE *f = fopen("/sys/kernel/mm/node_reclaim/nr_toss_page_cache_node", "re");
	long number;

	if (!f || fscanf(f, "%ld", &number) != 1)
		die("this kernel has no toss_page_cache_node()");
	fclose(f);
	return number;
}

static time_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec;
}

int main(int argc, char **argv)
{
	unsigned int node;
	long number, freed, sum = 0;
	time_t end;
	size_t bytes;

	if (argc != 3 && argc != 4) {
		fprintf(stderr, "usage: toss NODE MB [SECONDS]\n");
		return 2;
	}
	node = (unsigned int)strtoul(argv[1], NULL, 10);
	bytes = parse_mb(argv[2]);
	number = announced();
	end = now() + (argc == 4 ? strtol(argv[3], NULL, 10) : 0);
	do {
		freed = syscall(number, node, bytes, TOSS_INACTIVE | TOSS_ACTIVE);
		if (freed < 0)
			die("NUMA node %u: %s", node, strerror(errno));
		sum += freed;
	} while (now() < end);
	printf("%ld\n", sum);
	return 0;
}
