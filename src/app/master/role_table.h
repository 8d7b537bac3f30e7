/*
 * The roles that run: those of weir itself and those of modules that the
 * configuration in force wants (the master's part; struct role in
 * app/module.h).
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef APP_MASTER_ROLE_TABLE_H
#define APP_MASTER_ROLE_TABLE_H

#include "app/master/children.h"

/* The number of processes of all roles, wanted or not. */
uint32_t role_table_count(const struct module *const *table);

/* Makes the folders that the wanted ones write below, where they are not there
 * (app/child/folders.h).  -1 with err. */
int role_table_make_folders(const struct module *const *table,
                            const struct settings *s, struct errmsg *err);

/* Starts those that g wants and that do not run: the first ones only, or
 * all. */
void role_table_start(struct children *c, const struct module *const *table,
                      const struct generation *g, bool first_only);
/* The first ones that were started for g are READY, or fail. */
bool role_table_first_ready(const struct children *c,
                            const struct generation *g);

/* g is in force, after a reload or because the next one failed: ends roles that
 * it does not want, moves the others to it, and starts missing ones. */
void role_table_move(struct children *c, const struct module *const *table,
                     const struct generation *g);

#endif
