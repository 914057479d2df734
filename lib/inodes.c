/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A set of files by device and inode number: open addressing, doubled when it is half full. */
#include "internal.h"

#include <stdlib.h>

#define SIZE_FIRST 1024u
#define SIZE_MAX_SLOTS (1u << 18) /* 4 MB */

struct nr_inode {
	uint64_t dev, ino;
	/* Inode 0 is none: an empty slot */
};

static struct nr_inode *find(const struct nr_inodes *set, uint64_t dev, uint64_t ino)
{
	uint64_t hash = (ino ^ dev << 32 ^ dev) * UINT64_C(0x9e3779b97f4a7c15);
	size_t i = (size_t)(hash >> 32) & (set->size - 1);

	while (set->slot[i].ino && (set->slot[i].ino != ino || set->slot[i].dev != dev))
		i = (i + 1) & (set->size - 1);
	return &set->slot[i];
}

static void grow(struct nr_inodes *set)
{
	struct nr_inodes larger = { .n = set->n, .size = set->size ? set->size * 2 : SIZE_FIRST };
	size_t i;

	if (larger.size > SIZE_MAX_SLOTS)
		return;
	larger.slot = calloc(larger.size, sizeof(*larger.slot));
	if (!larger.slot)
		return;
	for (i = 0; i < set->size; i++)
		if (set->slot[i].ino)
			*find(&larger, set->slot[i].dev, set->slot[i].ino) = set->slot[i];
	free(set->slot);
	*set = larger;
}

bool nr_inodes_add(struct nr_inodes *set, uint64_t dev, uint64_t ino)
{
	struct nr_inode *slot;

	if (!ino)
		return true;
	if (set->n * 2 >= set->size)
		grow(set);
	if (!set->size)
		return true;
	slot = find(set, dev, ino);
	if (slot->ino)
		return false;
	if (set->n * 2 < set->size) {
		*slot = (struct nr_inode){ dev, ino };
		set->n++;
	}
	return true;
}

bool nr_inodes_has(const struct nr_inodes *set, uint64_t dev, uint64_t ino)
{
	return set->size && ino && find(set, dev, ino)->ino;
}

void nr_inodes_clear(struct nr_inodes *set)
{
	free(set->slot);
	*set = (struct nr_inodes){ 0 };
}
