// SPDX-License-Identifier: GPL-2.0-or-later
#include "fake_kernel.h"

#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "internal.h"

#define NODE_DIR "sys/devices/system/node"
#define TOSS_DIR "sys/kernel/mm/node_reclaim"
#define FAKE_TOSS 777

struct fake fake;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t all_here = PTHREAD_COND_INITIALIZER;

static void make_folder(const char *path)
{
	char full[512], *p;

	snprintf(full, sizeof(full), "%s/%s/", fake.root, path);
	for (p = full + strlen(fake.root) + 1; (p = strchr(p, '/')) != NULL; p++) {
		*p = '\0';
		ck_assert(!mkdir(full, 0755) || errno == EEXIST);
		*p = '/';
	}
}

/* Renamed into place, so that a reader sees all of the old or all of the new */
static void file(const char *text, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void file(const char *text, const char *fmt, ...)
{
	char name[256], path[512], temp[512];
	va_list ap;
	FILE *f;

	va_start(ap, fmt);
	vsnprintf(name, sizeof(name), fmt, ap);
	va_end(ap);
	snprintf(path, sizeof(path), "%s/%s", fake.root, name);
	snprintf(temp, sizeof(temp), "%s/new", fake.root);
	f = fopen(temp, "w");
	ck_assert_ptr_nonnull(f);
	fputs(text, f);
	ck_assert_int_eq(fclose(f), 0);
	ck_assert_msg(rename(temp, path) == 0, "%s: %s", path, strerror(errno));
}

static void write_node(unsigned int nid)
{
	const struct fake_node *n = &fake.node[nid];
	const uint64_t active = n->file / 100 * n->active;
	char text[2048];

	if (n->gone)
		return;
	snprintf(text, sizeof(text),
		 "Node %u MemTotal:  %" PRIu64 " kB\nNode %u MemFree:  %" PRIu64 " kB\n"
		 "Node %u Active(file):  %" PRIu64 " kB\nNode %u Inactive(file):  %" PRIu64 " kB\n"
		 "Node %u Dirty:  %" PRIu64 " kB\nNode %u Writeback:  0 kB\n"
		 "Node %u FilePages:  %" PRIu64 " kB\nNode %u Mapped:  %" PRIu64 " kB\n"
		 "Node %u AnonPages:  %" PRIu64 " kB\nNode %u SReclaimable:  %" PRIu64 " kB\n",
		 nid, n->total, nid, n->free, nid, active, nid, n->file - active, nid, n->dirty,
		 nid, nid, n->file, nid, n->mapped, nid, n->anon + n->held, nid, n->slab);
	file(text, NODE_DIR "/node%u/meminfo", nid);
}

static void write_host(void)
{
	char *text = NULL, vmstat[64];
	size_t size;
	unsigned int i;
	FILE *f = open_memstream(&text, &size);

	for (i = 0; i < fake.n; i++) {
		const struct fake_node *n = &fake.node[i];

		if (n->gone)
			continue;
		fprintf(f,
			"Node %u, zone %8s\n  pages free     %" PRIu64
			"\n        min      4096\n        low      5120\n        high     6144\n"
			"        present  %" PRIu64 "\n        managed  %" PRIu64
			"\n        protection: (0, 0, 0, 0, 0)\n"
			"      nr_zone_inactive_file %" PRIu64
			"\n      nr_zone_active_file %" PRIu64 "\n  pagesets\n    cpu: 0\n"
			"              count: %" PRIu64 "\n              high:  %" PRIu64 "\n",
			i, n->movable ? "Movable" : "Normal", n->free / 4, n->total / 4,
			n->total / 4, (n->file - n->file / 4) / 4, n->file / 4 / 4, n->list / 4,
			n->spill / 4);
	}
	ck_assert_int_eq(fclose(f), 0);
	file(text, "proc/zoneinfo");
	free(text);
	snprintf(vmstat, sizeof(vmstat), "pswpin 0\npswpout %" PRIu64 "\nswpout_zero %" PRIu64 "\n",
		 fake.zeros ? 0 : fake.swapped_out, fake.zeros ? fake.swapped_out : 0);
	file(vmstat, "proc/vmstat");
	snprintf(vmstat, sizeof(vmstat), "SwapTotal: %" PRIu64 " kB\nSwapFree: %" PRIu64 " kB\n",
		 fake.swap, fake.swap - fake.swapped_out * 4);
	file(vmstat, "proc/meminfo");
}

static uint64_t take(uint64_t *from, uint64_t most)
{
	uint64_t kb = (most < *from ? most : *from) & ~UINT64_C(3);

	*from -= kb;
	return kb;
}

static void go_offline(struct fake_node *n, unsigned int nid)
{
	char dir[128], online[2048] = "", *end = online;

	n->gone = true;
	snprintf(dir, sizeof(dir), NODE_DIR "/node%u", nid);
	for (unsigned int i = 0; i < fake.n; i++)
		if (!fake.node[i].gone)
			end += sprintf(end, "%s%u", end > online ? "," : "", i);
	strcpy(end, "\n");
	file(online, NODE_DIR "/online");
	drop(fake.root, dir);
}

/* Returns an errno; *@freed in kB */
static int reclaim(unsigned int nid, uint64_t kb, bool toss, uint64_t *freed)
{
	struct fake_node *n = &fake.node[nid];
	uint64_t clean = n->file - n->mapped - n->dirty;
	int err = 0;

	*freed = 0;
	n->writes++;
	n->tosses += toss;
	if (kb + (toss ? 0 : n->total / 100) > clean)
		n->too_much++;
	if (n->rate && kb > n->rate)
		kb = n->rate;
	switch (n->mood) {
	case FAKE_DENIED:
		return EPERM;
	case FAKE_STUCK:
		return EAGAIN;
	case FAKE_SILENT:
		return 0;
	case FAKE_BUSY:
		if (n->writes <= 3)
			return EBUSY;
		break;
	case FAKE_SIGNALS:
		if (n->writes % 2)
			return EINTR;
		break;
	case FAKE_HALF:
		kb /= 2;
		err = EAGAIN;
		break;
	case FAKE_LEAVES:
		if (n->writes == 3) {
			go_offline(n, nid);
			write_host();
			return ENODEV;
		}
		break;
	case FAKE_SWAPS:
		*freed = take(&n->anon, kb / 4);
		fake.swapped_out += *freed / 4;
		break;
	case FAKE_UNMAPS:
		*freed = take(&n->mapped, kb / 2);
		n->file -= *freed;
		break;
	case FAKE_NEIGHBOUR:
		take(&n->mapped, kb * 2);
		break;
	case FAKE_SLAB:
		*freed = take(&n->slab, kb);
		break;
	case FAKE_DIES:
	case FAKE_MODEST:
	case FAKE_GOOD:
		break;
	}
	if (n->movable && !toss)
		clean = 0;
	if (clean < kb)
		err = EAGAIN;
	clean = take(&clean, kb);
	n->file -= clean;
	*freed += clean;
	n->free += *freed;
	write_node(nid);
	write_host();
	return err;
}

static void drop_all(void)
{
	fake.drops++;
	for (unsigned int i = 0; i < fake.n; i++) {
		struct fake_node *n = &fake.node[i];

		n->free += n->file - n->mapped - n->dirty;
		n->file = n->mapped + n->dirty;
		write_node(i);
	}
	write_host();
}

/* Until all are here; a library that serves them one by one waits in vain. With the lock held. */
static void meet(void)
{
	struct timespec until;

	if (++fake.waiting >= fake.meet) {
		fake.met = true;
		pthread_cond_broadcast(&all_here);
	}
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += 30;
	while (!fake.met)
		if (pthread_cond_timedwait(&all_here, &lock, &until))
			return;
}

static void wait_ms(unsigned int ms)
{
	if (ms)
		nanosleep(&(struct timespec){ ms / 1000, ms % 1000 * 1000000L }, NULL);
}

static long toss(unsigned int number, unsigned int nid, unsigned long bytes, unsigned int flags)
{
	struct fake_node *n = &fake.node[nid];
	uint64_t freed = 0;
	int err = fake.toss_error;

	ck_assert_uint_eq(number, FAKE_TOSS);
	ck_assert_uint_lt(nid, fake.n);
	ck_assert_uint_eq(flags, 1 | 4); /* inactive, then active; no slab */
	pthread_mutex_lock(&lock);
	if (err)
		n->tosses++;
	else
		err = reclaim(nid, bytes / 1024, true, &freed);
	pthread_mutex_unlock(&lock);
	wait_ms(n->delay);
	if (err && err != EAGAIN)
		return -err;
	if (n->mood == FAKE_SILENT)
		return (long)bytes;
	return n->mood == FAKE_MODEST ? 0 : (long)(freed * 1024);
}

/* ---------------------------------------------------------------- processes that take memory */

#define MIN (16 << 10) /* watermarks, kB */
#define LOW (20 << 10)
#define HIGH (24 << 10)

static int press_start(struct nr_work *work, int nid, uint64_t most, uint64_t deadline,
		       struct nr_press **out)
{
	struct fake_node *n = &fake.node[nid];

	(void)deadline;
	n->presses++;
	n->most = most / 1024;
	*out = NULL;
	if (n->mood == FAKE_DENIED)
		return -EPERM;
	*out = calloc(1, sizeof(**out));
	(*out)->ctx = work->ctx;
	(*out)->child[0].fd = nid;
	return 0;
}

/* What the kernel does when little is free */
static void kswapd(struct fake_node *n)
{
	uint64_t want = HIGH - n->free, clean = n->file - n->mapped - n->dirty, got = 0;

	if (n->mood == FAKE_STUCK)
		return;
	if (n->mood == FAKE_SWAPS) {
		got = take(&n->anon, want / 4);
		fake.swapped_out += got / 4;
	}
	if (n->mood == FAKE_UNMAPS || clean < (32 << 10)) {
		got = take(&n->mapped, want);
		n->file -= got;
	}
	clean = take(&clean, want - got);
	n->file -= clean;
	n->free += got + clean;
}

static int press_take(struct nr_press *press, uint64_t bytes, bool huge, uint64_t deadline)
{
	unsigned int nid = (unsigned int)press->child[0].fd;
	struct fake_node *n = &fake.node[nid];
	uint64_t kb = bytes / 1024;
	int err = 0;

	(void)deadline;
	ck_assert_uint_gt(bytes, 0);
	ck_assert_uint_eq(bytes % KB(huge ? 2048 : 4), 0);
	wait_ms(n->delay);
	pthread_mutex_lock(&lock);
	n->takes++;
	n->huge += huge ? kb : 0;
	if (kb + MIN > n->free || n->held + kb > n->most)
		n->too_much++;
	if (huge && n->free - kb < HIGH)
		n->too_much++;
	if (n->mood == FAKE_DIES && n->takes == 3)
		err = -EPIPE;
	if (n->mood == FAKE_LEAVES && n->takes == 3)
		go_offline(n, nid);
	n->free -= kb < n->free ? kb : n->free;
	n->held += kb;
	if (n->free < LOW)
		kswapd(n);
	write_node(nid);
	write_host();
	pthread_mutex_unlock(&lock);
	return err;
}

static void press_stop(struct nr_press *press)
{
	unsigned int nid = (unsigned int)press->child[0].fd;
	struct fake_node *n = &fake.node[nid];

	pthread_mutex_lock(&lock);
	n->list += take(&n->held, n->spill - n->list);
	n->free += n->held;
	n->held = 0;
	write_node(nid);
	write_host();
	pthread_mutex_unlock(&lock);
	free(press);
}

static const struct nr_press_ops press_ops = { press_start, press_take, press_stop };

/* Stands before libc's write(): what the library writes to a file of the fake host comes here */
ssize_t write(int fd, const void *buf, size_t count)
{
	char link[64], path[512], text[64];
	unsigned int nid, delay = 0;
	uint64_t freed;
	const char *name;
	ssize_t len;
	int err = 0;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	len = readlink(link, path, sizeof(path) - 1);
	path[len > 0 ? len : 0] = '\0';
	if (!fake.ctx || strncmp(path, fake.root, strlen(fake.root)))
		return syscall(SYS_write, fd, buf, count);
	name = path + strlen(fake.root) + 1;
	snprintf(text, sizeof(text), "%.*s", (int)count, (const char *)buf);
	pthread_mutex_lock(&lock);
	if (sscanf(name, NODE_DIR "/node%u/", &nid) == 1 && strstr(name, "/reclaim")) {
		char *end;
		uint64_t bytes = strtoull(text, &end, 10);

		ck_assert_msg(!strcmp(end, " swappiness=0"), "written: '%s'", text);
		if (fake.meet && !fake.met && !fake.node[nid].writes)
			meet();
		err = reclaim(nid, bytes / 1024, false, &freed);
		delay = fake.node[nid].delay;
	} else if (sscanf(name, NODE_DIR "/node%u/", &nid) == 1 && strstr(name, "/compact")) {
		fake.node[nid].compacts++;
		delay = fake.compact_delay;
	} else if (!strcmp(name, "proc/sys/vm/drop_caches")) {
		ck_assert_str_eq(text, "1");
		drop_all();
	} else {
		pthread_mutex_unlock(&lock);
		return syscall(SYS_write, fd, buf, count);
	}
	pthread_mutex_unlock(&lock);
	wait_ms(delay);
	errno = err;
	return err ? -1 : (ssize_t)count;
}

static int remove_one(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
	(void)st;
	(void)flag;
	(void)ftw;
	return remove(path);
}

static void remove_root(void)
{
	if (*fake.root)
		nftw(fake.root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	*fake.root = '\0';
}

void fake_make(unsigned int n)
{
	const char *tmp = getenv("TMPDIR");
	static bool registered;

	memset(&fake, 0, sizeof(fake));
	ck_assert_uint_le(n, FAKE_NODES);
	snprintf(fake.root, sizeof(fake.root), "%.40s/nr-fake-XXXXXX", tmp ? tmp : "/tmp");
	ck_assert_ptr_nonnull(mkdtemp(fake.root));
	if (!registered)
		atexit(remove_root);
	registered = true;
	fake.n = n;
	for (unsigned int i = 0; i < n; i++)
		fake.node[i] = (struct fake_node){ .total = 8 << 20,
						   .free = 512 << 10,
						   .file = 6 << 20,
						   .active = 25,
						   .mapped = 100 << 10,
						   .dirty = 50 << 10,
						   .anon = 1 << 20,
						   .slab = 400 << 10 };
}

void fake_start(void)
{
	char list[64], text[1024], *end;

	make_folder("proc/sys/vm");
	make_folder("sys/devices/system/cpu");
	make_folder(NODE_DIR);
	for (unsigned int i = 0; i < fake.n; i++) {
		snprintf(text, sizeof(text), NODE_DIR "/node%u", i);
		make_folder(text);
		snprintf(text, sizeof(text), "%u-%u\n", 2 * i, 2 * i + 1);
		file(text, NODE_DIR "/node%u/cpulist", i);
		for (unsigned int k = (end = text, 0); k < fake.n; k++)
			end += sprintf(end, "%s%d", k ? " " : "", k == i ? 10 : 20);
		file(strcat(text, "\n"), NODE_DIR "/node%u/distance", i);
		file("", NODE_DIR "/node%u/reclaim", i);
		file("", NODE_DIR "/node%u/compact", i);
		write_node(i);
	}
	snprintf(list, sizeof(list), "0-%u\n", fake.n - 1);
	file(list, NODE_DIR "/online");
	file(list, NODE_DIR "/has_memory");
	snprintf(list, sizeof(list), "0-%u\n", 2 * fake.n - 1);
	file(list, "sys/devices/system/cpu/online");
	file(list, "sys/devices/system/cpu/possible");
	file("0\n", "proc/sys/vm/zone_reclaim_mode");
	file("1\n", "proc/sys/vm/min_unmapped_ratio");
	file("", "proc/sys/vm/drop_caches");
	if (fake.patched) {
		make_folder(TOSS_DIR);
		file("1\n", TOSS_DIR "/abi_version");
		snprintf(text, sizeof(text), "%d\n", FAKE_TOSS);
		file(text, TOSS_DIR "/nr_toss_page_cache_node");
	}
	write_host();
	ck_assert_int_eq(nr_open(&fake.ctx, fake.root), 0);
	fake.ctx->recorded = false;
	if (fake.pressure)
		fake.ctx->press = &press_ops;
	if (fake.patched)
		fake.ctx->toss = toss;
	keep_messages(fake.ctx, &fake.messages);
}

void fake_with(const char *name, const char *text)
{
	char folder[256];

	snprintf(folder, sizeof(folder), "%s", name);
	*strrchr(folder, '/') = '\0';
	make_folder(folder);
	file(text, "%s", name);
}

void fake_without(const char *name)
{
	drop(fake.root, name);
}

void fake_stop(void)
{
	nr_close(fake.ctx);
	fake.ctx = NULL;
	remove_root();
}

struct nr_result *run(const char *text, const struct nr_options *opt)
{
	struct nr_spec *spec = spec_of(text);
	struct nr_binding *binding;
	struct nr_result *result;

	ck_assert_int_eq(nr_binding_from_nodes(fake.ctx, NULL, &binding), 0);
	ck_assert_int_eq(nr_run(fake.ctx, spec, binding, 0, opt, &result), 0);
	nr_binding_free(binding);
	nr_spec_free(spec);
	return result;
}

const struct nr_result_node *node(const struct nr_result *result, int nid)
{
	size_t i;

	for (i = 0; i < nr_result_count(result); i++)
		if (nr_result_at(result, i)->plan.nid == nid)
			return nr_result_at(result, i);
	ck_abort_msg("NUMA node %d is not in the result", nid);
	return NULL;
}

void check_harmless(unsigned int nid)
{
	ck_assert_uint_eq(fake.node[nid].too_much, 0);
	ck_assert_uint_eq(fake.node[nid].mapped, 100 << 10);
	ck_assert_uint_eq(fake.node[nid].dirty, 50 << 10);
	ck_assert_uint_eq(fake.node[nid].anon, 1 << 20);
}
