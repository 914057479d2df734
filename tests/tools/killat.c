/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * killat - kill a program between two system calls, or have one of them fail
 *
 * killat [-e ERRNO] N COMMAND [ARGUMENT]...
 *
 * Runs the command and kills the process that is about to make the N-th system call after the
 * command's own execve(2), so that the call is not made. The calls of all processes that it starts
 * count, in the order in which they come; the others live on. N = 0 kills nobody.
 *
 * With -e nobody is killed, and the N-th call is not made but returns that error. Calls that cannot
 * return one, or after which the C library ends the program, do not count, nor do those before the
 * program's entry point.
 *
 * Exit status 137 if it killed, even if that was not the command itself; else the command's. The
 * number of calls that were seen is written to standard error, after "killat: ".
 */
#include "tool.h"

#include <elf.h>
#include <signal.h>
#include <stddef.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
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

static unsigned long calls, at;
static long error;    /* 0: kill */
static bool counting; /* from the command's execve(2) or entry point on */
static pid_t failing; /* whose call is not made */

#ifdef __x86_64__
#define CALL offsetof(struct user, regs.orig_rax)
#define RESULT offsetof(struct user, regs.rax)
/* Before its entry point the dynamic loader and the constructors of libraries are at work, and some
 * of them crash by themselves. */
static unsigned long entry;
static long entry_word;

static void stop_at_entry(pid_t pid)
{
	unsigned long pair[2];
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/auxv", (int)pid);
	f = fopen(path, "r");
	while (f && fread(pair, sizeof(pair), 1, f) == 1)
		if (pair[0] == AT_ENTRY)
			entry = pair[1];
	if (f)
		fclose(f);
	entry_word = ptrace(PTRACE_PEEKTEXT, pid, entry, NULL);
	ptrace(PTRACE_POKETEXT, pid, entry, (entry_word & ~0xffL) | 0xcc);
}

static bool is_at_entry(pid_t pid)
{
	const size_t rip = offsetof(struct user, regs.rip);

	if (!entry || (unsigned long)ptrace(PTRACE_PEEKUSER, pid, rip, NULL) != entry + 1)
		return false;
	ptrace(PTRACE_POKETEXT, pid, entry, entry_word);
	ptrace(PTRACE_POKEUSER, pid, rip, entry);
	return true;
}

static bool can_fail(pid_t tid)
{
	switch (ptrace(PTRACE_PEEKUSER, tid, CALL, NULL)) {
	case SYS_exit:
	case SYS_exit_group:
	case SYS_futex:
	case SYS_rt_sigreturn:
	case SYS_brk: /* does not return errors */
	case SYS_getuid:
	case SYS_geteuid:
	case SYS_getpid:
	case SYS_gettid:
	case SYS_umask:
		return false;
	default:
		return true;
	}
}

static void fail_call(pid_t tid)
{
	ptrace(PTRACE_POKEUSER, tid, CALL, -1L);
	failing = tid;
}

static void give_error(pid_t tid)
{
	ptrace(PTRACE_POKEUSER, tid, RESULT, -error);
	failing = 0;
}
#else
static void stop_at_entry(pid_t pid)
{
	(void)pid;
	die("-e is for x86-64");
}

static bool is_at_entry(pid_t pid)
{
	(void)pid;
	return false;
}

static bool can_fail(pid_t tid)
{
	(void)tid;
	return false;
}

static void fail_call(pid_t tid)
{
	(void)tid;
}

static void give_error(pid_t tid)
{
	(void)tid;
}
#endif

/* What a stopped task gets on its way: a signal, 0. */
static int stopped(struct task *task, int status)
{
	const int signal = WSTOPSIG(status), event = status >> 16;

	if (signal == (SIGTRAP | 0x80)) {
		task->inside = !task->inside;
		if (!task->inside && failing == task->tid)
			give_error(task->tid);
		if (task->inside && counting && (!error || can_fail(task->tid))) {
			calls++;
			if (error && calls == at)
				fail_call(task->tid);
		}
		return 0;
	}
	if (event == PTRACE_EVENT_EXEC) {
		counting = !error;
		if (error)
			stop_at_entry(task->tid);
	}
	if (event)
		return 0;
	if (signal == SIGTRAP && error && !counting && is_at_entry(task->tid)) {
		counting = true;
		return 0;
	}
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
	pid_t child, tid;

	if (argc > 3 && !strcmp(argv[1], "-e")) {
		error = (long)parse_number(argv[2]);
		argc -= 2;
		argv += 2;
	}
	if (argc < 3) {
		fprintf(stderr, "usage: killat [-e ERRNO] N COMMAND [ARGUMENT]...\n");
		return 2;
	}
	at = parse_number(argv[1]);
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
		if (!error && at && calls == at && !killed) {
			killed = true;
			kill(process_of(tid), SIGKILL);
			continue;
		}
		ptrace(PTRACE_SYSCALL, tid, NULL, (void *)(long)signal);
	}
	fprintf(stderr, "killat: %lu\n", calls);
	return killed ? 137 : result;
}
