/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The context: which system is read, where messages go, and whether work should stop. */
#include "internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>

NR_EXPORT int nr_open(struct nr_ctx **out, const char *sysroot)
{
	struct nr_ctx *ctx = calloc(1, sizeof(*ctx));
	int err;

	*out = NULL;
	if (!ctx)
		return -ENOMEM;
	ctx->recorded = sysroot != NULL;
	ctx->rootfd = open(sysroot ? sysroot : "/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (ctx->rootfd < 0) {
		err = -errno;
		free(ctx);
		return err;
	}
	if (!sysroot) {
		ctx->toss = nr_toss;
		ctx->press = &nr_press_real;
	}
	ctx->page_size = (uint64_t)sysconf(_SC_PAGESIZE);
	pthread_mutex_init(&ctx->log_lock, NULL);
	*out = ctx;
	return 0;
}

NR_EXPORT void nr_close(struct nr_ctx *ctx)
{
	if (!ctx)
		return;
	close(ctx->rootfd);
	pthread_mutex_destroy(&ctx->log_lock);
	free(ctx);
}

NR_EXPORT void nr_set_log(struct nr_ctx *ctx, nr_log_fn fn, void *data, int max_priority)
{
	ctx->log = fn;
	ctx->log_data = data;
	ctx->log_max = max_priority;
}

NR_EXPORT void nr_cancel(struct nr_ctx *ctx)
{
	atomic_store(&ctx->cancel, true);
}

NR_EXPORT const char *nr_version(void)
{
	return PACKAGE_VERSION;
}

void nr_log(struct nr_ctx *ctx, int priority, const char *fmt, ...)
{
	char text[512];
	va_list ap;

	if (!ctx->log || priority > ctx->log_max)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	pthread_mutex_lock(&ctx->log_lock);
	ctx->log(ctx->log_data, priority, text);
	pthread_mutex_unlock(&ctx->log_lock);
}
