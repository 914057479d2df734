/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Lists of paths as sites write them: "/scratch,/tmp". */
#include "internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Absolute, and as one would write it: no "//", no "." and no ".." in it. */
static bool is_plain(const char *path)
{
	size_t len;

	if (*path != '/')
		return false;
	while (*path == '/') {
		len = strcspn(++path, "/");
		if (len == 0 || (len == 1 && path[0] == '.') ||
		    (len == 2 && path[0] == '.' && path[1] == '.'))
			return false;
		path += len;
	}
	return true;
}

NR_EXPORT int nr_paths_parse(const char *text, struct nr_paths **out)
{
	size_t len = strlen(text), n = 1, i;
	struct nr_paths *paths;
	char *copy, *path;

	*out = NULL;
	if (len > NR_PATHS_TEXT_MAX)
		return -E2BIG;
	for (i = 0; i < len; i++)
		n += text[i] == ',';
	if (n > NR_PATHS_MAX)
		return -E2BIG;
	paths = malloc(sizeof(*paths) + n * sizeof(paths->path[0]) + len + 1);
	if (!paths)
		return -ENOMEM;
	copy = memcpy(&paths->path[n], text, len + 1);
	paths->n = 0;
	while ((path = strsep(&copy, ","))) {
		if (!is_plain(path)) {
			free(paths);
			return -EINVAL;
		}
		paths->path[paths->n++] = path;
	}
	*out = paths;
	return 0;
}

NR_EXPORT void nr_paths_free(struct nr_paths *paths)
{
	free(paths);
}
