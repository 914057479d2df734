// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The frame of both programs: a clean process, and a child that does the work and is killed at the
 * deadline. A prolog that fails or times out drains the host, so this process does nothing that can
 * fail or hang: it waits, logs, and ends with 0. The child may hang in the kernel or crash.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

#include "common.h"

/* How long a killed child may take to go before it is left behind. */
#define KILL_MS 500

struct arguments {
	const char *config, *sysroot;
	bool to_stderr;
	const char *bad; /* the first argument that is wrong */
};

uint64_t clock_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

static bool path_argument(const char *argument, const char *name, const char **to)
{
	size_t len = strlen(name);

	if (strncmp(argument, name, len) || argument[len] != '/')
		return false;
	*to = argument + len;
	return true;
}

static void read_arguments(struct arguments *arguments, int argc, char **argv)
{
	memset(arguments, 0, sizeof(*arguments));
	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--stderr"))
			arguments->to_stderr = true;
		else if (!path_argument(argv[i], "--config=", &arguments->config) &&
			 !path_argument(argv[i], "--sysroot=", &arguments->sysroot) &&
			 !arguments->bad)
			arguments->bad = argv[i];
	}
}

/* Descriptors 0 to 2 are open, so that no file of ours gets their numbers; all others closed. */
static void clean_descriptors(void)
{
	struct rlimit limit;
	int last = 65535;

#ifdef HAVE_CLOSE_RANGE
	if (close_range(3, ~0U, 0) == 0)
		last = 2;
#endif
	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < (rlim_t)last)
		last = (int)limit.rlim_cur;
	for (int fd = 3; fd <= last; fd++)
		close(fd);
	for (int fd = 0; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDWR) < 0)
			break;
}

/* The child: @to_guard stays open as long as any of its threads lives. */
static void run_child(const struct program *program, const struct arguments *arguments,
		      const struct job *job, uint64_t start, pid_t guard, int to_guard)
{
	struct config config;
	struct work work = { .job = job, .config = &config, .sysroot = arguments->sysroot };
	sigset_t none;
	int null;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != guard)
		return;
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	/* slurmd may wait until they are closed, and a child that cannot be killed would not */
	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	for (int fd = 0; fd <= (arguments->to_stderr ? STDOUT_FILENO : STDERR_FILENO); fd++)
		if (dup2(null, fd) < 0)
			close(fd);

	config_load(&config, arguments->config, job);
	work.deadline = start + (uint64_t)program->deadline(&config) * 1000;
	if (write(to_guard, &work.deadline, sizeof(work.deadline)) < 0)
		log_line(LOG_WARNING, "the guard takes no deadline: %s", strerror(errno));
	program->work(&work);
}

/* Is the child gone? Waits @ms milliseconds at most. */
static bool reap(pid_t child, int *status, uint64_t ms)
{
	const struct timespec pause = { .tv_nsec = 200000 };
	uint64_t end = clock_ms() + ms;

	for (;;) {
		if (waitpid(child, status, WNOHANG) != 0)
			return true;
		if (clock_ms() >= end)
			return false;
		nanosleep(&pause, NULL);
	}
}

static void kill_child(pid_t child)
{
	int status;

	kill(child, SIGKILL);
	if (!reap(child, &status, KILL_MS))
		log_line(LOG_ERR,
			 "child=%d cannot be killed, the kernel does not return; left behind",
			 (int)child);
}

/* The child closes its end of the pipe by its end, whatever that is. */
static void watch(pid_t child, int from_child, int signals, uint64_t start)
{
	uint64_t deadline = start + DEADLINE_DEFAULT * 1000;
	struct pollfd fds[2] = { { .fd = from_child, .events = POLLIN },
				 { .fd = signals, .events = POLLIN } };
	int status = 0;

	for (;;) {
		uint64_t now = clock_ms(), told;
		struct signalfd_siginfo info;

		if (now >= deadline) {
			log_line(LOG_ERR, "killed at the deadline of %u s",
				 (unsigned int)((deadline - start) / 1000));
			kill_child(child);
			return;
		}
		if (poll(fds, 2, (int)(deadline - now)) < 0 && errno != EINTR) {
			log_line(LOG_ERR, "cannot wait for the work to be done: %s",
				 strerror(errno));
			kill_child(child);
			return;
		}
		if (fds[1].revents && read(signals, &info, sizeof(info)) == sizeof(info)) {
			log_line(LOG_WARNING, "ended early by signal %u", info.ssi_signo);
			kill_child(child);
			return;
		}
		if (fds[0].revents) {
			if (read(from_child, &told, sizeof(told)) != sizeof(told))
				break;
			/* a child that has gone wild gets no more time for it */
			if (told <= start + DEADLINE_MAX * 1000)
				deadline = told;
		}
	}
	if (!reap(child, &status, KILL_MS))
		kill_child(child);
	else if (WIFSIGNALED(status))
		log_line(LOG_ERR, "crashed with signal %d", WTERMSIG(status));
	else if (WEXITSTATUS(status))
		log_line(LOG_ERR, "ended with status %d", WEXITSTATUS(status));
}

static void guard_run(const struct program *program, const struct arguments *arguments,
		      const struct job *job, uint64_t start)
{
	pid_t self = getpid(), child;
	int ends[2], signals;
	sigset_t ending;

	sigemptyset(&ending);
	sigaddset(&ending, SIGTERM);
	sigaddset(&ending, SIGINT);
	sigaddset(&ending, SIGHUP);
	sigaddset(&ending, SIGQUIT);
	signals = signalfd(-1, &ending, SFD_CLOEXEC | SFD_NONBLOCK);
	if (signals < 0 || pipe2(ends, O_CLOEXEC) < 0) {
		log_line(LOG_ERR, "nothing done, no descriptors: %s", strerror(errno));
		return;
	}
	child = fork();
	if (child < 0) {
		log_line(LOG_ERR, "nothing done, no process: %s", strerror(errno));
		return;
	}
	if (child == 0) {
		close(ends[0]);
		close(signals);
		run_child(program, arguments, job, start, self, ends[1]);
		exit(EXIT_SUCCESS);
	}
	close(ends[1]);
	watch(child, ends[0], signals, start);
}

int guard_main(const struct program *program, int argc, char **argv)
{
	static struct job job;
	uint64_t start = clock_ms();
	struct arguments arguments;
	sigset_t all;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGCHLD, SIG_DFL); /* if ignored, the child's status would be lost */
	read_arguments(&arguments, argc, argv);
	job_read(&job);
	clearenv();
	tzset(); /* now: the guard shall open no file later */
	umask(077);
	clean_descriptors();
	log_open(program->ident, arguments.to_stderr);
	log_set_prefix(job.prefix);
	if (chdir("/") < 0)
		log_line(LOG_WARNING, "cannot change to /: %s", strerror(errno));
	if (arguments.bad)
		log_line(LOG_ERR,
			 "nothing done, bad argument \"%s\"; allowed: --config=/FILE, "
			 "--sysroot=/FOLDER, --stderr",
			 arguments.bad);
	else
		guard_run(program, &arguments, &job, start);
	return 0;
}
