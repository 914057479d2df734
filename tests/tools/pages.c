/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pages - where each cached page of a file is, by what the kernel says of the page itself
 *
 * pages FILE...
 *
 * A line for each file: its name and key=value words. cached=PAGES; nodeN=PAGES for each NUMA node
 * that has some; active=, referenced=, dirty=PAGES. It maps the file, takes page numbers from
 * /proc/self/pagemap, flags from /proc/kpageflags, and NUMA nodes from the zones of /proc/zoneinfo.
 * Needs root. Reads no page that is not cached, and leaves those that are as they were.
 */
#include "tool.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_ZONES 64
#define MAX_NODES 64

/* Documentation/admin-guide/mm/pagemap.rst */
#define PRESENT (UINT64_C(1) << 63)
#define FRAME ((UINT64_C(1) << 55) - 1)
enum { REFERENCED = 2, DIRTY = 4, ACTIVE = 6 };

static struct zone {
	unsigned long start, end;
	int nid;
} zone[MAX_ZONES];
static size_t nzones;

static void read_zones(void)
{
	FILE *f = fopen("/proc/zoneinfo", "re");
	unsigned long spanned = 0, start;
	char line[256];
	int nid = 0;

	if (!f)
		die("/proc/zoneinfo: %s", strerror(errno));
	while (fgets(line, sizeof(line), f)) {
		sscanf(line, "Node %d, zone", &nid);
		sscanf(line, " spanned %lu", &spanned);
		if (sscanf(line, " start_pfn: %lu", &start) == 1 && spanned && nzones < MAX_ZONES)
			zone[nzones++] = (struct zone){ start, start + spanned, nid };
	}
	fclose(f);
}

static int node_of(uint64_t frame)
{
	for (size_t i = 0; i < nzones; i++)
		if (frame >= zone[i].start && frame < zone[i].end && zone[i].nid < MAX_NODES)
			return zone[i].nid;
	die("page frame %llu is in no zone", (unsigned long long)frame);
}

static uint64_t word(int fd, const char *name, uint64_t index)
{
	uint64_t value;

	if (pread(fd, &value, sizeof(value), (off_t)(index * sizeof(value))) != sizeof(value))
		die("%s: %s", name, strerror(errno));
	return value;
}

static void look(const char *name, int pagemap, int kpageflags)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), pages, cached = 0;
	size_t node[MAX_NODES] = { 0 }, active = 0, referenced = 0, dirty = 0;
	int fd = open(name, O_RDONLY | O_NOFOLLOW | O_NOATIME | O_CLOEXEC);
	unsigned char *resident;
	struct stat st;
	uint64_t entry, flags;
	char *mem;

	if (fd < 0 || fstat(fd, &st))
		die("%s: %s", name, strerror(errno));
	pages = ((size_t)st.st_size + page - 1) / page;
	resident = malloc(pages + 1);
	mem = pages ? mmap(NULL, pages * page, PROT_READ, MAP_SHARED, fd, 0) : NULL;
	if (!resident || mem == MAP_FAILED)
		die("%s: %s", name, strerror(errno));
	if (pages &&
	    (madvise(mem, pages * page, MADV_RANDOM) || mincore(mem, pages * page, resident)))
		die("%s: %s", name, strerror(errno));
	for (size_t i = 0; i < pages; i++) {
		if (!(resident[i] & 1))
			continue;
		(void)*(volatile char *)(mem + i * page);
		entry = word(pagemap, "/proc/self/pagemap", (uintptr_t)(mem + i * page) / page);
		if (!(entry & PRESENT))
			die("%s: page %zu is not there", name, i);
		flags = word(kpageflags, "/proc/kpageflags", entry & FRAME);
		cached++;
		node[node_of(entry & FRAME)]++;
		active += flags >> ACTIVE & 1;
		referenced += flags >> REFERENCED & 1;
		dirty += flags >> DIRTY & 1;
	}
	/* Not to count as use */
	if (pages && (madvise(mem, pages * page, MADV_SEQUENTIAL) || munmap(mem, pages * page)))
		die("%s: %s", name, strerror(errno));
	free(resident);
	close(fd);
	printf("%s cached=%zu", name, cached);
	for (size_t i = 0; i < MAX_NODES; i++)
		if (node[i])
			printf(" node%zu=%zu", i, node[i]);
	printf(" active=%zu referenced=%zu dirty=%zu\n", active, referenced, dirty);
}

int main(int argc, char **argv)
{
	int pagemap = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	int kpageflags = open("/proc/kpageflags", O_RDONLY | O_CLOEXEC);

	if (argc < 2) {
		fprintf(stderr, "usage: pages FILE...\n");
		return 2;
	}
	if (pagemap < 0 || kpageflags < 0)
		die("/proc/self/pagemap, /proc/kpageflags: %s", strerror(errno));
	read_zones();
	for (int i = 1; i < argc; i++)
		look(argv[i], pagemap, kpageflags);
	return 0;
}
