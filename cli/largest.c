// SPDX-License-Identifier: GPL-2.0-or-later
#include "config.h"

#include "largest.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int by_weight(const void *a, const void *b)
{
	const struct file *x = *(struct file *const *)a, *y = *(struct file *const *)b;

	if (x->weight != y->weight)
		return x->weight < y->weight ? 1 : -1;
	return strcmp(x->path, y->path);
}

void largest_sort(struct largest *largest)
{
	if (largest->n)
		qsort(largest->file, largest->n, sizeof(*largest->file), by_weight);
	while (largest->n > largest->limit)
		free(largest->file[--largest->n]);
}

/* Makes room for one more: twice the limit is kept, so that sorting pays. */
static int make_room(struct largest *largest)
{
	struct file **grown;
	size_t size;

	if (largest->n == 2 * largest->limit)
		largest_sort(largest);
	if (largest->n < largest->size)
		return 0;
	size = largest->size ? 2 * largest->size : 64;
	grown = reallocarray(largest->file, size, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	largest->file = grown;
	largest->size = size;
	return 0;
}

/* The file with its values and its path in one piece of memory. */
static struct file *copy(const struct largest *largest, const struct file *file)
{
	size_t values = largest->values * sizeof(*file->value), path = strlen(file->path) + 1;
	struct file *made = malloc(sizeof(*made) + values + path);

	if (!made)
		return NULL;
	*made = *file;
	made->value = memcpy(made + 1, file->value, values);
	made->path = memcpy((char *)(made + 1) + values, file->path, path);
	return made;
}

static void add_to(uint64_t *sum, uint64_t value)
{
	if (*sum != NOT_KNOWN)
		*sum = value == NOT_KNOWN ? value : *sum + value;
}

int largest_add(struct largest *largest, const struct file *file)
{
	struct file *made;
	size_t i;

	if (!largest->sum)
		largest->sum = calloc(largest->values, sizeof(*largest->sum));
	if (!largest->sum)
		return -ENOMEM;
	for (i = 0; i < largest->values; i++)
		add_to(&largest->sum[i], file->value[i]);
	largest->files++;
	if (!file->weight)
		return 0;
	made = copy(largest, file);
	if (!made || make_room(largest)) {
		free(made);
		return -ENOMEM;
	}
	largest->file[largest->n++] = made;
	return 0;
}

uint64_t largest_sum(const struct largest *largest, size_t value)
{
	return largest->sum ? largest->sum[value] : 0;
}

uint64_t largest_left_out(const struct largest *largest, size_t value)
{
	uint64_t left = largest_sum(largest, value);

	for (size_t i = 0; i < largest->n && left != NOT_KNOWN; i++)
		left -= largest->file[i]->value[value];
	return left;
}

void largest_free(struct largest *largest)
{
	for (size_t i = 0; i < largest->n; i++)
		free(largest->file[i]);
	free(largest->file);
	free(largest->sum);
}
