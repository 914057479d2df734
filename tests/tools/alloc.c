/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * alloc - touch anonymous memory and say what it took to get it
 *
 * alloc [--threads N] [--small|--huge] [--hold] MB
 *   --threads N  that many threads touch a part each
 *   --small      without transparent huge pages; --huge: with, where the system lets programs
 *                choose
 *   --hold       keep the memory until standard input ends
 *
 * Prints key=value lines: policy=TEXT, without its blanks, and nodeN=PAGES for each NUMA node that
 * gave pages, as /proc/self/numa_maps has them; pages=PAGES, all that was touched; huge=PAGES of
 * these in transparent huge pages; and by how much the counters of direct reclaim, of kswapd and of
 * swapping rose on the host meanwhile. All of these at 0 mean that the memory was free to be
 * allocated.
 */
#include "tool.h"

#include <getopt.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#define MAX_THREADS 64
#define HUGE_PAGE (2 * MB)

static const char *const counters[] = {
	"pgscan_direct", "pgsteal_direct", "pgscan_kswapd", "pgsteal_kswapd", "pswpout",
};
#define COUNTERS (sizeof(counters) / sizeof(counters[0]))

struct part {
	char *mem;
	size_t len, page;
};

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

/* Memory with nothing mapped on either side, so that the kernel shows it by itself. */
static char *map(size_t len)
{
	char *mem = mmap(NULL, len + 2 * HUGE_PAGE, PROT_NONE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (mem == MAP_FAILED)
		die("mmap of %zu MB: %s", len / MB, strerror(errno));
	mem += HUGE_PAGE - (uintptr_t)mem % HUGE_PAGE;
	if (mprotect(mem, len, PROT_READ | PROT_WRITE))
		die("mprotect of %zu MB: %s", len / MB, strerror(errno));
	return mem;
}

static void *touch(void *arg)
{
	const struct part *part = arg;

	for (size_t i = 0; i < part->len; i += part->page)
		part->mem[i] = 1;
	return NULL;
}

static void touch_all(char *mem, size_t len, size_t page, unsigned int threads)
{
	struct part part[MAX_THREADS];
	pthread_t thread[MAX_THREADS];
	size_t each = len / threads / page * page;
	int err;

	for (unsigned int i = 0; i < threads; i++) {
		part[i] = (struct part){ mem + i * each, each, page };
		if (i == threads - 1)
			part[i].len = len - i * each;
		err = pthread_create(&thread[i], NULL, touch, &part[i]);
		if (err)
			die("pthread_create: %s", strerror(err));
	}
	for (unsigned int i = 0; i < threads; i++)
		pthread_join(thread[i], NULL);
}

static void print_nodes(const char *mem)
{
	FILE *f = fopen("/proc/self/numa_maps", "re");
	char line[4096], *word, *rest;

	if (!f)
		die("/proc/self/numa_maps: %s", strerror(errno));
	while (fgets(line, sizeof(line), f)) {
		if (strtoul(line, NULL, 16) != (uintptr_t)mem)
			continue;
		strtok_r(line, " \n", &rest);
		word = strtok_r(NULL, " \n", &rest);
		/* "prefer (many):0-1" */
		printf("policy=%s%s\n", word, *rest == '(' ? strtok_r(NULL, " \n", &rest) : "");
		while ((word = strtok_r(NULL, " \n", &rest)))
			if (word[0] == 'N')
				printf("node%s\n", word + 1);
		break;
	}
	fclose(f);
}

static void print_huge(const char *mem, size_t page)
{
	FILE *f = fopen("/proc/self/smaps", "re");
	unsigned long from, to, kb = 0;
	bool mine = false;
	char line[4096];

	if (!f)
		die("/proc/self/smaps: %s", strerror(errno));
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%lx-%lx ", &from, &to) == 2)
			mine = from == (uintptr_t)mem;
		else if (mine && sscanf(line, "AnonHugePages: %lu", &kb) == 1)
			break;
	}
	fclose(f);
	printf("huge=%zu\n", kb * 1024 / page);
}

static void usage(void)
{
	fprintf(stderr, "usage: alloc [--threads N] [--small|--huge] [--hold] MB\n");
	exit(2);
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "threads", required_argument, NULL, 't' },
		{ "small", no_argument, NULL, 's' },
		{ "huge", no_argument, NULL, 'l' },
		{ "hold", no_argument, NULL, 'h' },
		{ 0 },
	};
	unsigned long long before[COUNTERS] = { 0 }, after[COUNTERS] = { 0 };
	size_t len, page = (size_t)sysconf(_SC_PAGESIZE);
	unsigned long threads = 1;
	int advice = -1, c;
	bool hold = false;
	char *mem;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1)
		switch (c) {
		case 't':
			threads = strtoul(optarg, NULL, 10);
			break;
		case 's':
			advice = MADV_NOHUGEPAGE;
			break;
		case 'l':
			advice = MADV_HUGEPAGE;
			break;
		case 'h':
			hold = true;
			break;
		default:
			usage();
		}
	if (argc != optind + 1 || !threads || threads > MAX_THREADS)
		usage();
	len = parse_mb(argv[optind]);
	mem = map(len);
	if (advice >= 0 && madvise(mem, len, advice))
		die("madvise: %s", strerror(errno));
	read_counters(before);
	touch_all(mem, len, page, (unsigned int)threads);
	read_counters(after);

	print_nodes(mem);
	printf("pages=%zu\n", len / page);
	print_huge(mem, page);
	for (size_t i = 0; i < COUNTERS; i++)
		printf("%s=%llu\n", counters[i], after[i] - before[i]);
	fflush(stdout);
	while (hold && getchar() != EOF)
		;
	return 0;
}
