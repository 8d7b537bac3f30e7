/*
 * The parts of the sandbox.
 *
 *   sandbox_files.c   Landlock
 *   sandbox_filter.c  system calls
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef PROC_SANDBOX_IMPL_H
#define PROC_SANDBOX_IMPL_H

#include "proc/sandbox.h"

#include <stdint.h>

/* Whether the kernel can filter system calls, on a processor that we know. */
bool sandbox_has_filter(void);
/* file_sizes: the sizes of open files may be changed. -1 with errno. */
int sandbox_filter(bool enforce, bool file_sizes);
/* The handler of SIGSYS for refused calls; before sandbox_filter(). */
int sandbox_catch(void);

/* No files but paths, no new TCP listeners; -1 with errno. */
int sandbox_restrict_files(const struct str *paths, size_t count);

#endif
