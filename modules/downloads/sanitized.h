/*
 * For main.c of the programs of this folder, in a build with sanitizers: the
 * leak checker wants to trace the process, which the filter of programs forbids
 * (proc/sandbox.h).  Unit tests look for leaks.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MODULES_DOWNLOADS_SANITIZED_H
#define MODULES_DOWNLOADS_SANITIZED_H

#ifdef __SANITIZE_ADDRESS__
const char *__asan_default_options(void);

const char *
__asan_default_options(void)
{
    return "detect_leaks=0";
}
#endif

#endif
