/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The result as a table, JSON, one key=value line, or one sentence. */
#include "internal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define LINE_NODES 32 /* NUMA nodes that nr_report_line() lists */

static const char *goal_name(enum nr_goal goal)
{
	static const char *const names[] = { "auto", "size", "percent", "all" };

	return names[goal];
}

static const char *verdict_name(enum nr_verdict verdict)
{
	static const char *const names[] = { "met", "free", "short", "unknown" };

	return names[verdict];
}

NR_EXPORT void nr_result_effect(const struct nr_result *result, struct nr_effect *effect)
{
	const struct nr_snapshot *now = nr_result_after(result);
	const struct nr_host *host_before = nr_snapshot_host(result->before);
	const struct nr_host *host_after = nr_snapshot_host(now);
	bool by_node = true;
	size_t i, at = 0;

	memset(effect, 0, sizeof(*effect));
	for (i = 0; i < nr_snapshot_count(now); i++) {
		const struct nr_node *after = nr_snapshot_at(now, i);
		const struct nr_node *before = nr_snapshot_find(result->before, after->nid);

		if (!before)
			continue;
		while (at < result->n && result->node[at].plan.nid < after->nid)
			at++;
		if (at == result->n || result->node[at].plan.nid != after->nid) {
			effect->others_lost += nr_sub(nr_counter_or_zero(before, NR_CLEAN),
						      nr_counter_or_zero(after, NR_CLEAN));
			continue;
		}
		if (result->node[at].freed > 0)
			effect->freed += (uint64_t)result->node[at].freed;
		by_node = by_node && before->have_reclaim && after->have_reclaim;
		effect->scanned += nr_sub(after->scanned, before->scanned);
		effect->stolen += nr_sub(after->stolen, before->stolen);
		effect->demoted += nr_sub(after->demoted, before->demoted);
	}
	if (!by_node) {
		effect->scanned_host = true;
		effect->scanned = nr_sub(host_after->scanned, host_before->scanned);
		effect->stolen = nr_sub(host_after->stolen, host_before->stolen);
	}
	effect->swapped_out = nr_sub(host_after->swapped_out, host_before->swapped_out);
	effect->seconds = result->seconds;
}

static int by_bytes(const void *a, const void *b)
{
	uint64_t x = ((const struct nr_holder *)a)->bytes, y = ((const struct nr_holder *)b)->bytes;

	return x < y ? 1 : x > y ? -1 : 0;
}

NR_EXPORT size_t nr_holders(const struct nr_node *node, struct nr_holder *holders, size_t max)
{
	static const enum nr_counter classes[] = {
		NR_DIRTY_PAGES,
		NR_WRITEBACK,
		NR_MAPPED,
		NR_SHMEM,
		NR_ANON,
		NR_SLAB_RECLAIMABLE,
		NR_SLAB_UNRECLAIMABLE,
		NR_PAGE_TABLES,
		NR_KERNEL_STACK,
		NR_HUGE_TOTAL,
		NR_UNACCOUNTED,
	};
	struct nr_holder all[sizeof(classes) / sizeof(*classes) + 1];
	uint64_t file = nr_sub(nr_counter_or_zero(node, NR_FILE),
			       nr_counter_or_zero(node, NR_SHMEM) +
				       nr_counter_or_zero(node, NR_SWAP_CACHED) +
				       nr_counter_or_zero(node, NR_DIRTY_PAGES) +
				       nr_counter_or_zero(node, NR_WRITEBACK) +
				       nr_counter_or_zero(node, NR_CLEAN));
	size_t i, n = 0;

	for (i = 0; i < sizeof(classes) / sizeof(*classes); i++) {
		uint64_t bytes = nr_counter_or_zero(node, classes[i]);

		/* The kernel's count has mapped shmem in it, which is shmem here. */
		if (classes[i] == NR_MAPPED)
			bytes = bytes < file ? bytes : file;
		if (bytes)
			all[n++] = (struct nr_holder){ classes[i], bytes };
	}
	qsort(all, n, sizeof(*all), by_bytes);
	if (nr_counter_or_zero(node, NR_MLOCKED))
		all[n++] = (struct nr_holder){ NR_MLOCKED, node->value[NR_MLOCKED] };
	if (n > max)
		n = max;
	memcpy(holders, all, n * sizeof(*all));
	return n;
}

static uint64_t signed_to_size(int64_t v)
{
	return v > 0 ? (uint64_t)v : 0;
}

/* Ends the text; NULL and -ENOMEM when any of it failed. */
static int finish(FILE *f, char **out)
{
	bool bad = ferror(f);

	if (fclose(f) || bad) {
		free(*out);
		*out = NULL;
		return -ENOMEM;
	}
	return 0;
}

static void size_cell(FILE *f, const struct nr_node *node, enum nr_counter counter)
{
	char size[NR_SIZE_TEXT];
	uint64_t bytes;

	fprintf(f, " %7s", nr_node_get(node, counter, &bytes) ? nr_size_format(bytes, size) : "-");
}

/* "files+pressure": what has freed something, or else the backend that was at work. */
#define BACKENDS_TEXT (NR_BACKENDS * 16)
static const char *backends_text(const struct nr_result_node *r, char buf[BACKENDS_TEXT])
{
	size_t len = 0, i;

	for (i = 0; i < NR_BACKENDS && len < BACKENDS_TEXT; i++)
		if (r->by[i])
			len += (size_t)snprintf(buf + len, BACKENDS_TEXT - len, "%s%s",
						len ? "+" : "", nr_backend_name(i));
	if (len)
		return buf;
	return r->backend ? r->backend : "-";
}

/* How wide that column is: as the longest name of a backend, if no text is longer. */
static int backends_width(const struct nr_result *result)
{
	size_t width = strlen("drop_caches"), len, i;
	char buf[BACKENDS_TEXT];

	for (i = 0; i < result->n; i++) {
		len = strlen(backends_text(&result->node[i], buf));
		width = len > width ? len : width;
	}
	return (int)width;
}

static void text_row(FILE *f, const struct nr_result_node *r, const struct nr_node *node,
		     bool dry_run, int width)
{
	static const enum nr_counter cells[] = { NR_FREE,   NR_CLEAN, NR_DIRTY_PAGES,
						 NR_MAPPED, NR_SHMEM, NR_ANON };
	char need[NR_SIZE_TEXT], freed[NR_SIZE_TEXT], missing[NR_SIZE_TEXT], alloc[NR_SIZE_TEXT];
	char backends[BACKENDS_TEXT];
	size_t i;

	fprintf(f, "%4d %7s %7s %7s %7s", r->plan.nid, nr_size_format(r->plan.need, need),
		nr_size_format(dry_run ? r->plan.to_free : signed_to_size(r->freed), freed),
		nr_size_format(r->missing, missing), nr_size_format(r->allocatable, alloc));
	for (i = 0; i < sizeof(cells) / sizeof(*cells); i++)
		size_cell(f, node, cells[i]);
	fprintf(f, "  %-*s %7.3f  %s%s%s\n", width, backends_text(r, backends), r->seconds,
		nr_stop_name(r->stop), r->error ? ": " : "", r->error ? strerror(-r->error) : "");
}

/* "anonymous 12G, shmem 1.0G, dirty 300M" */
static void print_holders(FILE *f, const struct nr_node *node, size_t max)
{
	struct nr_holder holders[16];
	char size[NR_SIZE_TEXT];
	size_t i, n = nr_holders(node, holders, max < 16 ? max : 16);

	for (i = 0; i < n; i++)
		fprintf(f, "%s%s %s%s", i ? ", " : "", nr_counter_name(holders[i].counter),
			nr_size_format(holders[i].bytes, size),
			holders[i].counter == NR_MLOCKED ? " (part of these)" : "");
}

static void text_missing(FILE *f, const struct nr_result_node *r, const struct nr_node *node)
{
	char missing[NR_SIZE_TEXT], need[NR_SIZE_TEXT];

	fprintf(f, "NUMA node %d: %s short of %s (%s); held by ", r->plan.nid,
		nr_size_format(r->missing, missing), nr_size_format(r->plan.need, need),
		nr_stop_name(r->stop));
	print_holders(f, node, 16);
	fputc('\n', f);
}

NR_EXPORT int nr_report_text(const struct nr_result *result, char **out)
{
	const struct nr_snapshot *now = nr_result_after(result);
	struct nr_effect effect;
	char lost[NR_SIZE_TEXT];
	const struct nr_node *node;
	int width = backends_width(result);
	size_t len, i;
	FILE *f;

	*out = NULL;
	f = open_memstream(out, &len);
	if (!f)
		return -ENOMEM;
	fprintf(f, "%4s %7s %7s %7s %7s %7s %7s %7s %7s %7s %7s  %-*s %7s  %s\n", "NODE", "WANTED",
		result->dry_run ? "TO FREE" : "FREED", "MISSING", "ALLOC", "FREE", "CLEAN", "DIRTY",
		"MAPPED", "SHMEM", "ANON", width, "BACKEND", "SECONDS", "END");
	for (i = 0; i < result->n; i++) {
		node = nr_snapshot_find(now, result->node[i].plan.nid);
		if (!node)
			node = nr_snapshot_find(result->before, result->node[i].plan.nid);
		text_row(f, &result->node[i], node, result->dry_run, width);
	}
	for (i = 0; i < result->n; i++) {
		node = nr_snapshot_find(now, result->node[i].plan.nid);
		if (node && result->node[i].missing)
			text_missing(f, &result->node[i], node);
	}
	nr_result_effect(result, &effect);
	fprintf(f, "%s%.3f s, %" PRIu64 " pages swapped out, other NUMA nodes lost %s",
		result->dry_run ? "dry run: nothing was touched; " : "", effect.seconds,
		effect.swapped_out, nr_size_format(effect.others_lost, lost));
	if (effect.scanned)
		fprintf(f, ", %" PRIu64 " of %" PRIu64 " scanned pages stolen%s (%.0f %%)",
			effect.stolen, effect.scanned, effect.scanned_host ? " on the host" : "",
			100.0 * (double)effect.stolen / (double)effect.scanned);
	if (effect.demoted)
		fprintf(f, ", %" PRIu64 " pages moved to slower memory", effect.demoted);
	fputc('\n', f);
	return finish(f, out);
}

static void json_counters(FILE *f, const char *name, const struct nr_node *node)
{
	uint64_t bytes;
	int i;

	fprintf(f, ",\"%s\":", name);
	if (!node) {
		fputs("null", f);
		return;
	}
	for (i = 0; i < NR_COUNTERS; i++) {
		fprintf(f, "%c\"%s\":", i ? ',' : '{', nr_counter_name(i));
		if (nr_node_get(node, i, &bytes))
			fprintf(f, "%" PRIu64, bytes);
		else
			fputs("null", f);
	}
	fputc('}', f);
}

static void json_node(FILE *f, const struct nr_result *result, const struct nr_result_node *r)
{
	const struct nr_node *after = nr_snapshot_find(nr_result_after(result), r->plan.nid);
	struct nr_holder holders[16];
	size_t i, n = after ? nr_holders(after, holders, 16) : 0;

	fprintf(f,
		"{\"node\":%d,\"verdict\":\"%s\",\"need\":%" PRIu64 ",\"to_free\":%" PRIu64
		",\"freed\":%" PRId64 ",\"allocatable\":%" PRIu64 ",\"missing\":%" PRIu64,
		r->plan.nid, verdict_name(r->plan.verdict), r->plan.need, r->plan.to_free, r->freed,
		r->allocatable, r->missing);
	fprintf(f, ",\"backend\":%s%s%s", r->backend ? "\"" : "", r->backend ? r->backend : "null",
		r->backend ? "\"" : "");
	for (i = 0; i < NR_BACKENDS; i++)
		fprintf(f, "%s\"%s\":%" PRIu64, i ? "," : ",\"by\":{", nr_backend_name(i),
			r->by[i]);
	fprintf(f, "},\"end\":\"%s\",\"error\":%d,\"seconds\":%.6f", nr_stop_name(r->stop),
		-r->error, r->seconds);
	fputs(",\"held_by\":{", f);
	for (i = 0; i < n; i++)
		fprintf(f, "%s\"%s\":%" PRIu64, i ? "," : "", nr_counter_name(holders[i].counter),
			holders[i].bytes);
	fputc('}', f);
	json_counters(f, "before", nr_snapshot_find(result->before, r->plan.nid));
	json_counters(f, "after", after);
	fputc('}', f);
}

NR_EXPORT int nr_report_json(const struct nr_result *result, char **out)
{
	struct nr_effect effect;
	size_t len, i;
	FILE *f;

	*out = NULL;
	f = open_memstream(out, &len);
	if (!f)
		return -ENOMEM;
	nr_result_effect(result, &effect);
	fprintf(f, "{\"goal\":\"%s\",\"dry_run\":%s,\"missing\":%" PRIu64 ",\"nodes\":[",
		goal_name(result->goal), result->dry_run ? "true" : "false",
		nr_result_missing(result));
	for (i = 0; i < result->n; i++) {
		if (i)
			fputc(',', f);
		json_node(f, result, &result->node[i]);
	}
	fprintf(f,
		"],\"host\":{\"freed\":%" PRIu64 ",\"swapped_out\":%" PRIu64
		",\"others_lost\":%" PRIu64 ",\"scanned\":%" PRIu64 ",\"stolen\":%" PRIu64
		",\"scanned_host\":%s,\"demoted\":%" PRIu64 ",\"seconds\":%.6f}}\n",
		effect.freed, effect.swapped_out, effect.others_lost, effect.scanned, effect.stolen,
		effect.scanned_host ? "true" : "false", effect.demoted, effect.seconds);
	return finish(f, out);
}

NR_EXPORT int nr_report_line(const struct nr_result *result, char **out)
{
	struct nr_effect effect;
	size_t len, i, b;
	FILE *f;

	*out = NULL;
	f = open_memstream(out, &len);
	if (!f)
		return -ENOMEM;
	nr_result_effect(result, &effect);
	fprintf(f,
		"goal=%s%s nodes=%zu freed=%" PRIu64 " missing=%" PRIu64 " swapped_out=%" PRIu64
		" others_lost=%" PRIu64 " scanned=%" PRIu64 " stolen=%" PRIu64 " seconds=%.3f",
		goal_name(result->goal), result->dry_run ? " dry_run=1" : "", result->n,
		effect.freed, nr_result_missing(result), effect.swapped_out, effect.others_lost,
		effect.scanned, effect.stolen, effect.seconds);
	for (i = 0; i < result->n && i < LINE_NODES; i++) {
		const struct nr_result_node *r = &result->node[i];

		fprintf(f,
			" node%d_need=%" PRIu64 " node%d_freed=%" PRId64 " node%d_missing=%" PRIu64
			" node%d_backend=%s node%d_end=%s",
			r->plan.nid, r->plan.need, r->plan.nid, r->freed, r->plan.nid, r->missing,
			r->plan.nid, r->backend ? r->backend : "none", r->plan.nid,
			nr_stop_name(r->stop));
		for (b = 0; b < NR_BACKENDS; b++)
			if (r->by[b])
				fprintf(f, " node%d_by_%s=%" PRIu64, r->plan.nid,
					nr_backend_name(b), r->by[b]);
	}
	return finish(f, out);
}

NR_EXPORT int nr_report_short(const struct nr_result *result, char **out)
{
	const struct nr_snapshot *now = nr_result_after(result);
	char missing[NR_SIZE_TEXT], need[NR_SIZE_TEXT];
	const struct nr_result_node *r;
	const struct nr_node *node;
	size_t len, i, listed = 0, n = 0;
	FILE *f;

	*out = NULL;
	f = open_memstream(out, &len);
	if (!f)
		return -ENOMEM;
	for (i = 0; i < result->n; i++) {
		r = &result->node[i];
		if (!r->missing)
			continue;
		n++;
		if (listed == 4)
			continue;
		fprintf(f, "%sNUMA node %d: %s short of %s free (%s)", listed++ ? "; " : "",
			r->plan.nid, nr_size_format(r->missing, missing),
			nr_size_format(r->plan.need, need), nr_stop_name(r->stop));
		node = nr_snapshot_find(now, r->plan.nid);
		if (node) {
			fputs(", held by ", f);
			print_holders(f, node, 3);
		}
	}
	if (n > listed)
		fprintf(f, "; and %zu more NUMA nodes", n - listed);
	return finish(f, out);
}
