/*
 * The folders that a role writes below: the first start makes them.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef APP_CHILD_FOLDERS_H
#define APP_CHILD_FOLDERS_H

#include "app/settings/settings.h"
#include "base/errmsg.h"
#include "proc/rights.h"

/* Master, while it may be root, because weir's user may have no right to write
 * above: makes those of r->write that are not there, for the role's user.  The
 * folder above has to be there; one that cannot be made is told in the log.  -1
 * with err. */
int folders_make(const struct rights *r, const struct settings *s,
                 struct errmsg *err);

/* With the role's user: whether it can write into them.  all: one that is not
 * there is a mistake, too.  -1 with err. */
int folders_check(const struct rights *r, bool all, struct errmsg *err);

#endif
