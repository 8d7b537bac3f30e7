/*
 * The store among weir's processes: which of them need it, the role that writes
 * to it, and its files.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef APP_STORE_ROLE_H
#define APP_STORE_ROLE_H

#include "app/module.h"
#include "app/settings/settings.h"
#include "event/task.h"

extern const struct role store_roles[]; /* the keeper; ends with name NULL */

/* Whether a weir with these settings needs the store: one of its modules has
 * tables there, or an application takes stream keys. */
bool store_role_wanted(const struct settings *s);

/* Master, before any fork: the schemas of all modules. */
void store_role_register(const struct module *const *table);
/* Master, before processes for s are forked: makes the files of the database,
 * if there are none, and gives them to the user that the processes become,
 * because the folder may be root's.  Does so once, for files that are gone may
 * come back.  Refuses a database that another weir has.  -1 with err: the
 * keeper will fail. */
int store_role_prepare(const struct settings *s, struct errmsg *err);
/* Where no process of s has a database, the next call makes it again: what a
 * reload that failed has made may be gone. */
void store_role_forget(const struct settings *s);

/* Worker or role, before its modules start and the sandbox is entered: opens
 * the store if s needs it; where the keeper fails, its calls are answered with
 * STORE_DOWN. */
int store_role_connect(struct loop *l, const struct settings *s,
                       struct task_threads *threads, struct errmsg *err);

#endif
