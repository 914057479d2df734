/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The largest of many files, in bounded memory, and sums over all of them. */
#ifndef NODERECLAIM_LARGEST_H
#define NODERECLAIM_LARGEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A value of a file, or a sum with such a value in it, that the kernel does not tell */
#define NOT_KNOWN UINT64_MAX

struct file {
	const char *path;
	bool deleted;
	const char *note; /* static; may be NULL */
	uint64_t weight;  /* what is compared; a file of weight 0 is only summed */
	const uint64_t *value;
};

struct largest {
	size_t limit;  /* how many are kept, set by the caller */
	size_t values; /* numbers of a file, set by the caller */
	size_t n, size;
	struct file **file; /* the largest first after largest_sort() */
	uint64_t files;	    /* all of them */
	uint64_t *sum;	    /* of each value over all files; NULL before the first one */
};

/* Copies @file. Returns 0 or -ENOMEM. */
int largest_add(struct largest *largest, const struct file *file);

/* Puts what is kept in order: by weight, by path where it is the same. */
void largest_sort(struct largest *largest);

/* The sum of a value over all files, and over those that are not kept. */
uint64_t largest_sum(const struct largest *largest, size_t value);
uint64_t largest_left_out(const struct largest *largest, size_t value);

void largest_free(struct largest *largest);

#endif
