/*
 * The sandbox of a process, from its settings and its rights, and a look now
 * and then at what was refused.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef APP_CHILD_CONFINE_H
#define APP_CHILD_CONFINE_H

#include "app/settings/settings.h"
#include "event/loop.h"
#include "proc/rights.h"

/* Child, before privileges are dropped. */
void confine_prepare(const struct settings *s);
/* Worker: adds what its layers read. */
void confine_add_layers(const struct settings *s, struct rights *r);
/* Child, when all it needs is open; what is refused from now on is logged.
 * What its resolver and its store need is added to r, which is cleared. */
int confine_process(struct loop *l, const struct settings *s, struct rights *r,
                    struct errmsg *err);
void confine_leave(struct loop *l); /* no more looks; the sandbox stays */

/* Master: logs what is in force. */
void confine_tell(const struct settings *s);

#endif
