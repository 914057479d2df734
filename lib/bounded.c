/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Requests to the kernel that cannot be interrupted, waited for no longer than a deadline or a
 * cancel: they get a thread that may outlive the call. */
#include "internal.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define LOOK_NS UINT64_C(50000000) /* how often a cancel is looked for */

struct job {
	pthread_mutex_t lock;
	pthread_cond_t cond;
	void (*fn)(int fd);
	int fd;
	bool done, left; /* the second one to set its flag frees the job */
};

static void job_free(struct job *job)
{
	pthread_cond_destroy(&job->cond);
	pthread_mutex_destroy(&job->lock);
	free(job);
}

static void *run(void *data)
{
	struct job *job = data;
	bool left;

	job->fn(job->fd);
	if (job->fd >= 0)
		close(job->fd);
	pthread_mutex_lock(&job->lock);
	job->done = true;
	left = job->left;
	pthread_cond_signal(&job->cond);
	pthread_mutex_unlock(&job->lock);
	if (left)
		job_free(job);
	return NULL;
}

static struct job *job_new(void (*fn)(int fd), int fd)
{
	struct job *job = calloc(1, sizeof(*job));
	pthread_condattr_t cond;

	if (!job)
		return NULL;
	job->fn = fn;
	job->fd = fd;
	pthread_mutex_init(&job->lock, NULL);
	pthread_condattr_init(&cond);
	pthread_condattr_setclock(&cond, CLOCK_MONOTONIC);
	pthread_cond_init(&job->cond, &cond);
	pthread_condattr_destroy(&cond);
	return job;
}

static int start(struct job *job)
{
	pthread_t thread;
	sigset_t all, old;
	int err;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	err = pthread_create(&thread, NULL, run, job);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (!err)
		pthread_detach(thread);
	return -err;
}

/* With the lock held. */
static void wait_for(struct nr_ctx *ctx, struct job *job, uint64_t deadline)
{
	struct timespec until;
	uint64_t now, next;

	while (!job->done && !atomic_load(&ctx->cancel) && (now = nr_now()) < deadline) {
		next = now + LOOK_NS < deadline ? now + LOOK_NS : deadline;
		until = (struct timespec){ (time_t)(next / 1000000000), (long)(next % 1000000000) };
		pthread_cond_timedwait(&job->cond, &job->lock, &until);
	}
}

int nr_bounded(struct nr_ctx *ctx, void (*fn)(int fd), int fd, uint64_t deadline)
{
	struct job *job = job_new(fn, fd);
	int err = job ? start(job) : -ENOMEM;
	bool done;

	if (err) {
		if (job)
			job_free(job);
		if (fd >= 0)
			close(fd);
		return err;
	}
	pthread_mutex_lock(&job->lock);
	wait_for(ctx, job, deadline);
	done = job->done;
	job->left = !done;
	pthread_mutex_unlock(&job->lock);
	if (done)
		job_free(job);
	return done ? 0 : -ETIME;
}
