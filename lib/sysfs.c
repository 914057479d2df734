/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The only file that opens /sys, /proc or /dev. All paths are relative to the context's root
 * folder, so that a recorded tree can stand in for the running system.
 */
#include "internal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* Whole files are lists and numbers. The long ones (/proc/zoneinfo has a paragraph for each zone
 * and CPU) are read line by line. */
#define READ_MAX (1u << 20)
#define LINE_BUFFER (64u << 10)
#define LINES_MAX (256u << 20)

static int NR_PRINTF(2, 0) make_path(char *path, const char *fmt, va_list ap)
{
	int n = vsnprintf(path, NR_PATH_MAX, fmt, ap);

	return n < 0 || n >= NR_PATH_MAX ? -ENAMETOOLONG : 0;
}

/* O_NONBLOCK and the check of the type: a FIFO in a recorded tree must not hang the reader. */
static int open_regular(struct nr_ctx *ctx, const char *path, int flags)
{
	int fd = openat(ctx->rootfd, path, flags | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;
	int err;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) < 0)
		err = -errno;
	else if (!S_ISREG(st.st_mode))
		err = -EINVAL;
	else
		return fd;
	close(fd);
	return err;
}

/* A descriptor for writing, or -errno. */
static int NR_PRINTF(2, 0) vopen(struct nr_ctx *ctx, const char *fmt, va_list ap)
{
	char path[NR_PATH_MAX];
	int err = make_path(path, fmt, ap);

	return err ? err : open_regular(ctx, path, O_WRONLY);
}

static int read_all(int fd, char **out, size_t *len)
{
	size_t size = 4096, n = 0;
	char *buf = malloc(size), *more;
	ssize_t got;
	int err;

	for (;;) {
		if (!buf)
			return -ENOMEM;
		got = read(fd, buf + n, size - n - 1);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0) {
			err = -errno;
			break;
		}
		if (got == 0) {
			buf[n] = '\0';
			*out = buf;
			*len = n;
			return 0;
		}
		n += (size_t)got;
		if (n + 1 < size)
			continue;
		if (size >= READ_MAX) {
			err = -EFBIG;
			break;
		}
		size *= 2;
		more = realloc(buf, size);
		if (!more)
			free(buf);
		buf = more;
	}
	free(buf);
	return err;
}

static int NR_PRINTF(4, 0)
	vread(struct nr_ctx *ctx, char **out, size_t *len, const char *fmt, va_list ap)
{
	char path[NR_PATH_MAX];
	int err = make_path(path, fmt, ap), fd;

	*out = NULL;
	*len = 0;
	if (err)
		return err;
	fd = open_regular(ctx, path, O_RDONLY);
	if (fd < 0) {
		err = fd;
	} else {
		err = read_all(fd, out, len);
		close(fd);
	}
	if (err)
		nr_log(ctx, LOG_DEBUG, "read /%s: %s", path, strerror(-err));
	return err;
}

int nr_sys_read(struct nr_ctx *ctx, char **out, size_t *len, const char *fmt, ...)
{
	va_list ap;
	int err;

	va_start(ap, fmt);
	err = vread(ctx, out, len, fmt, ap);
	va_end(ap);
	return err;
}

/* Calls @fn for each line of the buffer and returns how much of it is left over: the start of a
 * line that goes on. */
static size_t feed_lines(char *buf, size_t n, bool last, nr_line_fn fn, void *data)
{
	char *p = buf, *end = buf + n, *nl;

	while (p < end) {
		nl = memchr(p, '\n', (size_t)(end - p));
		if (!nl && !last)
			break;
		nl = nl ? nl : end;
		fn(data, p, (size_t)(nl - p));
		p = nl < end ? nl + 1 : end;
	}
	n = (size_t)(end - p);
	memmove(buf, p, n);
	return n;
}

static int read_lines(int fd, nr_line_fn fn, void *data)
{
	char *buf = malloc(LINE_BUFFER), *nl;
	uint64_t total = 0;
	bool skip = false; /* the rest of a line that is longer than the buffer */
	size_t n = 0;
	ssize_t got;

	if (!buf)
		return -ENOMEM;
	for (;;) {
		if (n == LINE_BUFFER) {
			skip = true;
			n = 0;
		}
		got = read(fd, buf + n, LINE_BUFFER - n);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			break;
		total += (uint64_t)got;
		if (total > LINES_MAX) {
			free(buf);
			return -EFBIG;
		}
		n += (size_t)got;
		if (skip) {
			nl = memchr(buf, '\n', n);
			n = nl ? n - (size_t)(nl + 1 - buf) : 0;
			if (!nl)
				continue;
			memmove(buf, nl + 1, n);
			skip = false;
		}
		n = feed_lines(buf, n, false, fn, data);
	}
	if (got == 0)
		feed_lines(buf, n, true, fn, data);
	free(buf);
	return got < 0 ? -errno : 0;
}

int nr_sys_lines(struct nr_ctx *ctx, nr_line_fn fn, void *data, const char *fmt, ...)
{
	char path[NR_PATH_MAX];
	va_list ap;
	int err, fd;

	va_start(ap, fmt);
	err = make_path(path, fmt, ap);
	va_end(ap);
	if (err)
		return err;
	fd = open_regular(ctx, path, O_RDONLY);
	if (fd < 0) {
		err = fd;
	} else {
		err = read_lines(fd, fn, data);
		close(fd);
	}
	if (err)
		nr_log(ctx, LOG_DEBUG, "read /%s: %s", path, strerror(-err));
	return err;
}

int nr_sys_read_u64(struct nr_ctx *ctx, uint64_t *value, const char *fmt, ...)
{
	char *text, *end;
	size_t len;
	va_list ap;
	int err;

	va_start(ap, fmt);
	err = vread(ctx, &text, &len, fmt, ap);
	va_end(ap);
	if (err)
		return err;
	errno = 0;
	*value = strtoull(text, &end, 10);
	if (errno || end == text || text[0] == '-' || (*end && *end != '\n'))
		err = -EBADMSG;
	free(text);
	return err;
}

int nr_sys_read_set(struct nr_ctx *ctx, struct bitmask *set, const char *fmt, ...)
{
	char *text;
	size_t len;
	va_list ap;
	int err;

	va_start(ap, fmt);
	err = vread(ctx, &text, &len, fmt, ap);
	va_end(ap);
	if (err)
		return err;
	err = nr_set_parse(text, set, NULL);
	free(text);
	return err;
}

int nr_sys_write(struct nr_ctx *ctx, const char *text, const char *fmt, ...)
{
	int err = 0, fd;
	va_list ap;

	if (ctx->recorded)
		return -EROFS;
	va_start(ap, fmt);
	fd = vopen(ctx, fmt, ap);
	va_end(ap);
	if (fd < 0)
		return fd;
	if (write(fd, text, strlen(text)) < 0)
		err = -errno;
	close(fd);
	return err;
}

int nr_sys_open(struct nr_ctx *ctx, const char *fmt, ...)
{
	va_list ap;
	int fd;

	va_start(ap, fmt);
	fd = vopen(ctx, fmt, ap);
	va_end(ap);
	return fd;
}

int nr_sys_lock(struct nr_ctx *ctx, const char *fmt, ...)
{
	va_list ap;
	int err, fd;

	va_start(ap, fmt);
	fd = vopen(ctx, fmt, ap);
	va_end(ap);
	if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB)) {
		err = -errno;
		close(fd);
		return err;
	}
	return fd;
}

int nr_sys_writable(struct nr_ctx *ctx, const char *fmt, ...)
{
	char path[NR_PATH_MAX];
	struct stat st;
	va_list ap;
	int err;

	va_start(ap, fmt);
	err = make_path(path, fmt, ap);
	va_end(ap);
	if (err)
		return err;
	if (fstatat(ctx->rootfd, path, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	if (ctx->recorded)
		return 0;
	return faccessat(ctx->rootfd, path, W_OK, AT_EACCESS) < 0 ? -errno : 0;
}

static int NR_PRINTF(2, 0) vfolder(struct nr_ctx *ctx, const char *fmt, va_list ap)
{
	char path[NR_PATH_MAX];
	int err = make_path(path, fmt, ap), fd;

	if (err)
		return err;
	fd = openat(ctx->rootfd, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int nr_sys_folder(struct nr_ctx *ctx, const char *fmt, ...)
{
	va_list ap;
	int fd;

	va_start(ap, fmt);
	fd = vfolder(ctx, fmt, ap);
	va_end(ap);
	return fd;
}

int nr_sys_target(int folder, const char *name)
{
	int fd = openat(folder, name, O_PATH | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

int nr_sys_reopen(int fds, int pathfd, int flags)
{
	char name[16];
	int fd;

	snprintf(name, sizeof(name), "%d", pathfd);
	fd = openat(fds, name, flags | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int nr_sys_pagemap(struct nr_ctx *ctx)
{
	return open_regular(ctx, "proc/self/pagemap", O_RDONLY);
}

bool nr_sys_may_write(int fds, int pathfd)
{
	char name[16];

	snprintf(name, sizeof(name), "%d", pathfd);
	return faccessat(fds, name, W_OK, AT_EACCESS) == 0;
}

int nr_sys_list(struct nr_ctx *ctx, int (*fn)(void *data, const char *name), void *data,
		const char *fmt, ...)
{
	struct dirent *entry;
	va_list ap;
	int err = 0, fd;
	DIR *dir;

	va_start(ap, fmt);
	fd = vfolder(ctx, fmt, ap);
	va_end(ap);
	if (fd < 0)
		return fd;
	dir = fdopendir(fd);
	if (!dir) {
		err = -errno;
		close(fd);
		return err;
	}
	while (!err) {
		errno = 0;
		entry = readdir(dir);
		if (!entry) {
			err = -errno;
			break;
		}
		if (entry->d_name[0] != '.')
			err = fn(data, entry->d_name);
	}
	closedir(dir);
	return err;
}

bool nr_line_value(const char *line, size_t len, const char *name, uint64_t *value)
{
	size_t n = strlen(name), i = n;
	uint64_t v = 0;

	if (len <= n || memcmp(line, name, n))
		return false;
	while (i < len && (line[i] == ' ' || line[i] == ':' || line[i] == '\t'))
		i++;
	if (i == n || i == len || line[i] < '0' || line[i] > '9')
		return false;
	for (; i < len && line[i] >= '0' && line[i] <= '9'; i++) {
		if (v > (UINT64_MAX - 9) / 10)
			return false;
		v = v * 10 + (uint64_t)(line[i] - '0');
	}
	*value = v;
	return true;
}
