/*
 * The children that the kernel says a process has, whether it forked them or
 * they fell to it (proc/ancestry.h).
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef PROC_OFFSPRING_H
#define PROC_OFFSPRING_H

#include <stddef.h>
#include <sys/types.h>

#define OFFSPRING_NAME 64 /* bytes of a name, escaped */

/* Writes their numbers to pids, room of them at most, and returns how many
 * these are.  Those that have ended and are not reaped are among them.  While
 * children come and go one may be missed: look again when one has ended.  0
 * also where /proc is not there or tells no children.  One thread. */
size_t offspring_list(pid_t *pids, size_t room);

/* The same of process pid, whichever of its threads forked them. */
size_t offspring_of(pid_t pid, pid_t *pids, size_t room);

/* The name that process pid gave itself, quotes and control bytes escaped; "?":
 * it is gone.  Returns dst (OFFSPRING_NAME bytes). */
const char *offspring_name(pid_t pid, char *dst);

#endif
