/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* One file of a walk: what it is, whether it may be opened, what of it is cached. */
#include "walk.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#ifndef CONFIGFS_MAGIC
#define CONFIGFS_MAGIC 0x62656570
#endif
#ifndef HUGETLBFS_MAGIC
#define HUGETLBFS_MAGIC 0x958458f6
#endif

/* What the file systems of the kernel itself hold is no page cache, and to open it may do things.
 */
static const unsigned long no_cache[] = {
	PROC_SUPER_MAGIC,   SYSFS_MAGIC,	 DEBUGFS_MAGIC,	   TRACEFS_MAGIC,
	CGROUP_SUPER_MAGIC, CGROUP2_SUPER_MAGIC, SECURITYFS_MAGIC, CONFIGFS_MAGIC,
	EFIVARFS_MAGIC,	    BPF_FS_MAGIC,	 PSTOREFS_MAGIC,   HUGETLBFS_MAGIC,
	SELINUX_MAGIC,	    DEVPTS_SUPER_MAGIC,
};

static enum nr_fs file_system(struct nr_worker *me, int fd, dev_t dev)
{
	struct statfs fs;
	size_t i;

	if (me->fs != NR_FS_UNKNOWN && me->fs_dev == dev)
		return me->fs;
	if (fstatfs(fd, &fs))
		return NR_FS_CACHED;
	me->fs_dev = dev;
	me->fs = NR_FS_CACHED;
	if (fs.f_type == TMPFS_MAGIC || fs.f_type == RAMFS_MAGIC)
		me->fs = NR_FS_MEMORY;
	for (i = 0; i < sizeof(no_cache) / sizeof(*no_cache); i++)
		if ((unsigned long)fs.f_type == no_cache[i])
			me->fs = NR_FS_OTHER;
	return me->fs;
}

const char *nr_file_why(int error)
{
	switch (error) {
	case 0:
		return NULL;
	case -EPERM:
		return "not yours, so that the kernel does not say what is cached";
	case -ETIME:
		return "takes too long";
	case -EACCES:
		return "permission denied";
	case -ELOOP:
		return "a part of its path is a symbolic link";
	case -ENOENT:
	case -ENOTDIR:
		return "no such file or folder";
	case -ESRCH:
		return "no such process";
	case -EINVAL:
		return "neither a regular file nor a folder";
	case -EBUSY:
		return "a program holds a lease on it";
	case -EOPNOTSUPP:
		return "its file system has it in memory only";
	case -ENAMETOOLONG:
		return "in too many folders";
	case -EIO:
		return "cannot be written back";
	case -ENODEV:
		return "its file system does not map files";
	case -EMFILE:
	case -ENFILE:
		return "too many open files";
	}
	return "cannot be opened";
}

static bool starts_with(const char *text, const char *start)
{
	return !strncmp(text, start, strlen(start));
}

/* Is it what a process has open or mapped? */
static bool is_link(const struct nr_worker *me)
{
	return me->folder ? me->folder->links
			  : me->walk->options.addresses && starts_with(me->path, "/proc/");
}

/* An O_PATH descriptor, or -errno. */
static int target(const struct nr_worker *me)
{
	const struct nr_walk *walk = me->walk;
	const char *name = strrchr(me->path, '/');

	if (is_link(me))
		return me->folder ? nr_sys_target(me->folder->fd, name + 1)
				  : nr_sys_target(walk->ctx->rootfd, me->path + 1);
	if (me->folder)
		return nr_safe_path(me->folder->fd, name + 1, true);
	return nr_safe_path(AT_FDCWD, me->path, false);
}

/* Is it a file that the walk works on and has not seen? @error: it is to be told that it is not. */
static bool wanted(struct nr_worker *me, const struct stat *st, int *error)
{
	struct nr_walk *walk = me->walk;
	bool links = me->folder && me->folder->links, all = walk->all_inodes, is_new = true;

	*error = 0;
	if (S_ISDIR(st->st_mode) && me->listed && !walk->options.addresses) {
		pthread_mutex_lock(&walk->lock);
		if (!me->stop)
			nr_scout_add_folder(walk, me->path);
		pthread_mutex_unlock(&walk->lock);
		return false;
	}
	if (!S_ISREG(st->st_mode)) {
		*error = me->listed ? -EINVAL : 0;
		return *error != 0;
	}
	pthread_mutex_lock(&walk->lock);
	me->dev = st->st_dev;
	if (me->stop)
		is_new = false;
	else if (walk->options.skip && nr_inodes_has(walk->options.skip, st->st_dev, st->st_ino))
		is_new = false;
	else if (nr_walk_is_dead(walk, st->st_dev))
		*error = -ETIME;
	else if (all || links || st->st_nlink > 1)
		is_new = nr_inodes_add(&walk->inodes, st->st_dev, st->st_ino);
	pthread_mutex_unlock(&walk->lock);
	return is_new;
}

/* A line of /proc/locks: "1: LEASE  ACTIVE    WRITE 123 08:01:4567 0 EOF" */
static void read_lease(void *data, const char *line, size_t len)
{
	struct nr_walk *walk = data;
	char copy[128], type[16], how[16], device[64];
	unsigned long long ino;

	snprintf(copy, sizeof(copy), "%.*s", (int)len, line);
	if (walk->nleases == NR_WALK_LEASES ||
	    sscanf(copy, "%*s %15s %*s %15s %*s %63s", type, how, device) != 3 ||
	    sscanf(device, "%*x:%*x:%llu", &ino) != 1)
		return;
	if ((!strcmp(type, "LEASE") || !strcmp(type, "DELEG")) && strcmp(how, "READ"))
		walk->lease[walk->nleases++] = (ino_t)ino;
}

void nr_walk_find_leases(struct nr_walk *walk)
{
	nr_sys_lines(walk->ctx, read_lease, walk, "proc/locks");
}

/* To open a file breaks a lease for writing. Inode numbers of some file systems come with another
 * device number in /proc/locks than in stat(2), so that only the number counts. */
static bool leased(const struct nr_walk *walk, ino_t ino)
{
	size_t i;

	for (i = 0; i < walk->nleases; i++)
		if (walk->lease[i] == ino)
			return true;
	return false;
}

/* The kernel says what is cached to the owner, to root and to who may write. Only to the first two
 * it gives O_NOATIME. */
static int open_file(const struct nr_walk *walk, int pathfd)
{
	const int flags = O_RDONLY | O_NONBLOCK | O_NOCTTY;
	int fd = nr_sys_reopen(walk->fds, pathfd, flags | O_NOATIME);

	if (fd != -EPERM)
		return fd;
	return nr_sys_may_write(walk->fds, pathfd) ? nr_sys_reopen(walk->fds, pathfd, flags)
						   : -EPERM;
}

/* Opens the file for work; 0 with work->fd -1: there is nothing to do. */
static int prepare(struct nr_worker *me, struct nr_walked *item, int pathfd, const struct stat *st,
		   struct nr_file_work *work, enum nr_fs *fs)
{
	struct nr_walk *walk = me->walk;

	*work = (struct nr_file_work){
		.fd = -1,
		.size = (uint64_t)st->st_size,
		.at = me->start,
		.drop = walk->drop,
		.allow = walk->budget ? item->allow : NULL,
		.sync = walk->options.sync,
		.in_use = is_link(me),
		.deadline = nr_now() + walk->options.timeout,
		.stop = &me->stop,
		.cache = item->cache,
		.left = item->left,
	};
	if (!st->st_size)
		return 0;
	*fs = file_system(me, pathfd, st->st_dev);
	if (*fs == NR_FS_OTHER)
		return 0;
	if (leased(walk, st->st_ino))
		return -EBUSY;
	work->fd = open_file(walk, pathfd);
	if (work->fd < 0)
		return work->fd;
	if (*fs == NR_FS_MEMORY)
		work->drop = NULL;
	return 0;
}

static void complete(struct nr_walked *item, struct nr_file_work *work, int err)
{
	close(work->fd);
	item->cache = work->cache;
	item->left = work->left;
	item->end = work->rest < work->at ? work->rest : work->at;
	item->error = err;
	item->why = nr_file_why(err);
}

/* Does it join the group of small files? */
static bool join(struct nr_worker *me, struct nr_walked *item, const struct stat *st,
		 const struct nr_file_work *work)
{
	const uint64_t page = me->walk->ctx->page_size, pages = (work->size + page - 1) / page;

	if (!nr_is_local(st->st_dev) || work->at || work->in_use || me->ngroup == NR_GROUP_FILES ||
	    pages > NR_GROUP_PAGES / 4 || me->group_pages + pages > NR_GROUP_PAGES)
		return false;
	me->group[me->ngroup] = (struct nr_pending){ item, *work };
	me->group_pages += pages;
	return true;
}

/* True: the item is complete. False: it is in the group. */
static bool look_at(struct nr_worker *me, struct nr_walked *item, int pathfd, const struct stat *st)
{
	enum nr_fs fs = NR_FS_UNKNOWN;
	struct nr_file_work work;
	int err = prepare(me, item, pathfd, st, &work, &fs);

	item->error = err;
	item->why = nr_file_why(err);
	if (err || work.fd < 0)
		return true;
	if (join(me, item, st, &work))
		return false;
	err = nr_file_cache(me->tools, &work);
	if (!err && fs == NR_FS_MEMORY && me->walk->drop && work.cache.cached)
		err = -EOPNOTSUPP;
	complete(item, &work, err);
	return true;
}

void nr_walk_group(struct nr_worker *me)
{
	struct nr_file_work *works[NR_GROUP_FILES];
	size_t i;

	for (i = 0; i < me->ngroup; i++)
		works[i] = &me->group[i].work;
	nr_file_group(me->tools, works, me->ngroup);
	for (i = 0; i < me->ngroup; i++)
		complete(me->group[i].item, works[i], works[i]->error);
	me->group_pages = 0;
}

static void describe(struct nr_walked *item, const struct nr_worker *me, const struct stat *st)
{
	item->deleted = st->st_mode && st->st_nlink == 0;
	item->size = (uint64_t)st->st_size;
	item->blocks = (uint64_t)st->st_blocks * 512;
	item->used = st->st_atime > st->st_mtime ? st->st_atime : st->st_mtime;
	item->dev = st->st_dev;
	item->ino = st->st_ino;
	item->index = me->index;
}

/* The name of what an entry of /proc/PID/fd or map_files stands for; false if it is no file. */
static bool link_name(const struct nr_worker *me, char name[PATH_MAX])
{
	ssize_t n = readlinkat(me->folder->fd, strrchr(me->path, '/') + 1, name, PATH_MAX - 1);

	if (n <= 0)
		return false;
	name[n] = '\0';
	return name[0] == '/';
}

static void strip_deleted(char *path)
{
	static const char end[] = " (deleted)";
	size_t len = strlen(path);

	if (len > sizeof(end) && !strcmp(path + len - (sizeof(end) - 1), end))
		path[len - (sizeof(end) - 1)] = '\0';
}

struct nr_walked *nr_walk_file(struct nr_worker *me, bool *joined)
{
	const bool links = me->folder && me->folder->links;
	char name[PATH_MAX];
	struct nr_walked *item = NULL;
	struct stat st = { 0 };
	int pathfd, err;

	*joined = false;
	if (links && !link_name(me, name))
		return NULL;
	pathfd = target(me);
	err = pathfd < 0 ? pathfd : fstat(pathfd, &st) ? -errno : 0;
	/* What is gone meanwhile, or is another's, was no part of what was asked for. */
	if (err && (links || (!me->listed && (err == -ENOENT || err == -EXDEV))))
		goto out;
	if (!err && !wanted(me, &st, &err))
		goto out;
	item = nr_walked_new(me->walk, me->path, links ? name : NULL);
	if (!item)
		goto out;
	describe(item, me, &st);
	memcpy(item->allow, me->allow, me->walk->nnodes * sizeof(item->allow[0]));
	if (links && item->deleted)
		strip_deleted(item->path);
	item->error = err;
	item->why = nr_file_why(err);
	if (!err && !me->walk->options.survey)
		*joined = !look_at(me, item, pathfd, &st);
	if (*joined)
		item = NULL;
out:
	if (pathfd >= 0)
		close(pathfd);
	return item;
}
