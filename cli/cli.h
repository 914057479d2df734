/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the subcommands of nodereclaim(8) share. */
#ifndef NODERECLAIM_CLI_H
#define NODERECLAIM_CLI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nodereclaim.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

/* Exit codes, see EXIT STATUS in nodereclaim(8) */
enum {
	CLI_MET = 0,
	CLI_SHORT = 1,
	CLI_USAGE = 2,
	CLI_NOT_PERMITTED = 3,
	CLI_FAILED = 4,
};

/* Each returns an exit code. argv[0] is "nodereclaim COMMAND", for getopt's messages. */
int cmd_status(int argc, char **argv);
int cmd_flush(int argc, char **argv);
int cmd_cache(int argc, char **argv);
int cmd_drop(int argc, char **argv);
int cmd_backends(int argc, char **argv);
int cmd_doctor(int argc, char **argv);
int cmd_ledger(int argc, char **argv);
int cmd_restore(int argc, char **argv);

/* ---- common.c */

/* One line on standard error, after "nodereclaim: ". */
void complain(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Points at the command's --help; returns CLI_USAGE. */
int usage_error(const char *command);

/* Complains and returns false if argv[next] is there. */
bool no_more_arguments(int argc, char **argv, int next);

/* Reads the options of a command that has --json, --sysroot and --help only, and no arguments.
 * Returns false if that was all, with the exit code. */
bool json_options(int argc, char **argv, const char *command, void (*usage)(void), bool *json,
		  const char **sysroot, int *code);

/* Makes a context whose messages up to @priority go to standard error. Returns an exit code. */
int open_context(const char *sysroot, int priority, struct nr_ctx **ctx);

/* The exit code for -errno of the library. Says @what and why unless the library already did. */
int failed(int rc, const char *what);

/* @text with everything but printable ASCII shown as '?', cut to @size. Returns @buf. */
const char *printable(const char *text, char *buf, size_t size);

/* A list such as "0,2-3" given for @option: complains and returns false if it is none, is empty, or
 * has a number of @limit or above. */
bool check_list(const char *option, const char *text, unsigned int limit);

/* @set as "0,2-3" in memory for free(3); NULL: no memory. */
char *set_text(const struct bitmask *set);

/* ---- bar.c */

/* A bar of @width cells: @held, then @clean, the rest of @whole. */
#define BAR_WIDTH_MAX 40
#define BAR_TEXT (BAR_WIDTH_MAX * 3 + 1)
void bar_draw(char buf[BAR_TEXT], unsigned int width, uint64_t held, uint64_t clean,
	      uint64_t whole);

/* What the cells of a bar mean, for a line below it. */
const char *bar_legend(void);

/* A progress bar on standard error, which is a terminal, or how much was found of an unknown whole.
 * Anything else that goes there calls progress_clear() first, as complain() does. */
void progress_draw(uint64_t done, uint64_t whole);
void progress_found(uint64_t files, uint64_t bytes);
void progress_clear(void);

/* ---- names.c: names of files, which may have any byte but NUL */

/* @name for a terminal, as libsmartcols shows it: what the locale cannot print as \xNN. For
 * free(3); NULL: no memory. */
char *readable(const char *name);

/* Writes the member "path" and, if @path is not UTF-8, "path_hex" with its bytes. */
void json_path(const char *path);

/* ---- signals.c */

/* From now on SIGINT, SIGTERM and SIGHUP end the work of @ctx, and what was done is reported; a
 * second one ends the process, in case the kernel does not come back. NULL when the work is done.
 */
void cancel_on_signals(struct nr_ctx *ctx);

/* Whether one came; complains then. */
bool was_cancelled(void);

#endif
