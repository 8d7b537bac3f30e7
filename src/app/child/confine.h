/*
 * The sandbox of a process, from its settings: the paths from which its modules
 * serve files, and a look now and then at refused system calls.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef APP_CHILD_CONFINE_H
#define APP_CHILD_CONFINE_H

#include "app/settings/settings.h"
#include "event/loop.h"

/* Child, before privileges are dropped. */
void confine_prepare(const struct settings *s);
/* Child, when all that it needs is open; refused calls are logged from now on.
 * writes: it has files of its own, whose sizes it changes. */
int confine_process(struct loop *l, const struct settings *s, bool writes,
                    struct errmsg *err);
void confine_leave(struct loop *l); /* no more looks; the sandbox stays */

/* Master: logs the sandbox in force. */
void confine_tell(const struct settings *s);

#endif
