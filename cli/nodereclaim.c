// SPDX-License-Identifier: GPL-2.0-or-later
/* nodereclaim(8): the command table and what must hold before and after any command. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"

struct command {
	const char *name;
	const char *help;
	int (*run)(int argc, char **argv);
};

static const struct command commands[] = {
	{ "status", "show what each NUMA node's memory holds", cmd_status },
	{ "flush", "drop clean page cache of NUMA nodes", cmd_flush },
	{ "cache", "show which files hold page cache on which NUMA node", cmd_cache },
	{ "drop", "drop the page cache of files", cmd_drop },
	{ "backends", "show what this kernel can do, and why not", cmd_backends },
	{ "doctor", "check that everything is in place", cmd_doctor },
	{ "ledger", "show the settings that are changed for jobs", cmd_ledger },
	{ "restore", "put settings back that jobs have left changed", cmd_restore },
};

/*
 * A closed standard descriptor would be given to the next file opened, and text meant for the user
 * would end up in a file of the kernel's. Opened the wrong way round, each use is an error instead.
 */
static int open_standard_fds(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
		int got;

		if (fcntl(fd, F_GETFD) >= 0)
			continue;
		got = open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
		if (got != fd)
			return -1;
	}
	return 0;
}

static void usage(FILE *out)
{
	fputs("Usage: nodereclaim COMMAND [OPTION]...\n"
	      "\n"
	      "Free clean page cache of NUMA nodes, and see what holds their memory.\n"
	      "\n"
	      "Commands:\n",
	      out);
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
		fprintf(out, "  %-10s  %s\n", commands[i].name, commands[i].help);
	fputs("\n"
	      "Options:\n"
	      "  -h, --help     show this; 'nodereclaim COMMAND --help' is about a command\n"
	      "  -V, --version  show the version\n"
	      "\n"
	      "See nodereclaim(8).\n",
	      out);
}

static int dispatch(int argc, char **argv)
{
	const char *name = argv[1];
	char shown[64];

	if (!name) {
		usage(stderr);
		return CLI_USAGE;
	}
	if (!strcmp(name, "-h") || !strcmp(name, "--help")) {
		usage(stdout);
		return CLI_MET;
	}
	if (!strcmp(name, "-V") || !strcmp(name, "--version")) {
		printf("nodereclaim %s\n", nr_version());
		return CLI_MET;
	}
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++) {
		char self[32];

		if (strcmp(name, commands[i].name))
			continue;
		snprintf(self, sizeof(self), "nodereclaim %s", name);
		argv[1] = self;
		return commands[i].run(argc - 1, argv + 1);
	}
	if (name[0] == '-')
		complain("unknown option '%s'", printable(name, shown, sizeof(shown)));
	else
		complain("unknown command '%s'", printable(name, shown, sizeof(shown)));
	return usage_error(NULL);
}

int main(int argc, char **argv)
{
	int code;

	if (open_standard_fds() < 0)
		return CLI_FAILED;
	setlocale(LC_CTYPE, "");
	code = dispatch(argc, argv);

	/* A full disk or a closed descriptor must not look like success */
	if (fflush(stdout) || ferror(stdout) || fclose(stdout)) {
		complain("cannot write to standard output: %s", strerror(errno));
		if (code == CLI_MET)
			code = CLI_FAILED;
	}
	return code;
}
