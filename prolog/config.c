// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * nodereclaim.conf(5). Root acts on it, so the file must be root's alone; each line that is not
 * understood is named in the log and left out.
 */
#include <errno.h>
#include <fcntl.h>
#include <ini.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <syslog.h>
#include <unistd.h>

#include "common.h"

#define SIZE_MAX_BYTES 65536

/* Faults that are named in the log: a file that is not ours at all shall not flood it. */
#define FAULTS_MAX 50

/* What a section is about, in the order in which they are read: what comes later overrides. */
enum scope { SCOPE_HOST, SCOPE_ACCOUNT, SCOPE_PARTITION, SCOPES };

struct reader {
	struct config *config;
	struct config *others; /* takes what is for other jobs */
	const struct job *job;
	/* That is read now; SCOPE_HOST looks at all lines and names their faults */
	enum scope scope;
	const char *path, *text;
	size_t len, pos;
	int line;
	int section_line;     /* where the section begins, 0 before the first */
	int bad_section_line; /* section that was reported as unknown */
	int faults;
};

/* What a bad line that begins with "allow" does */
static const char no_own_spec[] = "so what users ask for is not served";

/* A key: @set returns NULL, or what is allowed. */
struct key {
	const char *section, *name;
	const char *(*set)(struct config *config, const char *value);
};

static void __attribute__((format(printf, 3, 4)))
fault(struct reader *r, int line, const char *format, ...)
{
	char text[512];
	va_list args;

	if (r->scope != SCOPE_HOST || r->faults++ >= FAULTS_MAX)
		return;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	log_line(LOG_WARNING, "%s:%d: %s", r->path, line, text);
}

static bool set_choice(bool *to, const char *value, const char *no, const char *yes)
{
	if (strcmp(value, yes) && strcmp(value, no))
		return false;
	*to = !strcmp(value, yes);
	return true;
}

static const char *set_enable(struct config *config, const char *value)
{
	return set_choice(&config->prolog.enable, value, "no", "whole-host") ? NULL
									     : "whole-host, no";
}

static const char *set_drop_caches(struct config *config, const char *value)
{
	return set_choice(&config->prolog.drop_caches, value, "no", "yes") ? NULL : "yes, no";
}

static const char *set_backend(struct config *config, const char *value)
{
	static char names[128];
	int i = nr_backend_find(value, names, sizeof(names));

	if (i < 0)
		return names;
	config->prolog.backend = nr_backend_name((size_t)i);
	return NULL;
}

static const char *set_files_from(struct config *config, const char *value)
{
	struct nr_paths *paths;

	if (nr_paths_parse(value, &paths))
		return "absolute paths, such as /scratch,/tmp";
	nr_paths_free(config->prolog.files_from);
	config->prolog.files_from = paths;
	return NULL;
}

static const char *set_report(struct config *config, const char *value)
{
	return set_choice(&config->epilog.report, value, "no", "yes") ? NULL : "yes, no";
}

static const char *set_default(struct config *config, const char *value)
{
	static char error[256];
	struct nr_spec *spec;
	bool help;

	if (!*value)
		return "a spec as for --node-reclaim, or no such line";
	if (nr_spec_parse(value, &spec, error, sizeof(error)) < 0)
		return error;
	help = spec->help;
	nr_spec_free(spec);
	if (help)
		return "a spec as for --node-reclaim, but not help";
	strcpy(config->prolog.spec, value); /* the parser takes no more than NR_SPEC_MAX bytes */
	return NULL;
}

/* A limit that cannot be understood must not be lifted: after a bad line nothing is allowed, and
 * another line does not change that. */
static const char *set_allow(struct config *config, const char *value)
{
	static char names[256];
	unsigned int allow;
	size_t used;

	if (nr_items_parse(value, &allow) == 0) {
		if (config->prolog.allow)
			config->prolog.allow = allow;
		return NULL;
	}
	config->prolog.allow = 0;
	used = (size_t)snprintf(names, sizeof(names), "any, or a list of");
	for (unsigned int bit = 1; bit & NR_ITEMS_ALL && used < sizeof(names); bit <<= 1)
		used += (size_t)snprintf(names + used, sizeof(names) - used, "%s %s",
					 bit > 1 ? "," : "", nr_item_name((enum nr_item)bit));
	return names;
}

static bool set_number(uint32_t *to, const char *value, uint32_t min, uint32_t max)
{
	uint32_t number;

	if (!parse_number(value, &number) || number < min || number > max)
		return false;
	*to = number;
	return true;
}

static const char *set_max_timeout(struct config *config, const char *value)
{
	_Static_assert(NR_TIMEOUT_MAX == 3600, "the text below says so");
	return set_number(&config->prolog.max_timeout, value, 1, NR_TIMEOUT_MAX)
		       ? NULL
		       : "1 to 3600 seconds";
}

static const char *set_cpus(struct config *config, const char *value)
{
	_Static_assert(NR_MAX_CPUS == 8192, "the text below says so");
	return set_number(&config->prolog.cpus, value, 1, NR_MAX_CPUS) ? NULL : "1 to 8192";
}

static const char *set_deadline(uint32_t *to, const char *value)
{
	_Static_assert(DEADLINE_MIN == 2 && DEADLINE_MAX == 3600, "the text below says so");
	return set_number(to, value, DEADLINE_MIN, DEADLINE_MAX) ? NULL : "2 to 3600 seconds";
}

static const char *set_prolog_deadline(struct config *config, const char *value)
{
	return set_deadline(&config->prolog.deadline, value);
}

static const char *set_epilog_deadline(struct config *config, const char *value)
{
	return set_deadline(&config->epilog.deadline, value);
}

static const char *set_level(struct config *config, const char *value)
{
	static const struct {
		const char *name;
		int level;
	} levels[] = { { "err", LOG_ERR },
		       { "warning", LOG_WARNING },
		       { "notice", LOG_NOTICE },
		       { "info", LOG_INFO },
		       { "debug", LOG_DEBUG } };

	for (size_t i = 0; i < sizeof(levels) / sizeof(*levels); i++) {
		if (!strcmp(value, levels[i].name)) {
			config->log_level = levels[i].level;
			return NULL;
		}
	}
	return "err, warning, notice, info, debug";
}

static const struct key keys[] = {
	{ "prolog", "enable", set_enable },
	{ "prolog", "default", set_default },
	{ "prolog", "allow", set_allow },
	{ "prolog", "max_timeout", set_max_timeout },
	{ "prolog", "cpus", set_cpus },
	{ "prolog", "drop_caches", set_drop_caches },
	{ "prolog", "backend", set_backend },
	{ "prolog", "files_from", set_files_from },
	{ "prolog", "deadline", set_prolog_deadline },
	{ "epilog", "report", set_report },
	{ "epilog", "deadline", set_epilog_deadline },
	{ "log", "level", set_level },
};

/* [partition "NAME"] and [account "NAME"]: the keys of [prolog] for these jobs. */
static enum scope scope_of(const struct reader *r, const char *section, bool *applies)
{
	static const char *const words[SCOPES] = { NULL, "account \"", "partition \"" };
	const char *const names[SCOPES] = { NULL, r->job->account, r->job->partition };

	for (enum scope scope = SCOPE_ACCOUNT; scope < SCOPES; scope++) {
		const size_t word = strlen(words[scope]), len = strlen(section);
		const size_t name = strlen(names[scope]);

		if (strncmp(section, words[scope], word))
			continue;
		/* Neither an empty name nor one without its end: inih cuts long ones */
		if (len < word + 2 || section[len - 1] != '"')
			break;
		*applies = len == word + name + 1 && !memcmp(section + word, names[scope], name);
		return scope;
	}
	*applies = true;
	return SCOPE_HOST;
}

static int handle_key(void *data, const char *section, const char *name, const char *value)
{
	struct reader *r = data;
	bool known_section = false, applies;
	const enum scope scope = scope_of(r, section, &applies);
	struct config *config = scope == SCOPE_HOST ? r->config : r->others;

	if (scope != SCOPE_HOST)
		section = "prolog";
	if (r->scope != SCOPE_HOST) {
		if (scope != r->scope || !applies)
			return 1;
		config = r->config;
	}
	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
		const char *allowed;

		if (strcmp(section, keys[i].section))
			continue;
		known_section = true;
		if (strcmp(name, keys[i].name))
			continue;
		allowed = keys[i].set(config, value);
		if (allowed)
			fault(r, r->line, "bad value \"%s\" of %s, %s; allowed: %s", value, name,
			      keys[i].set == set_allow ? no_own_spec : "ignored", allowed);
		return 1;
	}
	if (known_section) {
		fault(r, r->line, "unknown key \"%s\" in section [%s], ignored", name, section);
	} else if (!r->section_line) {
		fault(r, r->line, "key \"%s\" before the first section, ignored", name);
	} else if (r->bad_section_line != r->section_line) {
		r->bad_section_line = r->section_line;
		fault(r, r->section_line,
		      "unknown section [%s], ignored; known: [prolog], [partition \"NAME\"], "
		      "[account \"NAME\"], [epilog], [log]",
		      section);
	}
	return 1;
}

/* What is wrong with a line for inih, which would report the first such line only; or NULL. */
static const char *bad_line(const char *line, size_t len, size_t max)
{
	if (len > max)
		return "line is too long";
	if (len == 0 || *line == ';' || *line == '#')
		return NULL;
	if (*line == '[')
		return memchr(line, ']', len) ? NULL : "no ] at the end of a section's name";
	return memchr(line, '=', len) || memchr(line, ':', len) ? NULL : "not \"key = value\"";
}

/* inih's fgets(): one line into @str. It counts lines, which inih does not hand to its handler, and
 * drops blanks at the front, which inih would take for the continuation of the line before. */
static char *read_line(char *str, int size, void *data)
{
	struct reader *r = data;
	const char *line = r->text + r->pos, *end, *error;
	size_t len;

	if (r->pos >= r->len)
		return NULL;
	end = memchr(line, '\n', r->len - r->pos);
	len = end ? (size_t)(end - line) : r->len - r->pos;
	r->pos += len + 1;
	r->line++;
	while (len > 0 && strchr(" \t\r", *line)) {
		line++;
		len--;
	}
	error = bad_line(line, len, (size_t)size - 2);
	if (error) {
		bool allow = len >= 5 && !memcmp(line, "allow", 5);

		fault(r, r->line, "%s, %s", error, allow ? no_own_spec : "ignored");
		if (allow)
			r->config->prolog.allow = 0;
		len = 0;
	} else if (len > 0 && *line == '[') {
		r->section_line = r->line;
	}
	memcpy(str, line, len);
	strcpy(str + len, "\n");
	return str;
}

/* The file's text, or NULL, and why it is not used in the log. */
static char *read_file(const char *path, bool must_exist, size_t *len)
{
	/* O_NONBLOCK: a FIFO must not stop us */
	int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	const char *why = NULL;
	char *text = NULL;
	struct stat st;
	ssize_t n = 0;

	if (fd < 0) {
		if (errno != ENOENT || must_exist)
			log_line(LOG_WARNING, "%s: %s; using defaults", path,
				 errno == ELOOP ? "is a symbolic link" : strerror(errno));
		return NULL;
	}
	*len = 0;
	if (fstat(fd, &st) < 0)
		why = strerror(errno);
	else if (!S_ISREG(st.st_mode))
		why = "not a regular file";
	else if (st.st_uid != 0)
		why = "not owned by root";
	else if (st.st_mode & (S_IWGRP | S_IWOTH))
		why = "writable by others than root";
	else if (st.st_size > SIZE_MAX_BYTES)
		why = "larger than 64 kB";
	else if (!(text = malloc(SIZE_MAX_BYTES)))
		why = strerror(ENOMEM);
	while (!why && (n = read(fd, text + *len, SIZE_MAX_BYTES - *len)) != 0) {
		if (n > 0)
			*len += (size_t)n;
		else if (errno != EINTR)
			why = strerror(errno);
	}
	if (!why && memchr(text, '\0', *len))
		why = "not a text file";
	close(fd);
	if (why) {
		log_line(LOG_WARNING, "%s: %s; using defaults", path, why);
		free(text);
		return NULL;
	}
	return text;
}

static void read_scope(struct reader *r, enum scope scope)
{
	int line;

	r->scope = scope;
	r->pos = 0;
	r->line = 0;
	r->section_line = 0;
	if (r->len >= 3 && !memcmp(r->text, "\xef\xbb\xbf", 3)) /* byte order mark */
		r->pos = 3;
	line = ini_parse_stream(read_line, r, handle_key, r);
	if (line > 0)
		fault(r, line, "not \"key = value\", ignored");
	else if (line < 0)
		log_line(LOG_WARNING, "%s: %s", r->path, strerror(ENOMEM));
}

void config_load(struct config *config, const char *path, const struct job *job)
{
	const struct config defaults = {
		.prolog = { .enable = true, .allow = NR_ITEMS_ALL, .deadline = DEADLINE_DEFAULT },
		.epilog = { .report = true, .deadline = DEADLINE_DEFAULT },
		.log_level = LOG_INFO,
	};
	struct config others = defaults;
	struct reader r = { .config = config,
			    .others = &others,
			    .job = job,
			    .path = path ? path : NR_SYSCONFDIR "/nodereclaim.conf" };
	char *text = read_file(r.path, path != NULL, &r.len);

	*config = defaults;
	if (!text)
		return;
	r.text = text;
	for (enum scope scope = SCOPE_HOST; scope < SCOPES; scope++)
		read_scope(&r, scope);
	if (r.faults > FAULTS_MAX)
		log_line(LOG_WARNING, "%s: %d more faults not shown", r.path,
			 r.faults - FAULTS_MAX);
	nr_paths_free(others.prolog.files_from);
	free(text);
	log_set_level(config->log_level);
}
