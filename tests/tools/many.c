/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * many - make many files
 *
 * many FOLDER COUNT BYTES
 *
 * So many files of that size each, 500 in a folder. All is synced, so that their page cache is
 * clean, and on the NUMA node of who runs this. A file that is there already only gets the rest of
 * its bytes.
 */
#include "tool.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	unsigned long count, bytes;
	char name[4096], *buf;
	struct stat st;
	int fd;

	if (argc != 4) {
		fprintf(stderr, "usage: many FOLDER COUNT BYTES\n");
		return 2;
	}
	count = strtoul(argv[2], NULL, 10);
	bytes = strtoul(argv[3], NULL, 10);
	buf = malloc(bytes + 1);
	if (!buf)
		die("%s", strerror(ENOMEM));
	memset(buf, 'x', bytes);
	if (mkdir(argv[1], 0755) && errno != EEXIST)
		die("%s: %s", argv[1], strerror(errno));
	for (unsigned long i = 0; i < count; i++) {
		snprintf(name, sizeof(name), "%s/%lu", argv[1], i / 500);
		if (i % 500 == 0 && mkdir(name, 0755) && errno != EEXIST)
			die("%s: %s", name, strerror(errno));
		snprintf(name, sizeof(name), "%s/%lu/%lu", argv[1], i / 500, i);
		fd = open(name, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
		if (fd < 0 || fstat(fd, &st))
			die("%s: %s", name, strerror(errno));
		if ((size_t)st.st_size < bytes && write(fd, buf, bytes - (size_t)st.st_size) !=
							  (ssize_t)(bytes - (size_t)st.st_size))
			die("%s: cannot be written", name);
		close(fd);
	}
	free(buf);
	fd = open(argv[1], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || syncfs(fd))
		die("%s: %s", argv[1], strerror(errno));
	close(fd);
	return 0;
}
