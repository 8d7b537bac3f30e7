/*
 * Whether the files of data directories differ from what they were.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MODULES_TTS_TREE_H
#define MODULES_TTS_TREE_H

#include "base/str.h"
#include "net/sha256.h"

#define TREE_FILES 20000 /* that are looked at, at most */
#define TREE_DEPTH 6     /* folders below each other */

/* The digest of all files below the directories (NUL-terminated): their names,
 * sizes, inodes and times.  A file that cannot be read counts as not there. */
void tree_digest(const struct str *directories, size_t count,
                 uint8_t out[DIGEST_SHA256]);

#endif
