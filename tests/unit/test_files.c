// SPDX-License-Identifier: GPL-2.0-or-later
/* nr_files() with real files, on the real file system and the running kernel. */
#include "unit.h"

#include "hangfs.h"

#include <fcntl.h>
#include <ftw.h>
#include <linux/filter.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#define PAGE ((uint64_t)sysconf(_SC_PAGESIZE))

/* Leaves a test that cannot be done here, and says so. */
#define SKIP(...)                                                                                  \
	do {                                                                                       \
		fprintf(stderr, "skipped: %s: ", __func__);                                        \
		fprintf(stderr, __VA_ARGS__);                                                      \
		fputc('\n', stderr);                                                               \
		return;                                                                            \
	} while (0)

static struct nr_ctx *ctx;
static char dir[64]; /* on a disk */
static char path[128];

/* What a walk gave */
static struct {
	size_t n, errors;
	struct nr_found last, named; /* of the one whose path ends as @name says */
	char last_path[4096];
	const char *name;
	size_t nnamed;
	int error; /* the last one */
	int answer;
	size_t cancel_at;
} got;

static int remove_one(const char *name, const struct stat *st, int flag, struct FTW *ftw)
{
	(void)st;
	(void)flag;
	(void)ftw;
	return remove(name);
}

static void remove_dir(void)
{
	hangfs_stop();
	if (dir[0])
		nftw(dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	dir[0] = '\0';
}

static void make_dir(void)
{
	static bool at_exit;

	/* Of a test that fails, too */
	if (!at_exit)
		atexit(remove_dir);
	at_exit = true;
	strcpy(dir, "/var/tmp/nr-files-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(dir));
	ck_assert_int_eq(nr_open(&ctx, NULL), 0);
}

static void end(void)
{
	nr_close(ctx);
	remove_dir();
}

static const char *in_dir(const char *name)
{
	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return path;
}

/* Kernels before 5.6 and 6.5: openat2() and cachestat() are not there. In this process only. */
static void without_new_calls(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat2, 1, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 451, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { ARRAY_SIZE(filter), filter };

	ck_assert_int_eq(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
	ck_assert_int_eq(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), 0);
}

static bool has_cachestat(void)
{
	return syscall(451, -1, NULL, NULL, 0) < 0 && errno != ENOSYS;
}

/* What is cached can be said in advance: on a disk, and not under valgrind, which reads the start
 * of each file that is mapped. */
static bool on_disk(void)
{
	const char *preload = getenv("LD_PRELOAD");
	struct statfs fs;

	ck_assert_int_eq(statfs(dir, &fs), 0);
	return fs.f_type != TMPFS_MAGIC && fs.f_type != RAMFS_MAGIC &&
	       !(preload && strstr(preload, "vgpreload"));
}

static int rounds(int n)
{
	return getenv("NR_FEW") ? n / 20 : n;
}

/* A file of @pages pages, clean and cached. */
static int make_file(const char *name, size_t pages)
{
	int fd = open(in_dir(name), O_RDWR | O_CREAT | O_TRUNC, 0644);
	char *buf = malloc(PAGE);
	size_t i;

	ck_assert_int_ge(fd, 0);
	memset(buf, 'x', PAGE);
	for (i = 0; i < pages; i++)
		ck_assert_int_eq(write(fd, buf, PAGE), (int)PAGE);
	free(buf);
	ck_assert_int_eq(fsync(fd), 0);
	return fd;
}

static void make(const char *name, size_t pages)
{
	close(make_file(name, pages));
}

static size_t resident(int fd)
{
	struct stat st;
	unsigned char *vec;
	size_t n, i, sum = 0;
	void *mem;

	ck_assert_int_eq(fstat(fd, &st), 0);
	n = ((size_t)st.st_size + PAGE - 1) / PAGE;
	vec = malloc(n);
	mem = mmap(NULL, n * PAGE, PROT_READ, MAP_SHARED, fd, 0);
	ck_assert_ptr_ne(mem, MAP_FAILED);
	ck_assert_int_eq(mincore(mem, n * PAGE, vec), 0);
	for (i = 0; i < n; i++)
		sum += vec[i] & 1;
	munmap(mem, n * PAGE);
	free(vec);
	return sum;
}

static int on_file(void *data, const struct nr_found *found)
{
	size_t len = got.name ? strlen(got.name) : 0, have = strlen(found->path);

	(void)data;
	got.n++;
	got.last = *found;
	snprintf(got.last_path, sizeof(got.last_path), "%s", found->path);
	if (found->error) {
		got.errors++;
		got.error = found->error;
		ck_assert_ptr_nonnull(found->why);
	} else {
		ck_assert_ptr_null(found->why);
	}
	if (len && have >= len && !strcmp(found->path + have - len, got.name)) {
		got.nnamed++;
		got.named = *found;
	}
	if (got.n == got.cancel_at)
		nr_cancel(ctx);
	return got.answer;
}

static int walk(const struct nr_files *files)
{
	const char *name = got.name;
	size_t cancel_at = got.cancel_at;
	int answer = got.answer;

	memset(&got, 0, sizeof(got));
	got.name = name;
	got.answer = answer;
	got.cancel_at = cancel_at;
	return nr_files(ctx, files, on_file, NULL);
}

/* One path, which is @name in the test's folder. */
static int walk_one(const char *name, struct nr_files files)
{
	const char *one = in_dir(name);

	files.paths = &one;
	files.npaths = 1;
	return walk(&files);
}

static uint64_t sum_of(const struct nr_file_cache *cache)
{
	uint64_t sum = cache->unplaced;
	size_t i;

	for (i = 0; i < NR_MAX_NODES; i++)
		sum += cache->node[i];
	return sum;
}

static struct bitmask *all_nodes(void)
{
	return numa_bitmask_setall(nr_set_new(NR_MAX_NODES));
}

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

/* What this process has read from disks, bytes */
static uint64_t read_bytes(void)
{
	char *text = get("/proc/self", "io");
	uint64_t bytes = strtoull(strstr(text, "\nread_bytes:") + 12, NULL, 10);

	free(text);
	return bytes;
}

/* Of no file, that is: pages of the program itself may have to be read again at any time. To the
 * page resident() tells. */
static bool nothing_read_since(uint64_t before)
{
	return read_bytes() - before <= 16 * PAGE;
}

/* ---- one file */

START_TEST(look)
{
	static const size_t parts[][2] = { { 0, 3 }, { 17, 1 }, { 500, 40 }, { 1023, 2 } };
	char buf[65536];
	uint64_t before;
	int fd = make_file("file", 1500);
	size_t i, j, want;

	if (_i)
		without_new_calls();
	ck_assert_int_eq(posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED), 0);
	ck_assert_int_eq(posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM), 0);
	if (on_disk())
		ck_assert_uint_eq(resident(fd), 0);
	for (i = 0; i < ARRAY_SIZE(parts); i++)
		for (j = 0; j < parts[i][1]; j++)
			ck_assert_int_eq(pread(fd, buf, PAGE, (off_t)((parts[i][0] + j) * PAGE)),
					 (int)PAGE);
	want = resident(fd);
	if (on_disk())
		ck_assert_uint_eq(want, 46);
	before = read_bytes();
	for (i = 0; i < 3; i++) {
		ck_assert_int_eq(walk_one("file", (struct nr_files){ 0 }), 0);
		ck_assert_uint_eq(got.n, 1);
		ck_assert_int_eq(got.last.error, 0);
		ck_assert_uint_eq(got.last.size, 1500 * PAGE);
		ck_assert_uint_eq(got.last.cache.cached, want * PAGE);
		ck_assert_uint_eq(sum_of(&got.last.cache), want * PAGE);
		ck_assert_uint_eq(got.last.cache.unplaced, 0);
		ck_assert_int_eq(got.last.cache.have_dirty, !_i && has_cachestat());
	}
	ck_assert(nothing_read_since(before));
	ck_assert_uint_eq(resident(fd), want);
	close(fd);
}
END_TEST

/* A file that was read in part has a page that starts the next read-ahead when it is touched */
START_TEST(read_ahead)
{
	int fd = make_file("file", 16384), i;
	size_t was, is;
	char *buf = malloc(200 * PAGE);
	uint64_t before;

	if (_i)
		without_new_calls();
	ck_assert_int_eq(posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED), 0);
	close(fd);
	fd = open(in_dir("file"), O_RDONLY);
	ck_assert_int_eq(read(fd, buf, 200 * PAGE), (int)(200 * PAGE));
	free(buf);
	for (i = 0, is = 0; i < 100; i++) {
		was = is;
		is = resident(fd);
		if (is == was)
			break;
		usleep(100000);
	}
	if (is == 16384) {
		close(fd);
		SKIP("the kernel has read all of the file");
	}
	before = read_bytes();
	ck_assert_int_eq(walk_one("file", (struct nr_files){ 0 }), 0);
	ck_assert_uint_eq(got.last.cache.cached, is * PAGE);
	usleep(100000);
	ck_assert_uint_eq(resident(fd), is);
	ck_assert(nothing_read_since(before));
	close(fd);
}
END_TEST

/* Sizes about the page, a window and none */
START_TEST(sizes)
{
	static const off_t size[] = {
		0, 1, 4095, 4096, 4097, 67108864 - 1, 67108864, 67108864 + 1
	};
	char byte;
	size_t i;
	int fd;

	if (_i)
		without_new_calls();
	for (i = 0; i < ARRAY_SIZE(size); i++) {
		fd = open(in_dir("file"), O_RDWR | O_CREAT | O_TRUNC, 0644);
		ck_assert_int_eq(ftruncate(fd, size[i]), 0);
		posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM);
		if (size[i])
			ck_assert_int_eq(pread(fd, &byte, 1, size[i] - 1), 1);
		ck_assert_int_eq(walk_one("file", (struct nr_files){ 0 }), 0);
		ck_assert_uint_eq(got.n, 1);
		ck_assert_uint_eq(got.last.size, (uint64_t)size[i]);
		ck_assert_uint_eq(got.last.cache.cached, size[i] ? PAGE * resident(fd) : 0);
		ck_assert_uint_eq(got.last.cache.cached > 0, size[i] > 0);
		close(fd);
	}
}
END_TEST

START_TEST(drop_clean)
{
	struct nr_files files = { .drop = all_nodes() };
	int fd = make_file("file", 3000);

	if (!on_disk()) {
		close(fd);
		nr_set_free((struct bitmask *)files.drop);
		SKIP("not on a disk, or under valgrind");
	}
	if (_i)
		without_new_calls();
	ck_assert_int_eq(walk_one("file", files), 0);
	ck_assert_int_eq(got.last.error, 0);
	ck_assert_uint_eq(got.last.cache.cached, 3000 * PAGE);
	ck_assert_uint_eq(got.last.left.cached, 0);
	ck_assert_uint_eq(sum_of(&got.last.left), 0);
	ck_assert_uint_eq(resident(fd), 0);
	close(fd);
	nr_set_free((struct bitmask *)files.drop);
}
END_TEST

/* Another NUMA node's pages are none of its business */
START_TEST(drop_elsewhere)
{
	struct bitmask *none = nr_set_new(NR_MAX_NODES);
	struct nr_files files = { .drop = none };
	int fd = make_file("file", 100);

	numa_bitmask_setbit(none, NR_MAX_NODES - 1);
	ck_assert_int_eq(walk_one("file", files), 0);
	ck_assert_uint_eq(got.last.left.cached, 100 * PAGE);
	ck_assert_uint_eq(resident(fd), 100);
	close(fd);
	nr_set_free(none);
}
END_TEST

START_TEST(drop_dirty)
{
	struct nr_files files = { .drop = all_nodes() };
	int fd = make_file("file", 100);
	char byte = 'y';

	if (!on_disk()) {
		close(fd);
		nr_set_free((struct bitmask *)files.drop);
		SKIP("not on a disk, or under valgrind");
	}
	if (_i)
		without_new_calls();
	ck_assert_int_eq(pwrite(fd, &byte, 1, (off_t)(50 * PAGE)), 1);
	ck_assert_int_eq(walk_one("file", files), 0);
	if (resident(fd)) { /* else the kernel has just written it back */
		ck_assert_uint_ge(got.last.left.cached, PAGE);
		if (!_i && has_cachestat()) {
			/* The kernel begins to write back what it was asked to drop */
			ck_assert_uint_eq(got.last.cache.dirty, PAGE);
			ck_assert_uint_le(got.last.left.dirty, PAGE);
		}
	}
	ck_assert_int_eq(pwrite(fd, &byte, 1, (off_t)(50 * PAGE)), 1);
	files.sync = true;
	ck_assert_int_eq(walk_one("file", files), 0);
	ck_assert_uint_eq(got.last.left.cached, 0);
	ck_assert_uint_eq(got.last.left.dirty, 0);
	ck_assert_uint_eq(resident(fd), 0);
	close(fd);
	nr_set_free((struct bitmask *)files.drop);
}
END_TEST

/* What somebody has mapped stays, and the rest of the file goes */
START_TEST(drop_mapped)
{
	struct nr_files files = { .drop = all_nodes() };
	int fd = make_file("file", 1024);
	volatile char *mem;
	size_t i;

	if (!on_disk()) {
		close(fd);
		nr_set_free((struct bitmask *)files.drop);
		SKIP("not on a disk, or under valgrind");
	}
	mem = mmap(NULL, 16 * PAGE, PROT_READ, MAP_SHARED, fd, (off_t)(512 * PAGE));
	ck_assert_ptr_ne((void *)mem, MAP_FAILED);
	for (i = 0; i < 16; i++)
		(void)mem[i * PAGE];
	ck_assert_int_eq(walk_one("file", files), 0);
	ck_assert_uint_eq(got.last.left.cached, resident(fd) * PAGE);
	ck_assert_uint_ge(got.last.left.cached, 16 * PAGE);
	ck_assert_uint_lt(got.last.left.cached, 1024 * PAGE);
	munmap((void *)mem, 16 * PAGE);
	close(fd);
	nr_set_free((struct bitmask *)files.drop);
}
END_TEST

START_TEST(untouched)
{
	struct timespec times[2] = { { 1000000000, 0 }, { 1000000001, 0 } };
	struct stat st;
	int fd = make_file("file", 10);

	ck_assert_int_eq(futimens(fd, times), 0);
	ck_assert_int_eq(walk_one("file", (struct nr_files){ 0 }), 0);
	ck_assert_uint_eq(got.last.cache.cached, 10 * PAGE);
	ck_assert_int_eq(fstat(fd, &st), 0);
	ck_assert_int_eq(st.st_atime, 1000000000);
	close(fd);
}
END_TEST

/* A terabyte with three pages, one at its end */
START_TEST(sparse)
{
	static const off_t at[] = { 0, (off_t)1 << 39, ((off_t)1 << 40) - 4096 };
	struct nr_files files = { .file_timeout_ms = 2000 };
	int fd = open(in_dir("file"), O_RDWR | O_CREAT, 0644);
	double start;
	char byte;
	size_t i;

	if (ftruncate(fd, (off_t)1 << 40)) {
		close(fd);
		SKIP("the file system has no such files");
	}
	posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM);
	for (i = 0; i < ARRAY_SIZE(at); i++)
		ck_assert_int_eq(pread(fd, &byte, 1, at[i]), 1);
	if (_i)
		without_new_calls();
	start = now();
	ck_assert_int_eq(walk_one("file", files), 0);
	ck_assert_double_lt(now() - start, 60);
	if (!_i && has_cachestat()) {
		ck_assert_int_eq(got.last.error, 0);
		ck_assert_uint_ge(got.last.cache.cached, 3 * PAGE);
	} else if (got.last.error) {
		ck_assert_int_eq(got.last.error, -ETIME);
		ck_assert_uint_ge(got.last.cache.cached, PAGE);
	}
	close(fd);
}
END_TEST

struct change {
	int fd;
	atomic_bool stop;
};

static void *truncate_often(void *data)
{
	struct change *change = data;
	char buf[4096] = "x";

	while (!change->stop) {
		if (ftruncate(change->fd, 0) || ftruncate(change->fd, 3 << 20))
			abort();
		for (off_t at = 0; at < 3 << 20; at += 4096)
			if (pwrite(change->fd, buf, sizeof(buf), at) < 0)
				abort();
	}
	return NULL;
}

/* No signal, and never more than there can be */
START_TEST(truncated)
{
	struct nr_files files = { .drop = _i ? all_nodes() : NULL };
	struct change change = { .fd = make_file("file", 768) };
	pthread_t thread;
	int i;

	ck_assert_int_eq(pthread_create(&thread, NULL, truncate_often, &change), 0);
	for (i = 0; i < rounds(300); i++) {
		ck_assert_int_eq(walk_one("file", files), 0);
		ck_assert_uint_le(got.last.cache.cached, 3 << 20);
		ck_assert_int_eq(got.last.error, 0);
	}
	change.stop = true;
	pthread_join(thread, NULL);
	close(change.fd);
	nr_set_free((struct bitmask *)files.drop);
}
END_TEST

/* ---- who may */

START_TEST(not_ours)
{
	int fd = make_file("file", 10);

	if (getuid())
		SKIP("needs root");
	ck_assert_int_eq(chmod(dir, 0755), 0);
	ck_assert_int_eq(setegid(65534), 0);
	ck_assert_int_eq(seteuid(65534), 0);
	ck_assert_int_eq(walk_one("file", (struct nr_files){ 0 }), 0);
	ck_assert_uint_eq(got.n, 1);
	assert_err(got.last.error, EPERM);
	ck_assert_uint_eq(got.last.cache.cached, 0);
	ck_assert_int_eq(seteuid(0), 0);
	ck_assert_int_eq(fchmod(fd, 0), 0);
	ck_assert_int_eq(seteuid(65534), 0);
	ck_assert_int_eq(walk_one("file", (struct nr_files){ 0 }), 0);
	assert_err(got.last.error, EACCES);
	/* To who may write the kernel tells */
	ck_assert_int_eq(seteuid(0), 0);
	ck_assert_int_eq(fchmod(fd, 0666), 0);
	ck_assert_int_eq(seteuid(65534), 0);
	ck_assert_int_eq(walk_one("file", (struct nr_files){ 0 }), 0);
	ck_assert_int_eq(got.last.error, 0);
	ck_assert_uint_eq(got.last.cache.cached, 10 * PAGE);
	ck_assert_int_eq(seteuid(0), 0);
	ck_assert_int_eq(setegid(0), 0);
	close(fd);
}
END_TEST

START_TEST(lease)
{
	int fd = make_file("file", 10);

	make("other", 10);
	if (fcntl(fd, F_SETLEASE, F_WRLCK))
		SKIP("the file system has no leases");
	ck_assert_int_eq(walk_one("file", (struct nr_files){ 0 }), 0);
	assert_err(got.last.error, EBUSY);
	ck_assert_int_eq(fcntl(fd, F_GETLEASE), F_WRLCK);
	ck_assert_int_eq(walk_one("other", (struct nr_files){ 0 }), 0);
	ck_assert_int_eq(got.last.error, 0);
	close(fd);
}
END_TEST

/* ---- paths and trees */

START_TEST(bad_paths)
{
	static const char *const empty[] = { "" };
	struct nr_ctx *recorded = open_tree("one-node");
	struct nr_files files = { .paths = empty, .npaths = 1 };

	if (_i)
		without_new_calls();
	assert_err(nr_files(ctx, &files, on_file, NULL), EINVAL);
	files.npaths = 0;
	assert_err(nr_files(ctx, &files, on_file, NULL), EINVAL);
	files.open = true;
	assert_err(nr_files(recorded, &files, on_file, NULL), EROFS);
	nr_close(recorded);

	ck_assert_int_eq(mkdir(in_dir("real"), 0755), 0);
	make("real/file", 1);
	ck_assert_int_eq(symlink("real", in_dir("link")), 0);
	ck_assert_int_eq(symlink("real/file", in_dir("file")), 0);
	ck_assert_int_eq(mkfifo(in_dir("fifo"), 0600), 0);
	ck_assert_int_eq(walk_one("link/file", (struct nr_files){ 0 }), 0);
	assert_err(got.last.error, ELOOP);
	ck_assert_int_eq(walk_one("link", (struct nr_files){ 0 }), 0);
	assert_err(got.last.error, ELOOP);
	ck_assert_int_eq(walk_one("file", (struct nr_files){ 0 }), 0);
	assert_err(got.last.error, ELOOP);
	ck_assert_int_eq(walk_one("none", (struct nr_files){ 0 }), 0);
	assert_err(got.last.error, ENOENT);
	ck_assert_int_eq(walk_one("real/file/none", (struct nr_files){ 0 }), 0);
	assert_err(got.last.error, ENOTDIR);
	ck_assert_int_eq(walk_one("fifo", (struct nr_files){ 0 }), 0);
	assert_err(got.last.error, EINVAL);
	ck_assert_uint_eq(got.n, 1);
	ck_assert_int_eq(walk_one("real/../real/./file", (struct nr_files){ 0 }), 0);
	ck_assert_int_eq(got.last.error, 0);
	ck_assert_uint_eq(got.last.cache.cached, PAGE);
	ck_assert_int_eq(chdir(dir), 0);
	files = (struct nr_files){ .paths = (const char *const[]){ "real" }, .npaths = 1 };
	ck_assert_int_eq(walk(&files), 0);
	ck_assert_str_eq(got.last_path, "real/file");
	ck_assert_int_eq(chdir("/"), 0);
}
END_TEST

START_TEST(tree_of_files)
{
	struct sockaddr_un name = { .sun_family = AF_UNIX };
	char twice[128];
	struct nr_files files = { .npaths = 3 };
	const char *paths[3];
	int fd;

	if (_i)
		without_new_calls();
	ck_assert_int_eq(mkdir(in_dir("a"), 0755), 0);
	ck_assert_int_eq(mkdir(in_dir("a/b"), 0755), 0);
	ck_assert_int_eq(mkdir(in_dir("empty"), 0755), 0);
	ck_assert_int_eq(mkdir(in_dir("outside"), 0755), 0);
	make("a/one", 1);
	make("a/b/two", 2);
	make("outside/three", 3);
	snprintf(twice, sizeof(twice), "%s/a/one", dir);
	ck_assert_int_eq(link(twice, in_dir("a/b/again")), 0);
	ck_assert_int_eq(symlink("../outside", in_dir("a/link")), 0);
	ck_assert_int_eq(symlink("../outside/three", in_dir("a/three")), 0);
	ck_assert_int_eq(symlink("..", in_dir("a/b/loop")), 0);
	ck_assert_int_eq(mkfifo(in_dir("a/fifo"), 0600), 0);
	fd = socket(AF_UNIX, SOCK_STREAM, 0);
	snprintf(name.sun_path, sizeof(name.sun_path), "%s/a/socket", dir);
	ck_assert_int_eq(bind(fd, (struct sockaddr *)&name, sizeof(name)), 0);
	close(fd);

	got.name = "/a/b/two";
	ck_assert_int_eq(walk_one("a", (struct nr_files){ 0 }), 0);
	ck_assert_uint_eq(got.n, 2); /* one or again, and two */
	ck_assert_uint_eq(got.errors, 0);
	ck_assert_uint_eq(got.nnamed, 1);
	ck_assert_uint_eq(got.named.cache.cached, 2 * PAGE);

	/* Paths within each other */
	paths[0] = strdup(in_dir("a"));
	paths[1] = strdup(in_dir("a/b"));
	paths[2] = strdup(in_dir("a/b/two"));
	files.paths = paths;
	ck_assert_int_eq(walk(&files), 0);
	ck_assert_uint_eq(got.n, 2);
	ck_assert_uint_eq(got.nnamed, 1);
	for (int i = 0; i < 3; i++)
		free((char *)paths[i]);
	ck_assert_int_eq(walk_one("", (struct nr_files){ 0 }), 0);
	ck_assert_uint_eq(got.n, 3);
}
END_TEST

START_TEST(other_mounts)
{
	if (_i)
		without_new_calls();
	ck_assert_int_eq(mkdir(in_dir("mount"), 0755), 0);
	make("file", 1);
	if (!tmpfs_start(in_dir("mount")))
		SKIP("nothing can be mounted: %s", strerror(errno));
	make("mount/inside", 2);
	ck_assert_int_eq(walk_one("", (struct nr_files){ 0 }), 0);
	ck_assert_uint_eq(got.n, 1);
	ck_assert_uint_eq(got.errors, 0);
	/* Listed itself it is looked at; but what is in memory only cannot be dropped */
	ck_assert_int_eq(walk_one("mount", (struct nr_files){ 0 }), 0);
	ck_assert_uint_eq(got.n, 1);
	ck_assert_uint_eq(got.last.cache.cached, 2 * PAGE);
	ck_assert_int_eq(got.last.error, 0);
	struct nr_files files = { .drop = all_nodes() };
	ck_assert_int_eq(walk_one("mount/inside", files), 0);
	assert_err(got.last.error, EOPNOTSUPP);
	ck_assert_uint_eq(got.last.left.cached, 2 * PAGE);
	nr_set_free((struct bitmask *)files.drop);
}
END_TEST

/* Files of the kernel itself are left alone */
START_TEST(kernel_files)
{
	struct nr_files files = { .paths = (const char *const[]){ "/sys/kernel/mm" }, .npaths = 1 };

	ck_assert_int_eq(walk(&files), 0);
	ck_assert_uint_eq(got.errors, 0);
	ck_assert_uint_eq(got.last.cache.cached, 0);
}
END_TEST

START_TEST(deep)
{
	struct nr_files files = { .paths = (const char *const[]){ dir }, .npaths = 1 };
	int i, fd = open(dir, O_PATH), next;

	for (i = 0; i < 300; i++) {
		ck_assert_int_eq(mkdirat(fd, "d", 0755), 0);
		next = openat(fd, "d", O_PATH);
		close(fd);
		fd = next;
		next = openat(fd, "file", O_WRONLY | O_CREAT, 0644);
		ck_assert_int_eq(write(next, "x", 1), 1);
		close(next);
	}
	close(fd);
	ck_assert_int_eq(walk(&files), 0);
	assert_err(got.error, ENAMETOOLONG);
	ck_assert_uint_eq(got.errors, 1);
	ck_assert_uint_ge(got.n, 100);
	/* So deep, nftw(3) has no descriptors */
	snprintf(path, sizeof(path), "rm -r %s/d", dir);
	ck_assert_int_eq(system(path), 0);
}
END_TEST

/* Many files: each once, and in little memory */
START_TEST(many)
{
	struct nr_files files = { .paths = (const char *const[]){ dir }, .npaths = 1 };
	const int folders = rounds(40), each = 500;
	struct rusage before, after;
	char name[64];
	int i, j, fd;

	for (i = 0; i < folders; i++) {
		snprintf(name, sizeof(name), "%d", i);
		ck_assert_int_eq(mkdir(in_dir(name), 0755), 0);
		for (j = 0; j < each; j++) {
			snprintf(name, sizeof(name), "%d/a-name-that-is-not-so-short-%d", i, j);
			fd = open(in_dir(name), O_WRONLY | O_CREAT, 0644);
			ck_assert_int_eq(write(fd, "x", 1), 1);
			close(fd);
		}
	}
	getrusage(RUSAGE_SELF, &before);
	ck_assert_int_eq(walk(&files), 0);
	getrusage(RUSAGE_SELF, &after);
	ck_assert_uint_eq(got.n, (size_t)(folders * each));
	ck_assert_uint_eq(got.errors, 0);
#ifndef __SANITIZE_ADDRESS__ /* which keeps what is freed, as valgrind does */
	if (!getenv("LD_PRELOAD"))
		ck_assert_int_le(after.ru_maxrss - before.ru_maxrss, 16 << 10);
#endif
}
END_TEST

/* ---- who changes names meanwhile */

static char name_a[128], name_b[128];

static void *exchange(void *data)
{
	struct change *change = data;

	while (!change->stop) {
		syscall(SYS_renameat2, AT_FDCWD, name_a, AT_FDCWD, name_b, RENAME_EXCHANGE);
		sched_yield(); /* valgrind runs one thread at a time, this one for good */
	}
	return NULL;
}

/* A reader would let a writer in. */
static void *write_to_fifo(void *data)
{
	struct change *change = data;
	int fd, i;

	while (!change->stop)
		for (i = 0; i < 2; i++) {
			fd = open(i ? name_b : name_a, O_WRONLY | O_NONBLOCK);
			if (fd < 0)
				continue;
			struct stat st;

			if (fstat(fd, &st) == 0 && S_ISFIFO(st.st_mode))
				change->fd++;
			close(fd);
		}
	return NULL;
}

START_TEST(fifo_race)
{
	struct change change = { 0 };
	pthread_t threads[2];
	int i;

	snprintf(name_a, sizeof(name_a), "%s", in_dir("a"));
	snprintf(name_b, sizeof(name_b), "%s", in_dir("b"));
	make("a", 1);
	ck_assert_int_eq(mkfifo(name_b, 0600), 0);
	ck_assert_int_eq(pthread_create(&threads[0], NULL, exchange, &change), 0);
	ck_assert_int_eq(pthread_create(&threads[1], NULL, write_to_fifo, &change), 0);
	for (i = 0; i < rounds(500); i++) {
		ck_assert_int_eq(walk_one(i % 2 ? "" : "a", (struct nr_files){ 0 }), 0);
		ck_assert_uint_le(got.n, 1);
		ck_assert(got.error == 0 || got.error == -EINVAL);
	}
	change.stop = true;
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
	ck_assert_int_eq(change.fd, 0);
}
END_TEST

/* A folder that is a link to another one every other moment: nothing of that is ever seen */
START_TEST(symlink_race)
{
	struct change change = { 0 };
	pthread_t thread;
	int i, seen = 0;

	if (_i)
		without_new_calls();
	ck_assert_int_eq(mkdir(in_dir("walked"), 0755), 0);
	ck_assert_int_eq(mkdir(in_dir("outside"), 0755), 0);
	ck_assert_int_eq(mkdir(in_dir("walked/a"), 0755), 0);
	make("walked/a/inside", 1);
	make("outside/secret", 2);
	snprintf(name_a, sizeof(name_a), "%s", in_dir("walked/a"));
	ck_assert_int_eq(symlink("../outside", in_dir("walked/b")), 0);
	snprintf(name_b, sizeof(name_b), "%s", in_dir("walked/b"));
	ck_assert_int_eq(pthread_create(&thread, NULL, exchange, &change), 0);
	for (i = 0; i < rounds(1000); i++) {
		got.name = "/secret";
		ck_assert_int_eq(walk_one(i % 2 ? "walked" : "walked/a", (struct nr_files){ 0 }),
				 0);
		ck_assert_uint_eq(got.nnamed, 0);
		ck_assert_uint_ne(got.last.size, 2 * PAGE);
		seen += got.n && !got.last.error;
	}
	change.stop = true;
	pthread_join(thread, NULL);
	ck_assert_int_gt(seen, 0);
}
END_TEST

/* ---- open files */

START_TEST(open_files)
{
	struct nr_files files = { .open = true };
	int pipes[2], fd, other;
	char byte;
	pid_t pid;
	void *mem;

	ck_assert_int_eq(pipe(pipes), 0);
	fd = make_file("deleted", 5);
	ck_assert_int_eq(unlink(in_dir("deleted")), 0);
	other = make_file("mapped", 3);
	pid = fork();
	if (pid == 0) {
		close(pipes[1]);
		dup(fd);
		mem = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, other, 0);
		close(other);
		ck_assert_ptr_ne(mem, MAP_FAILED);
		_exit(read(pipes[0], &byte, 1) != 0);
	}
	close(pipes[0]);
	files.pid = pid;
	got.name = "/deleted";
	ck_assert_int_eq(walk(&files), 0);
	ck_assert_uint_eq(got.nnamed, 1);
	ck_assert(got.named.deleted);
	ck_assert_uint_eq(got.named.cache.cached, 5 * PAGE);
	got.name = "/mapped";
	close(other);
	ck_assert_int_eq(walk(&files), 0);
	if (getuid() == 0) {
		ck_assert_uint_eq(got.nnamed, 1);
		ck_assert(!got.named.deleted);
		files.pid = 0;
		ck_assert_int_eq(walk(&files), 0);
		ck_assert_uint_eq(got.nnamed, 1);
	}
	close(pipes[1]);
	ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
	close(fd);
	/* It is gone */
	files.pid = pid;
	ck_assert_int_eq(walk(&files), 0);
	ck_assert_uint_eq(got.n, 1);
	assert_err(got.last.error, ESRCH);
}
END_TEST

/* ---- how it ends */

START_TEST(stops)
{
	char name[32];
	int i;

	for (i = 0; i < 600; i++) {
		snprintf(name, sizeof(name), "%d", i);
		make(name, 1);
	}
	got.answer = 77;
	ck_assert_int_eq(walk_one("", (struct nr_files){ 0 }), 77);
	ck_assert_uint_eq(got.n, 1);
	got.answer = 0;
	got.cancel_at = 5;
	assert_err(walk_one("", (struct nr_files){ 0 }), ECANCELED);
	ck_assert_uint_eq(got.n, 5);
	got.cancel_at = 0;
	ck_assert_int_eq(walk_one("", (struct nr_files){ 0 }), 0);
	ck_assert_uint_eq(got.n, 600);
}
END_TEST

/* How many threads this process has, when those that hung have ended */
static int threads_left(void)
{
	struct stat st;
	int i;

	for (i = 0; i < 500; i++) {
		ck_assert_int_eq(stat("/proc/self/task", &st), 0);
		if (st.st_nlink == 3)
			break;
		usleep(10000);
	}
	return (int)st.st_nlink - 2;
}

/* A file system that does not answer costs its time, and nobody else's files are lost */
START_TEST(hanging)
{
	struct nr_files files = { .file_timeout_ms = 200, .npaths = 2 };
	const char *why, *paths[2];
	double start;

	ck_assert_int_eq(mkdir(in_dir("fuse"), 0755), 0);
	ck_assert_int_eq(mkdir(in_dir("good"), 0755), 0);
	make("good/file", 7);
	if (!hangfs_start(in_dir("fuse"), (enum hang)_i, &why))
		SKIP("%s", why);
	paths[0] = strdup(in_dir(_i == HANG_LOOKUP ? "fuse/file3" : "fuse"));
	paths[1] = strdup(in_dir("good"));
	files.paths = paths;
	got.name = "/good/file";
	start = now();
	ck_assert_int_eq(walk(&files), 0);
	ck_assert_double_lt(now() - start, 10);
	ck_assert_uint_eq(got.nnamed, 1);
	ck_assert_uint_eq(got.named.cache.cached, 7 * PAGE);
	assert_err(got.error, ETIME);
	ck_assert_uint_eq(got.errors, _i == HANG_OPEN ? HANGFS_FILES : 1);
	/* With others in it that did answer, and a cancel */
	got.cancel_at = 1;
	start = now();
	assert_err(walk(&files), ECANCELED);
	ck_assert_double_lt(now() - start, 5);
	got.cancel_at = 0;
	hangfs_stop();
	ck_assert_int_eq(threads_left(), 1);
	free((char *)paths[0]);
	free((char *)paths[1]);
}
END_TEST

Suite *suite(void)
{
	Suite *s = suite_create("files");
	TCase *t = unit_case("files");

	tcase_add_checked_fixture(t, make_dir, end);
	tcase_add_loop_test(t, look, 0, 2);
	tcase_add_loop_test(t, read_ahead, 0, 2);
	tcase_add_loop_test(t, sizes, 0, 2);
	tcase_add_loop_test(t, drop_clean, 0, 2);
	tcase_add_test(t, drop_elsewhere);
	tcase_add_loop_test(t, drop_dirty, 0, 2);
	tcase_add_test(t, drop_mapped);
	tcase_add_test(t, untouched);
	tcase_add_loop_test(t, sparse, 0, 2);
	tcase_add_loop_test(t, truncated, 0, 2);
	tcase_add_test(t, not_ours);
	tcase_add_test(t, lease);
	tcase_add_loop_test(t, bad_paths, 0, 2);
	tcase_add_loop_test(t, tree_of_files, 0, 2);
	tcase_add_loop_test(t, other_mounts, 0, 2);
	tcase_add_test(t, kernel_files);
	tcase_add_test(t, deep);
	tcase_add_test(t, many);
	tcase_add_test(t, fifo_race);
	tcase_add_loop_test(t, symlink_race, 0, 2);
	tcase_add_test(t, open_files);
	tcase_add_test(t, stops);
	tcase_add_loop_test(t, hanging, HANG_OPEN, HANG_LOOKUP + 1);
	suite_add_tcase(s, t);
	return s;
}
