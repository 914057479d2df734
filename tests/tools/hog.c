/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hog - hold memory until standard input ends
 *
 * hog [--mlock] MB          so much anonymous memory
 * hog [--mlock] --leave MB  as much anonymous memory as is free, less this
 * hog --map FILE MB         that much of a file, mapped
 *
 * Prints "ready" when all of it is touched. A test keeps the other end of standard input open, so
 * that the memory is given back even when the test is killed.
 */
#include "tool.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#define STEP (16 * MB)

/* The number after @key, which a line of that file of /proc begins with */
static size_t value_of(const char *name, const char *key)
{
	FILE *f = fopen(name, "re");
	size_t value = 0;
	char line[128];

	if (!f)
		die("%s: %s", name, strerror(errno));
	while (fgets(line, sizeof(line), f))
		if (!strncmp(line, key, strlen(key)))
			value = strtoul(line + strlen(key), NULL, 10);
	fclose(f);
	return value;
}

static size_t mem_free(void)
{
	return value_of("/proc/meminfo", "MemFree:") * 1024;
}

/* What the kernel has reclaimed by itself. To take that as well would make it reclaim more. */
static size_t reclaimed(void)
{
	return (value_of("/proc/vmstat", "pgsteal_kswapd ") +
		value_of("/proc/vmstat", "pgsteal_direct ")) *
	       (size_t)sysconf(_SC_PAGESIZE);
}

static char *map(size_t len, int flags, int fd)
{
	char *mem = mmap(NULL, len, PROT_READ | (fd < 0 ? PROT_WRITE : 0), flags, fd, 0);

	if (mem == MAP_FAILED)
		die("mmap of %zu MB: %s", len / MB, strerror(errno));
	return mem;
}

static void take(size_t len, bool lock)
{
	char *mem = map(len, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1);

	if (madvise(mem, len, MADV_POPULATE_WRITE))
		die("touching %zu MB: %s", len / MB, strerror(errno));
	if (lock && mlock(mem, len))
		die("mlock of %zu MB: %s", len / MB, strerror(errno));
}

static void take_file(const char *name, size_t len)
{
	int fd = open(name, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		die("%s: %s", name, strerror(errno));
	if (madvise(map(len, MAP_SHARED, fd), len, MADV_POPULATE_READ))
		die("%s: %s", name, strerror(errno));
	close(fd);
}

int main(int argc, char **argv)
{
	bool lock = argc > 1 && !strcmp(argv[1], "--mlock");
	bool leave = argc > 1 + lock && !strcmp(argv[1 + lock], "--leave");
	bool file = argc == 4 && !strcmp(argv[1], "--map");
	size_t len, before = reclaimed();
	ssize_t n;
	char c;

	if (argc != 2 + lock + leave + 2 * file) {
		fprintf(stderr, "usage: hog [--mlock] [--leave] MB\n"
				"       hog --map FILE MB\n");
		return 2;
	}
	len = parse_mb(argv[argc - 1]);
	if (file)
		take_file(argv[2], len);
	else if (!leave)
		take(len, lock);
	else /* in steps: what is free may grow meanwhile, on kernels that prepare memory late */
		while (mem_free() > len + STEP + reclaimed() - before)
			take(STEP, lock);
	if (puts("ready") < 0 || fflush(stdout))
		die("standard output: %s", strerror(errno));
	do
		n = read(STDIN_FILENO, &c, 1);
	while (n > 0 || (n < 0 && errno == EINTR));
	return 0;
}
