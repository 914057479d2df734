// SPDX-License-Identifier: GPL-2.0-or-later
#include "config.h"

#include "slurmconf.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_MAX (16 << 20)
#define DEPTH_MAX 8	  /* includes within includes */
#define INCLUDES_MAX 1000 /* in all, so that files that include each other end */

struct reader {
	/* Gets one line without comment, with continuation lines joined. Return: 0 or -errno. */
	int (*fn)(void *data, const char *file, unsigned int line, char *text);
	void *data;
	struct conf_problem *problem;
	/* slurm.conf joins lines, ignores case, and knows \#; plugstack.conf does not */
	bool slurm_syntax;
	unsigned int includes;
};

int conf_open(const char *path)
{
	struct stat st;
	int fd, error = 0;

	/* Links are normal here: configuration is often kept on a shared file system */
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) < 0)
		error = -errno;
	else if (!S_ISREG(st.st_mode))
		error = -EINVAL;
	else if (st.st_size > FILE_MAX)
		error = -EFBIG;
	if (error) {
		close(fd);
		return error;
	}
	return fd;
}

bool conf_beside(const char *path, const char *name, char out[PATH_MAX])
{
	const char *slash = strrchr(path, '/');
	int len = slash && *name != '/' ? (int)(slash + 1 - path) : 0;

	return snprintf(out, PATH_MAX, "%.*s%s", len, path, name) < PATH_MAX;
}

static void note_problem(struct conf_problem *problem, const char *file, int error)
{
	if (problem->error)
		return;
	problem->error = error;
	snprintf(problem->file, sizeof(problem->file), "%s", file);
}

static char *trim(char *text)
{
	size_t len;

	text += strspn(text, " \t");
	len = strlen(text);
	while (len && isspace((unsigned char)text[len - 1]))
		text[--len] = '\0';
	return text;
}

static void cut_comment(char *text, bool escapes)
{
	for (char *p = text; *p; p++) {
		if (escapes && *p == '\\' && p[1] == '#')
			p++;
		else if (*p == '#')
			*p = '\0';
		if (!*p)
			break;
	}
}

static int read_file(struct reader *reader, const char *path, unsigned int depth);

static int include(struct reader *reader, const char *from, const char *name, unsigned int depth)
{
	char pattern[PATH_MAX];
	glob_t found;
	int rc = 0;

	if (!conf_beside(from, name, pattern)) {
		note_problem(reader->problem, name, -ENAMETOOLONG);
		return 0;
	}
	if (depth >= DEPTH_MAX || reader->includes++ >= INCLUDES_MAX) {
		note_problem(reader->problem, pattern, -ELOOP);
		return 0;
	}
	switch (glob(pattern, 0, NULL, &found)) {
	case 0:
		for (size_t i = 0; i < found.gl_pathc && rc == 0; i++)
			rc = read_file(reader, found.gl_pathv[i], depth + 1);
		globfree(&found);
		return rc;
	case GLOB_NOMATCH: /* no match is fine for a pattern, not for a name */
		if (!strpbrk(pattern, "*?["))
			note_problem(reader->problem, pattern, -ENOENT);
		return 0;
	case GLOB_NOSPACE:
		return -ENOMEM;
	default:
		note_problem(reader->problem, pattern, -EIO);
		return 0;
	}
}

static int one_line(struct reader *reader, const char *path, unsigned int number, char *text,
		    unsigned int depth)
{
	bool is_include;

	text = trim(text);
	is_include = reader->slurm_syntax ? !strncasecmp(text, "include", 7)
					  : !strncmp(text, "include", 7);
	if (is_include && (text[7] == ' ' || text[7] == '\t'))
		return include(reader, path, trim(text + 7), depth);
	return *text ? reader->fn(reader->data, path, number, text) : 0;
}

static int append(char **joined, const char *text)
{
	size_t old = *joined ? strlen(*joined) : 0, len = strlen(text);
	char *grown;

	if (old + len > FILE_MAX)
		return -EFBIG;
	grown = realloc(*joined, old + len + 1);
	if (!grown)
		return -ENOMEM;
	memcpy(grown + old, text, len + 1);
	*joined = grown;
	return 0;
}

static int read_lines(struct reader *reader, const char *path, FILE *file, unsigned int depth)
{
	char *line = NULL, *joined = NULL;
	unsigned int number = 0;
	size_t size = 0;
	int rc = 0;

	while (rc == 0 && getline(&line, &size, file) >= 0) {
		size_t len;

		number++;
		cut_comment(line, reader->slurm_syntax);
		len = strlen(line);
		while (len && (line[len - 1] == '\n' || line[len - 1] == '\r'))
			line[--len] = '\0';
		if (reader->slurm_syntax && len && line[len - 1] == '\\') {
			line[len - 1] = '\0';
			rc = append(&joined, line);
			continue;
		}
		if (joined) {
			rc = append(&joined, line);
			if (rc == 0)
				rc = one_line(reader, path, number, joined, depth);
			free(joined);
			joined = NULL;
		} else {
			rc = one_line(reader, path, number, line, depth);
		}
	}
	if (rc == 0 && joined)
		rc = one_line(reader, path, number, joined, depth);
	if (rc == 0 && ferror(file))
		note_problem(reader->problem, path, -EIO);
	free(joined);
	free(line);
	return rc;
}

/* A file that cannot be read is noted, and reading goes on. */
static int read_file(struct reader *reader, const char *path, unsigned int depth)
{
	int fd = conf_open(path), rc;
	FILE *file;

	if (fd < 0) {
		note_problem(reader->problem, path, fd);
		return 0;
	}
	file = fdopen(fd, "r");
	if (!file) {
		close(fd);
		return -ENOMEM;
	}
	rc = read_lines(reader, path, file, depth);
	fclose(file);
	if (rc == -ENOMEM || rc == 0)
		return rc;
	note_problem(reader->problem, path, rc);
	return 0;
}

/* Takes "Key = value" or "Key=\"a value\"" off the text: false when there is none left. */
static bool next_pair(char **text, char **key, char **value)
{
	char *p = *text, *end;

	p += strspn(p, " \t");
	*key = p;
	while (isalnum((unsigned char)*p) || *p == '_' || *p == '.')
		p++;
	end = p;
	p += strspn(p, " \t");
	if (*p && strchr("-+*/", *p)) /* Slurm's "Key+=value" */
		p++;
	if (end == *key || *p != '=')
		return false;
	p++;
	*end = '\0';
	p += strspn(p, " \t");
	if (*p == '"') {
		*value = ++p;
		p += strcspn(p, "\"");
	} else {
		*value = p;
		p += strcspn(p, " \t");
	}
	if (*p)
		*p++ = '\0';
	*text = p;
	return true;
}

static int slurm_line(void *data, const char *file, unsigned int line, char *text)
{
	struct slurm_conf *conf = data;
	const struct {
		const char *key;
		char **value;
	} keys[] = {
		{ "PlugStackConfig", &conf->plugstack },
		{ "PluginDir", &conf->plugin_dir },
		{ "Prolog", &conf->prolog },
		{ "Epilog", &conf->epilog },
		{ "TaskPlugin", &conf->task_plugin },
		{ "ConstrainCores", &conf->constrain_cores },
	};
	char *key, *value;

	(void)file;
	(void)line;
	while (next_pair(&text, &key, &value)) {
		for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
			int rc = 0;

			if (strcasecmp(key, keys[i].key))
				continue;
			if (*keys[i].value)
				rc = append(keys[i].value, ",");
			if (rc == 0)
				rc = append(keys[i].value, value);
			if (rc < 0)
				return rc;
		}
	}
	return 0;
}

int slurm_conf_read(const char *path, struct slurm_conf *conf)
{
	struct reader reader = {
		.fn = slurm_line, .data = conf, .problem = &conf->problem, .slurm_syntax = true
	};

	memset(conf, 0, sizeof(*conf));
	return read_file(&reader, path, 0);
}

void slurm_conf_free(struct slurm_conf *conf)
{
	free(conf->plugstack);
	free(conf->plugin_dir);
	free(conf->prolog);
	free(conf->epilog);
	free(conf->task_plugin);
	free(conf->constrain_cores);
}

/* "optional spank_nodereclaim.so default=auto helper=/path" */
static int plugstack_line(void *data, const char *file, unsigned int line, char *text)
{
	struct plugstack_entry *entry = data;
	char *save, *how, *plugin, *name, *arg;

	how = strtok_r(text, " \t", &save);
	plugin = strtok_r(NULL, " \t", &save);
	if (!how || !plugin)
		return 0;
	name = strrchr(plugin, '/');
	if (strcmp(name ? name + 1 : plugin, PLUGIN_FILE))
		return 0;
	if (entry->count++)
		return 0;
	entry->found = true;
	entry->required = !strcmp(how, "required");
	entry->optional = !strcmp(how, "optional");
	entry->line = line;
	snprintf(entry->file, sizeof(entry->file), "%s", file);
	snprintf(entry->plugin, sizeof(entry->plugin), "%s", plugin);
	while ((arg = strtok_r(NULL, " \t", &save)))
		if (!strncmp(arg, "helper=", 7))
			snprintf(entry->helper, sizeof(entry->helper), "%s", arg + 7);
	return 0;
}

int plugstack_read(const char *path, struct plugstack_entry *entry)
{
	struct reader reader = { .fn = plugstack_line, .data = entry, .problem = &entry->problem };

	memset(entry, 0, sizeof(*entry));
	return read_file(&reader, path, 0);
}
