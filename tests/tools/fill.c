/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fill - make clean page cache out of a file's data
 *
 * fill FILE MB          read FILE in sequence, which gives large folios where the file system has
 *                       them; FILE is written first if it is shorter than that
 * fill --small FILE MB  write FILE anew in pieces of one page each, which gives single pages
 * fill --ahead FILE MB  have the kernel read ahead what of FILE is not cached; copies nothing, and
 * no page counts as used. A FILE that is shorter is made longer, without data
 *
 * What is written is synced, so that all of it is clean at the end.
 */
#include "tool.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#define CHUNK (4 * MB)
#define AHEAD (MB / 8) /* the kernel's default for one device, the least that it reads at once */

/* Data that no layer below can compress or share. */
static void scramble(uint64_t *buf, size_t bytes, uint64_t *state)
{
	for (size_t i = 0; i < bytes / sizeof(*buf); i++) {
		*state ^= *state << 13;
		*state ^= *state >> 7;
		*state ^= *state << 17;
		buf[i] = *state;
	}
}

static void write_file(int fd, const char *name, size_t len, size_t piece, void *buf)
{
	uint64_t state = 88172645463325252u;

	if (ftruncate(fd, 0))
		die("%s: truncate: %s", name, strerror(errno));
	for (size_t done = 0; done < len; done += piece) {
		scramble(buf, piece, &state);
		if (pwrite(fd, buf, piece, (off_t)done) != (ssize_t)piece)
			die("%s: write: %s", name, errno ? strerror(errno) : "no space left");
	}
	if (fsync(fd))
		die("%s: fsync: %s", name, strerror(errno));
}

static void read_file(int fd, const char *name, size_t len, void *buf)
{
	for (size_t done = 0; done < len;) {
		ssize_t n = pread(fd, buf, CHUNK, (off_t)done);

		if (n <= 0)
			die("%s: read: %s", name, n ? strerror(errno) : "file is too short");
		done += (size_t)n;
	}
}

static void read_ahead(int fd, const char *name, size_t len)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), pages = len / page, cached = 0;
	unsigned char *resident = malloc(pages);
	void *mem = mmap(NULL, len, PROT_READ, MAP_SHARED, fd, 0);
	char last;

	if (!resident || mem == MAP_FAILED)
		die("%s: %s", name, strerror(errno));
	for (size_t done = 0; done < len; done += AHEAD)
		if (readahead(fd, (off_t)done, AHEAD))
			die("%s: readahead: %s", name, strerror(errno));
	/* The last of it is there when all of it is. */
	if (pread(fd, &last, 1, (off_t)len - 1) != 1 || mincore(mem, len, resident))
		die("%s: %s", name, strerror(errno));
	for (size_t i = 0; i < pages; i++)
		cached += resident[i] & 1;
	if (cached < pages - pages / 100)
		die("%s: only %zu of %zu pages are cached", name, cached, pages);
	munmap(mem, len);
	free(resident);
}

int main(int argc, char **argv)
{
	bool small = argc == 4 && !strcmp(argv[1], "--small");
	bool ahead = argc == 4 && !strcmp(argv[1], "--ahead");
	const char *name;
	struct statfs fs;
	struct stat st;
	size_t len;
	void *buf;
	int fd;

	if (argc != 3 + (small || ahead)) {
		fprintf(stderr, "usage: fill [--small|--ahead] FILE MB\n");
		return 2;
	}
	name = argv[argc - 2];
	len = parse_mb(argv[argc - 1]);
	fd = open(name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0 || fstat(fd, &st) || fstatfs(fd, &fs))
		die("%s: %s", name, strerror(errno));
	if (fs.f_type == TMPFS_MAGIC || fs.f_type == RAMFS_MAGIC)
		die("%s: is on tmpfs, which holds no clean page cache", name);
	buf = malloc(CHUNK);
	if (!buf)
		die("%s", strerror(ENOMEM));

	if (small) {
		write_file(fd, name, len, (size_t)sysconf(_SC_PAGESIZE), buf);
	} else if (ahead) {
		if (st.st_size < (off_t)len && ftruncate(fd, (off_t)len))
			die("%s: %s", name, strerror(errno));
		read_ahead(fd, name, len);
	} else {
		if (st.st_size < (off_t)len) {
			write_file(fd, name, len, MB, buf);
			posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
		}
		read_file(fd, name, len, buf);
	}
	free(buf);
	close(fd);
	return 0;
}
