// SPDX-License-Identifier: GPL-2.0-or-later
#include "config.h"

#include "hangfs.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define FILE_SIZE (1u << 20)
#define ROOT 1
#define FIRST 2 /* inode number of file0 */

static pid_t child;
static char mounted[256]; /* where */

static void reply(int fd, uint64_t unique, int error, const void *data, size_t len)
{
	struct fuse_out_header header = { (uint32_t)(sizeof(header) + len), -error, unique };
	struct iovec part[2] = { { &header, sizeof(header) }, { (void *)data, len } };

	if (writev(fd, part, len ? 2 : 1) < 0 && errno != ENOENT && errno != EINTR)
		_exit(1);
}

static struct fuse_attr attr_of(uint64_t node)
{
	struct fuse_attr attr = { .ino = node, .nlink = 1, .blksize = 4096 };

	attr.mode = node == ROOT ? S_IFDIR | 0755 : S_IFREG | 0644;
	attr.size = node == ROOT ? 4096 : FILE_SIZE;
	attr.blocks = attr.size / 512;
	return attr;
}

static void lookup(int fd, uint64_t unique, const char *name)
{
	struct fuse_entry_out out = { .attr_valid = 3600, .entry_valid = 3600 };
	unsigned int i;

	if (sscanf(name, "file%u", &i) != 1 || i >= HANGFS_FILES) {
		reply(fd, unique, ENOENT, NULL, 0);
		return;
	}
	out.nodeid = FIRST + i;
	out.attr = attr_of(out.nodeid);
	reply(fd, unique, 0, &out, sizeof(out));
}

static void readdir(int fd, uint64_t unique, uint64_t offset)
{
	char buf[HANGFS_FILES * 64] __attribute__((aligned(8))) = { 0 };
	struct fuse_dirent *entry;
	size_t len = 0;
	uint64_t i;

	for (i = offset; i < HANGFS_FILES; i++) {
		entry = (struct fuse_dirent *)(buf + len);
		entry->ino = FIRST + i;
		entry->off = i + 1;
		entry->type = S_IFREG >> 12;
		entry->namelen = (uint32_t)snprintf(entry->name, 16, "file%u", (unsigned int)i);
		len += FUSE_DIRENT_SIZE(entry);
	}
	reply(fd, unique, 0, buf, len);
}

static void answer(int fd, const struct fuse_in_header *in, const void *arg, enum hang what)
{
	struct fuse_init_out init = { .major = FUSE_KERNEL_VERSION, .max_write = 4096 };
	struct fuse_attr_out attr = { .attr_valid = 3600, .attr = attr_of(in->nodeid) };
	struct fuse_open_out opened = { .fh = 1 };
	struct fuse_statfs_out statfs = { .st = { .bsize = 4096, .namelen = 255 } };

	switch (in->opcode) {
	case FUSE_INIT:
		init.minor = ((const struct fuse_init_in *)arg)->minor;
		reply(fd, in->unique, 0, &init, sizeof(init));
		break;
	case FUSE_GETATTR:
		reply(fd, in->unique, 0, &attr, sizeof(attr));
		break;
	case FUSE_LOOKUP:
		if (what != HANG_LOOKUP)
			lookup(fd, in->unique, arg);
		break;
	case FUSE_OPENDIR:
		reply(fd, in->unique, 0, &opened, sizeof(opened));
		break;
	case FUSE_READDIR:
		if (what != HANG_READDIR)
			readdir(fd, in->unique, ((const struct fuse_read_in *)arg)->offset);
		break;
	case FUSE_STATFS:
		reply(fd, in->unique, 0, &statfs, sizeof(statfs));
		break;
	case FUSE_OPEN: /* the kernel would do without one, if it said that it cannot */
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
	case FUSE_INTERRUPT:
		break;
	default:
		reply(fd, in->unique, ENOSYS, NULL, 0);
	}
}

static void serve(int fd, enum hang what)
{
	static char buf[FUSE_MIN_READ_BUFFER + 65536] __attribute__((aligned(8)));
	const struct fuse_in_header *in = (const struct fuse_in_header *)buf;
	ssize_t n;

	for (;;) {
		n = read(fd, buf, sizeof(buf));
		if (n >= (ssize_t)sizeof(*in))
			answer(fd, in, buf + sizeof(*in), what);
		else if (n < 0 && errno != EINTR && errno != ENOENT && errno != EAGAIN)
			_exit(0);
	}
}

/* What is mounted is gone with this process. */
static bool mount_here(const char *type, const char *folder, const char *options)
{
	if (unshare(CLONE_NEWNS) || mount("none", "/", "none", MS_REC | MS_PRIVATE, NULL) ||
	    mount("test", folder, type, MS_NOSUID | MS_NODEV, options))
		return false;
	snprintf(mounted, sizeof(mounted), "%s", folder);
	return true;
}

bool tmpfs_start(const char *folder)
{
	return mount_here("tmpfs", folder, NULL);
}

bool hangfs_start(const char *folder, enum hang what, const char **why)
{
	int fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	pid_t parent = getpid();
	char options[128];

	*why = "no /dev/fuse";
	if (fd < 0)
		return false;
	snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=0,group_id=0", fd);
	*why = "a FUSE file system cannot be mounted";
	if (!mount_here("fuse.hangfs", folder, options)) {
		close(fd);
		return false;
	}
	child = fork();
	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() == parent)
			serve(fd, what);
		_exit(1);
	}
	close(fd);
	return child > 0;
}

void hangfs_stop(void)
{
	if (child > 0) {
		kill(child, SIGKILL);
		waitpid(child, NULL, 0);
	}
	child = 0;
	if (mounted[0])
		umount2(mounted, MNT_DETACH);
	mounted[0] = '\0';
}
