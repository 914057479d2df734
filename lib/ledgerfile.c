/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The ledger as text. Pure: no I/O, no clock.
 *
 *	nodereclaim ledger 1
 *	boot 0d5b1b3c-...
 *	setting zone_reclaim_mode before 0 from 0 set 1 ours
 *	holder job 12 step 0 wants 1 since 5120
 *	end
 *
 * What is read must be, byte for byte, what would be written: whatever else a file has, none of it
 * is believed.
 */
#include "internal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define HEAD "nodereclaim ledger "
#define VERSION 1
#define LINE_MAX_BYTES 192
#define STEP_CHARS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+._-"

static const char *const states[] = {
	[NR_LEDGER_OURS] = "ours",
	[NR_LEDGER_PENDING] = "pending",
	[NR_LEDGER_FOREIGN] = "foreign",
};

NR_EXPORT const char *nr_ledger_state_name(enum nr_ledger_state state)
{
	return states[state];
}

bool nr_step_ok(const char *step)
{
	size_t len = strspn(step, STEP_CHARS);

	return len > 0 && len < NR_STEP_NAME && !step[len];
}

uint64_t nr_ledger_wanted(const struct nr_ledger_entry *entry)
{
	uint64_t value = entry->before;

	for (size_t i = 0; i < entry->n; i++)
		value |= entry->holder[i].wants;
	return value;
}

struct nr_ledger_holder *nr_ledger_find_holder(struct nr_ledger_entry *entry, uint32_t job,
					       const char *step)
{
	for (size_t i = 0; i < entry->n; i++)
		if (entry->holder[i].job == job && !strcmp(entry->holder[i].step, step))
			return &entry->holder[i];
	return NULL;
}

int nr_ledger_add_holder(struct nr_ledger *ledger, struct nr_ledger_entry *entry,
			 const struct nr_ledger_holder *holder)
{
	struct nr_ledger_holder *grown;
	size_t all = 0;

	for (size_t i = 0; i < ledger->n; i++)
		all += ledger->entry[i].n;
	if (all >= NR_LEDGER_HOLDERS_MAX)
		return -ENOSPC;
	grown = reallocarray(entry->holder, entry->n + 1, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	entry->holder = grown;
	grown[entry->n++] = *holder;
	return 0;
}

NR_EXPORT void nr_ledger_free(struct nr_ledger *ledger)
{
	if (!ledger)
		return;
	for (size_t i = 0; i < ledger->n; i++)
		free(ledger->entry[i].holder);
	free(ledger);
}

int nr_ledger_format(const struct nr_ledger *ledger, char **text, size_t *len)
{
	FILE *f = open_memstream(text, len);

	if (!f)
		return -ENOMEM;
	fprintf(f, HEAD "%d\nboot %s\n", VERSION, ledger->boot);
	for (size_t i = 0; i < ledger->n; i++) {
		const struct nr_ledger_entry *e = &ledger->entry[i];

		fprintf(f, "setting %s before %" PRIu64 " from %" PRIu64 " set %" PRIu64 " %s\n",
			e->setting, e->before, e->from, e->set, states[e->state]);
		for (size_t j = 0; j < e->n; j++)
			fprintf(f,
				"holder job %" PRIu32 " step %s wants %" PRIu64 " since %" PRIu64
				"\n",
				e->holder[j].job, e->holder[j].step, e->holder[j].wants,
				e->holder[j].since);
	}
	fputs("end\n", f);
	if (fclose(f)) {
		free(*text);
		*text = NULL;
		return -ENOMEM;
	}
	return 0;
}

static bool boot_ok(const char *boot)
{
	return strlen(boot) == NR_BOOT_ID - 1 &&
	       strspn(boot, "0123456789abcdef-") == NR_BOOT_ID - 1;
}

static int parse_setting(struct nr_ledger *ledger, const char *line)
{
	struct nr_ledger_entry e = { 0 };
	const struct nr_setting *setting;
	char name[32], state[16];

	if (sscanf(line, "setting %31s before %" SCNu64 " from %" SCNu64 " set %" SCNu64 " %15s",
		   name, &e.before, &e.from, &e.set, state) != 5)
		return -EBADMSG;
	setting = nr_setting_find(name);
	if (!setting || ledger->n == NR_SETTINGS || ((e.before | e.from | e.set) & ~setting->bits))
		return -EBADMSG;
	for (size_t i = 0; i < ledger->n; i++)
		if (!strcmp(ledger->entry[i].setting, setting->name))
			return -EBADMSG;
	while (e.state < NR_LEDGER_STATES && strcmp(state, states[e.state]))
		e.state++;
	if (e.state == NR_LEDGER_STATES)
		return -EBADMSG;
	e.setting = setting->name;
	ledger->entry[ledger->n++] = e;
	return 0;
}

static int parse_holder(struct nr_ledger *ledger, const char *line)
{
	struct nr_ledger_holder h = { 0 };
	struct nr_ledger_entry *e;

	_Static_assert(NR_STEP_NAME == 32, "the format below says so");
	if (!ledger->n ||
	    sscanf(line, "holder job %" SCNu32 " step %31s wants %" SCNu64 " since %" SCNu64,
		   &h.job, h.step, &h.wants, &h.since) != 4)
		return -EBADMSG;
	e = &ledger->entry[ledger->n - 1];
	if (!nr_step_ok(h.step) || !h.wants || (h.wants & ~nr_setting_find(e->setting)->bits) ||
	    nr_ledger_find_holder(e, h.job, h.step))
		return -EBADMSG;
	return nr_ledger_add_holder(ledger, e, &h);
}

static int parse_line(struct nr_ledger *ledger, const char *line)
{
	if (!strncmp(line, "setting ", 8))
		return parse_setting(ledger, line);
	if (!strncmp(line, "holder ", 7))
		return parse_holder(ledger, line);
	/* Whatever is not taken here is missing when all is written again */
	sscanf(line, "boot %36s", ledger->boot);
	return 0;
}

static int parse_lines(struct nr_ledger *ledger, const char *text, size_t len)
{
	const char *end = text + len, *nl;
	char line[LINE_MAX_BYTES];
	int err = 0;

	while (!err && text < end && (nl = memchr(text, '\n', (size_t)(end - text)))) {
		if ((size_t)(nl - text) >= sizeof(line))
			return -EBADMSG;
		memcpy(line, text, (size_t)(nl - text));
		line[nl - text] = '\0';
		err = parse_line(ledger, line);
		text = nl + 1;
	}
	return err == -ENOSPC ? -EBADMSG : err;
}

/* A value that is set is what its holders want: no file can say otherwise. */
static bool plausible(const struct nr_ledger *ledger)
{
	if (!boot_ok(ledger->boot))
		return false;
	for (size_t i = 0; i < ledger->n; i++) {
		const struct nr_ledger_entry *e = &ledger->entry[i];

		if (e->state != NR_LEDGER_FOREIGN && e->set != nr_ledger_wanted(e))
			return false;
	}
	return true;
}

static bool same_text(const struct nr_ledger *ledger, const char *text, size_t len, int *err)
{
	size_t again_len;
	char *again;
	bool same;

	*err = nr_ledger_format(ledger, &again, &again_len);
	if (*err)
		return false;
	same = len == again_len && !memcmp(text, again, len);
	free(again);
	return same;
}

int nr_ledger_parse(const char *text, size_t len, struct nr_ledger **out)
{
	struct nr_ledger *ledger;
	unsigned int version;
	int err;

	*out = NULL;
	if (sscanf(text, HEAD "%u", &version) == 1 && version > VERSION)
		return -EPROTO;
	ledger = calloc(1, sizeof(*ledger));
	if (!ledger)
		return -ENOMEM;
	err = parse_lines(ledger, text, len);
	if (!err && !same_text(ledger, text, len, &err) && !err)
		err = -EBADMSG;
	if (!err && !plausible(ledger))
		err = -EBADMSG;
	if (err) {
		nr_ledger_free(ledger);
		return err;
	}
	*out = ledger;
	return 0;
}
