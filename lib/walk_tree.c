/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Where a walk finds files: the scout's part. Depth first, with one open descriptor a level, so
 * that memory is bounded whatever the tree is, and nobody can lead the walk elsewhere by renaming.
 *
 * What processes have open or mapped are links in /proc/PID/fd and /proc/PID/map_files; those are
 * folders like others, but for how their entries are opened.
 */
#include "walk.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PATHS_AT_ONCE 64

struct entry {
	uint64_t ino;
	int64_t off;
	unsigned short len;
	unsigned char type;
	char name[];
};

static struct nr_batch *batch_new(size_t size)
{
	struct nr_batch *batch = malloc(sizeof(*batch) + size);

	if (batch)
		memset(batch, 0, sizeof(*batch));
	return batch;
}

static void append(char *names, size_t *len, const char *name)
{
	size_t n = strlen(name) + 1;

	memcpy(names + *len, name, n);
	*len += n;
}

static void queue(struct nr_walk *walk, struct nr_batch *batch)
{
	*walk->last = batch;
	walk->last = &batch->next;
	walk->queued += batch->len;
}

void nr_scout_add_folder(struct nr_walk *walk, const char *path)
{
	struct nr_batch *batch = batch_new(strlen(path) + 1);

	if (!batch) {
		walk->error = -ENOMEM;
		return;
	}
	append(batch->names, &batch->len, path);
	batch->next = walk->folders;
	walk->folders = batch;
}

/* A new level; takes @fd and @names over. */
static void push(struct nr_worker *me, int fd, dev_t dev, bool links)
{
	struct nr_walk *walk = me->walk;
	size_t len = strlen(me->path) + 1;
	struct nr_folder *folder = malloc(sizeof(*folder) + len);

	if (!folder) {
		walk->error = -ENOMEM;
		close(fd);
		return;
	}
	*folder = (struct nr_folder){ .refs = 1, .fd = fd, .dev = dev, .links = links };
	memcpy(folder->path, me->path, len);
	walk->level[walk->levels++] = (struct nr_level){ .folder = folder };
}

/* A folder to go into, by what nr_walk_begin() was told. */
static int open_folder(const struct nr_worker *me, bool processes, dev_t *dev)
{
	const char *name = strrchr(me->path, '/');
	struct stat st;
	int fd, pathfd;

	if (processes) {
		fd = nr_sys_folder(me->walk->ctx, "%s", me->path + 1);
	} else {
		pathfd = me->folder ? nr_safe_path(me->folder->fd, name + 1, true)
				    : nr_safe_path(AT_FDCWD, me->path, false);
		if (pathfd < 0)
			return pathfd;
		fd = nr_safe_folder(pathfd);
		close(pathfd);
	}
	if (fd >= 0) {
		*dev = fstat(fd, &st) ? 0 : st.st_dev;
	}
	return fd;
}

/* Opens a folder and pushes it. */
static void enter(struct nr_worker *me, bool processes)
{
	struct nr_walk *walk = me->walk;
	bool listed = !me->folder && !processes, told;
	dev_t dev = 0;
	int fd;

	pthread_mutex_unlock(&walk->lock);
	fd = open_folder(me, processes, &dev);
	pthread_mutex_lock(&walk->lock);
	if (me->stop) {
		if (fd >= 0)
			close(fd);
		return;
	}
	if (fd >= 0) {
		push(me, fd, dev, processes);
		return;
	}
	/* Processes end, and most are another's; what is gone or on another mount is no part */
	told = processes ? walk->options.pid != 0 && strstr(me->path, "/fd")
			 : listed || (fd != -ENOENT && fd != -ENOTDIR && fd != -EXDEV &&
				      fd != -ELOOP);
	if (told)
		nr_walk_add_error(me, processes && fd == -ENOENT ? -ESRCH : fd);
}

static void enter_next(struct nr_worker *me, struct nr_level *level)
{
	struct nr_walk *walk = me->walk;
	struct nr_folder *folder = level->folder;
	const char *name = level->names + level->at;

	level->at += strlen(name) + 1;
	if (folder)
		folder->refs++;
	nr_walk_begin(me, folder, name, folder ? folder->dev : 0);
	if (walk->levels == NR_WALK_LEVELS || strlen(me->path) >= PATH_MAX - 1)
		nr_walk_add_error(me, -ENAMETOOLONG);
	else if (folder && nr_walk_is_dead(walk, folder->dev))
		nr_walk_add_error(me, -ETIME);
	else
		enter(me, level->processes);
}

static void leave(struct nr_worker *me, struct nr_level *level)
{
	struct nr_folder *folder = level->folder;

	free(level->names);
	me->walk->levels--;
	/* With the last reference it is closed */
	if (folder)
		nr_walk_begin(me, folder, NULL, folder->dev);
}

static unsigned char type_of(int fd, const struct entry *entry)
{
	struct stat st;

	if (entry->type != DT_UNKNOWN)
		return entry->type;
	if (fstatat(fd, entry->name, &st, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT))
		return DT_UNKNOWN;
	return IFTODT(st.st_mode);
}

static bool is_number(const char *name)
{
	return name[0] && strspn(name, "0123456789") == strlen(name);
}

/* Sorts one entry into files and folders. */
static void sort_entry(const struct nr_folder *folder, bool processes, const struct entry *entry,
		       struct nr_batch *files, struct nr_level *folders)
{
	char name[64];

	if (!strcmp(entry->name, ".") || !strcmp(entry->name, ".."))
		return;
	if (processes) {
		if (!is_number(entry->name) || atoi(entry->name) == getpid())
			return;
		snprintf(name, sizeof(name), "%.20s/fd", entry->name);
		append(folders->names, &folders->len, name);
		snprintf(name, sizeof(name), "%.20s/map_files", entry->name);
		append(folders->names, &folders->len, name);
	} else if (folder->links) {
		append(files->names, &files->len, entry->name);
	} else {
		switch (type_of(folder->fd, entry)) {
		case DT_REG:
			append(files->names, &files->len, entry->name);
			break;
		case DT_DIR:
			append(folders->names, &folders->len, entry->name);
			break;
		}
	}
}

/* An entry's names are shorter than the entry; the two of a process are shorter than two of it. */
#define NAMES_MAX (2 * sizeof(((struct nr_worker *)0)->entries))

static void read_folder(struct nr_worker *me, struct nr_level *level)
{
	struct nr_walk *walk = me->walk;
	struct nr_folder *folder = level->folder;
	struct nr_level found = { .names = malloc(NAMES_MAX) };
	struct nr_batch *files = batch_new(sizeof(me->entries)), *smaller;
	const bool processes = level->processes;
	const struct entry *entry;
	long n = -1, at;
	char *less;

	folder->refs++;
	nr_walk_begin(me, folder, NULL, folder->dev);
	me->reading = true;
	pthread_mutex_unlock(&walk->lock);
	if (files && found.names)
		n = syscall(SYS_getdents64, folder->fd, me->entries, sizeof(me->entries));
	for (at = 0; at < n && !me->stop; at += entry->len) {
		entry = (const struct entry *)(me->entries + at);
		sort_entry(folder, processes, entry, files, &found);
	}
	pthread_mutex_lock(&walk->lock);
	me->reading = false;
	if (me->stop || !files || !found.names || !files->len) {
		free(files);
		files = NULL;
	}
	if (me->stop || !found.names) {
		free(found.names);
		if (!me->stop)
			walk->error = -ENOMEM;
		return;
	}
	less = realloc(found.names, found.len ? found.len : 1);
	level = &walk->level[walk->levels - 1];
	free(level->names);
	level->names = less ? less : found.names;
	level->at = 0;
	level->len = found.len;
	level->end = n <= 0;
	if (files) {
		smaller = realloc(files, sizeof(*files) + files->len);
		files = smaller ? smaller : files;
		files->folder = folder;
		folder->refs++;
		queue(walk, files);
	}
}

static void queue_paths(struct nr_walk *walk)
{
	size_t size = 0, n = 0, i;
	struct nr_batch *batch;

	for (i = walk->next_path; i < walk->options.npaths && n < PATHS_AT_ONCE; i++, n++)
		size += strlen(walk->options.paths[i]) + 1;
	batch = batch_new(size);
	if (!batch) {
		walk->error = -ENOMEM;
		return;
	}
	batch->index = walk->next_path;
	for (; walk->next_path < i; walk->next_path++)
		append(batch->names, &batch->len, walk->options.paths[walk->next_path]);
	queue(walk, batch);
}

/* One process has its two folders, as a level without a folder; all have them below /proc. */
static void add_processes(struct nr_worker *me)
{
	struct nr_walk *walk = me->walk;
	struct nr_level *level;
	char name[64];
	int fd;

	walk->processes_due = false;
	nr_walk_begin(me, NULL, "/proc", 0);
	if (!walk->options.pid) {
		fd = nr_sys_folder(walk->ctx, "proc");
		if (fd < 0) {
			nr_walk_add_error(me, fd);
			return;
		}
		push(me, fd, 0, false);
		walk->level[walk->levels - 1].processes = true;
		return;
	}
	level = &walk->level[walk->levels];
	*level = (struct nr_level){ .processes = true, .end = true, .names = malloc(128) };
	if (!level->names) {
		walk->error = -ENOMEM;
		return;
	}
	walk->levels++;
	snprintf(name, sizeof(name), "/proc/%d/fd", (int)walk->options.pid);
	append(level->names, &level->len, name);
	snprintf(name, sizeof(name), "/proc/%d/map_files", (int)walk->options.pid);
	append(level->names, &level->len, name);
}

bool nr_scout_has_work(const struct nr_walk *walk)
{
	return walk->levels || walk->folders || walk->processes_due ||
	       walk->next_path < walk->options.npaths;
}

void nr_scout_step(struct nr_worker *me)
{
	struct nr_walk *walk = me->walk;
	struct nr_level *level = walk->levels ? &walk->level[walk->levels - 1] : NULL;
	struct nr_batch *listed = walk->folders;

	if (level && level->at < level->len) {
		enter_next(me, level);
	} else if (level && level->end) {
		leave(me, level);
	} else if (level) {
		read_folder(me, level);
	} else if (listed) {
		walk->folders = listed->next;
		nr_walk_begin(me, NULL, listed->names, 0);
		free(listed);
		enter(me, false);
	} else if (walk->processes_due) {
		add_processes(me);
	} else {
		queue_paths(walk);
	}
}

void nr_scout_lost(struct nr_worker *scout)
{
	struct nr_walk *walk = scout->walk;
	struct nr_level *level;

	if (!scout->reading)
		return;
	level = &walk->level[--walk->levels];
	free(level->names);
	level->folder->refs--; /* the scout has another one */
}
