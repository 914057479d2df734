/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How nodereclaim-step answers spank_nodereclaim.so on its standard output:
 *
 *	nodereclaim 1 met|short|failed
 *	one line that says what is short or what failed; empty if there is nothing to say
 *	any number of lines for the user
 *
 * The number is the version. The plugin takes nothing but its own: the two are installed together.
 */
#ifndef NR_PROTOCOL_H
#define NR_PROTOCOL_H

#define NRP_PROTOCOL "nodereclaim 1 "
#define NRP_PROTOCOL_MET NRP_PROTOCOL "met"
#define NRP_PROTOCOL_SHORT NRP_PROTOCOL "short"
#define NRP_PROTOCOL_FAILED NRP_PROTOCOL "failed"

#define NRP_REASON_MAX 512	  /* longer second lines are cut */
#define NRP_ANSWER_MAX (64 << 10) /* what comes after is read and dropped */

#endif
