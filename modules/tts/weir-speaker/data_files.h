/*
 * The data directories as one tree, for libespeak-ng.
 *
 * The library knows one directory.  This program gives it the name of none
 * (DATA_ROOT) and defines the functions by which the library opens and looks at
 * files: they look below each data directory in turn, the first that has the
 * file wins.  No other file is opened that way, and no path leads upwards.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#ifndef MODULES_TTS_WEIR_SPEAKER_DATA_FILES_H
#define MODULES_TTS_WEIR_SPEAKER_DATA_FILES_H

#include <stddef.h>

#include "base/errmsg.h"

#define DATA_ROOT "/weir-speaker-data"
#define DATA_DIRS 16  /* at most */
#define DATA_FIRST 32 /* the descriptor of the first; others follow */

/* Each is a directory that holds phontab..., or espeak-ng-data/ with it, or
 * only voices/ or lang/.  They are opened now.  -1 with err: one cannot be. */
int data_files_open(const char *const *directories, size_t count,
                    struct errmsg *err);

#endif
