/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the files of spank_nodereclaim.so share.
 *
 * spank_nodereclaim.c switches on the SPANK context and calls local.c (srun), allocator.c (sbatch,
 * salloc), remote.c (slurmstepd) or slurmd.c. Nothing here may break Slurm: but for the end of a
 * submission that the user got wrong, and of a task that asked for it ("strict"), everything
 * returns success.
 */
#ifndef NR_PLUGIN_H
#define NR_PLUGIN_H

#include "config.h"
#include "nodereclaim.h"
#include "protocol.h"

#include <slurm/spank.h>

#define NRP_ERR 256

/* ---------------------------------------------------------------- plugstack arguments (args.c) */

struct nrp_args {
	const char *default_spec; /* NULL: nothing is done unless the user asks */
	const char *helper;	  /* absolute path */
	unsigned int max_timeout; /* seconds */
	unsigned int allow;	  /* enum nr_item bits that users may ask for */
	const char *backend;	  /* NULL: the best that there is */
	const char *files_from;	  /* nr_paths_parse(); NULL: none */
	const char *host_policy;  /* NRP_HOST_... */
	bool off;		  /* an argument is bad, error says which */
	char error[NRP_ERR];
};

/* The strings of @argv must outlive @args. Returns 0, or -EINVAL with args->off and args->error. */
int nrp_args_parse(struct nrp_args *args, int argc, char **argv);

/* Whether a user may have @spec; if not, @err names the first item and what is allowed. */
bool nrp_args_allow(const struct nrp_args *args, const struct nr_spec *spec, char *err,
		    size_t errlen);

/* ---------------------------------------------------------------- option (options.c) */

/* To be called in slurm_spank_init() of each context that knows the option. "help" ends srun,
 * sbatch and salloc as soon as Slurm reads it. */
void nrp_option_register(spank_t spank);

/* The user's spec, "auto" for an option without argument; NULL if there was no option. */
const char *nrp_option_text(void);

/* Makes Slurm read @variable as if the option stood before all others on the command line, and
 * takes that back so that it does not leak into the job's environment. */
void nrp_option_default_set(const char *variable);
void nrp_option_default_clear(void);

/* ---------------------------------------------------------------- contexts */

/* submit.c: what local.c and allocator.c share. Ends the program for a bad spec. */
void nrp_submit_check(spank_t spank, const struct nrp_args *args);

int nrp_local_init(spank_t spank, int argc, char **argv);
int nrp_local_init_post_opt(spank_t spank);

int nrp_allocator_init(spank_t spank, int argc, char **argv);
int nrp_allocator_init_post_opt(spank_t spank);

int nrp_remote_init(spank_t spank, int argc, char **argv);
int nrp_remote_user_init(spank_t spank);
int nrp_remote_task_init(spank_t spank);
int nrp_remote_exit(void);

int nrp_slurmd_init(int argc, char **argv);

/* ---------------------------------------------------------------- messages (tell.c) */

/* Slurm's name of this host, in slurmstepd. Static. */
const char *nrp_host(void);

/* Writes @text to the user's standard error, each line with the host's name in front. Gives up
 * after NRP_TELL_MS if nobody reads. */
#define NRP_TELL_MS 200
void nrp_tell_user(const char *text);

/* Replaces everything but printable ASCII and, with @lines, newlines by '?'. */
void nrp_clean(char *text, size_t len, bool lines);

/* CLOCK_MONOTONIC */
int64_t nrp_now_ms(void);

/* ---------------------------------------------------------------- helper program (helper.c) */

enum nrp_status {
	NRP_MET,
	NRP_SHORT,
	NRP_FAILED,    /* the helper says that it could not work */
	NRP_NO_RESULT, /* the helper did not start, was killed, hung or answered nonsense */
};

struct nrp_request {
	const char *helper;
	const char *spec;
	uint64_t given_mb; /* 0: no limit */
	uint32_t cpus;	   /* that the job has on this host, as Slurm counts; 0: not known */
	uint32_t job;
	const char *step;
	unsigned int timeout;		  /* seconds */
	const char *backend, *files_from; /* NULL: not given */
	const char *host_policy;	  /* NRP_HOST_... */
};

struct nrp_answer {
	enum nrp_status status;
	char reason[NRP_REASON_MAX]; /* one line; empty if there is nothing to say */
	char policy[NRP_REASON_MAX]; /* the third line of protocol.h */
	char *text;		     /* for the user, may be empty; NULL if there is none */
};

/* How much longer than the spec's timeout the helper may take, and then to die, milliseconds. */
#define NRP_GRACE_MS 500
#define NRP_REAP_MS 300

/*
 * Starts the helper as root (the real user id must be 0, the effective may be the user's), reads
 * what it says and ends it at the deadline. Never takes longer than the timeout + NRP_GRACE_MS +
 * NRP_REAP_MS. answer->text is freed with free(3).
 */
void nrp_helper_run(const struct nrp_request *request, struct nrp_answer *answer);

#endif
