/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * /run/nodereclaim, root's alone: what the programs of this host keep until the next boot. Nothing
 * in it is believed that others could have written, and a file is either the old or the new one.
 */
#include "internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define NAME_LEN 64
#define LOCK_NAP_NS 2000000 /* how often a lock that others hold is tried */

static bool own(const struct stat *st)
{
	return st->st_uid == geteuid() && !(st->st_mode & (S_IRWXG | S_IRWXO));
}

/* Of root or us, and nobody else may exchange what is in it. */
static bool safe_parent(const struct stat *st)
{
	return (st->st_uid == 0 || st->st_uid == geteuid()) && !(st->st_mode & (S_IWGRP | S_IWOTH));
}

static int open_folder(int parent, const char *name, bool (*good)(const struct stat *st))
{
	int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), err = 0;
	struct stat st;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st))
		err = -errno;
	else if (!good(&st))
		err = -EPERM;
	if (!err)
		return fd;
	close(fd);
	return err;
}

static int open_own(int parent, const char *name, bool make)
{
	if (make && mkdirat(parent, name, 0700) && errno != EEXIST)
		return -errno;
	return open_folder(parent, name, own);
}

int nr_rundir_open(struct nr_ctx *ctx, const char *sub, bool make)
{
	int run = open_folder(ctx->rootfd, "run", safe_parent), fd = run, err;
	const char *at = "";

	if (run >= 0) {
		at = "/nodereclaim";
		fd = open_own(run, "nodereclaim", make);
		close(run);
	}
	if (fd >= 0 && sub) {
		int ours = fd;

		at = "/nodereclaim/";
		fd = open_own(ours, sub, make);
		close(ours);
	}
	err = fd < 0 ? fd : 0;
	if (err && err != -ENOENT)
		nr_log(ctx, LOG_ERR, "/run%s%s: %s", at, at[0] && sub ? sub : "",
		       err == -EPERM   ? "others than its owner may change it, or it is not ours"
		       : err == -ELOOP ? "is a symbolic link"
				       : strerror(-err));
	return fd;
}

/* O_NONBLOCK: a FIFO must not stop us. */
static int open_file(int dir, const char *name, int flags)
{
	int fd = openat(dir, name, flags | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0600);
	struct stat st;
	int err = 0;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st))
		err = -errno;
	else if (!S_ISREG(st.st_mode) || !own(&st) || st.st_nlink != 1)
		err = -EPERM;
	if (!err)
		return fd;
	close(fd);
	return err;
}

int nr_rundir_lock(int dir, const char *name, uint64_t deadline)
{
	const struct timespec nap = { .tv_nsec = LOCK_NAP_NS };
	int fd = open_file(dir, name, O_RDWR | O_CREAT), err;

	if (fd < 0)
		return fd;
	while (flock(fd, LOCK_EX | LOCK_NB)) {
		err = errno != EWOULDBLOCK ? -errno : nr_now() >= deadline ? -ETIME : 0;
		if (err) {
			close(fd);
			return err;
		}
		nanosleep(&nap, NULL);
	}
	return fd;
}

static int read_text(int fd, size_t max, char **text, size_t *len)
{
	char *buf = malloc(max + 1);
	size_t n = 0;
	ssize_t got;
	int err = 0;

	if (!buf)
		return -ENOMEM;
	while ((got = read(fd, buf + n, max + 1 - n)) != 0) {
		if (got > 0)
			n += (size_t)got;
		else if (errno != EINTR)
			err = -errno;
		if (n > max)
			err = -EFBIG;
		if (err) {
			free(buf);
			return err;
		}
	}
	buf[n] = '\0';
	*text = buf;
	*len = n;
	return 0;
}

int nr_rundir_read(int dir, const char *name, size_t max, char **text, size_t *len)
{
	int fd = open_file(dir, name, O_RDONLY), err;

	*text = NULL;
	*len = 0;
	if (fd < 0)
		return fd;
	err = read_text(fd, max, text, len);
	close(fd);
	return err;
}

static int write_text(int fd, const char *text, size_t len)
{
	ssize_t n;

	while (len) {
		n = write(fd, text, len);
		if (n < 0 && errno != EINTR)
			return -errno;
		if (n > 0) {
			text += n;
			len -= (size_t)n;
		}
	}
	return fsync(fd) ? -errno : 0;
}

int nr_rundir_write(int dir, const char *name, const char *text, size_t len)
{
	char new[NAME_LEN];
	int fd, err;

	snprintf(new, sizeof(new), "%s.new", name);
	unlinkat(dir, new, 0); /* of a writer that was killed */
	fd = open_file(dir, new, O_WRONLY | O_CREAT | O_EXCL);
	if (fd < 0)
		return fd;
	err = write_text(fd, text, len);
	close(fd);
	if (!err && renameat(dir, new, dir, name))
		err = -errno;
	if (err)
		unlinkat(dir, new, 0);
	return err;
}

bool nr_rundir_has(int dir, const char *name)
{
	return faccessat(dir, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0 || errno != ENOENT;
}

int nr_rundir_remove(int dir, const char *name)
{
	return unlinkat(dir, name, 0) && errno != ENOENT ? -errno : 0;
}

int nr_rundir_set_aside(int dir, const char *name)
{
	char bad[NAME_LEN];

	snprintf(bad, sizeof(bad), "%s.bad", name);
	return renameat(dir, name, dir, bad) ? -errno : 0;
}
