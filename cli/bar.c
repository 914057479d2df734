// SPDX-License-Identifier: GPL-2.0-or-later
/* Bars for terminals: memory and progress. */
#include "config.h"

#include <inttypes.h>
#include <langinfo.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "cli.h"

#define PROGRESS_WIDTH 30
#define PROGRESS_EVERY_NS 100000000L

enum { HELD, CLEAN, FREE, KINDS };

static const char *const cells_utf8[KINDS] = { "\u2588", "\u2592", "\u2591" };
static const char *const cells_ascii[KINDS] = { "#", "+", "." };

/* Characters of the progress bar that are on the terminal now */
static int drawn;
static struct timespec drawn_at;

static bool is_utf8(void)
{
	return !strcmp(nl_langinfo(CODESET), "UTF-8");
}

void bar_draw(char buf[BAR_TEXT], unsigned int width, uint64_t held, uint64_t clean, uint64_t whole)
{
	const char *const *cells = is_utf8() ? cells_utf8 : cells_ascii;
	double scale = whole ? (double)width / (double)whole : 0;
	double held_end = (double)held * scale + 0.5;
	double clean_end = ((double)held + (double)clean) * scale + 0.5;
	char *p = buf;

	if (width > BAR_WIDTH_MAX)
		width = BAR_WIDTH_MAX;
	for (unsigned int i = 1; i <= width; i++) {
		int kind = i <= held_end ? HELD : i <= clean_end ? CLEAN : FREE;

		p = stpcpy(p, cells[kind]);
	}
	*p = '\0';
}

const char *bar_legend(void)
{
	return is_utf8() ? "\u2588 held  \u2592 clean cache  \u2591 free"
			 : "# held  + clean cache  . free";
}

/* Nanoseconds since the last time that something was drawn */
static int64_t since_drawn(struct timespec *now)
{
	clock_gettime(CLOCK_MONOTONIC, now);
	return (now->tv_sec - drawn_at.tv_sec) * 1000000000LL + now->tv_nsec - drawn_at.tv_nsec;
}

void progress_draw(uint64_t done, uint64_t whole)
{
	char bar[BAR_TEXT], done_text[NR_SIZE_TEXT], whole_text[NR_SIZE_TEXT];
	struct timespec now;
	int64_t since = since_drawn(&now);

	flockfile(stderr);
	if (whole && (!drawn || since >= PROGRESS_EVERY_NS)) {
		if (done > whole)
			done = whole;
		bar_draw(bar, PROGRESS_WIDTH, done, 0, whole);
		drawn = fprintf(stderr, "\r%s %3u%%  %s of %s freed  ", bar,
				(unsigned int)((double)done * 100 / (double)whole),
				nr_size_format(done, done_text), nr_size_format(whole, whole_text));
		drawn_at = now;
		fflush(stderr);
	}
	funlockfile(stderr);
}

void progress_found(uint64_t files, uint64_t bytes)
{
	char size[NR_SIZE_TEXT];
	struct timespec now;
	int64_t since = since_drawn(&now);

	if (since < PROGRESS_EVERY_NS)
		return;
	flockfile(stderr);
	/* A short walk draws nothing */
	if (drawn_at.tv_sec || drawn_at.tv_nsec) {
		drawn = fprintf(stderr, "\r%" PRIu64 " files, %s cached  ", files,
				nr_size_format(bytes, size));
		fflush(stderr);
	}
	drawn_at = now;
	funlockfile(stderr);
}

void progress_clear(void)
{
	flockfile(stderr);
	if (drawn > 0)
		fprintf(stderr, "\r%*s\r", drawn, "");
	drawn = 0;
	funlockfile(stderr);
}
