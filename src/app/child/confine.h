/*
 * The sandbox of a process, from its settings and its rights, and a look now
 * and then at refused system calls.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef APP_CHILD_CONFINE_H
#define APP_CHILD_CONFINE_H

#include "app/settings/settings.h"
#include "event/loop.h"
#include "proc/rights.h"
#include "proc/sandbox.h"

/* Child, before privileges are dropped. */
void confine_prepare(const struct settings *s);
/* The same: holds what r names, and the store's database, where the way to it
 * is open to root alone (proc/reach.h). */
int confine_hold(const struct settings *s, const struct rights *r,
                 struct errmsg *err);
/* Worker: adds the rights of its modules, and the paths that its layers
 * read. */
void confine_add_layers(const struct settings *s, struct rights *r);
/* Child, when all that it needs is open; refused calls are logged from now on.
 * Adds the rights of its resolver and its store to r, which is cleared. */
int confine_process(struct loop *l, const struct settings *s, struct rights *r,
                    struct errmsg *err);
/* The sandbox of a role's programs, which has these rights; r is borrowed. */
struct sandbox confine_programs(const struct settings *s,
                                const struct rights *r);
void confine_leave(struct loop *l); /* no more looks; the sandbox stays */

/* Master: logs the sandbox in force. */
void confine_tell(const struct settings *s);

#endif
