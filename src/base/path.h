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

/* The absolute path of a program that is installed with weir and started by it
 * (base/places.h), also when weir's own file was replaced; dst has PATH_MAX
 * bytes. */
void path_of_program(const char *name, char *dst);

#endif
