/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How nodereclaim-step answers spank_nodereclaim.so on its standard output:
 *
 *	nodereclaim 1 met|short|failed
 *	one line that says what is short or what failed; empty if there is nothing to say
 *	one line on policy=local where the kernel cannot do it for one task, else empty: "host " and
 *	by what the whole host does it until the plugin releases it, or "none " and why it does not
 *	any number of lines for the user
 *
 * The number is the version. The plugin takes nothing but its own: the two are installed together.
 */
#ifndef NR_PROTOCOL_H
#define NR_PROTOCOL_H

#include <stdbool.h>
#include <string.h>

#define NRP_PROTOCOL "nodereclaim 1 "
#define NRP_PROTOCOL_MET NRP_PROTOCOL "met"
#define NRP_PROTOCOL_SHORT NRP_PROTOCOL "short"
#define NRP_PROTOCOL_FAILED NRP_PROTOCOL "failed"

#define NRP_POLICY_HOST "host "
#define NRP_POLICY_NONE "none "

/* allow_host_policy=, --host-policy= */
#define NRP_HOST_NEVER "never"
#define NRP_HOST_EXCLUSIVE "exclusive"
#define NRP_HOST_ALWAYS "always"

static inline bool nrp_host_policy_ok(const char *word)
{
	return !strcmp(word, NRP_HOST_NEVER) || !strcmp(word, NRP_HOST_EXCLUSIVE) ||
	       !strcmp(word, NRP_HOST_ALWAYS);
}

#define NRP_REASON_MAX 512	  /* longer second and third lines are cut */
#define NRP_ANSWER_MAX (64 << 10) /* what comes after is read and dropped */

#endif
