/*
 * The programs of roles: their rights, and the starter that runs them.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef APP_CHILD_PROGRAMS_H
#define APP_CHILD_PROGRAMS_H

#include "app/settings/settings.h"
#include "proc/rights.h"
#include "proc/starter.h"

/* Role, before it drops its privileges and opens anything: the starter of the
 * programs that r names.  r is the role's and borrowed.  NULL with err. */
struct starter *programs_start(const char *role, const struct rights *r,
                               const struct settings *s, struct errmsg *err);

/* Whether any role that these settings want has programs. */
bool programs_wanted(const struct settings *s);

#endif
