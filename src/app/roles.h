/*
 * All roles, weir's own and those of modules, and which of them fail.
 *
 * A role that cannot start takes nothing else down: the rest serves, and the
 * master tries it again.  The master says which fail in one word that all
 * processes share, for /readyz.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef APP_ROLES_H
#define APP_ROLES_H

#include "app/module.h"

/* Calls f for each role: weir's own, then those of the modules in table. */
typedef void each_role(void *arg, const struct role *r);
void roles_each(const struct module *const *table, each_role *f, void *arg);

/* Master, before any fork.  A second call does nothing. */
int roles_create(struct errmsg *err);
void roles_destroy(void);

/* Master: the role fails, or does no more. */
void roles_set_failing(const struct role *r, bool fails);
/* Any process: whether it fails; calls f for each that does. */
bool roles_is_failing(const struct role *r);
void roles_each_failing(each_role *f, void *arg);

#endif
