// SPDX-License-Identifier: GPL-2.0-or-later
#include "unit.h"

#include <ctype.h>
#include <fcntl.h>
#include <ftw.h>
#include <sys/stat.h>
#include <unistd.h>

static char copies[16][64];
static size_t ncopies;

static int remove_one(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
	(void)st;
	(void)flag;
	(void)ftw;
	return remove(path);
}

static void remove_copies(void)
{
	while (ncopies)
		nftw(copies[--ncopies], remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

TCase *unit_case(const char *name)
{
	TCase *t = tcase_create(name);

	tcase_add_checked_fixture(t, NULL, remove_copies);
	tcase_set_timeout(t, 120);
	return t;
}

const char *tree(const char *name)
{
	static char path[4096];
	const char *roots = getenv("NR_ROOTS");

	ck_assert_msg(roots != NULL, "NR_ROOTS is not set: the folder that roots/generate filled");
	snprintf(path, sizeof(path), "%s/%s", roots, name);
	ck_assert_msg(access(path, X_OK) == 0, "%s: %s", path, strerror(errno));
	return path;
}

struct nr_ctx *open_tree(const char *name)
{
	struct nr_ctx *ctx;

	ck_assert_int_eq(nr_open(&ctx, name[0] == '/' ? name : tree(name)), 0);
	return ctx;
}

static const char *copy_from, *copy_to;

static int copy_one(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
	char to[4096], buf[65536];
	ssize_t n;
	int in, out;

	(void)st;
	(void)ftw;
	snprintf(to, sizeof(to), "%s%s", copy_to, path + strlen(copy_from));
	if (flag == FTW_D)
		return mkdir(to, 0755) && errno != EEXIST ? -1 : 0;
	in = open(path, O_RDONLY);
	out = open(to, O_WRONLY | O_CREAT | O_TRUNC, 0644);
	while ((n = read(in, buf, sizeof(buf))) > 0)
		ck_assert_int_eq(write(out, buf, (size_t)n), n);
	close(in);
	close(out);
	return n == 0 ? 0 : -1;
}

char *copy_tree(const char *name)
{
	const char *tmp = getenv("TMPDIR");
	char *copy = copies[ncopies];

	ck_assert_uint_lt(ncopies, ARRAY_SIZE(copies));
	snprintf(copy, sizeof(copies[0]), "%.40s/nr-unit-XXXXXX", tmp ? tmp : "/tmp");
	ck_assert_ptr_nonnull(mkdtemp(copy));
	if (!ncopies++)
		atexit(remove_copies);
	copy_from = tree(name);
	copy_to = copy;
	ck_assert_int_eq(nftw(copy_from, copy_one, 16, FTW_PHYS), 0);
	return copy;
}

void put(const char *root, const char *file, const char *text)
{
	char path[4096];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", root, file);
	f = fopen(path, "w");
	ck_assert_msg(f != NULL, "%s: %s", path, strerror(errno));
	ck_assert_int_ge(fputs(text, f), 0);
	ck_assert_int_eq(fclose(f), 0);
}

void drop(const char *root, const char *file)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/%s", root, file);
	ck_assert_int_eq(nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS), 0);
}

char *get(const char *root, const char *file)
{
	char path[4096], *text = NULL;
	size_t size = 0;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", root, file);
	f = fopen(path, "r");
	ck_assert_msg(f != NULL, "%s: %s", path, strerror(errno));
	if (getdelim(&text, &size, '\0', f) < 0)
		text[0] = '\0';
	fclose(f);
	return text;
}

void put_line(const char *root, const char *file, const char *start, const char *line)
{
	char *text = get(root, file), *new, *at = text, *rest;

	while (strncmp(at, start, strlen(start))) {
		at = strchrnul(at, '\n');
		if (!*at)
			ck_abort_msg("%s has no line '%s'", file, start);
		at++;
	}
	rest = strchr(at, '\n');
	ck_assert_int_ge(asprintf(&new, "%.*s%s%s", (int)(at - text), text, line ? line : "",
				  line ? rest : rest + 1),
			 0);
	put(root, file, new);
	free(new);
	free(text);
}

static void keep_one(void *data, int priority, const char *message)
{
	struct messages *m = data;

	(void)priority;
	ck_assert_msg(!strchr(message, '\n'), "a message of more than one line: %s", message);
	if (m->len < sizeof(m->text))
		m->len += (size_t)snprintf(m->text + m->len, sizeof(m->text) - m->len, "%s\n",
					   message);
	m->count++;
}

void keep_messages(struct nr_ctx *ctx, struct messages *messages)
{
	memset(messages, 0, sizeof(*messages));
	nr_set_log(ctx, keep_one, messages, LOG_WARNING);
}

struct nr_snapshot *snapshot_of(const char *root)
{
	struct nr_ctx *ctx = open_tree(root);
	struct nr_snapshot *snap;

	ck_assert_int_eq(nr_snapshot_take(ctx, &snap), 0);
	nr_close(ctx);
	return snap;
}

uint64_t value_of(const struct nr_snapshot *snap, int nid, enum nr_counter counter)
{
	const struct nr_node *node = nr_snapshot_find(snap, nid);
	uint64_t v;

	ck_assert_msg(node != NULL, "NUMA node %d is missing", nid);
	ck_assert_msg(nr_node_get(node, counter, &v), "NUMA node %d: no %s", nid,
		      nr_counter_name(counter));
	return v;
}

struct nr_binding *binding_of(const char *root, const char *nodes)
{
	struct nr_ctx *ctx = open_tree(root);
	struct nr_binding *binding;

	ck_assert_int_eq(nr_binding_from_nodes(ctx, nodes, &binding), 0);
	nr_close(ctx);
	return binding;
}

struct nr_spec *spec_of(const char *text)
{
	struct nr_spec *spec;
	char err[256];

	ck_assert_msg(nr_spec_parse(text, &spec, err, sizeof(err)) == 0, "%s", err);
	return spec;
}

/* ---- a JSON checker, RFC 8259 without the depth */

static const char *skip_blank(const char *p)
{
	return p + strspn(p, " \t\n\r");
}

static const char *json_string(const char *p)
{
	if (*p++ != '"')
		return NULL;
	for (; *p != '"'; p++) {
		if ((unsigned char)*p < ' ')
			return NULL;
		if (*p == '\\' && !strchr("\"\\/bfnrtu", *++p))
			return NULL;
	}
	return p + 1;
}

static const char *json_number(const char *p)
{
	size_t n;

	p += *p == '-';
	n = strspn(p, "0123456789");
	if (!n || (*p == '0' && n > 1))
		return NULL;
	p += n;
	if (*p == '.') {
		n = strspn(++p, "0123456789");
		if (!n)
			return NULL;
		p += n;
	}
	return p;
}

static const char *json_value(const char *p);

static const char *json_group(const char *p, char end)
{
	p = skip_blank(p + 1);
	if (*p == end)
		return p + 1;
	for (;;) {
		if (end == '}') {
			p = json_string(skip_blank(p));
			if (!p || *(p = skip_blank(p)) != ':')
				return NULL;
			p++;
		}
		p = json_value(p);
		if (!p)
			return NULL;
		p = skip_blank(p);
		if (*p == end)
			return p + 1;
		if (*p++ != ',')
			return NULL;
	}
}

static const char *json_value(const char *p)
{
	static const char *const words[] = { "true", "false", "null" };
	size_t i;

	p = skip_blank(p);
	if (*p == '{')
		return json_group(p, '}');
	if (*p == '[')
		return json_group(p, ']');
	if (*p == '"')
		return json_string(p);
	for (i = 0; i < ARRAY_SIZE(words); i++)
		if (!strncmp(p, words[i], strlen(words[i])))
			return p + strlen(words[i]);
	return json_number(p);
}

bool json_ok(const char *text)
{
	const char *end = json_value(text);

	return end && !*skip_blank(end);
}

int main(void)
{
	SRunner *runner = srunner_create(suite());
	int failed;

	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
