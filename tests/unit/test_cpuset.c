// SPDX-License-Identifier: GPL-2.0-or-later
/* nr_binding_from_cpuset() on the running system: libcgroup reads no recorded trees. */
#include "unit.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static char cpuset[128]; /* the folder that a test made */

static void remove_cpuset(void)
{
	if (cpuset[0])
		rmdir(cpuset);
	cpuset[0] = '\0';
}

static bool write_file(const char *name, const char *text)
{
	char path[256];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "%s/%s", cpuset, name);
	fd = open(path, O_WRONLY);
	if (fd < 0)
		return false;
	n = write(fd, text, strlen(text));
	close(fd);
	return n == (ssize_t)strlen(text);
}

static const char *mount_point(void)
{
	if (!access("/sys/fs/cgroup/cpuset/cpuset.cpus", F_OK))
		return "/sys/fs/cgroup/cpuset";
	if (!access("/sys/fs/cgroup/cpuset.cpus.effective", F_OK))
		return "/sys/fs/cgroup";
	return NULL;
}

/* The root has every online CPU. */
START_TEST(root)
{
	struct nr_binding *all, *binding;
	char online[65536];
	struct nr_ctx *ctx;

	if (!mount_point()) {
		puts("skipped: cpuset: no cpuset controller is mounted below /sys/fs/cgroup");
		return;
	}
	ck_assert_int_eq(nr_open(&ctx, NULL), 0);
	ck_assert_int_eq(nr_binding_from_nodes(ctx, NULL, &all), 0);
	ck_assert_int_eq(nr_binding_from_cpuset(ctx, "/", &binding), 0);
	nr_set_format(all->cpus, online, sizeof(online));
	assert_set(binding->cpus, online);
	nr_binding_free(all);
	nr_binding_free(binding);
	nr_close(ctx);
}
END_TEST

/* A cpuset with one CPU. */
START_TEST(one_cpu)
{
	const char *mount = mount_point();
	struct nr_binding *binding;
	struct nr_ctx *ctx;

	if (!mount || geteuid()) {
		puts("skipped: cpuset: making a cpuset needs root and a mounted controller");
		return;
	}
	snprintf(cpuset, sizeof(cpuset), "%s/nr-unit-%d", mount, (int)getpid());
	ck_assert_int_eq(mkdir(cpuset, 0755), 0);
	if (!write_file("cpuset.mems", "0") || !write_file("cpuset.cpus", "0")) {
		puts("skipped: cpuset: this cpuset cannot be configured");
		remove_cpuset();
		return;
	}
	ck_assert_int_eq(nr_open(&ctx, NULL), 0);
	ck_assert_int_eq(nr_binding_from_cpuset(ctx, cpuset + strlen(mount), &binding), 0);
	assert_set(binding->cpus, "0");
	assert_set(binding->nodes, "0");
	nr_binding_free(binding);
	nr_close(ctx);
	remove_cpuset();
}
END_TEST

Suite *suite(void)
{
	Suite *s = suite_create("cpuset");
	TCase *t = unit_case("cpuset");

	tcase_add_unchecked_fixture(t, NULL, remove_cpuset);
	tcase_add_test(t, root);
	tcase_add_test(t, one_cpu);
	suite_add_tcase(s, t);
	return s;
}
