/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Mounts for tests, in a mount namespace of their own: among them a FUSE file system that stops to
 * answer. */
#ifndef NR_HANGFS_H
#define NR_HANGFS_H

#include <stdbool.h>
#include <sys/types.h>

enum hang { HANG_OPEN, HANG_READDIR, HANG_LOOKUP };

#define HANGFS_FILES 12 /* "file0" and so on, 1 MB each */

/* False: it cannot be had here. */
bool tmpfs_start(const char *folder);

/* Mounts it on @folder and serves it in a child. False: it cannot be had here, and @why says why.
 */
bool hangfs_start(const char *folder, enum hang what, const char **why);
/* Unmounts either and ends the child: all who wait get an error. */
void hangfs_stop(void);

#endif
