/*
 * Lanes: things that wait, by the client that they wait for.  Lanes are served
 * in turn, one thing each, so that ten thousand of one client hold up none of
 * another.
 *
 * A thing is linked in by its user, who may take it off its list at any time.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MODULES_DOWNLOADS_FETCHER_LANES_H
#define MODULES_DOWNLOADS_FETCHER_LANES_H

#include "base/list.h"
#include "proc/tally.h"

#include <stdbool.h>

struct lanes {
    struct list all; /* struct lane, the next one first; owned */
};

void lanes_init(struct lanes *l);
/* Nothing waits any more. */
void lanes_clear(struct lanes *l);
/* Behind all that waits for that client. */
void lanes_add(struct lanes *l, const struct tally_holder *client,
               struct list *node);
/* The next, which waits no more; NULL: nothing waits. */
struct list *lanes_take(struct lanes *l);
bool lanes_empty(struct lanes *l);

#endif
