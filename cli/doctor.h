/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODERECLAIM_DOCTOR_H
#define NODERECLAIM_DOCTOR_H

#include <stdbool.h>

enum verdict { VERDICT_OK, VERDICT_WARN, VERDICT_FAIL };

struct doctor {
	unsigned int failed;
};

/* Prints a line about @topic: what was found, and what to do about it. */
void finding(struct doctor *doctor, enum verdict verdict, const char *topic, const char *format,
	     ...) __attribute__((format(printf, 4, 5)));

/* A file that root runs or reads: there, regular, and nobody else may change it. @absent is the
 * verdict if it is not there. Return: whether all of it holds. */
bool check_file(struct doctor *doctor, const char *topic, const char *path, bool program,
		enum verdict absent, const char *if_absent);

/* doctor_slurm.c: the plugin, its helper, and Slurm's configuration. */
void check_slurm(struct doctor *doctor);

#endif
