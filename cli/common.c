// SPDX-License-Identifier: GPL-2.0-or-later
#include "config.h"

#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>

#include "cli.h"

/* Whether the library has named a reason since the context was opened */
static bool library_said_why;

void complain(const char *format, ...)
{
	va_list args;

	/* The library's threads may get here while progress is drawn */
	flockfile(stderr);
	progress_clear();
	fputs("nodereclaim: ", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	funlockfile(stderr);
}

int usage_error(const char *command)
{
	fprintf(stderr, "Try 'nodereclaim %s%s--help'.\n", command ? command : "",
		command ? " " : "");
	return CLI_USAGE;
}

bool no_more_arguments(int argc, char **argv, int next)
{
	char shown[64];

	if (next >= argc)
		return true;
	complain("unexpected argument '%s'", printable(argv[next], shown, sizeof(shown)));
	return false;
}

bool json_options(int argc, char **argv, const char *command, void (*usage)(void), bool *json,
		  const char **sysroot, int *code)
{
	static const struct option options[] = {
		{ "help", no_argument, NULL, 'h' },
		{ "json", no_argument, NULL, 'J' },
		{ "sysroot", required_argument, NULL, 's' },
		{ NULL, 0, NULL, 0 },
	};
	int c;

	while ((c = getopt_long(argc, argv, "hJs:", options, NULL)) != -1) {
		switch (c) {
		case 'h':
			usage();
			*code = CLI_MET;
			return false;
		case 'J':
			*json = true;
			break;
		case 's':
			*sysroot = optarg;
			break;
		default:
			*code = usage_error(command);
			return false;
		}
	}
	if (no_more_arguments(argc, argv, optind))
		return true;
	*code = usage_error(command);
	return false;
}

static void on_log(void *data, int priority, const char *message)
{
	(void)data;
	if (priority <= LOG_ERR)
		library_said_why = true;
	complain("%s", message);
}

int open_context(const char *sysroot, int priority, struct nr_ctx **ctx)
{
	int rc = nr_open(ctx, sysroot);

	if (rc < 0) {
		char what[256] = "--sysroot ";

		printable(sysroot ? sysroot : "/", what + strlen(what),
			  sizeof(what) - strlen(what));
		return failed(rc, what);
	}
	library_said_why = false;
	nr_set_log(*ctx, on_log, NULL, priority);
	return CLI_MET;
}

int failed(int rc, const char *what)
{
	char shown[256];

	if (!library_said_why)
		complain("%s: %s", printable(what, shown, sizeof(shown)), strerror(-rc));
	return rc == -EACCES || rc == -EPERM ? CLI_NOT_PERMITTED : CLI_FAILED;
}

const char *printable(const char *text, char *buf, size_t size)
{
	size_t i;

	for (i = 0; i < size - 1 && text[i]; i++)
		buf[i] = text[i] >= ' ' && text[i] <= '~' ? text[i] : '?';
	buf[i] = '\0';
	if (text[i] && i > 3)
		memcpy(buf + i - 3, "...", 3);
	return buf;
}

bool check_list(const char *option, const char *text, unsigned int limit)
{
	struct bitmask *set = nr_set_new(limit);
	size_t bad = 0;
	char shown[64];
	int rc;

	if (!set) {
		complain("%s: %s", option, strerror(ENOMEM));
		return false;
	}
	rc = *text ? nr_set_parse(text, set, &bad) : -ENODATA;
	nr_set_free(set);
	switch (rc) {
	case 0:
		return true;
	case -ENODATA:
		complain("%s: the list is empty; a list is such as 0,2-3", option);
		break;
	case -ERANGE:
		complain("%s: number above %u at byte %zu of '%s'", option, limit - 1, bad,
			 printable(text, shown, sizeof(shown)));
		break;
	default:
		complain("%s: bad list at byte %zu of '%s'; a list is such as 0,2-3", option, bad,
			 printable(text, shown, sizeof(shown)));
	}
	return false;
}

char *set_text(const struct bitmask *set)
{
	size_t len = nr_set_format(set, NULL, 0);
	char *text = malloc(len + 1);

	if (text)
		nr_set_format(set, text, len + 1);
	return text;
}
