// SPDX-License-Identifier: GPL-2.0-or-later
/* Signals that end the library's work early. */
#include "config.h"

#include <signal.h>
#include <string.h>

#include "cli.h"

static struct nr_ctx *volatile running;
static volatile sig_atomic_t cancelled;

static void on_signal(int sig)
{
	cancelled = sig;
	if (running)
		nr_cancel(running);
}

void cancel_on_signals(struct nr_ctx *ctx)
{
	struct sigaction action = { .sa_handler = on_signal,
				    .sa_flags = SA_RESTART | SA_RESETHAND };
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP };

	running = ctx;
	sigemptyset(&action.sa_mask);
	for (size_t i = 0; ctx && i < ARRAY_SIZE(signals); i++) {
		struct sigaction old;

		/* nohup(1) keeps its word */
		if (!sigaction(signals[i], NULL, &old) && old.sa_handler != SIG_IGN)
			sigaction(signals[i], &action, NULL);
	}
}

bool was_cancelled(void)
{
	if (cancelled)
		complain("cancelled by signal %d (%s)", (int)cancelled, strsignal(cancelled));
	return cancelled;
}
