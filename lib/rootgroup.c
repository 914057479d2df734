/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Out of the memory control group: what a process of ours takes for a moment would be charged to
 * it, and its limit, a job's, would make the kernel reclaim the job's memory and end processes.
 * Nothing is charged to the group at the top, which has no limit.
 */
#include "internal.h"

#include <errno.h>
#include <string.h>

#define V1 "sys/fs/cgroup/memory"
#define V2 "sys/fs/cgroup"

struct group {
	bool v1, v2;	 /* it is in one of these */
	bool top1, top2; /* which is the one at the top, as far as its name space shows */
};

static bool has_word(const char *list, size_t len, const char *word)
{
	const size_t n = strlen(word);
	const char *end = list + len, *comma;

	for (; list < end; list = comma + 1) {
		comma = memchr(list, ',', (size_t)(end - list));
		comma = comma ? comma : end;
		if ((size_t)(comma - list) == n && !memcmp(list, word, n))
			return true;
	}
	return false;
}

/* "HIERARCHY:CONTROLLERS:PATH"; version 2 has no controllers. */
static void group_line(void *data, const char *line, size_t len)
{
	const char *list = memchr(line, ':', len), *path, *end = line + len;
	struct group *group = data;
	bool top;

	path = list ? memchr(list + 1, ':', (size_t)(end - list - 1)) : NULL;
	if (!path)
		return;
	top = end - path == 2 && path[1] == '/';
	if (path == list + 1) {
		group->v2 = true;
		group->top2 = top;
	} else if (has_word(list + 1, (size_t)(path - list - 1), "memory")) {
		group->v1 = true;
		group->top1 = top;
	}
}

static bool is_there(struct nr_ctx *ctx, const char *name)
{
	return nr_sys_writable(ctx, "%s", name) != -ENOENT;
}

/* The file that moves a process to the top; NULL with 0: it is there already. */
static int find(struct nr_ctx *ctx, const char **file)
{
	struct group group = { false, false, false, false };
	int err = nr_sys_lines(ctx, group_line, &group, "proc/thread-self/cgroup");

	*file = NULL;
	if (err == -ENOENT || (!err && !group.v1 && !group.v2))
		return 0; /* a kernel without control groups */
	if (err)
		return err;
	/* Inside a name space the top is not the host's, and has a limit that is not seen */
	if (group.v1 && !is_there(ctx, V1 "/cgroup.sane_behavior"))
		return is_there(ctx, V1) ? -EPERM : -ENOENT;
	if (!group.v1 && is_there(ctx, V2 "/cgroup.events"))
		return -EPERM;
	if (group.v1 ? group.top1 : group.top2)
		return 0;
	*file = group.v1 ? V1 "/cgroup.procs" : V2 "/cgroup.procs";
	return 0;
}

int nr_rootgroup_check(struct nr_ctx *ctx)
{
	const char *file;
	int err = find(ctx, &file);

	return err || !file ? err : nr_sys_writable(ctx, "%s", file);
}

int nr_rootgroup_move(struct nr_ctx *ctx, pid_t pid)
{
	const char *file;
	char text[16];
	int err = find(ctx, &file);

	if (err || !file)
		return err;
	snprintf(text, sizeof(text), "%d", (int)pid);
	return nr_sys_write(ctx, text, "%s", file);
}
