/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * forks - a fork bomb with an end: processes that fork, touch memory and go
 *
 * forks SECONDS PROCESSES MB
 *
 * So many processes at a time for that long, each with that much memory. Those who wait for a child
 * have children too: they come in threes, one within the other. Prints how many there were; exit
 * status 1 if one ended in another way than by itself.
 */
#include "tool.h"

#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void touch(size_t bytes)
{
	char *mem = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (mem == MAP_FAILED)
		_exit(1);
	for (size_t i = 0; i < bytes; i += 4096)
		mem[i] = 1;
}

/* A process with @depth more, one within the other */
static pid_t start(int depth, size_t bytes)
{
	pid_t pid = fork();
	int status = 0;

	if (pid)
		return pid;
	touch(bytes);
	if (depth && (start(depth - 1, bytes) < 0 || wait(&status) < 0 || status))
		_exit(1);
	_exit(0);
}

int main(int argc, char **argv)
{
	int most, running = 0, status, bad = 0;
	unsigned long count = 0;
	struct timespec t;
	size_t bytes;
	time_t end;

	if (argc != 4) {
		fprintf(stderr, "usage: forks SECONDS PROCESSES MB\n");
		return 2;
	}
	most = (int)strtol(argv[2], NULL, 10);
	bytes = parse_mb(argv[3]);
	clock_gettime(CLOCK_MONOTONIC, &t);
	end = t.tv_sec + strtol(argv[1], NULL, 10);
	while (t.tv_sec < end || running) {
		if (t.tv_sec < end && running < most / 3) {
			if (start(2, bytes) < 0)
				die("fork: %s", strerror(errno));
			running++;
			count += 3;
			continue;
		}
		if (wait(&status) < 0)
			die("wait: %s", strerror(errno));
		bad |= status;
		running--;
		clock_gettime(CLOCK_MONOTONIC, &t);
	}
	printf("%lu\n", count);
	return !!bad;
}
