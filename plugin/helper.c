/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Starts the helper program as root, reads its answer, and ends it at the deadline. */
#include "plugin.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* A helper that has closed its output is about to end; this is how long it may take. */
#define LINGER_MS 200

struct reply {
	size_t len; /* never above NRP_ANSWER_MAX */
	char buf[NRP_ANSWER_MAX + 1];
};

static void __attribute__((format(printf, 2, 3)))
no_result(struct nrp_answer *answer, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(answer->reason, sizeof(answer->reason), fmt, ap);
	va_end(ap);
	nrp_clean(answer->reason, strlen(answer->reason), false);
	answer->status = NRP_NO_RESULT;
}

/* Only root may be able to change what is at @path, which has no symbolic links. In a folder with
 * the sticky bit nobody else can replace what root owns. */
static const char *check_owner(char *path)
{
	struct stat st;
	char *slash = path;
	bool last;

	do {
		slash = strchr(slash + 1, '/');
		last = !slash;
		if (!last)
			*slash = '\0';
		if (lstat(path, &st))
			return "cannot be looked at";
		if (st.st_uid != 0)
			return "is not root's, or in a folder that is not";
		if ((st.st_mode & (S_IWGRP | S_IWOTH)) && (last || !(st.st_mode & S_ISVTX)))
			return "can be changed by others than root";
		if (last ? !S_ISREG(st.st_mode) : !S_ISDIR(st.st_mode))
			return "is not a regular file";
		if (!last)
			*slash = '/';
	} while (!last);
	return NULL;
}

/* What became of the helper; -1 if somebody else waited for it. */
static bool reap(pid_t pid, int *status, int64_t until)
{
	const struct timespec nap = { .tv_nsec = 1000000 };
	pid_t got;

	for (;;) {
		got = waitpid(pid, status, WNOHANG);
		if (got == pid)
			return true;
		if (got < 0 && errno != EINTR) {
			*status = -1;
			return true;
		}
		if (nrp_now_ms() >= until)
			return false;
		nanosleep(&nap, NULL);
	}
}

/* Reads to the end of the pipe; what does not fit is dropped. 0 or -ETIMEDOUT, -errno. */
static int read_reply(int fd, struct reply *reply, int64_t until)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN };
	char rest[4096];
	int64_t left;
	ssize_t n;
	size_t room;

	for (;;) {
		left = until - nrp_now_ms();
		if (left <= 0)
			return -ETIMEDOUT;
		n = poll(&pfd, 1, (int)left);
		if (n < 0 && errno != EINTR)
			return -errno;
		if (n <= 0)
			continue;
		room = NRP_ANSWER_MAX - reply->len;
		n = room ? read(fd, reply->buf + reply->len, room) : read(fd, rest, sizeof(rest));
		if (n == 0)
			return 0;
		if (n < 0 && errno != EINTR && errno != EAGAIN)
			return -errno;
		if (n > 0 && room)
			reply->len += (size_t)n;
	}
}

static int spawn(pid_t *pid, const char *path, char *const argv[], int out)
{
	static char *const environment[] = { "LC_ALL=C", NULL };
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attr;
	sigset_t none, all;
	int err;

	err = posix_spawnattr_init(&attr);
	if (err)
		return err;
	err = posix_spawn_file_actions_init(&files);
	if (err)
		goto out_attr;
	sigemptyset(&none);
	sigfillset(&all);
	sigdelset(&all, SIGKILL);
	sigdelset(&all, SIGSTOP);
	/* RESETIDS: the effective user id becomes the real one, root, in the child alone */
	err = posix_spawnattr_setflags(&attr, POSIX_SPAWN_RESETIDS | POSIX_SPAWN_SETSIGMASK |
						      POSIX_SPAWN_SETSIGDEF |
						      POSIX_SPAWN_SETPGROUP);
	if (!err)
		err = posix_spawnattr_setsigmask(&attr, &none);
	if (!err)
		err = posix_spawnattr_setsigdefault(&attr, &all);
	if (!err)
		err = posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
	if (!err)
		err = posix_spawn_file_actions_adddup2(&files, out, 1);
	if (!err)
		err = posix_spawn_file_actions_addopen(&files, 2, "/dev/null", O_WRONLY, 0);
#ifdef HAVE_POSIX_SPAWN_FILE_ACTIONS_ADDCLOSEFROM_NP
	if (!err)
		err = posix_spawn_file_actions_addclosefrom_np(&files, 3);
#endif
	if (!err)
		err = posix_spawn(pid, path, &files, &attr, argv, environment);
	posix_spawn_file_actions_destroy(&files);
out_attr:
	posix_spawnattr_destroy(&attr);
	return err;
}

static bool starts_line(const char *text, const char *line)
{
	size_t len = strlen(line);

	return !strncmp(text, line, len) && text[len] == '\n';
}

/* Cuts a line off what is left of an answer. False: there is no end of it. */
static bool take_line(char **text, char *line, size_t size)
{
	char *end = strchr(*text, '\n');

	if (!end)
		return false;
	*end = '\0';
	snprintf(line, size, "%s", *text);
	*text = end + 1;
	return true;
}

static bool parse_reply(struct reply *reply, struct nrp_answer *answer)
{
	char *text;

	nrp_clean(reply->buf, reply->len, true);
	reply->buf[reply->len] = '\0';
	if (starts_line(reply->buf, NRP_PROTOCOL_MET))
		answer->status = NRP_MET;
	else if (starts_line(reply->buf, NRP_PROTOCOL_SHORT))
		answer->status = NRP_SHORT;
	else if (starts_line(reply->buf, NRP_PROTOCOL_FAILED))
		answer->status = NRP_FAILED;
	else
		return false;
	text = strchr(reply->buf, '\n') + 1;
	if (!take_line(&text, answer->reason, sizeof(answer->reason)) ||
	    !take_line(&text, answer->policy, sizeof(answer->policy)))
		return false;
	answer->text = strdup(text);
	return true;
}

/* Reads, waits and kills; says what went wrong if there is no answer. */
static void serve(pid_t pid, int fd, const struct nrp_request *request, struct reply *reply,
		  struct nrp_answer *answer)
{
	const int64_t until = nrp_now_ms() + (int64_t)request->timeout * 1000 + NRP_GRACE_MS;
	int status = -1, err;
	bool ended = false;
	int64_t linger;

	err = read_reply(fd, reply, until);
	if (!err) {
		linger = nrp_now_ms() + LINGER_MS;
		ended = reap(pid, &status, linger < until ? linger : until);
	}
	if (!ended) {
		/* Its process group first, for what it may have started */
		kill(-pid, SIGKILL);
		kill(pid, SIGKILL);
		reap(pid, &status, nrp_now_ms() + NRP_REAP_MS);
		status = -1; /* ours, and no news */
	}
	if (err == -ETIMEDOUT)
		no_result(answer, "%s did not end within %u.%u s and was killed", request->helper,
			  request->timeout, NRP_GRACE_MS / 100);
	else if (err)
		no_result(answer, "cannot read from %s: %s", request->helper, strerror(-err));
	else if (parse_reply(reply, answer))
		return;
	else if (status != -1 && WIFSIGNALED(status))
		no_result(answer, "%s was killed by signal %d", request->helper, WTERMSIG(status));
	else if (status != -1 && WEXITSTATUS(status))
		no_result(answer, "%s gave up with exit status %d", request->helper,
			  WEXITSTATUS(status));
	else
		no_result(answer, "%s gave no answer that can be read", request->helper);
}

static void run(const struct nrp_request *request, const char *path, struct reply *reply,
		struct nrp_answer *answer)
{
	char spec[NR_SPEC_MAX + 16], given[48], cpus[32], job[32], step[64], timeout[32];
	char host_policy[32], backend[64], files_from[NR_PATHS_TEXT_MAX + 16];
	char *argv[] = { "nodereclaim-step", spec, given, cpus, job, step, timeout,
			 host_policy,	     NULL, NULL,  NULL };
	int fd[2], argc = 8, err;
	pid_t pid;

	snprintf(spec, sizeof(spec), "--spec=%s", request->spec);
	snprintf(given, sizeof(given), "--given-mb=%" PRIu64, request->given_mb);
	snprintf(cpus, sizeof(cpus), "--cpus=%" PRIu32, request->cpus);
	snprintf(job, sizeof(job), "--job=%" PRIu32, request->job);
	snprintf(step, sizeof(step), "--step=%s", request->step);
	snprintf(timeout, sizeof(timeout), "--timeout=%u", request->timeout);
	snprintf(host_policy, sizeof(host_policy), "--host-policy=%s", request->host_policy);
	if (request->backend) {
		snprintf(backend, sizeof(backend), "--backend=%s", request->backend);
		argv[argc++] = backend;
	}
	if (request->files_from) {
		snprintf(files_from, sizeof(files_from), "--files-from=%s", request->files_from);
		argv[argc++] = files_from;
	}

	if (pipe2(fd, O_CLOEXEC)) {
		no_result(answer, "no pipe for %s: %s", request->helper, strerror(errno));
		return;
	}
	err = spawn(&pid, path, argv, fd[1]);
	close(fd[1]);
	if (err)
		no_result(answer, "cannot start %s: %s", request->helper, strerror(err));
	else
		serve(pid, fd[0], request, reply, answer);
	close(fd[0]);
}

void nrp_helper_run(const struct nrp_request *request, struct nrp_answer *answer)
{
	struct reply *reply = malloc(sizeof(*reply));
	char *path = realpath(request->helper, NULL);
	const char *wrong;

	*answer = (struct nrp_answer){ .status = NRP_NO_RESULT };
	if (!reply) {
		no_result(answer, "no memory to start %s", request->helper);
	} else if (!path) {
		no_result(answer, "cannot start %s: %s", request->helper, strerror(errno));
	} else if ((wrong = check_owner(path))) {
		no_result(answer, "%s is not started: it %s", request->helper, wrong);
	} else {
		reply->len = 0;
		run(request, path, reply, answer);
	}
	free(path);
	free(reply);
}
