// SPDX-License-Identifier: GPL-2.0-or-later
#include "unit.h"

#include <fcntl.h>
#include <stdarg.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "internal.h"

#define MODE "proc/sys/vm/zone_reclaim_mode"
#define BOOT "proc/sys/kernel/random/boot_id"
#define BOOT_ID "01234567-89ab-cdef-0123-456789abcdef"
#define DIRECTORY "run/nodereclaim"
#define LEDGER DIRECTORY "/ledger"
#define SETTING "zone_reclaim_mode"
#define T 1000 /* ms */

static char *root;
static struct nr_ctx *ctx;
static struct messages said;

__attribute__((format(printf, 1, 2))) static const char *text(const char *fmt, ...)
{
	static char buf[65536];
	va_list ap;

	va_start(ap, fmt);
	ck_assert_int_lt(vsnprintf(buf, sizeof(buf), fmt, ap), (int)sizeof(buf));
	va_end(ap);
	return buf;
}

static const char *path(const char *file)
{
	static char buf[4096];

	snprintf(buf, sizeof(buf), "%s/%s", root, file);
	return buf;
}

static void folder(const char *name)
{
	char at[4096], *p;

	snprintf(at, sizeof(at), "%s", path(name));
	for (p = strchr(at + strlen(root) + 1, '/'); p; p = strchr(p + 1, '/')) {
		*p = '\0';
		ck_assert(!mkdir(at, 0755) || errno == EEXIST);
		*p = '/';
	}
	ck_assert(!mkdir(at, 0755) || errno == EEXIST);
}

static uint64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static bool exists(const char *file)
{
	struct stat st;

	return lstat(path(file), &st) == 0;
}

static int mode(void)
{
	char *value = get(root, MODE);
	int n = atoi(value);

	free(value);
	return n;
}

static void set_mode(int value)
{
	put(root, MODE, text("%d\n", value));
}

/* A process in the control group of a job. */
static void run_job(unsigned int pid, unsigned int job)
{
	char name[64];

	snprintf(name, sizeof(name), "proc/%u", pid);
	folder(name);
	snprintf(name, sizeof(name), "proc/%u/cgroup", pid);
	put(root, name, text("2:freezer:/slurm/uid_1000/job_%u/step_0\n0::/\n", job));
	snprintf(name, sizeof(name), "proc/%u/comm", pid);
	put(root, name, "sleep\n");
}

static void end_job(unsigned int pid)
{
	char name[64];

	snprintf(name, sizeof(name), "proc/%u", pid);
	drop(root, name);
}

static void begin(void)
{
	root = copy_tree("two-sockets");
	folder("run");
	folder("proc/sys/kernel/random");
	put(root, BOOT, BOOT_ID "\n");
	set_mode(0);
	ctx = open_tree(root);
	ctx->recorded = false;
	keep_messages(ctx, &said);
}

static void finish(void)
{
	nr_close(ctx);
}

static int hold(uint32_t job, const char *step, uint64_t wants)
{
	return nr_ledger_hold(ctx, SETTING, job, step, wants, T);
}

static int release(uint32_t job)
{
	return nr_ledger_release(ctx, job, NULL, T);
}

static struct nr_ledger_done restore(bool all)
{
	struct nr_ledger_done done;

	ck_assert_int_eq(nr_ledger_restore(ctx, all, false, T, &done), 0);
	return done;
}

/* A ledger that was written by somebody; as root's alone. */
static void put_ledger(const char *ledger)
{
	folder(DIRECTORY);
	ck_assert_int_eq(chmod(path(DIRECTORY), 0700), 0);
	put(root, LEDGER, ledger);
	ck_assert_int_eq(chmod(path(LEDGER), 0600), 0);
}

#define HEAD "nodereclaim ledger 1\nboot " BOOT_ID "\n"
#define ENTRY(before, from, set, state)                                                            \
	"setting " SETTING " before " #before " from " #from " set " #set " " state "\n"
#define HOLDER(job, wants) "holder job " #job " step 0 wants " #wants " since 5\n"
#define GOOD HEAD ENTRY(0, 1, 1, "ours") HOLDER(12, 1) "end\n"

START_TEST(one_holder)
{
	struct nr_ledger *ledger;
	const struct nr_ledger_entry *e;
	struct stat st;

	run_job(100, 12);
	ck_assert_int_eq(hold(12, "0", 1), 0);
	ck_assert_int_eq(mode(), 1);
	ck_assert_int_eq(lstat(path(DIRECTORY), &st), 0);
	ck_assert_uint_eq(st.st_mode & 07777, 0700);
	ck_assert_int_eq(lstat(path(LEDGER), &st), 0);
	ck_assert_uint_eq(st.st_mode & 07777, 0600);

	ck_assert_int_eq(nr_ledger_read(ctx, &ledger), 0);
	ck_assert_uint_eq(nr_ledger_count(ledger), 1);
	e = nr_ledger_at(ledger, 0);
	ck_assert_str_eq(e->setting, SETTING);
	ck_assert_uint_eq(e->before, 0);
	ck_assert_uint_eq(e->set, 1);
	ck_assert(e->have_now && e->now == 1 && e->state == NR_LEDGER_OURS && e->n == 1);
	ck_assert_uint_eq(e->holder[0].job, 12);
	ck_assert_str_eq(e->holder[0].step, "0");
	ck_assert_uint_eq(e->holder[0].wants, 1);
	nr_ledger_free(ledger);

	ck_assert_int_eq(release(12), 0);
	ck_assert_int_eq(mode(), 0);
	ck_assert(!exists(LEDGER));
	ck_assert_int_eq(release(12), 0);
	ck_assert_uint_eq(said.count, 0); /* keeps warnings */
}
END_TEST

START_TEST(bits_of_before_stay)
{
	set_mode(4);
	run_job(100, 12);
	ck_assert_int_eq(hold(12, "0", 1), 0);
	ck_assert_int_eq(mode(), 5);
	ck_assert_int_eq(release(12), 0);
	ck_assert_int_eq(mode(), 4);
}
END_TEST

START_TEST(steps)
{
	run_job(100, 12);
	ck_assert_int_eq(hold(12, "0", 1), 0);
	ck_assert_int_eq(hold(12, "0", 2), 0);
	ck_assert_int_eq(hold(12, "batch", 4), 0);
	ck_assert_int_eq(mode(), 7);
	ck_assert_int_eq(nr_ledger_release(ctx, 12, "0", T), 0);
	ck_assert_int_eq(mode(), 4);
	ck_assert_int_eq(nr_ledger_release(ctx, 12, "0", T), 0);
	ck_assert_int_eq(mode(), 4);
	ck_assert_int_eq(release(12), 0);
	ck_assert_int_eq(mode(), 0);
}
END_TEST

/* 1 to 256 jobs: the value is the union at each moment. */
START_TEST(union_of_holders)
{
	const unsigned int n = 1u << _i;
	unsigned int bits[3] = { 0 }, left = n, i, k;

	for (i = 0; i < n; i++)
		run_job(1000 + i, i + 1);
	for (i = 0; i < n; i++) {
		bits[i % 3]++;
		ck_assert_int_eq(hold(i + 1, "0", 1u << i % 3), 0);
		ck_assert_int_eq(mode(), (bits[0] > 0) | (bits[1] > 0) << 1 | (bits[2] > 0) << 2);
	}
	/* They end in another order: 97 has no factor in common with a power of two */
	for (k = 0; k < n; k++) {
		i = k * 97 % n;
		bits[i % 3]--;
		left--;
		ck_assert_int_eq(release(i + 1), 0);
		ck_assert_int_eq(mode(), (bits[0] > 0) | (bits[1] > 0) << 1 | (bits[2] > 0) << 2);
		ck_assert_int_eq(exists(LEDGER), left > 0);
	}
}
END_TEST

START_TEST(too_many)
{
	FILE *f;
	int i;

	put_ledger(GOOD);
	f = fopen(path(LEDGER), "w");
	fputs(HEAD ENTRY(0, 1, 1, "ours"), f);
	for (i = 0; i < NR_LEDGER_HOLDERS_MAX; i++)
		fprintf(f, "holder job 12 step s%d wants 1 since 5\n", i);
	fputs("end\n", f);
	fclose(f);
	set_mode(1);
	run_job(100, 12);
	assert_err(hold(12, "0", 2), ENOSPC);
	ck_assert_int_eq(mode(), 1);
	ck_assert_uint_eq(restore(true).dropped, NR_LEDGER_HOLDERS_MAX);
	ck_assert_int_eq(mode(), 0);
	ck_assert(!exists(DIRECTORY "/ledger.bad"));
}
END_TEST

START_TEST(bad_arguments)
{
	static const char *const names[] = {
		"", "a b", "a\nend", "a/b", "..%", "\xff", "12345678901234567890123456789012"
	};
	struct nr_ledger_done done;
	size_t i;

	run_job(100, 12);
	assert_err(nr_ledger_hold(ctx, "drop_caches", 12, "0", 1, T), EINVAL);
	assert_err(nr_ledger_hold(ctx, "../../etc/passwd", 12, "0", 1, T), EINVAL);
	assert_err(hold(12, "0", 0), EINVAL);
	assert_err(hold(12, "0", 8), EINVAL);
	assert_err(hold(12, "0", UINT64_MAX), EINVAL);
	for (i = 0; i < ARRAY_SIZE(names); i++)
		assert_err(hold(12, names[i], 1), EINVAL);
	ck_assert(!exists(DIRECTORY));
	ctx->recorded = true;
	assert_err(hold(12, "0", 1), EROFS);
	assert_err(release(12), EROFS);
	assert_err(nr_ledger_restore(ctx, false, false, T, &done), EROFS);
	ck_assert(!exists(DIRECTORY));
}
END_TEST

/* ---- somebody else */

START_TEST(foreign_value_stands)
{
	run_job(100, 12);
	run_job(101, 13);
	ck_assert_int_eq(hold(12, "0", 1), 0);
	ck_assert_int_eq(hold(13, "0", 1), 0);
	set_mode(_i);
	/* The next who wants bits that are not there cannot have them */
	run_job(102, 14);
	ck_assert_int_eq(hold(14, "0", 1), _i & 1 ? 0 : -EBUSY);
	ck_assert_int_eq(mode(), _i);
	ck_assert_ptr_nonnull(strstr(said.text, "somebody else"));
	said.len = 0;
	said.text[0] = '\0';
	ck_assert_int_eq(release(12), 0);
	ck_assert_int_eq(release(13), 0);
	ck_assert_int_eq(mode(), _i);
	ck_assert(!exists(LEDGER));
	ck_assert_ptr_null(strstr(said.text, "somebody else")); /* once */
	/* Theirs is what is restored from then on */
	ck_assert_int_eq(hold(14, "0", 1), 0);
	ck_assert_int_eq(mode(), _i | 1);
	ck_assert_int_eq(release(14), 0);
	ck_assert_int_eq(mode(), _i);
}
END_TEST

START_TEST(unknown_value)
{
	set_mode(9);
	run_job(100, 12);
	assert_err(hold(12, "0", 1), EBUSY);
	ck_assert_int_eq(mode(), 9);
	ck_assert(!exists(LEDGER));
}
END_TEST

START_TEST(not_available)
{
	run_job(100, 12);
	ck_assert_int_eq(hold(12, "0", 1), 0);
	drop(root, MODE);
	ck_assert_int_eq(release(12), 0);
	ck_assert(!exists(LEDGER));
	assert_err(hold(12, "0", 1), EOPNOTSUPP);
	ck_assert(!exists(LEDGER));
	ck_assert(!exists(MODE));
}
END_TEST

/* ---- who was killed in between */

START_TEST(pending)
{
	static const struct {
		const char *ledger;
		int now, after;
	} cases[] = {
		{ HEAD ENTRY(0, 0, 1, "pending") HOLDER(12, 1) "end\n", 0, 1 },
		{ HEAD ENTRY(0, 0, 1, "pending") HOLDER(12, 1) "end\n", 1, 1 },
		{ HEAD ENTRY(0, 0, 1, "pending") HOLDER(12, 1) "end\n", 2, 2 },
		{ HEAD ENTRY(0, 1, 3, "pending") HOLDER(12, 3) "end\n", 1, 3 },
		{ HEAD ENTRY(0, 3, 1, "pending") HOLDER(12, 1) "end\n", 3, 1 },
		{ HEAD ENTRY(0, 1, 0, "pending") "end\n", 1, 0 },
		{ HEAD ENTRY(0, 1, 0, "pending") "end\n", 0, 0 },
		{ HEAD ENTRY(0, 1, 0, "pending") "end\n", 4, 4 },
		{ HEAD ENTRY(4, 5, 4, "pending") "end\n", 5, 4 },
	};
	const bool held = strstr(cases[_i].ledger, "holder");

	put_ledger(cases[_i].ledger);
	set_mode(cases[_i].now);
	run_job(100, 12);
	ck_assert_uint_eq(restore(false).left, held);
	ck_assert_int_eq(mode(), cases[_i].after);
	ck_assert_int_eq(exists(LEDGER), held);
	ck_assert(!exists(DIRECTORY "/ledger.bad"));
	/* And a second time */
	restore(false);
	ck_assert_int_eq(mode(), cases[_i].after);
	ck_assert_int_eq(release(12), 0);
	ck_assert(!exists(LEDGER));
}
END_TEST

START_TEST(leftover_new_file)
{
	put_ledger(GOOD);
	set_mode(1);
	put(root, LEDGER ".new", HEAD "half");
	run_job(100, 12);
	ck_assert_int_eq(hold(12, "1", 2), 0);
	ck_assert_int_eq(mode(), 3);
	ck_assert(!exists(LEDGER ".new"));
}
END_TEST

START_TEST(dry_run)
{
	struct nr_ledger_done done;
	char *ledger;

	put_ledger(GOOD);
	set_mode(1);
	ctx->recorded = true;
	ck_assert_int_eq(nr_ledger_restore(ctx, false, true, T, &done), 0);
	ck_assert_uint_eq(done.dropped, 1);
	ck_assert_uint_eq(done.restored, 1);
	ck_assert_uint_eq(done.left, 0);
	ck_assert_int_eq(mode(), 1);
	ledger = get(root, LEDGER);
	ck_assert_str_eq(ledger, GOOD);
	free(ledger);
	put_ledger("nonsense\n");
	ck_assert_int_eq(nr_ledger_restore(ctx, false, true, T, &done), 0);
	ck_assert(exists(LEDGER));
	ck_assert(!exists(DIRECTORY "/ledger.lock"));
}
END_TEST

/* ---- files that are not believed */

/* Restores, which must leave the setting and move the file aside. */
static void not_believed(void)
{
	size_t before = said.count;

	ck_assert_uint_eq(restore(true).restored, 0);
	ck_assert_int_eq(mode(), 3);
	ck_assert(!exists(LEDGER));
	ck_assert(exists(DIRECTORY "/ledger.bad"));
	ck_assert_uint_eq(said.count, before + 1);
	drop(root, DIRECTORY "/ledger.bad");
}

START_TEST(nonsense)
{
	static const char *const ledgers[] = {
		"",
		"\n",
		"end\n",
		"nodereclaim ledger 0\nboot " BOOT_ID "\nend\n",
		"nodereclaim ledger 1\nend\n",
		"nodereclaim ledger 1\nboot \nend\n",
		"nodereclaim ledger 1\nboot ../../../../etc/passwd\nend\n",
		HEAD,
		HEAD "end",
		HEAD "end\n\n",
		HEAD "end\nend\n",
		HEAD "boot " BOOT_ID "\nend\n",
		" " GOOD,
		GOOD "#",
		HEAD HOLDER(12, 1) "end\n",
		/* Values and names that are not ours */
		HEAD ENTRY(0, 1, 9, "ours") HOLDER(12, 9) "end\n",
		HEAD ENTRY(8, 8, 9, "ours") HOLDER(12, 1) "end\n",
		HEAD ENTRY(-1, 1, 1, "ours") HOLDER(12, 1) "end\n",
		HEAD ENTRY(00, 1, 1, "ours") HOLDER(12, 1) "end\n",
		HEAD ENTRY(0x0, 1, 1, "ours") HOLDER(12, 1) "end\n",
		HEAD ENTRY(0, 18446744073709551616, 1, "ours") HOLDER(12, 1) "end\n",
		HEAD ENTRY(0, 3, 3, "ours") "end\n",
		HEAD ENTRY(0, 3, 3, "ours") HOLDER(12, 1) "end\n",
		HEAD ENTRY(0, 3, 3, "pending") HOLDER(12, 1) "end\n",
		HEAD ENTRY(0, 3, 3, "mine") HOLDER(12, 3) "end\n",
		HEAD ENTRY(0, 3, 3, "ours") HOLDER(12, 0) HOLDER(13, 3) "end\n",
		HEAD ENTRY(0, 3, 3, "ours") HOLDER(4294967296, 3) "end\n",
		HEAD ENTRY(0, 3, 3, "ours") HOLDER(12, 3) HOLDER(12, 3) "end\n",
		HEAD ENTRY(0, 3, 3, "ours") HOLDER(12, 3) ENTRY(0, 3, 3, "ours") "end\n",
		HEAD ENTRY(0, 3, 3, "ours") "holder job 12 step a/b wants 3 since 5\nend\n",
		HEAD ENTRY(0, 3, 3, "ours") "holder job 12 step  0 wants 3 since 5\nend\n",
		HEAD "setting drop_caches before 0 from 1 set 1 ours\n" HOLDER(12, 1) "end\n",
		HEAD "setting ../vm/x before 0 from 1 set 1 ours\n" HOLDER(12, 1) "end\n",
	};

	set_mode(3);
	put_ledger(ledgers[_i]);
	not_believed();
}
END_TEST

static void put_bytes(const char *bytes, size_t n)
{
	FILE *f;

	put_ledger("");
	f = fopen(path(LEDGER), "w");
	ck_assert_uint_eq(fwrite(bytes, 1, n, f), n);
	fclose(f);
}

START_TEST(truncated)
{
	size_t n;

	set_mode(3);
	for (n = 0; n + 1 < sizeof(GOOD); n++) {
		put_bytes(GOOD, n);
		not_believed();
	}
}
END_TEST

START_TEST(random_bytes)
{
	char bytes[600] = { 0 };
	int round;
	size_t i, n;

	set_mode(3);
	srandom(1);
	for (round = 0; round < (getenv("NR_FEW") ? 30 : 300); round++) {
		n = (size_t)random() % sizeof(bytes);
		for (i = 0; i < n; i++)
			bytes[i] = (char)random();
		put_bytes(bytes, n);
		not_believed();
	}
}
END_TEST

/* One bit wrong: not believed, or another ledger that makes sense, and nothing else is written. */
START_TEST(one_bit)
{
	struct nr_ledger_done done;
	char bytes[] = GOOD;
	size_t bit;
	int err;

	for (bit = 0; bit < 8 * (sizeof(GOOD) - 1); bit++) {
		bytes[bit / 8] = (char)(bytes[bit / 8] ^ 1 << bit % 8);
		put_bytes(bytes, sizeof(GOOD) - 1);
		set_mode(1);
		err = nr_ledger_restore(ctx, true, false, T, &done);
		ck_assert(err == 0 || err == -EPROTO);
		ck_assert(mode() == 1 || mode() == 0 || strstr(bytes, "before 1") ||
			  mode() == (bytes[strlen(HEAD) + 33] & 7));
		bytes[bit / 8] = GOOD[bit / 8];
	}
}
END_TEST

START_TEST(too_long)
{
	char *bytes = malloc(NR_LEDGER_BYTES_MAX + 1);

	set_mode(3);
	memset(bytes, 'x', NR_LEDGER_BYTES_MAX + 1);
	put_bytes(bytes, NR_LEDGER_BYTES_MAX + 1);
	free(bytes);
	not_believed();
}
END_TEST

START_TEST(later_release)
{
	static const char later[] = "nodereclaim ledger 2\nanything\n";
	struct nr_ledger_done done;
	struct nr_ledger *ledger;
	char *now;

	set_mode(3);
	put_ledger(later);
	run_job(100, 12);
	assert_err(hold(12, "0", 1), EPROTO);
	assert_err(release(12), EPROTO);
	assert_err(nr_ledger_restore(ctx, true, false, T, &done), EPROTO);
	assert_err(nr_ledger_read(ctx, &ledger), EPROTO);
	ck_assert_int_eq(mode(), 3);
	now = get(root, LEDGER);
	ck_assert_str_eq(now, later);
	free(now);
}
END_TEST

START_TEST(other_boot)
{
	struct nr_ledger *ledger;

	put_ledger(GOOD);
	put(root, BOOT, "fedcba98-89ab-cdef-0123-456789abcdef\n");
	set_mode(3);
	ck_assert_int_eq(nr_ledger_read(ctx, &ledger), 0);
	ck_assert_uint_eq(nr_ledger_count(ledger), 0);
	nr_ledger_free(ledger);
	ck_assert_uint_eq(restore(true).dropped, 0);
	ck_assert_int_eq(mode(), 3);
	ck_assert(!exists(LEDGER));
	drop(root, BOOT);
	assert_err(hold(12, "0", 1), EOPNOTSUPP);
	ck_assert_int_eq(mode(), 3);
}
END_TEST

START_TEST(odd_files)
{
	set_mode(3);
	put_ledger(GOOD);
	ck_assert_int_eq(chmod(path(LEDGER), 0620), 0);
	not_believed();

	put_ledger(GOOD);
	ck_assert_int_eq(rename(path(LEDGER), text("%s/x", root)), 0);
	ck_assert_int_eq(symlink("../../x", path(LEDGER)), 0);
	not_believed();
	ck_assert_int_eq(link(text("%s/x", root), path(LEDGER)), 0);
	not_believed();

	ck_assert_int_eq(mkfifo(path(LEDGER), 0600), 0);
	not_believed();
	folder(LEDGER);
	not_believed();

	if (geteuid()) {
		puts("skipped: a ledger of another user's: needs root");
		return;
	}
	put_ledger(GOOD);
	ck_assert_int_eq(chown(path(LEDGER), 65534, 0), 0);
	not_believed();
}
END_TEST

/* No folder or lock of others is used: nothing is done, and one line says so. */
static void refused(int code)
{
	said.count = 0;
	ck_assert_int_eq(hold(12, "0", 1), -code);
	ck_assert_uint_eq(said.count, 1);
	ck_assert_int_eq(mode(), 0);
}

START_TEST(odd_folders)
{
	run_job(100, 12);
	folder("elsewhere");
	ck_assert_int_eq(symlink("../elsewhere", path(DIRECTORY)), 0);
	refused(ENOTDIR);
	ck_assert_int_eq(unlink(path(DIRECTORY)), 0);

	folder(DIRECTORY);
	ck_assert_int_eq(chmod(path(DIRECTORY), 0755), 0);
	refused(EPERM);
	ck_assert_int_eq(chmod(path(DIRECTORY), 0700), 0);
	ck_assert_int_eq(chmod(path("run"), 01777), 0);
	refused(EPERM);
	ck_assert_int_eq(chmod(path("run"), 0755), 0);

	ck_assert_int_eq(symlink("../../elsewhere/lock", path(LEDGER ".lock")), 0);
	refused(ELOOP);
	ck_assert(!exists("elsewhere/lock"));
	ck_assert_int_eq(unlink(path(LEDGER ".lock")), 0);
	if (!geteuid()) {
		ck_assert_int_eq(chown(path(DIRECTORY), 65534, 0), 0);
		refused(EPERM);
		ck_assert_int_eq(chown(path(DIRECTORY), 0, 0), 0);
	}
	ck_assert_int_eq(rename(path("run"), text("%s/walk", root)), 0);
	ck_assert_int_eq(symlink("walk", path("run")), 0);
	refused(ENOTDIR);
}
END_TEST

START_TEST(lock_held)
{
	struct nr_ledger_done done;
	uint64_t start;
	int fd;

	put_ledger(GOOD);
	set_mode(1);
	fd = open(path(LEDGER ".lock"), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	ck_assert_int_eq(flock(fd, LOCK_EX), 0);
	start = now_ms();
	assert_err(nr_ledger_restore(ctx, true, false, 200, &done), ETIME);
	ck_assert_uint_ge(now_ms() - start, 200);
	ck_assert_int_eq(mode(), 1);
	close(fd);
	ck_assert_uint_eq(restore(true).dropped, 1);
	ck_assert_int_eq(mode(), 0);
}
END_TEST

/* ---- jobs that have ended */

START_TEST(sweep)
{
	static const struct {
		const char *cgroup, *comm, *status, *cmdline;
		bool running;
	} cases[] = {
		{ "4:cpuset:/\n2:freezer:/slurm/uid_1000/job_12/step_0/task_0\n0::/\n", "a\n", NULL,
		  NULL, true },
		{ "2:freezer:/slurm_n0/uid_0/job_12\n", "a\n", NULL, NULL, true },
		{ "0::/system.slice/slurmstepd.scope/job_12/step_batch/user/task_0\n", "a\n", NULL,
		  NULL, true },
		{ "0::/x/system.slice/n0_slurmstepd.scope/job_12/step_0\n", "a\n", NULL, NULL,
		  true },
		{ "0::/\n", "slurmstepd\n", "Name:\tslurmstepd\nUid:\t0\t1000\t0\t1000\n",
		  "slurmstepd: [12.extern]", true },
		{ "0::/\n", "slurmstepd\n", "Uid:\t0\t0\t0\t0\n", "slurmstepd: [12.0]", true },
		/* Others */
		{ "2:freezer:/slurm/uid_1000/job_121/step_0\n", "a\n", NULL, NULL, false },
		{ "2:freezer:/slurm/uid_1000/job_12x/step_0\n", "a\n", NULL, NULL, false },
		{ "2:freezer:/slurm/uid_1000/job_4294967308/step_0\n", "a\n", NULL, NULL, false },
		{ "0::/\n", "slurmstepd\n", "Uid:\t0\t0\t0\t0\n", "slurmstepd: [121.0]", false },
		{ "0::/\n", "slurmstepd\n", "Uid:\t0\t0\t0\t0\n", "/usr/sbin/slurmstepd", false },
		{ "0::/job_12\n", "a\n", NULL, NULL, false },
		{ "", "a\n", NULL, NULL, false },
		/* What users can make */
		{ "0::/user.slice/user-1000.slice/slurmstepd.scope/job_12\n", "a\n", NULL, NULL,
		  false },
		{ "0::/\n", "slurmstepd\n", "Uid:\t1000\t0\t0\t0\n", "slurmstepd: [12.0]", false },
		{ "0::/\n", "slurm\n", "Uid:\t0\t0\t0\t0\n", "slurmstepd: [12.0]", false },
	};

	put_ledger(GOOD);
	set_mode(1);
	folder("proc/100");
	put(root, "proc/100/cgroup", cases[_i].cgroup);
	put(root, "proc/100/comm", cases[_i].comm);
	if (cases[_i].status)
		put(root, "proc/100/status", cases[_i].status);
	if (cases[_i].cmdline)
		put(root, "proc/100/cmdline", cases[_i].cmdline);
	ck_assert_uint_eq(restore(false).left, cases[_i].running);
	ck_assert_int_eq(mode(), cases[_i].running);
}
END_TEST

START_TEST(swept_by_all)
{
	run_job(100, 12);
	run_job(101, 13);
	ck_assert_int_eq(hold(12, "0", 4), 0);
	end_job(100);
	ck_assert_int_eq(hold(13, "0", 1), 0);
	ck_assert_int_eq(mode(), 1);
	end_job(101);
	ck_assert_int_eq(release(14), 0);
	ck_assert_int_eq(mode(), 0);
	ck_assert(!exists(LEDGER));
}
END_TEST

/* If it cannot be told whose jobs have ended, all are kept. */
START_TEST(cannot_look)
{
	struct nr_ledger_done done;

	put_ledger(GOOD);
	set_mode(1);
	folder("proc/100/cgroup"); /* fails to be read */
	ck_assert_int_lt(nr_ledger_restore(ctx, false, false, T, &done), 0);
	ck_assert_int_eq(mode(), 1);
	ck_assert_uint_eq(done.left, 1);
	drop(root, "proc/100");
	ck_assert_uint_eq(restore(false).left, 0);
	ck_assert_int_eq(mode(), 0);
}
END_TEST

Suite *suite(void)
{
	Suite *s = suite_create("ledger");
	TCase *t = unit_case("ledger");
	const bool few = getenv("NR_FEW") != NULL; /* valgrind is slow */

	tcase_add_checked_fixture(t, begin, finish);
	tcase_add_test(t, one_holder);
	tcase_add_test(t, bits_of_before_stay);
	tcase_add_test(t, steps);
	tcase_add_loop_test(t, union_of_holders, 0, few ? 5 : 9);
	tcase_add_test(t, too_many);
	tcase_add_test(t, bad_arguments);
	tcase_add_loop_test(t, foreign_value_stands, 2, 8);
	tcase_add_test(t, unknown_value);
	tcase_add_test(t, not_available);
	tcase_add_loop_test(t, pending, 0, 9);
	tcase_add_test(t, leftover_new_file);
	tcase_add_test(t, dry_run);
	tcase_add_loop_test(t, nonsense, 0, 33);
	tcase_add_test(t, truncated);
	tcase_add_test(t, random_bytes);
	tcase_add_test(t, one_bit);
	tcase_add_test(t, too_long);
	tcase_add_test(t, later_release);
	tcase_add_test(t, other_boot);
	tcase_add_test(t, odd_files);
	tcase_add_test(t, odd_folders);
	tcase_add_test(t, lock_held);
	tcase_add_loop_test(t, sweep, 0, 16);
	tcase_add_test(t, swept_by_all);
	tcase_add_test(t, cannot_look);
	suite_add_tcase(s, t);
	return s;
}
