/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Text for the user of a step. */
#include "plugin.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

const char *nrp_host(void)
{
	static char name[HOST_NAME_MAX + 1];
	const char *slurm = getenv("SLURMD_NODENAME");

	if (name[0])
		return name;
	if (slurm && *slurm)
		strncpy(name, slurm, sizeof(name) - 1);
	else if (gethostname(name, sizeof(name) - 1))
		strcpy(name, "?");
	nrp_clean(name, strlen(name), false);
	return name;
}

void nrp_clean(char *text, size_t len, bool lines)
{
	size_t i;

	for (i = 0; i < len; i++)
		if ((text[i] < ' ' || text[i] > '~') && !(lines && text[i] == '\n'))
			text[i] = '?';
}

int64_t nrp_now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

/* Standard error is most often a pipe that slurmstepd reads; poll() says that PIPE_BUF bytes fit.
 */
static void write_bounded(const char *buf, size_t len)
{
	const int64_t until = nrp_now_ms() + NRP_TELL_MS;
	struct pollfd fd = { .fd = STDERR_FILENO, .events = POLLOUT };
	int64_t left;
	ssize_t n;

	while (len) {
		left = until - nrp_now_ms();
		if (left <= 0)
			return;
		if (poll(&fd, 1, (int)left) <= 0)
			continue;
		if (!(fd.revents & POLLOUT))
			return;
		n = write(STDERR_FILENO, buf, len < PIPE_BUF ? len : PIPE_BUF);
		if (n < 0 && errno != EINTR && errno != EAGAIN)
			return;
		if (n > 0) {
			buf += n;
			len -= (size_t)n;
		}
	}
}

void nrp_tell_user(const char *text)
{
	static const char prefix[] = "node-reclaim: ";
	const char *host = nrp_host(), *p;
	const size_t head = strlen(prefix) + strlen(host) + 2;
	size_t lines = 1, len;
	char *out, *to;

	for (p = text; *p; p++)
		lines += *p == '\n';
	out = to = malloc(strlen(text) + lines * (head + 1) + 1);
	if (!out)
		return;
	/* In one piece, so that the lines of several hosts mix as little as possible */
	for (p = text; *p; p += len + (p[len] == '\n')) {
		len = strcspn(p, "\n");
		to = stpcpy(stpcpy(stpcpy(to, prefix), host), ": ");
		to = mempcpy(to, p, len);
		*to++ = '\n';
	}
	write_bounded(out, (size_t)(to - out));
	free(out);
}
