/*
 * A role: a process that a module needs once, or that must outlive a reload
 * (struct role in app/module.h).
 *
 * role_main() runs in a freshly forked child, as worker_main() does.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef APP_CHILD_ROLE_H
#define APP_CHILD_ROLE_H

#include "app/module.h"
#include "app/settings/settings.h"

/* Runs r in this process, whose slot is set, as the process number index of
 * the role; returns the status to exit with. */
int role_main(const struct role *r, unsigned index, const struct settings *s);

/* The part of s that a role is handed: its module's settings at the root, or,
 * of weir's own roles, all of it. */
const void *role_settings(const struct role *r, const struct settings *s);

#endif
