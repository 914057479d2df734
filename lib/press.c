/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Child processes that take memory of one NUMA node.
 *
 * They give it back by ending, and they end with the thread that started them, whatever ends it
 * (PR_SET_PDEATHSIG), when the other end of their socket is closed, and after a time limit of their
 * own, so that nothing stays when this process is stopped. They call nothing but what is
 * async-signal-safe: other threads may hold any lock of the C library. They are no children that
 * the caller's wait(2) finds and cause no SIGCHLD.
 *
 * What they take is locked, so that the kernel does not swap it; and not charged to the memory
 * control group of the caller, a job's, whose limit would end them (rootgroup.c). Should the kernel
 * run out of memory all the same, it ends them first (oom_score_adj).
 */
#include "internal.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/mempolicy.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define LONG_BITS (8 * sizeof(unsigned long))
#define ALIGN (UINT64_C(2) << 20) /* of what may be in huge pages */
#define LOOK_MS 50		  /* how often a cancel is looked for */
#define FD_MAX (1 << 20)

struct order {
	uint64_t bytes;
	uint64_t huge;
};

/* What a child is told before it starts. */
struct setup {
	int fd;
	pid_t parent;
	uint64_t most;	      /* bytes that it may take */
	unsigned int seconds; /* that it may live */
	unsigned long nodes[NR_MAX_NODES / LONG_BITS];
};

struct region {
	char *next, *end;
};

/* ---------------------------------------------------------------- in the child */

/* Of the caller's files nothing stays open: not the lock of the NUMA node, not the pipe that
 * somebody reads to its end. */
static void close_others(int fd)
{
	struct rlimit files = { FD_MAX, FD_MAX };
	int i;

#ifdef SYS_close_range
	if ((fd == 0 || !syscall(SYS_close_range, 0u, (unsigned int)fd - 1, 0u)) &&
	    !syscall(SYS_close_range, (unsigned int)fd + 1, ~0u, 0u))
		return;
#endif
	getrlimit(RLIMIT_NOFILE, &files);
	for (i = 0; i < FD_MAX && (rlim_t)i < files.rlim_cur; i++)
		if (i != fd)
			close(i);
}

/* SIGALRM ends it, all other signals but SIGKILL are blocked, as in all threads of the library. */
static int set_limits(const struct setup *setup)
{
	const struct rlimit none = { 0, 0 }, all = { RLIM_INFINITY, RLIM_INFINITY };
	const struct rlimit time = { setup->seconds, setup->seconds };
	struct sigaction action = { .sa_handler = SIG_DFL };
	sigset_t alarms;

	sigemptyset(&alarms);
	sigaddset(&alarms, SIGALRM);
	if (sigaction(SIGALRM, &action, NULL) || sigprocmask(SIG_UNBLOCK, &alarms, NULL))
		return -errno;
	alarm(setup->seconds);
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) || setrlimit(RLIMIT_CORE, &none) ||
	    setrlimit(RLIMIT_CPU, &time))
		return -errno;
	/* Without CAP_SYS_RESOURCE the old limits stand. RLIMIT_MEMLOCK is none for who has
	 * CAP_IPC_LOCK; where one is too low, mmap() or mlock() says so. */
	setrlimit(RLIMIT_AS, &all);
	setrlimit(RLIMIT_DATA, &all);
	setrlimit(RLIMIT_MEMLOCK, &all);
	return getppid() == setup->parent ? 0 : -ESRCH;
}

static int set_up(const struct setup *setup, struct region *region)
{
	const size_t len = setup->most + 2 * ALIGN;
	int err = set_limits(setup);
	char *mem;

	if (err)
		return err;
	if (syscall(SYS_set_mempolicy, MPOL_BIND, setup->nodes, NR_MAX_NODES + 1UL))
		return -errno;
	/* Only the addresses: memory is asked for piece by piece, where it is accounted strictly
	 * (vm.overcommit_memory=2) */
	mem = mmap(NULL, len, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (mem == MAP_FAILED)
		return -errno;
	region->next = mem + (ALIGN - (uintptr_t)mem % ALIGN);
	region->end = region->next + setup->most;
	return 0;
}

static int take(struct region *region, const struct order *order)
{
	if (order->bytes > (uint64_t)(region->end - region->next))
		return -ENOSPC;
	if (mprotect(region->next, order->bytes, PROT_READ | PROT_WRITE))
		return -errno;
	/* Kernels without huge pages say EINVAL */
	if (madvise(region->next, order->bytes, order->huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE) &&
	    errno != EINVAL)
		return -errno;
	if (mlock(region->next, order->bytes))
		return -errno;
	region->next += order->bytes;
	return 0;
}

static _Noreturn void serve(const struct setup *setup)
{
	struct region region = { NULL, NULL };
	struct order order;
	int err;

	close_others(setup->fd);
	err = set_up(setup, &region);
	while (send(setup->fd, &err, sizeof(err), MSG_NOSIGNAL) == sizeof(err) && !err &&
	       recv(setup->fd, &order, sizeof(order), 0) == sizeof(order))
		err = take(&region, &order);
	_exit(0);
}

/* ---------------------------------------------------------------- in the caller */

/* What the child says, or that it has ended: 0 or -errno, -ETIME, -ECANCELED. */
static int hear(struct nr_press *press, int fd, uint64_t deadline)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN };
	int err;

	for (;;) {
		if (atomic_load(&press->ctx->cancel))
			return -ECANCELED;
		if (nr_now() >= deadline)
			return -ETIME;
		if (poll(&pfd, 1, LOOK_MS) <= 0)
			continue;
		return recv(fd, &err, sizeof(err), 0) == sizeof(err) ? err : -EPIPE;
	}
}

/* fork(2) without what the C library and the program do around it, and without SIGCHLD. */
static pid_t fork_quietly(void)
{
	return (pid_t)syscall(SYS_clone, 0UL, NULL, NULL, NULL, 0UL);
}

static int start_child(struct nr_press *press, struct setup *setup, const cpu_set_t *cpus,
		       size_t size, uint64_t deadline)
{
	struct nr_press_child *child = &press->child[press->n];
	int fd[2], err;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fd))
		return -errno;
	setup->fd = fd[1];
	child->pid = fork_quietly();
	if (child->pid == 0)
		serve(setup);
	err = child->pid < 0 ? -errno : 0;
	close(fd[1]);
	if (err) {
		close(fd[0]);
		return err;
	}
	child->fd = fd[0];
	press->n++;
	err = hear(press, child->fd, deadline);
	if (!err)
		err = nr_rootgroup_move(press->ctx, child->pid);
	if (!err)
		err = nr_sys_write(press->ctx, "1000", "proc/%d/oom_score_adj", (int)child->pid);
	/* After the move, which can set it anew. Where that is not allowed it stays as it is. */
	if (!err && cpus)
		sched_setaffinity(child->pid, size, cpus);
	return err;
}

static void stop(struct nr_press *press)
{
	size_t i;

	for (i = 0; i < press->n; i++)
		kill(press->child[i].pid, SIGKILL);
	for (i = 0; i < press->n; i++) {
		close(press->child[i].fd);
		while (waitpid(press->child[i].pid, NULL, __WALL) < 0 && errno == EINTR)
			;
	}
	free(press);
}

static int start(struct nr_work *work, int nid, uint64_t most, uint64_t deadline,
		 struct nr_press **out)
{
	const uint64_t left = (nr_sub(deadline, nr_now()) + 999999999) / 1000000000;
	struct setup setup = { .parent = getpid(),
			       .most = most,
			       .seconds = (unsigned int)left + 1 };
	struct nr_press *press = calloc(1, sizeof(*press));
	unsigned int want = work->binding->ncpus[nid];
	cpu_set_t *cpus;
	size_t size;
	int err = 0;

	*out = NULL;
	if (!press)
		return -ENOMEM;
	press->ctx = work->ctx;
	setup.nodes[(size_t)nid / LONG_BITS] = 1UL << (size_t)nid % LONG_BITS;
	cpus = nr_cpus_near(work, nid, &size);
	want = want > NR_PRESS_MAX ? NR_PRESS_MAX : want ? want : 1;
	while (!err && press->n < want && (!press->n || most / press->n > NR_PRESS_EACH))
		err = start_child(press, &setup, cpus, size, deadline);
	if (cpus)
		CPU_FREE(cpus);
	if (err)
		stop(press);
	else
		*out = press;
	return err;
}

static int take_all(struct nr_press *press, uint64_t bytes, bool huge, uint64_t deadline)
{
	const uint64_t unit = huge ? ALIGN : press->ctx->page_size;
	uint64_t part = bytes / press->n / unit * unit;
	struct order order = { .huge = huge };
	size_t i, asked = 0;
	int err = 0, heard;

	if (part < unit)
		part = unit;
	for (; asked < press->n && bytes >= unit; asked++) {
		order.bytes = asked + 1 < press->n && part < bytes ? part : bytes / unit * unit;
		bytes -= order.bytes;
		if (send(press->child[asked].fd, &order, sizeof(order), MSG_NOSIGNAL) < 0)
			err = -EPIPE;
	}
	for (i = 0; i < asked && !err; i++) {
		heard = hear(press, press->child[i].fd, deadline);
		err = err ? err : heard;
	}
	return err;
}

const struct nr_press_ops nr_press_real = { start, take_all, stop };
