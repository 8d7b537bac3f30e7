/*
 * Paths of files.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef BASE_PATH_H
#define BASE_PATH_H

/* Whether a file could be made at path: its folder is there and may be written
 * to.  0, or -1 with errno; nothing is made. */
int path_try(const char *path);

#endif
