/*
 * Two files share this:
 *
 *   cgroup_place.c   where this process is, and its controllers
 *   cgroup.c         cgroups of runs
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef PROC_CGROUP_IMPL_H
#define PROC_CGROUP_IMPL_H

#include "proc/cgroup.h"

#define CGROUP_MAIN "weir.main"

/* The folder in which cgroups of this process's runs are made: its own cgroup,
 * or, if that is "weir.main", the one around it. */
int cgroup_find(char dst[static PATH_MAX], struct errmsg *err);
/* Whether a file of a cgroup takes that text. */
bool cgroup_write(int folder, const char *name, const char *text);
/* Hands on what controllers it has to the cgroups in it; their names are in
 * told. */
void cgroup_hand_on(int folder, char told[static CGROUP_TOLD]);

#endif
