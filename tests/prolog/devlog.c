// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * devlog read|stuck PROGRAM [ARG...]: run a program with a syslog daemon of our own on /dev/log.
 * "read" prints what it gets, "stuck" has a full socket and never reads. Ends with the program's
 * status. To be run in a mount namespace with a /dev of its own.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static void die(const char *what)
{
	perror(what);
	exit(99);
}

static void fill(const struct sockaddr_un *address)
{
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd < 0 || connect(fd, (const struct sockaddr *)address, sizeof(*address)) < 0)
		die("connect");
	while (send(fd, "full", 4, 0) > 0)
		;
	if (errno != EAGAIN)
		die("send");
	close(fd);
}

int main(int argc, char **argv)
{
	const struct sockaddr_un address = { .sun_family = AF_UNIX, .sun_path = "/dev/log" };
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0), status;
	char text[8192];
	ssize_t len;
	pid_t pid;

	if (argc < 3)
		return 99;
	if (fd < 0 || bind(fd, (const struct sockaddr *)&address, sizeof(address)) < 0)
		die("/dev/log");
	if (!strcmp(argv[1], "stuck"))
		fill(&address);
	pid = fork();
	if (pid < 0)
		die("fork");
	if (pid == 0) {
		execv(argv[2], argv + 2);
		_exit(98);
	}
	if (waitpid(pid, &status, 0) < 0)
		die("waitpid");
	if (!strcmp(argv[1], "read"))
		while ((len = recv(fd, text, sizeof(text), MSG_DONTWAIT)) > 0)
			printf("%.*s\n", (int)len, text);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 97;
}
