/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Writes the host's dirty pages back, but waits no longer than a deadline: sync(2) itself cannot be
 * interrupted, so it gets a thread that may outlive the call. */
#include "internal.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

struct job {
	pthread_mutex_t lock;
	pthread_cond_t cond;
	bool done, left; /* the second one to set his frees the job */
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

	sync();
	pthread_mutex_lock(&job->lock);
	job->done = true;
	left = job->left;
	pthread_cond_signal(&job->cond);
	pthread_mutex_unlock(&job->lock);
	if (left)
		job_free(job);
	return NULL;
}

int nr_writeback(uint64_t deadline)
{
	const struct timespec until = { (time_t)(deadline / 1000000000),
					(long)(deadline % 1000000000) };
	struct job *job = calloc(1, sizeof(*job));
	pthread_condattr_t cond;
	sigset_t all, old;
	pthread_t thread;
	bool done;
	int err;

	if (!job)
		return -ENOMEM;
	pthread_mutex_init(&job->lock, NULL);
	pthread_condattr_init(&cond);
	pthread_condattr_setclock(&cond, CLOCK_MONOTONIC);
	pthread_cond_init(&job->cond, &cond);
	pthread_condattr_destroy(&cond);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	err = pthread_create(&thread, NULL, run, job);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (err) {
		job_free(job);
		return -err;
	}
	pthread_detach(thread);
	pthread_mutex_lock(&job->lock);
	while (!job->done && !err)
		err = pthread_cond_timedwait(&job->cond, &job->lock, &until);
	done = job->done;
	job->left = !done;
	pthread_mutex_unlock(&job->lock);
	if (done)
		job_free(job);
	return done ? 0 : -ETIME;
}
