/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Descriptors of files and folders that others own: no symbolic link is followed, and nothing is
 * opened before it is known what it is. */
#include "internal.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Linux 5.6; the same number everywhere but on Alpha */
#ifndef SYS_openat2
#define SYS_openat2 437
#endif

/* One component, which may be "." or "..": an O_PATH descriptor or -errno. */
static int step(int dirfd, const char *name, bool folder)
{
	int fd = openat(dirfd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC | (folder ? O_DIRECTORY : 0));
	struct stat st;

	if (fd < 0)
		return errno == ENOTDIR && fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
				       S_ISLNK(st.st_mode)
			       ? -ELOOP
			       : -errno;
	return fd;
}

/* What openat2() would do, before Linux 5.6. */
static int by_components(int dirfd, const char *path)
{
	char *copy = strdup(path), *rest, *name, *next;
	int fd, below;

	if (!copy)
		return -ENOMEM;
	fd = step(dirfd, *path == '/' ? "/" : ".", true);
	for (name = strtok_r(copy, "/", &rest); name && fd >= 0; name = next) {
		next = strtok_r(NULL, "/", &rest);
		below = step(fd, name, next != NULL);
		close(fd);
		fd = below;
	}
	free(copy);
	return fd;
}

/* 0 if it is no symbolic link and, with @same_mount, on the same device: a mount of the same file
 * system is not noticed. */
static int check(int dirfd, int fd, bool same_mount)
{
	struct stat dir, st;

	if (fstat(fd, &st) || (same_mount && fstat(dirfd, &dir)))
		return -errno;
	if (S_ISLNK(st.st_mode))
		return -ELOOP;
	return same_mount && st.st_dev != dir.st_dev ? -EXDEV : 0;
}

int nr_safe_path(int dirfd, const char *path, bool same_mount)
{
	struct open_how how = {
		.flags = O_PATH | O_CLOEXEC,
		.resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS |
			   (same_mount ? RESOLVE_NO_XDEV : 0),
	};
	long fd = syscall(SYS_openat2, dirfd, path, &how, sizeof(how));

	int err;

	if (fd >= 0)
		return (int)fd;
	/* Filters of system calls that do not know it say EPERM */
	if ((errno != ENOSYS && errno != EPERM) || !*path)
		return -errno;
	fd = by_components(dirfd, path);
	if (fd < 0)
		return (int)fd;
	err = check(dirfd, (int)fd, same_mount);
	if (err)
		close((int)fd);
	return err ? err : (int)fd;
}

int nr_safe_folder(int pathfd)
{
	const int flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NONBLOCK;
	int fd = openat(pathfd, ".", flags | O_NOATIME);

	if (fd < 0 && errno == EPERM)
		fd = openat(pathfd, ".", flags);
	return fd < 0 ? -errno : fd;
}
