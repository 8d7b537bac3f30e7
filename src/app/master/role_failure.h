/*
 * Roles that cannot start, or that end soon each time: a service less, and the
 * rest serves.
 *
 * The log tells the reason once, `weirctl show proc` as long as it is so, and
 * /readyz the name (app/roles.h).  The master tries again with the back-off of
 * all children, and at once at a reload.  When a role is back on which others
 * wait (`first`: the store), the roles that were started without it start
 * again, and workers that know it come by a reload.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef APP_MASTER_ROLE_FAILURE_H
#define APP_MASTER_ROLE_FAILURE_H

#include "app/master/children.h"

/* It fails for that reason; nothing happens to a worker. */
void role_fails(struct child *c, const char *why);
/* It has ended, and nobody asked it to: was that a failure? */
void role_judge_end(struct child *c);
/* It is READY.  True: workers were started without it, and have to be
 * replaced. */
bool role_judge_ready(struct child *c);
/* It has lived long enough. */
void role_is_well(struct child *c);

/* Before its fork: whether a role on which others wait fails. */
void role_note_lack(struct child *c);
/* All that are not READY by now fail. */
void role_failure_late(struct children *all);

#endif
