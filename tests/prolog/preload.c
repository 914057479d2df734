// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Preloaded into nodereclaim-prolog and -epilog: makes the library or the system misbehave. The
 * mode comes from NR_TEST_MODE, read before main() clears the environment.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

struct nr_ctx;
int nr_open(struct nr_ctx **out, const char *sysroot);

static const char *mode = "", *pid_file;

__attribute__((constructor)) static void read_mode(void)
{
	const char *text = getenv("NR_TEST_MODE"), *file = getenv("NR_TEST_PID_FILE");

	/* copied: clearenv() is under test */
	mode = text ? strdup(text) : "";
	pid_file = file ? strdup(file) : NULL;
}

/* Tells the test that the child has come this far, and who it is. */
static void write_pid(void)
{
	char text[16], temporary[4096] = "";
	pid_t pid = getpid();
	size_t i = sizeof(text);
	int fd;

	if (!pid_file)
		return;
	for (text[--i] = '\n'; pid; pid /= 10)
		text[--i] = (char)('0' + pid % 10);
	strncat(temporary, pid_file, sizeof(temporary) - 5);
	strcat(temporary, ".new");
	fd = open(temporary, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	if (fd < 0 || write(fd, text + i, sizeof(text) - i) < 0 || close(fd) < 0 ||
	    rename(temporary, pid_file) < 0)
		abort();
}

int nr_open(struct nr_ctx **out, const char *sysroot)
{
	(void)sysroot;
	*out = NULL;
	write_pid();
	if (!strcmp(mode, "hang")) {
		signal(SIGTERM, SIG_IGN);
		for (;;)
			pause();
	}
	if (!strcmp(mode, "crash"))
		raise(SIGSEGV);
	if (!strcmp(mode, "exit"))
		exit(3);
	if (!strcmp(mode, "environment") && environ && *environ)
		exit(4);
	if (!strcmp(mode,
		    "descriptors")) /* the pipe to the guard is the only one that is allowed */
		for (int fd = 10; fd < 1024; fd++)
			if (fcntl(fd, F_GETFD) >= 0)
				exit(5);
	return -ENOMEM;
}

int signalfd(int fd, const sigset_t *mask, int flags)
{
	if (!strcmp(mode, "no-descriptors")) {
		errno = EMFILE;
		return -1;
	}
	return (int)syscall(SYS_signalfd4, fd, mask, _NSIG / 8, flags);
}

pid_t fork(void)
{
	if (!strcmp(mode, "no-fork")) {
		errno = EAGAIN;
		return -1;
	}
	return (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
}
