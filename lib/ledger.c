/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Host-wide settings that are changed for jobs: saved, counted, restored.
 *
 * A change is three steps under the lock: the file says what is about to be done ("pending"), the
 * kernel is told, the file says that it is done. Who is killed in between leaves a file that tells
 * the next what the kernel may have: the value before or the value after. Any other is somebody
 * else's.
 */
#include "internal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define FILE_NAME "ledger"
#define LOCK_NAME "ledger.lock"
#define SHOWN "/run/nodereclaim/" FILE_NAME

struct session {
	struct nr_ctx *ctx;
	bool dry_run;
	uint64_t deadline;
	int dir, lock;
	struct nr_ledger *ledger;
	char *text; /* of the file; NULL: there is none */
	size_t len;
	struct nr_ledger_done done;
};

static void NR_PRINTF(3, 4) note(struct session *s, int priority, const char *fmt, ...)
{
	char text[256];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	nr_log(s->ctx, priority, "%s%s", s->dry_run ? "dry run: " : "", text);
}

/* ---------------------------------------------------------------- file */

static int read_boot(struct nr_ctx *ctx, char boot[NR_BOOT_ID])
{
	char *text;
	size_t len;
	int err = nr_sys_read(ctx, &text, &len, "proc/sys/kernel/random/boot_id");

	if (err)
		return err == -ENOENT ? -EOPNOTSUPP : err; /* ENOENT: there is no ledger */
	err = len < NR_BOOT_ID - 1 ? -EBADMSG : 0;
	if (!err)
		snprintf(boot, NR_BOOT_ID, "%s", text);
	free(text);
	return err;
}

static bool not_ours(int err)
{
	return err == -EPERM || err == -ELOOP || err == -EFBIG || err == -EBADMSG;
}

static int set_aside(struct session *s, int why)
{
	int err = s->dry_run ? 0 : nr_rundir_set_aside(s->dir, FILE_NAME);

	note(s, LOG_WARNING,
	     SHOWN " is not believed, %s: moved to ledger.bad; what it held is not restored%s%s",
	     why == -EPERM   ? "it is not a file of root's alone"
	     : why == -ELOOP ? "it is a symbolic link"
	     : why == -EFBIG ? "it is too long"
			     : "it is damaged",
	     err ? ": " : "", err ? strerror(-err) : "");
	return err;
}

/* Gives no ledger where there is none that can be believed. */
static int read_file(struct session *s)
{
	int err = nr_rundir_read(s->dir, FILE_NAME, NR_LEDGER_BYTES_MAX, &s->text, &s->len);

	if (!err)
		err = nr_ledger_parse(s->text, s->len, &s->ledger);
	if (not_ours(err)) {
		free(s->text);
		s->text = NULL;
		return set_aside(s, err);
	}
	if (err && err != -ENOENT)
		nr_log(s->ctx, LOG_ERR, SHOWN ": %s",
		       err == -EPROTO ? "of a later release, nothing is changed" : strerror(-err));
	return err == -ENOENT ? 0 : err;
}

/* Gives an empty ledger where there is none of this boot. */
static int load(struct session *s)
{
	char boot[NR_BOOT_ID];
	int err = read_boot(s->ctx, boot);

	if (err) {
		nr_log(s->ctx, LOG_ERR, "boot_id: %s", strerror(-err));
		return err;
	}
	err = read_file(s);
	if (err)
		return err;
	if (s->ledger && strcmp(s->ledger->boot, boot)) {
		note(s, LOG_NOTICE, SHOWN " is of an earlier boot: dropped");
		nr_ledger_free(s->ledger);
		s->ledger = NULL;
	}
	if (!s->ledger)
		s->ledger = calloc(1, sizeof(*s->ledger));
	if (!s->ledger)
		return -ENOMEM;
	strcpy(s->ledger->boot, boot);
	return 0;
}

static int save(struct session *s)
{
	char *text;
	size_t len;
	int err;

	if (s->dry_run)
		return 0;
	if (!s->ledger->n) {
		err = s->text ? nr_rundir_remove(s->dir, FILE_NAME) : 0;
		if (err)
			nr_log(s->ctx, LOG_ERR, SHOWN ": %s", strerror(-err));
		free(s->text);
		s->text = NULL;
		return err;
	}
	err = nr_ledger_format(s->ledger, &text, &len);
	if (err)
		return err;
	if (s->text && len == s->len && !memcmp(text, s->text, len)) {
		free(text);
		return 0;
	}
	err = nr_rundir_write(s->dir, FILE_NAME, text, len);
	if (err) {
		nr_log(s->ctx, LOG_ERR, SHOWN ": %s", strerror(-err));
		free(text);
		return err;
	}
	free(s->text);
	s->text = text;
	s->len = len;
	return 0;
}

/* ---------------------------------------------------------------- session */

static void end(struct session *s)
{
	nr_ledger_free(s->ledger);
	free(s->text);
	if (s->lock >= 0)
		close(s->lock);
	if (s->dir >= 0)
		close(s->dir);
}

/* -ENOENT: nothing is held, and @make is not asked for. */
static int begin(struct session *s, struct nr_ctx *ctx, bool make, bool dry_run,
		 unsigned int timeout_ms)
{
	*s = (struct session){ .ctx = ctx, .dry_run = dry_run, .dir = -1, .lock = -1 };
	s->deadline = nr_now() + (uint64_t)timeout_ms * 1000000;
	if (ctx->recorded && !dry_run)
		return -EROFS;
	s->dir = nr_rundir_open(ctx, NULL, make);
	if (s->dir < 0)
		return s->dir;
	if (!make && !nr_rundir_has(s->dir, FILE_NAME))
		return -ENOENT;
	if (!dry_run) {
		s->lock = nr_rundir_lock(s->dir, LOCK_NAME, s->deadline);
		if (s->lock < 0) {
			nr_log(ctx, LOG_ERR, "/run/nodereclaim/" LOCK_NAME ": %s",
			       s->lock == -ETIME ? "others hold it for too long"
						 : strerror(-s->lock));
			return s->lock;
		}
	}
	return load(s);
}

/* ---------------------------------------------------------------- holders */

static void drop_holder(struct session *s, struct nr_ledger_entry *e, size_t i, const char *why)
{
	note(s, LOG_NOTICE, "%s: job %" PRIu32 " step %s no longer holds it%s", e->setting,
	     e->holder[i].job, e->holder[i].step, why);
	e->holder[i] = e->holder[--e->n];
	s->done.dropped++;
}

static void drop_job(struct session *s, uint32_t job, const char *step)
{
	for (size_t k = 0; k < s->ledger->n; k++) {
		struct nr_ledger_entry *e = &s->ledger->entry[k];

		for (size_t i = e->n; i-- > 0;)
			if (e->holder[i].job == job && (!step || !strcmp(e->holder[i].step, step)))
				drop_holder(s, e, i, "");
	}
}

static void drop_all(struct session *s)
{
	for (size_t k = 0; k < s->ledger->n; k++)
		while (s->ledger->entry[k].n)
			drop_holder(s, &s->ledger->entry[k], s->ledger->entry[k].n - 1, "");
}

/* The jobs that hold something, in the order of entries and holders. */
static size_t list_jobs(const struct nr_ledger *ledger, uint32_t *jobs)
{
	size_t n = 0;

	for (size_t k = 0; k < ledger->n; k++)
		for (size_t i = 0; i < ledger->entry[k].n; i++)
			jobs[n++] = ledger->entry[k].holder[i].job;
	return n;
}

/* Drops the holders whose job is gone. */
static int sweep(struct session *s)
{
	uint32_t jobs[NR_LEDGER_HOLDERS_MAX]; /* no file has more holders */
	bool running[NR_LEDGER_HOLDERS_MAX];
	size_t n = list_jobs(s->ledger, jobs);
	int err = n ? nr_jobs_running(s->ctx, jobs, running, n, s->deadline) : 0;

	if (err) {
		nr_log(s->ctx, LOG_WARNING,
		       "cannot tell whose jobs have ended, all holders are kept: %s",
		       strerror(-err));
		return err;
	}
	for (size_t k = s->ledger->n; k-- > 0;) {
		struct nr_ledger_entry *e = &s->ledger->entry[k];

		for (size_t i = e->n; i-- > 0;)
			if (!running[--n])
				drop_holder(s, e, i, ", which has ended");
	}
	return 0;
}

/* ---------------------------------------------------------------- settings */

/* Reads what the kernel has, and sees whether it is ours. */
static int judge(struct session *s, struct nr_ledger_entry *e)
{
	int err = nr_setting_read(s->ctx, nr_setting_find(e->setting), &e->now);

	e->have_now = !err;
	if (err == -EOPNOTSUPP)
		return 0;
	if (err) {
		nr_log(s->ctx, LOG_ERR, "%s: %s", e->setting, strerror(-err));
		return err;
	}
	if (e->state == NR_LEDGER_FOREIGN || e->now == e->set ||
	    (e->state == NR_LEDGER_PENDING && e->now == e->from))
		return 0;
	note(s, LOG_WARNING,
	     "%s is %" PRIu64 ", not %" PRIu64 " as set for jobs: somebody else changed it, and it "
	     "is left so",
	     e->setting, e->now, e->set);
	e->state = NR_LEDGER_FOREIGN;
	return 0;
}

static int judge_all(struct session *s)
{
	int err, first = 0;

	for (size_t k = 0; k < s->ledger->n; k++) {
		err = judge(s, &s->ledger->entry[k]);
		first = first ? first : err;
	}
	return first;
}

static void intend(struct nr_ledger_entry *e)
{
	if (e->state == NR_LEDGER_FOREIGN)
		return;
	e->set = nr_ledger_wanted(e);
	if (!e->have_now || e->now == e->set) {
		e->from = e->set;
		e->state = NR_LEDGER_OURS;
		return;
	}
	e->from = e->now;
	e->state = NR_LEDGER_PENDING;
}

static int change(struct session *s, struct nr_ledger_entry *e)
{
	int err;

	if (e->state != NR_LEDGER_PENDING)
		return 0;
	err = s->dry_run ? 0 : nr_setting_write(s->ctx, nr_setting_find(e->setting), e->set);
	if (err) {
		nr_log(s->ctx, LOG_ERR, "%s: cannot be set to %" PRIu64 ": %s", e->setting, e->set,
		       err == -EPROTO ? "the kernel does not take it" : strerror(-err));
		return err;
	}
	note(s, LOG_INFO, "%s: from %" PRIu64 " to %" PRIu64 "%s", e->setting, e->from, e->set,
	     e->n ? "" : ", as before the first holder");
	e->now = e->from = e->set;
	e->state = NR_LEDGER_OURS;
	return 0;
}

/* An entry without holders goes, unless its value is still to be restored. */
static void remove_done(struct session *s)
{
	for (size_t k = s->ledger->n; k-- > 0;) {
		struct nr_ledger_entry *e = &s->ledger->entry[k];

		if (e->n || e->state == NR_LEDGER_PENDING)
			continue;
		if (e->state == NR_LEDGER_FOREIGN)
			s->done.foreign++;
		else
			s->done.restored++;
		free(e->holder);
		*e = s->ledger->entry[--s->ledger->n];
	}
}

static bool any_holder(const struct nr_ledger *ledger)
{
	for (size_t k = 0; k < ledger->n; k++)
		if (ledger->entry[k].n)
			return true;
	return false;
}

/* Makes the kernel have what the holders want. judge_all() came before. */
static int apply(struct session *s)
{
	int err, first;

	for (size_t k = 0; k < s->ledger->n; k++)
		intend(&s->ledger->entry[k]);
	remove_done(s);
	first = save(s);
	/* Without holders all is restored and the file removed, which needs no room in /run */
	if (first && any_holder(s->ledger))
		return first;
	for (size_t k = 0; k < s->ledger->n; k++) {
		err = change(s, &s->ledger->entry[k]);
		first = first ? first : err;
	}
	remove_done(s);
	err = save(s);
	return s->ledger->n && first ? first : err;
}

/* ---------------------------------------------------------------- what callers ask for */

static uint64_t boot_seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_BOOTTIME, &t);
	return (uint64_t)t.tv_sec;
}

/* The entry of a setting, as it is before its first holder if it is new. */
static int entry_of(struct session *s, const struct nr_setting *setting,
		    struct nr_ledger_entry **out)
{
	struct nr_ledger_entry *e;
	uint64_t now;
	int err;

	for (size_t k = 0; k < s->ledger->n; k++) {
		*out = &s->ledger->entry[k];
		if ((*out)->setting == setting->name)
			return 0;
	}
	err = nr_setting_read(s->ctx, setting, &now);
	if (err)
		return err;
	if (now & ~setting->bits) {
		nr_log(s->ctx, LOG_WARNING, "%s is %" PRIu64 ", which is not known: left alone",
		       setting->name, now);
		return -EBUSY;
	}
	e = &s->ledger->entry[s->ledger->n++];
	*e = (struct nr_ledger_entry){ .setting = setting->name,
				       .before = now,
				       .from = now,
				       .set = now,
				       .have_now = true,
				       .now = now };
	*out = e;
	return 0;
}

static int add(struct session *s, const struct nr_setting *setting,
	       const struct nr_ledger_holder *holder)
{
	struct nr_ledger_holder *known;
	struct nr_ledger_entry *e;
	int err = entry_of(s, setting, &e);

	if (err)
		return err;
	if (!e->have_now)
		return -EOPNOTSUPP;
	if (e->state == NR_LEDGER_FOREIGN)
		return (e->now & holder->wants) == holder->wants ? 0 : -EBUSY;
	known = nr_ledger_find_holder(e, holder->job, holder->step);
	if (!known)
		return nr_ledger_add_holder(s->ledger, e, holder);
	known->wants |= holder->wants;
	return 0;
}

NR_EXPORT int nr_ledger_hold(struct nr_ctx *ctx, const char *setting, uint32_t job,
			     const char *step, uint64_t wants, unsigned int timeout_ms)
{
	const struct nr_setting *known = nr_setting_find(setting);
	struct nr_ledger_holder holder = { .job = job, .wants = wants, .since = boot_seconds() };
	struct session s;
	int err, undo;

	if (!known || !wants || (wants & ~known->bits) || !nr_step_ok(step))
		return -EINVAL;
	strcpy(holder.step, step);
	err = begin(&s, ctx, true, false, timeout_ms);
	if (!err)
		err = judge_all(&s);
	if (!err) {
		sweep(&s);
		err = add(&s, known, &holder);
		undo = apply(&s);
		err = err ? err : undo;
		if (err) {
			drop_job(&s, job, step);
			judge_all(&s);
			apply(&s);
		}
	}
	end(&s);
	return err;
}

NR_EXPORT int nr_ledger_release(struct nr_ctx *ctx, uint32_t job, const char *step,
				unsigned int timeout_ms)
{
	struct session s;
	int err = begin(&s, ctx, false, false, timeout_ms);

	if (!err)
		err = judge_all(&s);
	if (!err) {
		drop_job(&s, job, step);
		sweep(&s);
		err = apply(&s);
	}
	end(&s);
	return err == -ENOENT ? 0 : err;
}

static size_t count_holders(const struct nr_ledger *ledger)
{
	size_t n = 0;

	for (size_t k = 0; k < ledger->n; k++)
		n += ledger->entry[k].n;
	return n;
}

NR_EXPORT int nr_ledger_restore(struct nr_ctx *ctx, bool all, bool dry_run, unsigned int timeout_ms,
				struct nr_ledger_done *done)
{
	struct session s;
	int err = begin(&s, ctx, false, dry_run, timeout_ms), swept = 0;

	if (!err)
		err = judge_all(&s);
	if (!err) {
		if (all)
			drop_all(&s);
		else
			swept = sweep(&s);
		err = apply(&s);
		s.done.left = count_holders(s.ledger);
	}
	*done = s.done;
	end(&s);
	return err == -ENOENT ? 0 : err ? err : swept;
}

static int read_now(struct nr_ctx *ctx, struct nr_ledger *ledger)
{
	int err = 0;

	for (size_t k = 0; !err && k < ledger->n; k++) {
		struct nr_ledger_entry *e = &ledger->entry[k];

		err = nr_setting_read(ctx, nr_setting_find(e->setting), &e->now);
		e->have_now = !err;
		err = err == -EOPNOTSUPP ? 0 : err;
	}
	return err;
}

NR_EXPORT int nr_ledger_read(struct nr_ctx *ctx, struct nr_ledger **out)
{
	int dir = nr_rundir_open(ctx, NULL, false), err;
	char boot[NR_BOOT_ID], *text = NULL;
	size_t len;

	*out = NULL;
	err = dir < 0 ? dir : nr_rundir_read(dir, FILE_NAME, NR_LEDGER_BYTES_MAX, &text, &len);
	if (!err)
		err = nr_ledger_parse(text, len, out);
	if (!err)
		err = read_boot(ctx, boot);
	if (!err && !strcmp((*out)->boot, boot))
		err = read_now(ctx, *out);
	else if (!err)
		err = -ENOENT;
	if (err) {
		nr_ledger_free(*out);
		*out = err == -ENOENT ? calloc(1, sizeof(**out)) : NULL;
	}
	if (err == -ENOENT)
		err = *out ? 0 : -ENOMEM;
	else if (err && dir >= 0)
		nr_log(ctx, LOG_ERR, SHOWN ": %s",
		       err == -EBADMSG	? "is damaged"
		       : err == -EPROTO ? "is of a later release"
					: strerror(-err));
	free(text);
	if (dir >= 0)
		close(dir);
	return err;
}

NR_EXPORT size_t nr_ledger_count(const struct nr_ledger *ledger)
{
	return ledger->n;
}

NR_EXPORT const struct nr_ledger_entry *nr_ledger_at(const struct nr_ledger *ledger, size_t i)
{
	return &ledger->entry[i];
}
