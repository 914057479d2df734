/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What nodereclaim-prolog and nodereclaim-epilog share. */
#ifndef NR_PROLOG_COMMON_H
#define NR_PROLOG_COMMON_H

#include <stdbool.h>
#include <stdint.h>

#include "nodereclaim.h"

/* ---------------------------------------------------------------- log.c */

/* Lines go to syslog as @ident, and to standard error if @to_stderr. Never blocks for long, never
 * fails, and works without a syslog daemon. */
void log_open(const char *ident, bool to_stderr);

/* Drop what is less urgent than @priority (LOG_ERR ... LOG_DEBUG); LOG_INFO at first. */
void log_set_level(int priority);
int log_level(void);

/* "job=12 uid=1000 ", put in front of each line. */
void log_set_prefix(const char *prefix);

/* Write one line. Control characters and bytes above 0x7e become '?', so text from a user can do no
 * harm. */
void log_line(int priority, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* For nr_set_log(). */
void log_library(void *data, int priority, const char *message);

/* ---------------------------------------------------------------- job.c */

enum job_spec { JOB_SPEC_NONE, JOB_SPEC_GIVEN, JOB_SPEC_TOO_LONG };
enum job_sharing { JOB_SHARING_UNKNOWN, JOB_SHARING_EXCLUSIVE, JOB_SHARING_SHARED };

#define JOB_NAME_MAX 64 /* letters, digits and any of . _ - */

/* What Slurm says about the job, checked. */
struct job {
	char prefix[160]; /* "job=12 uid=1000 partition=big " for the log */
	bool have_id;
	uint32_t id;
	char partition[JOB_NAME_MAX + 1], account[JOB_NAME_MAX + 1]; /* empty: not known */
	enum job_spec have_spec;
	char spec[NR_SPEC_MAX + 1]; /* not checked: what the user wrote */
	enum job_sharing sharing;
	uint32_t fewest_cpus; /* on any host of the job, 0 if not known */
};

/* Read the environment. Nothing else in these programs does. */
void job_read(struct job *job);

/* Has the job, alone, a host with @cpus CPUs? */
bool job_has_whole_host(const struct job *job, uint32_t cpus);

/* Digits only, no sign, no space, fits into 32 bits. */
bool parse_number(const char *text, uint32_t *number);

/* ---------------------------------------------------------------- config.c */

#define DEADLINE_MIN 2	    /* seconds: room for the work and for what is to be logged after it */
#define DEADLINE_MAX 3600   /* seconds */
#define DEADLINE_DEFAULT 30 /* seconds; sites set PrologEpilogTimeout to a minute or more */

/* nodereclaim.conf(5). */
struct config {
	struct {
		bool enable;
		char spec[NR_SPEC_MAX + 1]; /* "default"; empty: none */
		unsigned int allow;	    /* enum nr_item bits, 0: a bad line */
		uint32_t max_timeout;	    /* seconds, 0: no limit but the deadline */
		uint32_t cpus; /* of the host as Slurm counts them, 0: its online CPUs */
		bool drop_caches;
		const char *backend;	     /* static; NULL: the best that there is */
		struct nr_paths *files_from; /* NULL: none */
		uint32_t deadline;	     /* seconds */
	} prolog;
	struct {
		bool report;
		uint32_t deadline; /* seconds */
	} epilog;
	int log_level;
};

/* Read @path, or the installed nodereclaim.conf if it is NULL, as it is for @job: sections of its
 * account and its partition. What is wrong with it is logged; what it does not say, or says
 * wrongly, has its default. Sets the log level. */
void config_load(struct config *config, const char *path, const struct job *job);

struct work {
	const struct job *job;
	const struct config *config;
	const char *sysroot; /* NULL: the running system */
	uint64_t deadline;   /* of clock_ms(); the worker is killed then */
};

struct program {
	const char *ident;
	uint32_t (*deadline)(const struct config *config); /* seconds */
	void (*work)(const struct work *work);
};

/* ---------------------------------------------------------------- settings.c */

/* Finish what killed processes have left of host-wide settings, and drop jobs that have ended. */
void settings_sweep(const struct work *work);

/* The same, and the job at hand holds none any more. */
void settings_release(const struct work *work);

/* ---------------------------------------------------------------- guard.c */

/* CLOCK_MONOTONIC in milliseconds. */
uint64_t clock_ms(void);

/* Run @program->work() in a child that is killed at the deadline. Return: 0, whatever happens. */
int guard_main(const struct program *program, int argc, char **argv);

#endif
