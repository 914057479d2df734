// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Log lines to syslog.
 *
 * Not with syslog(3): it blocks without limit while a stopped syslog daemon leaves its socket full,
 * and a prolog that waits drains the host.
 */
#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

#include "common.h"

/* Below PIPE_BUF, so that a pipe takes a line whole or not at all, and below what daemons cut. */
#define LINE_MAX_BYTES 4000

/* A daemon that takes no line for so long gets no further ones. */
#define SEND_TIMEOUT_US 200000

static struct {
	const char *ident;
	const char *prefix;
	pid_t pid; /* of the first process, so that all lines of one run have the same */
	int level;
	int fd;
	bool to_stderr;
} state = { .ident = "", .prefix = "", .level = LOG_INFO, .fd = -1 };

static int connect_daemon(int type)
{
	const struct sockaddr_un address = { .sun_family = AF_UNIX, .sun_path = "/dev/log" };
	const struct timeval timeout = { .tv_usec = SEND_TIMEOUT_US };
	int fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -errno;
	if (setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof(timeout)) < 0 ||
	    connect(fd, (const struct sockaddr *)&address, sizeof(address)) < 0) {
		int error = -errno;

		close(fd);
		return error;
	}
	return fd;
}

void log_open(const char *ident, bool to_stderr)
{
	state.ident = ident;
	state.to_stderr = to_stderr;
	state.pid = getpid();
	state.fd = connect_daemon(SOCK_DGRAM);
	if (state.fd == -EPROTOTYPE) /* some daemons listen for streams */
		state.fd = connect_daemon(SOCK_STREAM);
}

void log_set_level(int priority)
{
	state.level = priority;
}

int log_level(void)
{
	return state.level;
}

void log_set_prefix(const char *prefix)
{
	state.prefix = prefix;
}

static void to_daemon(int priority, const char *text)
{
	char line[LINE_MAX_BYTES + 128], date[32] = "";
	time_t now = time(NULL);
	struct tm tm;
	int len;

	if (state.fd < 0)
		return;
	if (localtime_r(&now, &tm))
		strftime(date, sizeof(date), "%b %e %H:%M:%S ", &tm);
	len = snprintf(line, sizeof(line), "<%d>%s%s[%d]: %s", LOG_DAEMON | priority, date,
		       state.ident, (int)state.pid, text);
	/* With its NUL, which ends a message on a stream; daemons drop it from a datagram. */
	if (send(state.fd, line, (size_t)len + 1, MSG_NOSIGNAL) < 0) {
		close(state.fd);
		state.fd = -1;
	}
}

static void to_stderr(const char *text)
{
	char line[LINE_MAX_BYTES + 64];
	struct pollfd ready = { .fd = STDERR_FILENO, .events = POLLOUT };
	int len = snprintf(line, sizeof(line), "%s: %s\n", state.ident, text);

	/* A full pipe that nobody reads must not stop us. */
	if (poll(&ready, 1, 0) == 1 && write(STDERR_FILENO, line, (size_t)len) < 0)
		state.to_stderr = false;
}

void log_line(int priority, const char *format, ...)
{
	char text[LINE_MAX_BYTES];
	size_t used;
	va_list args;

	if (priority > state.level)
		return;
	used = (size_t)snprintf(text, sizeof(text), "%s", state.prefix);
	va_start(args, format);
	vsnprintf(text + used, sizeof(text) - used, format, args);
	va_end(args);
	for (char *c = text; *c; c++)
		if (*c < ' ' || *c > '~')
			*c = '?';
	to_daemon(priority, text);
	if (state.to_stderr)
		to_stderr(text);
}

void log_library(void *data, int priority, const char *message)
{
	(void)data;
	log_line(priority, "%s", message);
}
