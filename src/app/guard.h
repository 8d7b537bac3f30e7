/*
 * The sandbox of a process, from its settings: which paths its modules serve
 * files from, and a look now and then at what was refused.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef APP_GUARD_H
#define APP_GUARD_H

#include "app/settings/settings.h"
#include "event/loop.h"

/* Child, before privileges are dropped. */
void guard_prepare(const struct settings *s);
/* Child, when all it needs is open; what is refused from now on is logged.
 * writes: it keeps files of its own, whose sizes it changes. */
int guard_enter(struct loop *l, const struct settings *s, bool writes,
                struct errmsg *err);
void guard_leave(struct loop *l); /* no more looks; the sandbox stays */

/* Master: logs what is in force. */
void guard_tell(const struct settings *s);

#endif
