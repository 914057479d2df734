/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * killat - kill a program between two system calls
 *
 * killat N COMMAND [ARGUMENT]...
 *
 * Runs the command and kills the process that is about to make the N-th system call after the
 * command's own execve(2), so that the call is not made. The calls of all processes that it starts
 * count, in the order in which they come; the others live on. N = 0 kills nobody.
 *
 * Exit status 137 if it killed, even if that was not the command itself; else the command's. The
 * number of calls that were seen is written to standard error, after "killat: ".
 */
#include "tool.h"

#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#define OPTIONS                                                                                    \
	(PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE |  \
	 PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL)
#define TASKS_MAX 256

/* A task stops twice for each call: at its entry and at its exit. */
static struct task {
	pid_t tid;
	bool known, inside;
} tasks[TASKS_MAX];

static struct task *task_of(pid_t tid)
{
	struct task *free_one = NULL;

	for (size_t i = 0; i < TASKS_MAX; i++) {
		if (tasks[i].tid == tid)
			return &tasks[i];
		if (!tasks[i].tid && !free_one)
			free_one = &tasks[i];
	}
	if (!free_one)
		die("more than %d threads and processes", TASKS_MAX);
	*free_one = (struct task){ .tid = tid };
	return free_one;
}

static pid_t process_of(pid_t tid)
{
	char path[64], line[256];
	pid_t pid = tid;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)tid);
	f = fopen(path, "r");
	while (f && fgets(line, sizeof(line), f))
		if (!strncmp(line, "Tgid:", 5))
			pid = (pid_t)strtol(line + 5, NULL, 10);
	if (f)
		fclose(f);
	return pid;
}

static void start(char **argv)
{
	if (ptrace(PTRACE_TRACEME, 0, NULL, NULL))
		die("ptrace: %s", strerror(errno));
	raise(SIGSTOP);
	execvp(argv[0], argv);
	die("%s: %s", argv[0], strerror(errno));
}

static unsigned long calls;
static bool counting; /* from the command's execve(2) on */

/* What a stopped task gets on its way: a signal, 0. */
static int stopped(struct task *task, int status)
{
	const int signal = WSTOPSIG(status), event = status >> 16;

	if (signal == (SIGTRAP | 0x80)) {
		task->inside = !task->inside;
		if (task->inside && counting)
			calls++;
		return 0;
	}
	if (event == PTRACE_EVENT_EXEC)
		counting = true;
	if (event)
		return 0;
	/* The first stop of each is the tracer's */
	if (!task->known && signal == SIGSTOP) {
		task->known = true;
		return 0;
	}
	return signal;
}

int main(int argc, char **argv)
{
	int status, result = 0, signal;
	bool killed = false;
	unsigned long at;
	pid_t child, tid;
	char *end;

	if (argc < 3) {
		fprintf(stderr, "usage: killat N COMMAND [ARGUMENT]...\n");
		return 2;
	}
	at = strtoul(argv[1], &end, 10);
	if (end == argv[1] || *end)
		die("%s: not a number", argv[1]);
	child = fork();
	if (child < 0)
		die("fork: %s", strerror(errno));
	if (!child)
		start(argv + 2);
	if (waitpid(child, &status, 0) != child || !WIFSTOPPED(status))
		die("cannot trace");
	if (ptrace(PTRACE_SETOPTIONS, child, NULL, OPTIONS))
		die("ptrace: %s", strerror(errno));
	task_of(child)->known = true;
	ptrace(PTRACE_SYSCALL, child, NULL, NULL);

	while ((tid = waitpid(-1, &status, __WALL)) > 0) {
		struct task *task = task_of(tid);

		if (!WIFSTOPPED(status)) {
			task->tid = 0;
			if (tid == child)
				result = WIFEXITED(status) ? WEXITSTATUS(status)
							   : 128 + WTERMSIG(status);
			continue;
		}
		signal = stopped(task, status);
		if (at && calls == at && !killed) {
			killed = true;
			kill(process_of(tid), SIGKILL);
			continue;
		}
		ptrace(PTRACE_SYSCALL, tid, NULL, (void *)(long)signal);
	}
	fprintf(stderr, "killat: %lu\n", calls);
	return killed ? 137 : result;
}
